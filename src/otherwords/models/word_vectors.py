"""Classifiers on word vectors, as the trainers `bow_mlp` and `bilstm` write them; they need torch.

A text is the mean of its words' vectors, or what a BiLSTM makes of them. Two texts u and v are compared as InferSent
does (Conneau et al. 2017): a network of three layers reads u, v, |u - v| and u * v; one text alone is read as it is.
How several fields become two texts, `inference.joining` says. A choice between fields is a score for each option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.joining import default_join, options_of, shown_task
from ..inference.torch_device import choose_device, require_torch
from ..problem import Batch, Task
from ..registry import models
from ..storage.files import atomic, write_text
from ..words.language import UNSPACED
from .model import Model, Reply, probabilities
from .predictions import Floats
from .repeating import local_ways
from .trained import read_trained

if TYPE_CHECKING:
    import torch

NETWORK, VOCABULARY = "network.safetensors", "vocabulary.json"
POOLINGS = ("max", "mean", "last")
#: The words of every vocabulary: what fills texts up, and is all of an empty one; what stands for unknown words.
EMPTY, UNKNOWN = 0, 1
#: As the Penn Treebank splits contractions, which GloVe's vectors follow; letters of scripts without blanks one by one.
_WORD = re.compile(
    rf"[{UNSPACED}]|\w+?(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|(?:(?![{UNSPACED}])\w)+|[^\w\s]", re.IGNORECASE
)
#: Rows that the network computes at a time. On a CPU their number is fixed: with it, and texts of one length, a row's
#: products are computed alike in whatever company.
_ROWS = {"cpu": 64, "cuda": 1024}

Numbers = npt.NDArray[np.int64]


@models("word_vectors.v1", unsigned=("path", "device", "task"), extra="hf")
def word_vectors(path: Path, device: str = "auto", task: Any = None) -> Model:
    """Ask a classifier on word vectors that the trainer `bow_mlp` or `bilstm` wrote.

    `path` is the folder of the training; `device` is auto (cuda where there is one), cpu or cuda:N.
    """
    found = read_trained(path)
    found.refuse_other(task)
    require_torch("word_vectors")
    place = choose_device(device, f"word_vectors:{path}")
    vocabulary, shape, network = read(found.folder, found.task, found.fields, place)

    def answer(batch: Batch) -> Reply:
        if not len(batch):
            return Reply(np.empty((0, len(found.labels))), np.empty(0, np.bool_))
        examples = vocabulary.numbered(found.task, found.fields, found.texts(batch))
        logits = logits_of(network, shape, examples, place)
        return Reply(probabilities(logits, found.labels, str(found.folder)), examples.cut)

    return Model(
        answer,
        found.labels,
        found.identity(NETWORK, VOCABULARY),
        batch_invariant=place.type == "cpu",
        ways=local_ways(place.type == "cpu"),
        batch_size=2048,
        max_length=vocabulary.max_length,
        uses_all_cores=True,
    )


@dataclass(frozen=True)
class NetworkShape:
    """The sizes of a network: of word vectors, of the BiLSTM (no `layers`: the mean of the vectors), of the classifier.

    It reads `texts` texts (1 or 2) and has `outputs` outputs: one for each label, or one where options are scored.
    """

    words: int
    size: int
    texts: int
    outputs: int
    hidden: int
    layers: int = 0
    units: int = 0
    pooling: str = "mean"
    dropout: float = 0.0

    def build(self) -> torch.nn.ModuleDict:
        """A network with new weights."""
        from torch import nn

        width = (2 * self.units if self.layers else self.size) * (4 if self.texts == 2 else 1)
        between = (nn.ReLU(), nn.Dropout(self.dropout))
        first, second = nn.Linear(width, self.hidden), nn.Linear(self.hidden, self.hidden)
        parts: dict[str, Any] = {
            "words": nn.Embedding(self.words, self.size, padding_idx=EMPTY, sparse=True),
            "classifier": nn.Sequential(first, *between, second, *between, nn.Linear(self.hidden, self.outputs)),
        }
        if self.layers:
            parts["lstm"] = nn.LSTM(self.size, self.units, self.layers, batch_first=True, bidirectional=True)
        return nn.ModuleDict(parts)


@dataclass(frozen=True, eq=False)
class NumberedTexts:
    """Problems as numbers of words: the distinct texts, and which of them each option of each problem puts together."""

    texts: list[list[int]]
    places: Numbers
    cut: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class KnownWords:
    """The words with a vector, and how texts are read: without case where `lower`, `max_length` words of each."""

    words: tuple[str, ...]
    lower: bool = True
    max_length: int = 50

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words, UNKNOWN + 1)}

    def split(self, text: str) -> list[str]:
        """The words of a text.

        >>> KnownWords(()).split("He doesn't run; it's 犬.")
        ['he', 'does', "n't", 'run', ';', 'it', "'s", '犬', '.']
        """
        text = text.replace("’", "'")
        return _WORD.findall(text.lower() if self.lower else text)

    def numbered(self, task: Task, fields: Sequence[str], columns: Sequence[Sequence[str]]) -> NumberedTexts:
        """Problems, given by the columns of the shown fields, as numbers."""
        options = options_of(task)
        join = default_join(shown_task(task, fields))
        rows = join.rows(dict(zip(fields, columns, strict=True)), options)
        known: dict[str, int] = {}
        places = [[known.setdefault(text, len(known)) for text in row] for row in rows]
        read = [self._read(text) for text in known]
        numbers = np.array(places, np.int64).reshape(-1, len(options) or 1, len(join.parts))
        cut = np.array([long for _, long in read], np.bool_)[numbers]
        return NumberedTexts([text for text, _ in read], numbers, np.asarray(cut.any(axis=(1, 2))))

    def _read(self, text: str) -> tuple[list[int], bool]:
        words = self.split(text)
        numbers = [self.numbers.get(word, UNKNOWN) for word in words[: self.max_length]]
        return numbers or [EMPTY], len(words) > self.max_length


def encode(network: torch.nn.ModuleDict, shape: NetworkShape, texts: Sequence[Sequence[int]], device: Any) -> Any:
    """A vector for each text: the mean of its words' vectors, or the states of the BiLSTM, pooled."""
    import torch
    from torch.nn.utils import rnn

    lengths = np.array([len(text) for text in texts])
    filled = np.full((len(texts), lengths.max()), EMPTY, np.int64)
    filled[np.arange(filled.shape[1]) < lengths[:, None]] = np.concatenate([np.asarray(text) for text in texts])
    vectors = network["words"](torch.from_numpy(filled).to(device))
    counts = torch.from_numpy(lengths)
    if not shape.layers:
        return vectors.sum(dim=1) / counts.to(device, vectors.dtype)[:, None]
    if lengths.min() == lengths.max():  # nothing to leave out
        states, (last, _) = network["lstm"](vectors)
    else:
        packed = rnn.pack_padded_sequence(vectors, counts, batch_first=True, enforce_sorted=False)
        packed, (last, _) = network["lstm"](packed)
        padding = float("-inf") if shape.pooling == "max" else 0.0
        states, _ = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=padding)
    if shape.pooling == "max":
        return states.amax(dim=1)
    if shape.pooling == "mean":
        return states.sum(dim=1) / counts.to(device, states.dtype)[:, None]
    return torch.cat([last[-2], last[-1]], dim=1)


def classify(network: torch.nn.ModuleDict, encoded: Any) -> Any:
    """The outputs for problems whose one or two texts were encoded: a tensor of problems, texts and numbers."""
    import torch

    if encoded.shape[1] == 1:
        return network["classifier"](encoded[:, 0])
    one, other = encoded[:, 0], encoded[:, 1]
    return network["classifier"](torch.cat([one, other, (one - other).abs(), one * other], dim=1))


def logits_of(network: torch.nn.ModuleDict, shape: NetworkShape, examples: NumberedTexts, device: Any) -> Floats:
    """A row of logits for each problem; each distinct text is encoded once, with others of its length."""
    import torch

    rows = _ROWS.get(device.type, 1024)
    width = 2 * shape.units if shape.layers else shape.size
    encoded = torch.empty((len(examples.texts), width), device=device)
    problems = torch.from_numpy(examples.places.reshape(-1, shape.texts)).to(device)
    network.eval()
    with torch.inference_mode():
        for some in _of_one_length(examples.texts, rows):
            texts = [examples.texts[i] for i in _filled(some, rows)]
            encoded[torch.from_numpy(some).to(device)] = encode(network, shape, texts, device)[: len(some)]
        blocks = [np.arange(start, min(start + rows, len(problems))) for start in range(0, len(problems), rows)]
        parts = [
            classify(network, encoded[problems[torch.from_numpy(_filled(some, rows)).to(device)]])[: len(some)]
            for some in blocks
        ]
        logits = torch.cat(parts).reshape(len(examples.places), -1)
    return np.asarray(logits.cpu().numpy(), np.float64)


def write(folder: Path, vocabulary: KnownWords, shape: NetworkShape, state: dict[str, Any]) -> None:
    """Write a network and its vocabulary."""
    from safetensors.torch import save_file

    write_text(folder / VOCABULARY, json.dumps({"shape": asdict(shape), **asdict(vocabulary)}) + "\n")
    with atomic(folder / NETWORK) as draft:
        save_file({name: tensor.cpu().contiguous() for name, tensor in state.items()}, str(draft))


def read(
    folder: Path, task: Task, fields: Sequence[str], device: Any
) -> tuple[KnownWords, NetworkShape, torch.nn.ModuleDict]:
    """Read what `write` wrote."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    fix = "train the model again, in another folder"
    try:
        found = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
        shape = NetworkShape(**found.pop("shape"))
        vocabulary = KnownWords(**{**found, "words": tuple(found["words"])})
        network = shape.build()
        network.load_state_dict(load_file(folder / NETWORK))
        if shape.texts != len(default_join(shown_task(task, fields)).parts) or shape.words != len(vocabulary.words) + 2:
            raise ValueError("network, vocabulary and task do not belong together")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        message = f"cannot be read as a model of word_vectors: {error}"
        raise BadInput(" ".join(message.split()), where=str(folder), fix=fix) from error
    return vocabulary, shape, network.to(device)


def _of_one_length(texts: Sequence[Sequence[int]], rows: int) -> Iterator[Numbers]:
    """The numbers of the texts, up to so many of one length at a time."""
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(lengths, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        yield from (same[start : start + rows] for start in range(0, len(same), rows))


def _filled(some: Numbers, rows: int) -> Numbers:
    """So many numbers: the last one is repeated."""
    return np.concatenate([some, np.repeat(some[-1:], rows - len(some))])
