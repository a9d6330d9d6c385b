"""Ways to compute a lean encoder of RoBERTa-large's shape on one GPU, forward only, side by side.

    PYTHONPATH=src python -m benchmarks.gpu_explore [--seconds 80] [--small]

Needs torch alone. Weights are random and made on the device. What fails is written down, and the rest goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from otherwords.inference import kernels
from otherwords.inference.families import Encoder, Head, Layer, Linear, Network, Norm
from otherwords.inference.lean import LeanClassifier, Parts, plain_parts

GPU = torch.cuda.is_available()
PLACE = torch.device("cuda" if GPU else "cpu")
START = time.perf_counter()
TIMES = 20 if GPU else 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=80, help="begin nothing after so many")
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the script")
    options = parser.parse_args()
    width, layers, heads, tokens = (64, 2, 2, 208) if options.small else (1024, 24, 16, 32_768)
    with torch.inference_mode():
        network = _network(width, layers, heads)
        log = _Log(options.seconds)
        even, mixed = _lengths(26, 26, tokens), _lengths(22, 31, tokens)
        log("products", lambda: _products(width, tokens))
        log("parts", lambda: _pieces(width, heads, tokens))
        found: dict[str, Any] = {}
        ways = _candidates()
        for name in ways:
            log(f"{name}, even", lambda p=ways[name]: _forward(network, p, even, found))
            log(f"{name}, mixed", lambda p=ways[name]: _forward(network, p, mixed, found))
        if (best := ways.get("triton, triton norm")) is not None:
            for times in (0.25, 0.5, 2):
                more = _lengths(22, 31, int(tokens * times))
                log(f"triton, triton norm, mixed, {times} x tokens", lambda r=more: _forward(network, best, r, found))
            wide = _lengths(8, 69, tokens)
            log("triton, triton norm, 8 to 69 tokens", lambda: _forward(network, best, wide, found))
            log("profile: triton, triton norm", lambda: _profile(network, best, mixed))
            log("profile: sdpa", lambda: _profile(network, ways["sdpa"], even))


class _Log:
    def __init__(self, seconds: float):
        self.seconds = seconds

    def __call__(self, name: str, experiment: Callable[[], Any]) -> None:
        if (now := time.perf_counter() - START) > self.seconds:
            print(f"[{now:5.1f} s] {name}: no time left", flush=True)
            return
        try:
            found = experiment()
        except Exception as error:  # one experiment that fails must not cost the others
            found = f"failed: {type(error).__name__}: {str(error)[:400]}"
        print(f"[{time.perf_counter() - START:5.1f} s] {name}: {json.dumps(found)}", flush=True)


def _candidates() -> dict[str, Parts]:
    """Attention by name; products and activations are torch's own."""
    plain = plain_parts()
    ways = {"sdpa": plain}
    if not GPU:
        return ways
    ways["varlen"] = replace(plain, attention=_varlen)
    if not kernels.AVAILABLE:
        print("Triton is not installed: its kernels are not measured")
        return ways
    ways["triton"] = replace(
        plain, attention=lambda joint, rows, heads: kernels.attend(joint, rows.offsets, rows.longest, heads)
    )
    ways["triton, triton norm"] = replace(ways["triton"], add_norm=kernels.add_norm)
    return ways


def _varlen(joint: Any, rows: Any, heads: int) -> Any:
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = joint.view(len(joint), 3, heads, -1).unbind(1)
    ends = rows.offsets.int()
    return varlen_attn(q, k, v, ends, ends, rows.longest, rows.longest).reshape(len(joint), -1)


def _forward(network: Network, parts: Parts, lengths: torch.Tensor, found: dict[str, Any]) -> dict[str, float]:
    lean = LeanClassifier.of(network, parts)
    check = _inputs(_lengths(26, 26, 26 * (64 if GPU else 2)))  # rows of one length, which all candidates take
    logits = lean(*check).float()
    expected = found.setdefault("logits", logits)
    inputs = _inputs(lengths)
    seconds, host = _seconds(lambda: lean(*inputs), TIMES)
    return {
        "pairs_per_s": round(len(lengths) / seconds),
        "pairs_per_s_of_27": round(int(lengths.sum()) / 27.476 / seconds),
        "ms": round(seconds * 1000, 2),
        "host_ms": round(host * 1000, 2),
        "difference": float((logits - expected).abs().max()),
        "of": float(expected.abs().max()),
    }


def _products(width: int, tokens: int) -> dict[str, Any]:
    """Microseconds and TFLOP/s of each product of a layer, with its bias and without; odd numbers of tokens too."""
    measured: dict[str, Any] = {}
    for name, given, out in (("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1)):
        weight, bias = _random(out * width, given * width), _random(out * width)
        for count in (tokens, tokens - 21):
            x = _random(count, given * width, scale=1)
            flops = 2 * count * given * out * width * width
            ways: dict[str, Callable[[], Any]] = {
                "bias": partial(functional.linear, x, weight, bias),
                "no bias": partial(functional.linear, x, weight),
            }
            if name == "up":
                ways["tanh gelu inside"] = partial(torch._addmm_activation, bias, x, weight.t(), use_gelu=True)
            for way, work in ways.items():
                seconds, _ = _seconds(work, TIMES)
                measured[f"{name}, {count}, {way}"] = [round(seconds * 1e6), round(flops / seconds / 1e12)]
    return measured


def _pieces(width: int, heads: int, tokens: int) -> dict[str, int]:
    """Microseconds of what is no product."""
    x, y, wide = _random(tokens, width, scale=1), _random(tokens, width, scale=1), _random(tokens, 4 * width, scale=1)
    weight, bias, measured = _random(width), _random(width), {}
    ways: dict[str, Callable[[], Any]] = {
        "gelu": lambda: functional.gelu(wide),
        "add, norm": lambda: functional.layer_norm(x + y, (width,), weight, bias, 1e-5),
    }
    if "triton" in _candidates():
        ways["add_norm"] = lambda: kernels.add_norm(x, y, weight, bias, 1e-5)
        for name, lengths in (("even", _lengths(26, 26, tokens)), ("mixed", _lengths(22, 31, tokens))):
            offsets, joint = _inputs(lengths)[1], _random(int(lengths.sum()), 3 * width, scale=1)
            out, size = torch.empty_like(joint[:, :width]).contiguous(), width // heads
            for warps in (1, 2, 4):
                run, scale = kernels._attend[((len(offsets) - 1) * heads,)], size**-0.5
                settings = {"block": 32, "size": size, "num_warps": warps}
                ways[f"attention, {name}, {warps} warps"] = partial(run, joint, offsets, out, heads, scale, **settings)
    for name, work in ways.items():
        measured[name] = round(_seconds(work, TIMES)[0] * 1e6)
    return measured


def _profile(network: Network, parts: Parts, lengths: torch.Tensor) -> dict[str, Any]:
    """Microseconds of one forward pass by kernel, and how often each ran."""
    from torch.profiler import ProfilerActivity, profile

    lean, inputs = LeanClassifier.of(network, parts), _inputs(lengths)
    lean(*inputs)
    _wait()
    with profile(activities=[ProfilerActivity.CUDA if GPU else ProfilerActivity.CPU]) as profiled:
        for _ in range(3):
            lean(*inputs)
        _wait()
    time_of = "self_device_time_total" if GPU else "self_cpu_time_total"
    best = sorted(profiled.key_averages(), key=lambda event: -getattr(event, time_of))[:12]
    return {event.key[:90]: [round(getattr(event, time_of) / 3), event.count // 3] for event in best}


def _inputs(lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 999, (int(offsets[-1]),), generator=generator)
    return ids.to(PLACE), offsets.to(PLACE), int(lengths.max())


def _lengths(shortest: int, longest: int, tokens: int) -> torch.Tensor:
    """Sorted lengths, evenly spread, of that many tokens in all."""
    count = 2 * tokens // (shortest + longest)
    return torch.linspace(shortest - 0.49, longest + 0.49, count).round().long()


def _network(width: int, layers: int, heads: int) -> Network:
    def linear(out: int, given: int) -> Linear:
        return Linear(_random(out, given), _random(out))

    def norm() -> Norm:
        return Norm(torch.ones_like(_random(width)), _random(width), 1e-5)

    def layer() -> Layer:
        four = [linear(width, width) for _ in range(4)]
        return Layer(*four, norm(), linear(4 * width, width), linear(width, 4 * width), norm())

    tables = _random(30_522, width), _random(514, width), _random(1, width)
    encoder = Encoder(*tables, norm(), None, tuple(layer() for _ in range(layers)), heads, "gelu", 0)
    return Network(encoder, Head(linear(width, width), "tanh", None, linear(3, width)))


def _random(*shape: int, scale: float = 0.02) -> torch.Tensor:
    return torch.randn(shape, device=PLACE, dtype=torch.bfloat16 if GPU else torch.float32) * scale


def _seconds(work: Callable[[], Any], times: int) -> tuple[float, float]:
    """Of one repetition: all of it, and until Python had queued it."""
    for _ in range(3 if GPU else 0):
        work()
    _wait()
    start = time.perf_counter()
    for _ in range(times):
        work()
    host = time.perf_counter() - start
    _wait()
    return (time.perf_counter() - start) / times, host / times


def _wait() -> None:
    if GPU:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
