"""Local models on the CPU, from strings to probabilities, against what people use: same texts, same weights.

The models have MiniLM-L6's shape and random weights, which changes no time. Peers: the text-classification and
fill-mask pipelines of transformers and, where it is installed, CrossEncoder of sentence-transformers.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from typing import Any

from . import isolated

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "ie_test" / "nli_data.parquet"
PAIRS = 1_024
MASKS = 384
#: The fill-mask pipeline is given fewer: at two dozen a second, as many would take minutes.
SLOW_MASKS = 96
TOP = 200
#: What `--tiny` runs: pairs, masks, masks for the slow peer.
TINY = (12, 8, 4)
MINI = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
TINY_SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}

_READ = """
import time, warnings
warnings.simplefilter("ignore")
folder, rows = sys.argv[1], json.load(open(sys.argv[2]))
def timed(work, some):
    work(some[:16])  # what is done once is not measured
    start = time.perf_counter()
    found = work(some)
    return (time.perf_counter() - start) / len(some), found
"""
_OURS = (
    _READ
    + """
import numpy as np
from otherwords.problem import TASKS, Batch
from otherwords.registry import models
def asking(options=""):
    model = models.make(f"onnx:{folder}/onnx{options}").function
    columns = lambda some: {"premise": [a for a, _ in some], "hypothesis": [b for _, b in some]}
    return lambda some: np.asarray(model(Batch(TASKS["nli"], columns(some))).answers)
seconds, p = timed(asking(), rows)
order = np.random.default_rng(1).permutation(len(rows))
differing = 0
for options in ("", "(tokens=64)", "(tokens=4096)", "(threads=1)"):
    again = np.empty_like(p)
    again[order] = asking(options)([rows[i] for i in order])
    differing += int((again != p).any(axis=1).sum())
alone = asking()
differing += sum(not np.array_equal(alone([rows[i]])[0], p[i]) for i in order[:64])
report(seconds=seconds, p=p.tolist(), differing=differing)
"""
)
#: All that the classifier multiplies by its weights, in batches of its size; of the last layer, keys and values only.
_PRODUCTS = (
    _READ
    + """
from pathlib import Path
import torch
from otherwords.inference import onnx_files
from otherwords.inference.tokens import pair_encoder
from otherwords.problem import TASKS, Batch
from otherwords.registry import models
torch.set_num_threads(1)
graph = onnx_files.find_graph(Path(folder) / "onnx")
config, tokenizer = onnx_files.read_config(graph), onnx_files.read_tokenizer(graph)
count = len(pair_encoder(tokenizer, 256, types=True)(rows).ids)
h, inner, layers = (config[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers"))
shapes = [(h, 3 * h), (h, h), (h, inner), (inner, h)] * (layers - 1) + [(h, h)] * 2
pairs = [(torch.randn(onnx_files.TOKENS, k), torch.randn(k, n)) for k, n in shapes]
model = models.make(f"onnx:{folder}/onnx(threads=1)").function
batch = Batch(TASKS["nli"], {"premise": [a for a, _ in rows], "hypothesis": [b for _, b in rows]})
def cpu_seconds(work, times=1):
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times
def multiply():
    for a, b in pairs:
        a @ b
times = max(1, count // onnx_files.TOKENS)
cpu_seconds(multiply), model(batch[:16])
shares = []
with torch.inference_mode():
    for _ in range(3):  # in turn: both have the same neighbours on the machine
        products = cpu_seconds(multiply, times) * count / onnx_files.TOKENS
        shares.append(products / cpu_seconds(lambda: model(batch)))
report(shares=sorted(shares))
"""
)
_PIPELINE = (
    _READ
    + """
import transformers
transformers.logging.set_verbosity_error()
pipe = transformers.pipeline("text-classification", folder + "/hf", device="cpu", top_k=None)
ask = lambda some: pipe([{"text": a, "text_pair": b} for a, b in some], batch_size=32)
seconds, found = timed(ask, rows)
names = sorted(one["label"] for one in found[0])
by_name = [{one["label"]: one["score"] for one in row} for row in found]
report(seconds=seconds, p=[[row[name] for name in names] for row in by_name])
"""
)
_CROSS_ENCODER = (
    _READ
    + """
import torch
from sentence_transformers import CrossEncoder
model = CrossEncoder(folder + "/hf", device="cpu")
ask = lambda some: model.predict(some, activation_fn=torch.nn.Softmax(dim=1), show_progress_bar=False)
seconds, found = timed(ask, rows)
report(seconds=seconds, p=found.tolist())
"""
)
_FILL = (
    _READ
    + """
from otherwords.language_models.masked_lm import load
model = load(f"onnx:{folder}/onnx")
seconds, found = timed(lambda some: model.fill([tuple(one) for one in some], int(sys.argv[3])), rows)
report(seconds=seconds, best=found.logp[:, 0].tolist())
"""
)
_FILL_MASK = (
    _READ
    + """
import math, transformers
transformers.logging.set_verbosity_error()
pipe = transformers.pipeline("fill-mask", folder + "/hf", device="cpu", top_k=int(sys.argv[3]))
texts = [text[:a] + pipe.tokenizer.mask_token + text[b:] for text, a, b in rows]
seconds, found = timed(lambda some: pipe(some, batch_size=int(sys.argv[4])), texts)
report(seconds=seconds, best=[math.log(one[0]["score"]) for one in found])
"""
)


def run(tiny: bool = False) -> list[dict[str, Any]]:
    (count, masks, slow), shape = (TINY, TINY_SHAPE) if tiny else ((PAIRS, MASKS, SLOW_MASKS), MINI)
    with tempfile.TemporaryDirectory() as place:
        pairs = _pairs(count)
        words = [word for pair in pairs for text in pair for word in text.split()]
        make_model(Path(place) / "nli", "BertForSequenceClassification", words, shape)
        make_model(Path(place) / "mlm", "BertForMaskedLM", words, shape)
        masked = [_mask(hypothesis) for _, hypothesis in pairs if hypothesis.split()][:masks]
        return [*_classifier(Path(place) / "nli", pairs), *_masked_lm(Path(place) / "mlm", masked, slow)]


def _classifier(folder: Path, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    texts = folder / "pairs.json"
    texts.write_text(json.dumps(pairs))
    ours = isolated.run(_OURS, str(folder), str(texts))
    peers = {"the pipeline's at batch size 32": (_PIPELINE, 1 / 1.5)}
    if importlib.util.find_spec("sentence_transformers"):
        peers["CrossEncoder.predict's"] = (_CROSS_ENCODER, 1 / 1.1)
    else:
        print("sentence-transformers is not installed: CrossEncoder.predict is not measured")
    rows = []
    for name, (code, most) in peers.items():
        peer = isolated.run(code, str(folder), str(texts))
        _refuse_difference(name, ours["p"], peer["p"])
        rows.append(_row(f"onnx classifier: time as a share of {name}", ours["seconds"], peer["seconds"], most))
    shares = isolated.run(_PRODUCTS, str(folder), str(texts))["shares"]
    claim = "onnx classifier, one core: its CPU time, times that in which torch multiplies its matrices alone"
    detail = f"{1 / shares[-1]:.2f} to {1 / shares[0]:.2f} times in three turns"
    rows.append({"claim": claim, "measured": 1 / shares[1], "unit": "times", "at_most": 1.4, "detail": detail})
    bits = {"claim": "onnx classifier: answers that other orders, budgets, threads and company changed in any bit"}
    detail = f"{len(pairs):,} pairs shuffled, with 4 settings, and 64 alone"
    return [*rows, {**bits, "measured": ours["differing"], "unit": "answers", "at_most": 0, "detail": detail}]


def _masked_lm(folder: Path, masked: list[tuple[str, int, int]], slow: int) -> list[dict[str, Any]]:
    many, few = folder / "many.json", folder / "few.json"
    many.write_text(json.dumps(masked))
    few.write_text(json.dumps(masked[:slow]))
    ours = isolated.run(_FILL, str(folder), str(many), str(TOP))
    rows = []
    for size, most in ((1, 1 / 8), (32, 1 / 4)):
        peer = isolated.run(_FILL_MASK, str(folder), str(few), str(TOP), str(size))
        _refuse_difference("fill-mask", [[x] for x in ours["best"][:slow]], [[x] for x in peer["best"]])
        claim = f"masked-LM, top {TOP}: time as a share of the fill-mask pipeline's at batch size {size}"
        rows.append(_row(claim, ours["seconds"], peer["seconds"], most))
    return rows


def _row(claim: str, ours: float, peer: float, most: float) -> dict[str, Any]:
    detail = f"{peer / ours:.1f} times as fast; {1 / ours:.0f} a second against {1 / peer:.0f}"
    return {"claim": claim, "measured": ours / peer, "unit": "of it", "at_most": most, "detail": detail}


def _refuse_difference(name: str, ours: list[list[float]], peer: list[list[float]]) -> None:
    worst = max(abs(a - b) for one, other in zip(ours, peer, strict=True) for a, b in zip(one, other, strict=True))
    if not worst < 1e-3:
        raise SystemExit(f"not the same work: numbers differ by {worst} from {name}")


def make_model(folder: Path, architecture: str, words: list[str], shape: dict[str, int]) -> None:
    """A model of transformers with random weights, its tokenizer, and both exported."""
    import torch
    import transformers
    from tokenizers import BertWordPieceTokenizer

    from otherwords.exporting.export import export

    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator([" ".join(words)], vocab_size=30_522, min_frequency=1, show_progress=False)
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = transformers.BertTokenizerFast(tokenizer_object=tokenizer._tokenizer, mask_token="[MASK]", **names)
    torch.manual_seed(1)
    labels = dict(enumerate(("contradiction", "entailment", "neutral")))
    config = transformers.BertConfig(vocab_size=30_522, id2label=labels, **shape)
    transformers.utils.logging.disable_progress_bar()
    getattr(transformers, architecture)(config).save_pretrained(folder / "hf")
    fast.save_pretrained(folder / "hf")
    export(str(folder / "hf"), folder / "onnx", weights="fp32", limit=1.0)


def _pairs(count: int) -> list[tuple[str, str]]:
    """Pairs of SNLI's test set where it is at hand, else the bundled problems, over and over."""
    import polars as pl

    import otherwords as ow

    if DATA.exists():
        test = (pl.col("dataset") == "snli") & (pl.col("split") == "test")
        rows = pl.read_parquet(DATA).filter(test).drop_nulls().select("premise", "hypothesis").rows()
    else:
        rows = ow.load("everyday(split=all)").select("premise", "hypothesis").rows()
    return [rows[number % len(rows)] for number in range(count)]


def _mask(text: str) -> tuple[str, int, int]:
    """The middle word of a text is masked."""
    words = text.split(" ")
    at = len(words) // 2
    first = sum(len(word) + 1 for word in words[:at])
    return text, first, first + max(1, len(words[at]))
