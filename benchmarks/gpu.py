"""Pairs a second on one GPU, from strings to probabilities, of a classifier of RoBERTa-large's shape.

    PYTHONPATH=src python -m benchmarks.gpu --pairs PAIRS.jsonl [--model FOLDER] [--tokenizer FILE] [--out FILE.json]

Needs torch, transformers, tokenizers and numpy, and no more. PAIRS.jsonl has premise, hypothesis and perhaps label;
FOLDER is a trained classifier, on which bf16 is held against fp32. Every experiment stands alone: what fails is
written down, and the rest goes on. With --small it runs anywhere in a minute, to try the script itself.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from otherwords.inference import hf_folders, torch_device
from otherwords.models import huggingface
from otherwords.problem import TASKS, Batch

from . import gpu_variants

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
GPU = torch.cuda.is_available()
#: What is timed from strings to probabilities: options of `hf`, whether rows of several lengths may share a batch, and
#: which change to the model is made first (a name of `gpu_variants.variants`).
RUNS: list[tuple[str, dict[str, Any], bool, str]] = [
    ("default", {}, True, ""),
    ("compile=true", {"compile": True}, True, ""),
    ("compile=true, fused qkv, short attention", {"compile": True}, True, "fused qkv, short attention"),
    ("the same, one length a batch", {"compile": True}, False, "fused qkv, short attention"),
    ("the same, one length, 16k tokens", {"compile": True, "tokens": 16_384}, False, "fused qkv, short attention"),
    ("fused qkv, short attention", {}, True, "fused qkv, short attention"),
    ("default, one length a batch", {}, False, ""),
    ("default, 16k tokens", {"tokens": 16_384}, True, ""),
    ("default, 64k tokens", {"tokens": 65_536}, True, ""),
    ("compile=true, 16k tokens", {"compile": True, "tokens": 16_384}, True, ""),
]


class Log:
    """Keeps what is known so far, in memory and in a file, and prints it as soon as it is known."""

    def __init__(self, out: str):
        self.out, self.start = out, time.perf_counter()
        self.kept: dict[str, Any] = {"machine": _machine(), "results": {}}

    def __call__(self, name: str, experiment: Callable[[], Any]) -> Any:
        try:
            found = experiment()
        except Exception as error:  # one experiment that fails must not cost the others
            found = {"failed": f"{type(error).__name__}: {str(error)[:600]}"}
        self.kept["results"][name] = found
        print(f"[{time.perf_counter() - self.start:5.0f} s] {name}: {json.dumps(found)}", flush=True)
        if self.out:
            Path(self.out).parent.mkdir(parents=True, exist_ok=True)
            Path(self.out).write_text(json.dumps(self.kept, indent=2) + "\n")
        _tidy()
        return found


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    logging.disable_progress_bar()
    log = Log(options.out)
    given = [json.loads(line) for line in Path(options.pairs).read_text().splitlines()]
    texts = _recombined(given, options.count)
    shape = SMALL if options.small else LARGE
    with tempfile.TemporaryDirectory() as folder:
        log("build", lambda: _build(Path(folder), shape, given, options.tokenizer))
        peak = log("matmul peak", _matmul_peak).get("tflops", 0)
        log("tokenizer", lambda: _tokenizer_rate(folder, texts))
        stock = hf_folders.load(hf_folders.find(folder)).to("cuda" if GPU else "cpu", torch.bfloat16).eval()
        length = int(log("lengths", lambda: _lengths(folder, texts)).get("median", 27))
        if "forward" not in options.skip:
            _forwards(log, stock, length, peak, options)
        reference: list[Any] = []
        for name, choice, mixed, change in (run for run in RUNS if options.only in run[0]):
            with _changed(stock, change, mixed):
                log(f"end to end: {name}", lambda c=choice: _end_to_end(folder, texts, c, peak, shape, reference))
        if "peers" not in options.skip:
            log("peer: pipeline, fp32, 32", lambda: _pipeline(folder, texts[: options.peer], torch.float32, 32))
            log("peer: pipeline, bf16, 128", lambda: _pipeline(folder, texts[: 2 * options.peer], torch.bfloat16, 128))
        del stock
        _tidy()
        log("memory ends at 8 GB", lambda: _full(folder, texts[::5], 8))
    if options.model:
        log("memory ends at 1 GB, trained model", lambda: _full(options.model, texts[::5], 1))
        log("bf16 against fp32", lambda: _precision(options.model, given))
    if "masked-lm" not in options.skip:
        log("masked-lm", lambda: _masked_lm(shape, given, options.tokenizer))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--model", default="", help="a trained classifier, for bf16 against fp32")
    parser.add_argument("--tokenizer", default="", help="a tokenizer.json (else one is trained on the pairs)")
    parser.add_argument("--out", default="")
    parser.add_argument("--count", type=int, default=98_304, help="pairs from end to end")
    parser.add_argument("--peer", type=int, default=1024, help="pairs for the peers")
    parser.add_argument("--skip", nargs="*", default=[], choices=["forward", "peers", "masked-lm"])
    parser.add_argument("--only", default="", help="of the runs from end to end, those with this in their name")
    parser.add_argument("--autotune", action="store_true", help="also max-autotune, which compiles for minutes")
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the script")
    return parser.parse_args()


def _build(folder: Path, shape: dict[str, int], given: list[dict[str, str]], tokenizer_file: str) -> dict[str, Any]:
    from transformers import RobertaConfig, RobertaForSequenceClassification

    tokenizer = _tokenizer(given, tokenizer_file)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    names = dict(enumerate(("entailment", "neutral", "contradiction")))
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 514, "pad_token_id": 0, "type_vocab_size": 1}
    config = RobertaConfig(**shape, **size, id2label=names, label2id={name: i for i, name in names.items()})
    with torch.device("cuda" if GPU else "cpu"):
        model = RobertaForSequenceClassification(config)
    _spread(model, tokenizer, given)
    model.to(torch.bfloat16).save_pretrained(folder)
    return {"parameters": sum(weights.numel() for weights in model.parameters()), "vocabulary": len(tokenizer)}


def _spread(model: Any, tokenizer: Any, given: list[dict[str, str]]) -> None:
    """Let the random head give all labels, with clear probabilities: else nearly all answers are the same."""
    sides = [[row[side] or "" for row in given[:256]] for side in ("premise", "hypothesis")]
    inputs = tokenizer(*sides, padding=True, truncation=True, max_length=64, return_tensors="pt").to(model.device)
    with torch.no_grad():
        logits = model.eval()(**inputs).logits
    head, scale = model.classifier.out_proj, 2 / logits.std(dim=0)
    head.bias.data = (head.bias.data - logits.mean(dim=0)) * scale
    head.weight.data = head.weight.data * scale[:, None]


def _tokenizer(given: list[dict[str, str]], file: str) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if file:
        words = Tokenizer.from_file(file)
    else:
        words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        texts = (row[side] or "" for row in given for side in ("premise", "hypothesis"))
        trainer = trainers.WordPieceTrainer(vocab_size=30_000, special_tokens=special, show_progress=False)
        words.train_from_iterator(texts, trainer)
    pair = "[CLS] $A [SEP] $B [SEP]"
    ends = [(name, words.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=["input_ids", "attention_mask"], **names)


def _recombined(given: list[dict[str, str]], count: int) -> list[tuple[str, str]]:
    """Premises with other premises' hypotheses, in the order of `ask`: by length."""
    n = len(given)
    pairs = [
        (given[i % n]["premise"] or "", given[(i + 7919 * (i // n)) % n]["hypothesis"] or "") for i in range(count)
    ]
    return sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))


def _matmul_peak() -> dict[str, float]:
    size = 8192 if GPU else 512
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device="cuda" if GPU else "cpu") for _ in range(2))
    seconds = _seconds(lambda: a @ b, 20)
    return {"tflops": 2 * size**3 / seconds / 1e12}


def _tokenizer_rate(folder: str, texts: list[tuple[str, str]]) -> dict[str, float]:
    encode = huggingface._encoder(hf_folders.load_tokenizer(hf_folders.find(folder)), 256)
    encode(texts[:4096])
    start = time.perf_counter()
    for first in range(0, len(texts), 4096):
        encode(texts[first : first + 4096])
    return {"pairs_per_s": len(texts) / (time.perf_counter() - start)}


def _lengths(folder: str, texts: list[tuple[str, str]]) -> dict[str, float]:
    encode = huggingface._encoder(hf_folders.load_tokenizer(hf_folders.find(folder)), 256)
    lengths = encode(texts[:: max(1, len(texts) // 10_000)]).lengths
    return {"mean": float(lengths.mean()), "median": float(np.median(lengths)), "longest": float(lengths.max())}


def _forwards(log: Log, stock: Any, length: int, peak: float, options: argparse.Namespace) -> None:
    """The forward pass by itself, on one length, for every way to compute it."""
    expected = None
    for name, (change, context) in gpu_variants.variants(options.autotune).items():

        def one(change: Any = change, context: Any = context) -> dict[str, Any]:
            nonlocal expected
            torch._dynamo.reset()
            start = time.perf_counter()
            model, found = change(gpu_variants.copied(stock)), {}
            with torch.inference_mode(), context():
                ids = torch.randint(5, 999, (64, length), generator=torch.Generator().manual_seed(1))
                logits = model(input_ids=ids.to(stock.device)).logits.float()
                expected = logits if expected is None else expected
                found["difference"] = float((logits - expected).abs().max())
                for budget in (256,) if options.small else (8_192, 16_384, 32_768, 65_536):
                    ids = torch.randint(5, 999, (budget // length, length), device=stock.device)
                    model(input_ids=ids)
                    if budget in (256, 8_192):
                        found["ready_s"] = time.perf_counter() - start
                    seconds = _seconds(lambda ids=ids: model(input_ids=ids).logits, max(3, 160_000 // budget))
                    flops = _flops(ids.numel(), length, stock.config) / seconds / 1e12
                    rate = {"pairs_per_s": len(ids) / seconds, "tflops": flops, "of_peak": flops / peak}
                    found[str(budget)] = rate
            return found

        log(f"forward: {name}", one)


def _end_to_end(
    folder: str, texts: list[tuple[str, str]], choice: dict[str, Any], peak: float, shape: Any, reference: list[Any]
) -> dict[str, Any]:
    """As `ask` sends them: chunks of Model.batch_size in, probabilities out. The first chunk warms up, unmeasured."""
    torch._dynamo.reset()
    with _busy() as busy:
        start = time.perf_counter()
        model = huggingface.hf(folder, **choice)
        size = min(model.batch_size, len(texts))
        for first in {0, len(texts) // 2 // size * size}:  # shapes of both kinds, so that nothing is compiled later
            model(_batch(texts[first : first + size]))
        ready = time.perf_counter() - start
        busy.__init__()  # type: ignore[misc]
        if GPU:
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        parts = [model(_batch(texts[first : first + size])).answers for first in range(0, len(texts), size)]
        wall = time.perf_counter() - start
    answers = np.concatenate(parts)
    if not reference:
        reference.append(answers)
    flops = busy.flops(shape) / wall / 1e12
    return {
        "pairs_per_s": len(texts) / wall,
        "tokens_per_s": busy.tokens / wall,
        "filled_up": 1 - busy.tokens / busy.places,
        "batches": busy.batches,
        "tflops": flops,
        "of_peak": flops / peak if peak else None,
        "gpu_idle": 1 - busy.seconds() / wall if GPU else None,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if GPU else None,
        "ready_s": ready,
        "labels": np.bincount(answers.argmax(axis=1), minlength=3).tolist(),
        "other_labels_than_default": float((answers.argmax(axis=1) != reference[0].argmax(axis=1)).mean()),
        "largest_difference_from_default": float(np.abs(answers - reference[0]).max()),
    }


class _Busy:
    """What went through the device, and how long it worked: from the first to the last kernel of each batch."""

    def __init__(self) -> None:
        self.tokens = self.places = self.batches = 0
        self.shapes: list[tuple[int, int]] = []
        self.events: list[tuple[Any, Any]] = []

    def seconds(self) -> float:
        torch.cuda.synchronize()
        return sum(before.elapsed_time(after) for before, after in self.events) / 1000

    def flops(self, shape: dict[str, int]) -> float:
        config = argparse.Namespace(**shape)
        return sum(_flops(rows * width, width, config) for rows, width in self.shapes) * self.tokens / self.places


@contextmanager
def _busy() -> Iterator[_Busy]:
    found, real = _Busy(), torch_device.TorchDevice.start

    def start(self: Any, rows: Any) -> Any:
        found.tokens += int(rows.ids.size if rows.mask is None else rows.mask.sum())
        found.places += rows.ids.size
        found.shapes.append(rows.ids.shape)
        found.batches += 1
        if not GPU:
            return real(self, rows)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        started = real(self, rows)
        after.record()
        found.events.append((before, after))
        return started

    torch_device.TorchDevice.start = start  # type: ignore[method-assign]
    try:
        yield found
    finally:
        torch_device.TorchDevice.start = real  # type: ignore[method-assign]


@contextmanager
def _changed(stock: Any, change: str, mixed: bool) -> Iterator[None]:
    """Let `hf` load a changed model, and batch as told. The plain default goes through the real door, untouched."""
    load, plan = huggingface.load, huggingface.Scheduler
    if change:
        make = gpu_variants.variants()[change][0]
        huggingface.load = lambda folder: make(gpu_variants.copied(stock))  # type: ignore[assignment]
    if not mixed:
        huggingface.Scheduler = lambda **options: plan(**{**options, "exact": True})  # type: ignore
    try:
        yield
    finally:
        huggingface.load, huggingface.Scheduler = load, plan  # type: ignore[misc]


def _pipeline(folder: str, texts: list[tuple[str, str]], dtype: Any, size: int) -> dict[str, float]:
    from transformers import pipeline

    classify = pipeline("text-classification", model=folder, device=0 if GPU else -1, dtype=dtype)
    asked = [{"text": a, "text_pair": b} for a, b in texts]
    np.random.default_rng(0).shuffle(asked)  # as they come: nobody sorts them for a pipeline
    classify(asked[: 2 * size], batch_size=size)
    start = time.perf_counter()
    classify(asked, batch_size=size)
    return {"pairs_per_s": len(texts) / (time.perf_counter() - start), "pairs": len(texts)}


def _full(folder: str, texts: list[tuple[str, str]], gigabytes: float) -> dict[str, Any]:
    """With far too many tokens a batch for the memory allowed: the same labels, after some halving."""
    reference = huggingface.hf(folder)(_batch(texts)).answers
    _tidy()
    counted, real = [], torch_device.out_of_memory

    def count(error: Exception) -> bool:
        counted.append(type(error).__name__) if real(error) else None
        return real(error)

    if GPU:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, gigabytes * 1e9 / total))
    torch_device.out_of_memory = count
    try:
        with _busy() as busy:
            answers = huggingface.hf(folder, tokens=4_000_000)(_batch(texts)).answers
    finally:
        torch_device.out_of_memory = real
        if GPU:
            torch.cuda.set_per_process_memory_fraction(1.0)
    return {
        "errors": counted,
        "tokens_of_batches": [rows * width for rows, width in busy.shapes][:40],
        "other_labels": float((answers.argmax(axis=1) != reference.argmax(axis=1)).mean()),
        "largest_difference": float(np.abs(answers - reference).max()),
    }


def _precision(folder: str, given: list[dict[str, str]]) -> dict[str, Any]:
    texts = [(row["premise"] or "", row["hypothesis"] or "") for row in given]
    found = {name: huggingface.hf(folder, dtype=name) for name in ("float32", "bfloat16", "float16")}
    p = {name: model(_batch(texts)).answers for name, model in found.items()}
    labels = [found["float32"].labels[best] for best in p["float32"].argmax(axis=1)]
    gold = [row.get("label") for row in given]
    right = [mine == theirs for mine, theirs in zip(labels, gold, strict=True) if theirs in found["float32"].labels]
    report: dict[str, Any] = {"pairs": len(texts), "accuracy_float32": float(np.mean(right)) if right else None}
    for name in ("bfloat16", "float16"):
        differ = p[name].argmax(axis=1) != p["float32"].argmax(axis=1)
        gap = float(np.abs(p[name] - p["float32"]).max())
        report[name] = {"other_labels": float(differ.mean()), "largest_difference": gap}
    return report


def _masked_lm(shape: dict[str, int], given: list[dict[str, str]], tokenizer_file: str) -> dict[str, float]:
    from transformers import RobertaConfig, RobertaForMaskedLM

    from otherwords.masked_lms.huggingface import hf

    with tempfile.TemporaryDirectory() as folder:
        tokenizer = _tokenizer(given, tokenizer_file)
        tokenizer.save_pretrained(folder)
        size = {"vocab_size": len(tokenizer), "max_position_embeddings": 514, "pad_token_id": 0, "type_vocab_size": 1}
        with torch.device("cuda" if GPU else "cpu"):
            RobertaForMaskedLM(RobertaConfig(**shape, **size)).to(torch.bfloat16).save_pretrained(folder)
        model = hf(folder)
    items = [(row["premise"], 0, len(row["premise"].split()[0])) for row in given if (row["premise"] or "").split()]
    items = [(text.strip(), 0, last) for text, _, last in items] * (1 if not GPU else 4)
    model.fill(items[:4096], 200)
    start = time.perf_counter()
    model.fill(items, 200)
    return {"masks_per_s": len(items) / (time.perf_counter() - start), "masks": len(items), "top": 200}


def _batch(texts: list[tuple[str, str]]) -> Batch:
    return Batch(TASKS["nli"], {"premise": [a for a, _ in texts], "hypothesis": [b for _, b in texts]})


def _flops(tokens: int, length: int, config: Any) -> float:
    """Products of weights (12 h^2 a layer) and of the attention (2 h a pair of tokens), two operations each."""
    h, inner = config.hidden_size, config.intermediate_size
    return float(2 * tokens * config.num_hidden_layers * (4 * h * h + 2 * h * inner + 2 * h * length))


def _seconds(work: Callable[[], Any], times: int) -> float:
    for _ in range(3):
        work()
    if GPU:
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    if GPU:
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / times


def _tidy() -> None:
    gc.collect()
    if GPU:
        torch.cuda.empty_cache()


def _machine() -> dict[str, Any]:
    import tokenizers
    import transformers

    versions = {module.__name__: module.__version__ for module in (torch, transformers, tokenizers, np)}
    name = torch.cuda.get_device_name(0) if GPU else platform.processor()
    return {"device": name, "cores": os.cpu_count(), "python": platform.python_version(), **versions}


if __name__ == "__main__":
    main()
