"""The trainers `ngrams`, `bow_mlp` and `bilstm` against the plainest form of each, on the same rows of SNLI.

The plain forms share no code with the trainers: fastText's update row by row, in numpy, with n-grams in a dict instead
of hashed; and torch's own modules in a short loop, with dense Adam, the two sentences one after the other. Full size
needs the released SNLI rows beside the checkout (train: dev and the rows outside the paper's sample; test: test), and
is left out without them. All is computed in one thread; times are CPU times.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Row = tuple[str, str, str]
DATA = Path(__file__).parents[2] / "shared" / "data" / "ie_test" / "nli_data.parquet"
LABELS = ("entailment", "neutral", "contradiction")
#: Of the networks: PaRTE's, with fewer epochs; vectors are learnt.
NETWORK = {"size": 300, "hidden": 300, "epochs": 3, "learning_rate": 0.005, "batch": 32, "min_count": 2}
TINY = {**NETWORK, "size": 8, "hidden": 8, "epochs": 1}
#: How much less accurate a trainer may be, in points: three standard errors of an accuracy on 9,824 rows.
POINTS = 1.5


def run(tiny: bool = False) -> list[dict[str, Any]]:
    import torch

    torch.set_num_threads(1)
    if not (tiny or DATA.exists()):
        return []
    train, test = _everyday() if tiny else _snli()
    valid, train = train[: len(train) // 20 + 1], train[len(train) // 20 + 1 :]
    sizes, results = TINY if tiny else NETWORK, []
    for rate in (0.1, 1.0):
        options = {"learning_rate": rate, "epochs": 1 if tiny else 5}
        ours = _mean([_trained("ngrams", options, train, valid, test, seed) for seed in (1, 2)])
        plain = _mean([_plain_fasttext(options, train, test, seed) for seed in (1, 2)])
        name = f"`ngrams`, learning rate {rate:g} ({'as ParaNLU' if rate < 1 else 'where it learns'})"
        results += _compared(name, ours, plain, "fastText's update row by row in numpy, two seeds each")
    for trainer, more in (("bow_mlp", {}), ("bilstm", {"units": 4 if tiny else 64, "layers": 2})):
        options = {**sizes, **more}
        ours = _trained(trainer, {**options, "device": "cpu"}, train, valid, test, 1)
        plain = _plain_network(options, train, valid, test)
        results += _compared(f"`{trainer}`", ours, plain, "a plain loop over torch's modules")
    return results


def _compared(name: str, ours: tuple[float, float], plain: tuple[float, float], peer: str) -> list[dict[str, Any]]:
    shares = f"{100 * ours[0]:.2f} % of the test rows right, {100 * plain[0]:.2f} % by {peer}"
    return [
        {
            "claim": f"{name}: accuracy below that of {peer}",
            "measured": 100 * (plain[0] - ours[0]),
            "unit": "points",
            "at_most": POINTS,
            "detail": shares,
        },
        {
            "claim": f"{name}: CPU time of training, times that of {peer}",
            "measured": ours[1] / plain[1],
            "unit": "times",
            "at_most": 1.5,
            "detail": f"{ours[1]:.1f} s against {plain[1]:.1f} s",
        },
    ]


def _mean(runs: list[tuple[float, float]]) -> tuple[float, float]:
    accuracies, seconds = zip(*runs, strict=True)
    return float(np.mean(accuracies)), float(np.mean(seconds))


def _snli() -> tuple[list[Row], list[Row]]:
    import polars as pl

    frame = pl.read_parquet(DATA).filter(pl.col("dataset") == "snli", pl.col("label").is_in(LABELS))
    frame = frame.drop_nulls(["premise", "hypothesis"]).select("premise", "hypothesis", "label", "split")
    rows = frame.filter(pl.col("split") != "test").drop("split").rows()
    random.Random(1).shuffle(rows)
    return rows, frame.filter(pl.col("split") == "test").drop("split").rows()


def _everyday() -> tuple[list[Row], list[Row]]:
    import otherwords

    rows = otherwords.load("everyday(split=all)").select("premise", "hypothesis", "label").rows()
    return rows[::2], rows[1::2]


def _trained(
    trainer: str, options: dict[str, Any], train: list[Row], valid: list[Row], test: list[Row], seed: int
) -> tuple[float, float]:
    """The accuracy on the test rows, and the seconds of training."""
    from otherwords.models.answering import load
    from otherwords.problem import TASKS, Batch
    from otherwords.registry import trainers
    from otherwords.training.data import TrainingData, TrainingRow
    from otherwords.training.making import fit

    rows = [[TrainingRow((p, h), label) for p, h, label in part] for part in (train, valid)]
    spec = f"{trainer}({', '.join(f'{name}={value}' for name, value in options.items())})"
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        fit(trainers.make(spec), TrainingData(TASKS["nli"], train=rows[0], valid=rows[1]), Path(folder) / "m", seed)
        seconds = time.process_time() - start
        model = load(f"trained:{folder}/m", TASKS["nli"])
        premises, hypotheses, labels = map(list, zip(*test, strict=True))
        answers = model(Batch(TASKS["nli"], {"premise": premises, "hypothesis": hypotheses}))
    return _accuracy([TASKS["nli"].labels[pred] for pred in answers.pred], labels), seconds


def _accuracy(answers: list[str], labels: list[str]) -> float:
    return float(np.mean([answer == label for answer, label in zip(answers, labels, strict=True)]))


def _plain_fasttext(options: dict[str, Any], train: list[Row], test: list[Row], seed: int) -> tuple[float, float]:
    """fastText's classifier as its paper has it: vectors of words and n-grams averaged, softmax, SGD row by row."""
    start, draw = time.process_time(), np.random.default_rng(seed)
    numbers: dict[tuple[str, ...], int] = {}
    rows = [[numbers.setdefault(gram, len(numbers)) for gram in _grams(row)] for row in train]
    vectors = draw.uniform(-0.01, 0.01, (len(numbers), 100)).astype(np.float32)
    out, step, total = np.zeros((3, 100), np.float32), 0, options["epochs"] * len(train)
    for _ in range(options["epochs"]):
        for number in draw.permutation(len(train)):
            rate, row = options["learning_rate"] * (1 - step / total), rows[number]
            hidden = vectors[row].mean(axis=0)
            error = -rate * _softmax(out @ hidden)
            error[LABELS.index(train[number][2])] += rate
            gradient = error.astype(np.float32) @ out / len(row)
            out += np.outer(error, hidden)
            np.add.at(vectors, row, gradient)
            step += 1
    seconds = time.process_time() - start
    answers = []
    for row in test:
        grams = _grams(row)
        known = [numbers[gram] for gram in grams if gram in numbers]
        count = sum(
            gram in numbers or len(gram) > 1 for gram in grams
        )  # an unknown n-gram has a vector, a word has none
        answers.append(LABELS[int((out @ vectors[known].sum(axis=0) / count).argmax())])
    return _accuracy(answers, [row[2] for row in test]), seconds


def _grams(row: Row) -> list[tuple[str, ...]]:
    words = [*f"{row[0]} {row[1]}".split(), "</s>"]
    return [tuple(words[i : i + n]) for n in (1, 2, 3, 4) for i in range(len(words) - n + 1)]


def _softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _plain_network(options: dict[str, Any], train: list[Row], valid: list[Row], test: list[Row]) -> tuple[float, float]:
    """Word vectors, their mean or a BiLSTM with max pooling, (u, v, |u-v|, u*v), three layers; the best epoch."""
    import torch
    from torch import nn

    torch.manual_seed(1)
    start = time.process_time()
    words = _vocabulary(train, options["min_count"])
    size, layers, units = options["size"], options.get("layers", 0), options.get("units", 0)
    width, hidden = 4 * (2 * units if layers else size), options["hidden"]
    table = nn.Embedding(len(words) + 2, size, padding_idx=0)
    nn.init.normal_(table.weight, std=0.1)
    lstm = nn.LSTM(size, units, layers, batch_first=True, bidirectional=True) if layers else nn.Identity()
    first, second, last = nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 3)
    network = nn.ModuleList([table, lstm, first, second, last])
    optimizer = torch.optim.Adam(network.parameters(), options["learning_rate"])

    def sentence(texts: list[str]) -> Any:
        numbers = [torch.tensor([words.get(word, 1) for word in _words(text)][:50] or [0]) for text in texts]
        lengths = torch.tensor([len(one) for one in numbers])
        vectors = table(nn.utils.rnn.pad_sequence(numbers, batch_first=True))
        if not layers:
            mask = torch.arange(vectors.shape[1]) < lengths[:, None]
            return (vectors * mask[..., None]).sum(dim=1) / lengths[:, None]
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True, padding_value=-1e9)
        return states.max(dim=1)[0]

    def logits(rows: list[Row]) -> Any:
        u, v = sentence([row[0] for row in rows]), sentence([row[1] for row in rows])
        return last(second(first(torch.cat([u, v, (u - v).abs(), u * v], dim=1)).relu()).relu())

    def train_epoch() -> None:
        for batch in torch.randperm(len(train)).split(options["batch"]):
            rows = [train[i] for i in batch]
            optimizer.zero_grad()
            gold = torch.tensor([LABELS.index(row[2]) for row in rows])
            nn.functional.cross_entropy(logits(rows), gold).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()

    best, state = -1.0, {}
    for _ in range(options["epochs"]):
        train_epoch()
        if (found := _answered(logits, valid)) > best:
            best, state = found, {name: one.clone() for name, one in network.state_dict().items()}
    seconds = time.process_time() - start
    network.load_state_dict(state)
    return _answered(logits, test), seconds


def _answered(logits: Callable[[list[Row]], Any], rows: list[Row]) -> float:
    import torch

    with torch.no_grad():
        parts = [logits(rows[start : start + 64]).argmax(dim=1) for start in range(0, len(rows), 64)]
    return _accuracy([LABELS[int(i)] for i in torch.cat(parts)], [row[2] for row in rows])


def _vocabulary(rows: list[Row], least: int) -> dict[str, int]:
    counts = Counter(word for row in rows for text in row[:2] for word in _words(text))
    return {word: i for i, word in enumerate((word for word, n in counts.items() if n >= least), 2)}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())
