"""Prompts a second on one GPU of a causal model of 1B shape as an NLI classifier, against transformers' pipeline.

    PYTHONPATH=src python -m benchmarks.gpu_causal --out FOLDER

Needs torch, transformers, tokenizers and numpy, and no more. The model has the shape of Llama 3.2 1B (vocabulary of
128,256, head not tied) and random weights; the tokenizer is a BPE of bytes, trained on the problems that come with the
package. Prompts are the premises of these with other premises' hypotheses, zero-shot and behind 36 shots, which all
prompts share. `hf:` reads the log-probabilities of the label tokens, from strings to probabilities; the pipeline
generates one token, at batch 64, from the same strings. With --quick it runs anywhere in a minute, to try the script.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from otherwords.inference import shared_prefix
from otherwords.inference.hf_folders import find
from otherwords.language_models.causal_hf import CausalModel, open_causal
from otherwords.language_models.completion import Request
from otherwords.models import huggingface
from otherwords.models.templates import read_template
from otherwords.problem import TASKS, Batch

from .gpu import Log, _matmul_peak
from .gpu_busy import GPU, busy, traced

PLACE = "cuda" if GPU else "cpu"
NLI = TASKS["nli"]
DATA = Path(__file__).parent.parent / "src" / "otherwords" / "assets" / "everyday.jsonl"
ONE_B = {
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 8192,
    "vocab_size": 128_256,
}
TINY = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 256,
    "vocab_size": 8192,
}
SHOTS = 36
#: The batch of the pipeline.
BATCH = 64
SYSTEM = "You decide what follows from a text. Answer with one word: {labels}."
PROMPT = "Premise: {premise}\nHypothesis: {hypothesis}\nDoes the hypothesis follow from the premise?\nAnswer:"
#: What labels have instead of the logits of a random head: so much on average, so that they have most of the
#: probability as in a trained model, and so much deviation, so that all labels occur.
LABEL_MEAN, LABEL_DEVIATION = 14.0, 2.0
AIMS = {"zero-shot": 2.0, "36-shot": 5.0}


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    log = Log(str(folder / "gpu_causal.json"))
    shape = TINY if options.quick else ONE_B
    count, few, peer, peer_few = (128, 32, 32, 2) if options.quick else (32_768, 16_384, 4096, 1024)
    given = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as place:
        templates = _templates(Path(place), given)
        texts = _texts(given, count)
        some = [_requests(template, texts[: 8 if options.quick else 256]) for template in templates.values()]
        log("build", lambda: _build(Path(place) / "model", shape, given, some))
        name = str(Path(place) / "model")
        peak = log("matmul peak", _matmul_peak).get("tflops", 0)
        generate = _pipeline(name)
        for kind, template in templates.items():
            asked = texts if kind == "zero-shot" else texts[:few]
            by_hf = log(f"hf: {kind}", lambda a=asked, t=template: _by_hf(name, a, t, shape, peak))
            prompts = [one.text for one in _requests(template, texts[: peer if kind == "zero-shot" else peer_few])]
            generated = log(f"pipeline, {kind}", lambda p=prompts: _generated(generate, p))
            ratio = {"ratio": by_hf.get("prompts_per_s", 0) / generated.get("prompts_per_s", np.inf), "aim": AIMS[kind]}
            log(f"ratio, {kind}", lambda r=ratio: {**r, "met": bool(r["ratio"] >= r["aim"])})
        prompts = [one.text for one in _requests(templates["zero-shot"], texts[:peer])]
        log("pipeline, zero-shot, sorted by length", lambda: _generated(generate, sorted(prompts, key=len)))
        requests = _requests(templates["36-shot"], texts[: 8 if options.quick else 2048])
        half = open_causal(find(name), dtype="bfloat16")
        log("shared and not, 36-shot, bfloat16", lambda: _agreement(half, given, requests))
        plain = _requests(templates["zero-shot"], texts[: 8 if options.quick else 16_384])
        log("shared and not, zero-shot, bfloat16", lambda: _agreement(half, given, plain))
        single, some = open_causal(find(name), dtype="float32"), requests[: 8 if options.quick else 128]
        log("shared and not, 36-shot, float32", lambda: _agreement(single, given, some))
        log("kernels of attention", _kernels)
    (folder / "gpu_causal.txt").write_text(_table(log.kept["results"]), encoding="utf-8")
    print(_table(log.kept["results"]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="a folder for gpu_causal.json and gpu_causal.txt")
    parser.add_argument("--quick", action="store_true", help="a tiny model, to try the script")
    return parser.parse_args()


# What is asked


def _templates(folder: Path, given: list[dict[str, str]]) -> dict[str, str]:
    """Files of templates: the shots are part of the instruction, so that they need no data set."""
    solved = [PROMPT.format(**row) + f" {row['label']}" for row in given[::5][:SHOTS]]
    systems = {"zero-shot": SYSTEM, "36-shot": "\n\n".join([SYSTEM, *solved])}
    for name, system in systems.items():
        lines = [
            f'name = "{name}"',
            'task = "nli"',
            'form = "plain"',
            f"system = {json.dumps(system)}",
            f"prompt = {json.dumps(PROMPT)}",
        ]
        words = [f'{label} = "{label}"' for label in NLI.labels]
        (folder / f"{name}.toml").write_text("\n".join([*lines, "[words]", *words]) + "\n", encoding="utf-8")
    return {name: str(folder / f"{name}.toml") for name in systems}


def _texts(given: list[dict[str, str]], count: int) -> list[tuple[str, str]]:
    """Premises with other premises' hypotheses, no pair twice, in random order."""
    pairs = [(a["premise"], b["hypothesis"]) for a in given for b in given]
    order = np.random.default_rng(0).permutation(len(pairs))[:count]
    return [pairs[number] for number in order]


def _requests(template: str, texts: list[tuple[str, str]]) -> list[Request]:
    read = read_template(template, NLI)
    return [read.request(dict(zip(NLI.fields, pair, strict=True)), chat=False) for pair in texts]


# The model


def _build(
    folder: Path, shape: dict[str, int], given: list[dict[str, str]], some: list[list[Request]]
) -> dict[str, Any]:
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer(given, shape["vocab_size"])
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    numbers = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2, "max_position_embeddings": 8192}
    # Weights somewhat larger than usual: else a prompt's last token hardly depends on what stands before it.
    deviation = 1.1 / float(np.sqrt(shape["hidden_size"]))
    config = LlamaConfig(**shape, **numbers, tie_word_embeddings=False, initializer_range=deviation)
    with torch.device(PLACE):
        model = LlamaForCausalLM(config).to(torch.bfloat16).eval()
    _spread(model, tokenizer, some)
    model.save_pretrained(folder)
    lengths = [float(np.mean([len(tokenizer(one.text)["input_ids"]) for one in requests])) for requests in some]
    weights = sum(one.numel() for one in model.parameters())
    return {"parameters": weights, "tokens_known": len(tokenizer), "mean_tokens": lengths}


def _tokenizer(given: list[dict[str, str]], size: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<pad>", "</s>", "<s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    texts = [PROMPT.format(**row) + f" {row['label']}" for row in given] + [SYSTEM] * 8
    words.train_from_iterator(texts, trainer)
    words.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", bos_token="<s>", padding_side="left"
    )


@torch.inference_mode()
def _spread(model: Any, tokenizer: Any, some: list[list[Request]]) -> None:
    """Let the random head give all labels to each kind of prompts: else nearly all answers are the same."""
    kinds = [torch.stack([_state(model, tokenizer, one.text) for one in requests]).cpu() for requests in some]
    means = torch.stack([states.mean(dim=0) for states in kinds])
    basis = torch.linalg.qr(means.T).Q
    for label in NLI.labels:
        token = tokenizer(f" {label}", add_special_tokens=False)["input_ids"][0]
        row = torch.randn_like(means[0])
        row -= basis @ (basis.T @ row)  # on average nothing
        row *= LABEL_DEVIATION / torch.stack([(states @ row).std() for states in kinds]).min()
        row += means.T @ torch.linalg.solve(means @ means.T, torch.full_like(means[:, 0], LABEL_MEAN))
        model.lm_head.weight[token] = row.to(model.lm_head.weight)


def _state(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    """What the head is given after a prompt."""
    ids = torch.tensor([tokenizer(text)["input_ids"]], device=PLACE)
    state: torch.Tensor = model.model(input_ids=ids, use_cache=False).last_hidden_state[0, -1].float()
    return state


# What is measured


def _by_hf(
    folder: str, texts: list[tuple[str, str]], template: str, shape: dict[str, int], peak: float
) -> dict[str, Any]:
    """As `answer` asks: batches of problems in, probabilities out. Some of them warm up."""
    with busy() as seen:
        start = time.perf_counter()
        model = huggingface.hf(folder, template=template, readout="tokens", **({} if GPU else {"dtype": "bfloat16"}))
        model(_batch(texts[: min(512, len(texts) // 2)]))
        ready = time.perf_counter() - start
        seen.forget()
        start = time.perf_counter()
        parts = [model(_batch(texts[at : at + model.batch_size])) for at in range(0, len(texts), model.batch_size)]
        wall = time.perf_counter() - start
        worked = seen.seconds() if GPU else None
        memory = torch.cuda.max_memory_allocated() / 1e9 if GPU else None
    labels = [label for part in parts for label in part.answers]
    shared = max((one.length for one in model.function.readout.model._prefixes.values() if one), default=0)
    flops = _flops(shape, seen, shared) / wall / 1e12
    with traced() as trace:
        again = time.perf_counter()
        for at in range(0, min(len(texts), 8192), model.batch_size):
            model(_batch(texts[at : min(at + model.batch_size, 8192)]))
        again = time.perf_counter() - again
    return {
        "prompts_per_s": len(texts) / wall,
        "prompts": len(texts),
        "tokens_shared": shared,
        "tokens_computed": seen.tokens,
        "filled_up": 1 - seen.tokens / max(1, sum(seen.places)),
        "batches": len(seen.places),
        "tflops": flops,
        "of_peak": flops / peak if peak else None,
        "gpu_idle": 1 - worked / wall if worked else None,
        "gpu_idle_by_trace": 1 - trace.seconds() / again if trace.spans else None,
        "kernel_seconds": trace.kernels(),
        "peak_gb": memory,
        "ready_s": ready,
        "labels": {label or "none": labels.count(label) for label in (*NLI.labels, None)},
        "mass": float(np.concatenate([part.mass for part in parts]).mean()),
    }


def _batch(texts: list[tuple[str, str]]) -> Batch:
    premises, hypotheses = zip(*texts, strict=True)
    return Batch(NLI, {"premise": premises, "hypothesis": hypotheses})


def _flops(shape: dict[str, int], seen: Any, shared: int) -> float:
    """Products of weights and of attention, also to shared tokens, two operations each; filling does not count."""
    h, inner, kv = shape["hidden_size"], shape["intermediate_size"], shape["num_key_value_heads"] * shape["head_dim"]
    weights = 2 * h * h + 2 * h * kv + 3 * h * inner
    squares = sum(float((lengths**2).sum()) / 2 for lengths in seen.lengths) + seen.tokens * shared
    rows = sum(len(lengths) for lengths in seen.lengths)
    layers = shape["num_hidden_layers"] * (seen.tokens * weights + 2 * h * squares)
    return 2 * (layers + rows * h * shape["vocab_size"])


def _pipeline(folder: str) -> Any:
    from transformers import pipeline

    generate = pipeline("text-generation", model=folder, device=0 if GPU else -1, dtype=torch.bfloat16)
    generate.tokenizer.padding_side = "left"
    return generate


def _generated(generate: Any, prompts: list[str]) -> dict[str, Any]:
    how = {"max_new_tokens": 1, "do_sample": False, "batch_size": BATCH, "return_full_text": False}
    generate(prompts[: 2 * BATCH], **how)
    start = time.perf_counter()
    generated = generate(prompts, **how)
    wall = time.perf_counter() - start
    texts = [one[0]["generated_text"].strip() for one in generated]
    common = {text: texts.count(text) for text in sorted({*texts}, key=texts.count)[-4:]}
    return {"prompts_per_s": len(prompts) / wall, "prompts": len(prompts), "batch": BATCH, "generated": common}


def _agreement(opened: CausalModel, given: list[dict[str, str]], requests: list[Request]) -> dict[str, Any]:
    """Labels and log-probabilities with a shared prefix, without, and without in batches of another size."""
    scorer = CausalModel(opened.opened)
    words = [f" {label}" for label in NLI.labels]
    found = _timed(scorer, requests, words)
    alone = CausalModel(scorer.opened, shared=False)
    plain = _timed(alone, requests, words)
    halved = CausalModel(_with_tokens(scorer.opened, scorer.opened.tokens // 2 + 64), shared=False)
    other = _timed(halved, requests, words)
    changed = _with_other_shots(given, requests)
    mixed = _timed(scorer, changed, words)
    return {
        "prompts": len(requests),
        "was_shared": any(scorer._prefixes.values()),
        "tokens_shared": max((one.length for one in scorer._prefixes.values() if one), default=0),
        "prompts_per_s": [len(requests) / one["seconds"] for one in (found, plain)],
        "same_label": _same(found, plain),
        "largest_difference": float(np.abs(found["logs"] - plain["logs"]).max()),
        "mean_difference": float(np.abs(found["logs"] - plain["logs"]).mean()),
        "same_label_in_other_batches": _same(other, plain),
        "largest_difference_in_other_batches": float(np.abs(other["logs"] - plain["logs"]).max()),
        "labels": np.bincount(plain["logs"].argmax(axis=1), minlength=3).tolist(),
        "prompts_per_s_where_some_have_other_shots": len(changed) / mixed["seconds"],
        "prefixes_then": sorted(one.length for one in scorer._prefixes.values() if one),
    }


def _kernels() -> dict[str, str]:
    """Which kernel attention is computed by, in each dtype."""
    place = str(torch.zeros(1, device=PLACE).device)
    kinds = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    return {name: shared_prefix._kernel(place, dtype, 64, 64, 4) for name, dtype in kinds.items()}


def _timed(scorer: CausalModel, requests: list[Request], words: list[str]) -> dict[str, Any]:
    scorer.continuations(requests[: min(512, len(requests) // 2)], words, first=True)
    start = time.perf_counter()
    logs = scorer.continuations(requests, words, first=True)
    return {"logs": logs, "seconds": time.perf_counter() - start}


def _same(one: dict[str, Any], other: dict[str, Any]) -> float:
    return float((one["logs"].argmax(axis=1) == other["logs"].argmax(axis=1)).mean())


def _with_tokens(opened: Any, tokens: int) -> Any:
    return replace(opened, tokens=tokens)


def _with_other_shots(given: list[dict[str, str]], requests: list[Request]) -> list[Request]:
    """Every tenth prompt has another shot in the middle, as where a shot has the premise that is asked about."""
    old, new = PROMPT.format(**given[100]), PROMPT.format(**given[101])
    changed = [replace(one, text=one.text.replace(old, new)) for one in requests]
    return [changed[number] if number % 10 == 0 else one for number, one in enumerate(requests)]


def _table(results: dict[str, Any]) -> str:
    """What matters, for people."""
    lines = []
    for name, found in results.items():
        brief = {key: value for key, value in found.items() if key != "kernel_seconds"}
        lines.append(f"{name}: " + ", ".join(f"{key} {_short(value)}" for key, value in brief.items()))
    return "\n".join(lines) + "\n"


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
    gc.collect()
