"""Training of classifiers on word vectors: `bow_mlp` (PaRTE, Appendix A.1) and `bilstm` (PaRTE A.2; InferSent)."""

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.joining import default_join, options_of, shown_task
from ..inference.tokens import clean
from ..inference.torch_device import choose_device, require_torch
from ..models.model import probabilities
from ..models.word_vectors import (
    EMPTY,
    POOLINGS,
    UNKNOWN,
    KnownWords,
    NetworkShape,
    classify,
    encode,
    logits_of,
    write,
)
from ..progress import current
from ..registry import trainers
from .data import TrainingData, TrainingRow
from .trainer import columns_of, refuse_non_finite, validated

#: The size of vectors that are not read from a file; GloVe's.
_SIZE = 300
OPTIMIZERS = ("adam", "sgd")
#: Options with which a few dozen rows are learnt in a second.
_TINY = "size=16, hidden=16, min_count=1, batch=16, epochs=12, learning_rate=0.015, device=cpu"
#: What each option may be: the least and the most. A rate and a norm must be more than zero.
_LIMITS = {
    "vocabulary": (1, 10_000_000),
    "min_count": (1, 1_000_000),
    "max_length": (1, 10_000),
    "hidden": (1, 65_536),
    "dropout": (0, 0.99),
    "epochs": (1, 10_000),
    "patience": (0, 10_000),
    "learning_rate": (1e-9, 1000),
    "batch": (1, 65_536),
    "clip": (1e-6, 1e9),
    "size": (0, 65_536),
    "units": (1, 65_536),
    "layers": (1, 64),
}


@dataclass(frozen=True)
class WordVectors:
    """What both classifiers on word vectors share: their options, and how they are trained.

    `vectors` is a text file of GloVe or word2vec, whose vectors stay as they are unless `tune_vectors`; without one,
    vectors of `size` numbers (300) are learnt. At most `vocabulary` words have one: those of the training data, the
    most frequent first, then the first ones of the file; where vectors are learnt, a word must occur `min_count` times.
    Of a text, `max_length` words are read, in lower case with `lower`. Layers have `hidden` outputs, with `dropout`
    between them. Of `epochs` epochs of batches of `batch` rows, the best by validation is kept; after `patience` epochs
    without a better one training ends (0: never). `optimizer` is adam or sgd, with `learning_rate`; gradients are
    clipped to the norm `clip`. `device` is auto, cpu or cuda:N; on a CPU one thread computes, and the same seed
    gives the same bytes on any number of cores.
    """

    answers_as: ClassVar[str] = "word_vectors"
    name: ClassVar[str] = ""

    vectors: Path = Path()
    size: int = 0
    vocabulary: int = 50_000
    min_count: int = 2
    tune_vectors: bool = False
    lower: bool = True
    max_length: int = 50
    hidden: int = 300
    dropout: float = 0.0
    epochs: int = 15
    patience: int = 0
    learning_rate: float = 0.005
    optimizer: str = "adam"
    batch: int = 32
    clip: float = 5.0
    device: str = "auto"

    def __post_init__(self) -> None:
        for field, (least, most) in _LIMITS.items():
            value = getattr(self, field, least)
            if not least <= value <= most:
                raise BadInput(f"found {value}", where=self.name, field=field, fix=f"give {least:g} to {most:g}")
        self._choose("optimizer", OPTIMIZERS)
        if self.vectors != Path() and not self.vectors.is_file():
            fix = "name a text file with a word and its numbers on each line, as GloVe and word2vec have them"
            raise BadInput(f"no such file: {self.vectors}", where=self.name, field="vectors", fix=fix)

    def refuse_unready(self) -> None:
        """Refuse where torch is missing, or the device."""
        require_torch(self.name)
        choose_device(self.device, self.name)

    def fit(self, data: TrainingData, folder: Path, seed: int) -> dict[str, float]:
        """Train on the training rows, keep the weights of the best validation, and write them."""
        import torch

        device = choose_device(self.device, self.name)
        vocabulary, known = self._vocabulary(data.train)
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), _one_thread():
            torch.manual_seed(seed)
            training = _Training(self, data, vocabulary, known, device)
            figures = training.run(np.random.default_rng([seed, 19]))
        for weights in training.best.values():
            refuse_non_finite(weights.cpu().numpy(), self.name)
        write(folder, vocabulary, training.shape, training.best)
        return figures

    def shape(self, words: int, size: int, data: TrainingData) -> NetworkShape:
        """The sizes of the network for a task."""
        texts = len(default_join(shown_task(data.task, data.fields)).parts)
        outputs = 1 if options_of(data.task) else len(data.task.labels)
        return NetworkShape(words, size, texts, outputs, self.hidden, dropout=self.dropout, **self._encoder())

    def _encoder(self) -> dict[str, Any]:
        """How a text becomes a vector."""
        return {}

    def _choose(self, field: str, allowed: Sequence[str]) -> None:
        if (value := getattr(self, field)) not in allowed:
            raise BadInput(f"found {value!r}", where=self.name, field=field, fix=f"give {' or '.join(allowed)}")

    @property
    def learns_vectors(self) -> bool:
        """Whether the vectors of words are trained, too."""
        return self.tune_vectors or self.vectors == Path()

    def _vocabulary(self, rows: Sequence[TrainingRow]) -> tuple[KnownWords, dict[str, npt.NDArray[np.float32]]]:
        """The words that have a vector, and those vectors that a file gives."""
        plain = KnownWords((), self.lower, self.max_length)
        counts: Counter[str] = Counter()
        for text, times in Counter(clean(text) for row in rows for text in row.texts if text).items():
            counts.update({word: times * n for word, n in Counter(plain.split(text)).items()})
        common = sorted(counts, key=lambda word: (-counts[word], word))
        known: dict[str, npt.NDArray[np.float32]] = {}
        if self.vectors != Path():
            known = read_vectors(self.vectors, common, 0 if self.learns_vectors else self.vocabulary)
            if self.size not in (0, found := len(next(iter(known.values())))):
                message = f"found {self.size}, but the vectors of {self.vectors} have {found} numbers"
                raise BadInput(message, where=self.name, field="size", fix="leave it out")
        if self.learns_vectors:
            words = [word for word in common if counts[word] >= self.min_count]
        else:
            words = [*(word for word in common if word in known), *(word for word in known if word not in counts)]
        chosen = tuple(words[: self.vocabulary])
        return KnownWords(chosen, self.lower, self.max_length), known


def _with_shared_options(kind: type[WordVectors]) -> type[WordVectors]:
    """Let a classifier describe the options of both after its own."""
    _, _, shared = (inspect.getdoc(WordVectors) or "").partition("\n\n")
    kind.__doc__ = f"{inspect.getdoc(kind)}\n\n{shared}"
    return kind


@trainers("bow_mlp.v1", unsigned=("device",), extra="hf", example=f"bow_mlp({_TINY})")
@_with_shared_options
@dataclass(frozen=True)
class BowMLP(WordVectors):
    """Means of word vectors and a network of three layers (PaRTE, Appendix A.1); needs torch."""

    name: ClassVar[str] = "bow_mlp"


@trainers("bilstm.v1", unsigned=("device",), extra="hf", example=f"bilstm({_TINY}, units=8, layers=1)")
@_with_shared_options
@dataclass(frozen=True)
class BiLSTM(WordVectors):
    """A BiLSTM over word vectors and a network of three layers (PaRTE, Appendix A.2; InferSent); needs torch.

    There are `layers` of `units` in each direction, as in PaRTE. `pooling` makes a text of their states: max (as in its
    section 4, and InferSent), mean (Appendix A.2) or last (its code). ParaNLU's InferSent: layers=1, units=2048,
    hidden=512, optimizer=sgd, learning_rate=0.1, epochs=10, patience=1, batch=64.
    """

    name: ClassVar[str] = "bilstm"

    units: int = 64
    layers: int = 2
    pooling: str = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._choose("pooling", POOLINGS)

    def _encoder(self) -> dict[str, Any]:
        return {"layers": self.layers, "units": self.units, "pooling": self.pooling}


class _Training:
    """A network in training, and the best weights so far."""

    def __init__(
        self, options: WordVectors, data: TrainingData, vocabulary: KnownWords, known: Mapping[str, Any], device: Any
    ):
        size = len(next(iter(known.values()))) if known else options.size or _SIZE
        self.options, self.data, self.device = options, data, device
        self.shape = options.shape(len(vocabulary.words) + 2, size, data)
        self.network = _started(self.shape, vocabulary, known, frozen=not options.learns_vectors).to(device)
        self.train = vocabulary.numbered(data.task, data.fields, columns_of(data.train, data.fields))
        number = {label: place for place, label in enumerate(data.task.labels)}
        self.gold = np.array([number[str(row.label)] for row in data.train], np.int64)
        self.valid = vocabulary.numbered(data.task, data.fields, columns_of(data.valid, data.fields))
        self.best: dict[str, Any] = {}

    def run(self, draw: np.random.Generator) -> dict[str, float]:
        """Train for all epochs, or until patience ends; return the figures of the best one."""
        optimizers = _optimizers(self.network, self.options)
        best: dict[str, float] = {}
        current().start("epochs", self.options.epochs)
        for epoch in range(1, self.options.epochs + 1):
            loss = self._pass(optimizers, draw.permutation(len(self.gold)))
            figures = {**self._validate(), "train_loss": loss, "epoch": float(epoch)}
            if not best or not self.data.valid or figures["valid_accuracy"] > best["valid_accuracy"]:
                best = figures
                self.best = {name: one.detach().clone() for name, one in self.network.state_dict().items()}
            current().advance(1)
            if self.data.valid and 0 < self.options.patience <= epoch - best["epoch"]:
                break
        current().done()
        return best

    def _pass(self, optimizers: Sequence[Any], order: npt.NDArray[np.int64]) -> float:
        """Show every row once; return the mean loss."""
        import torch

        self.network.train()
        total = 0.0
        for start in range(0, len(order), self.options.batch):
            rows = order[start : start + self.options.batch]
            gold = torch.from_numpy(self.gold[rows]).to(self.device)
            loss = torch.nn.functional.cross_entropy(self._outputs(rows), gold)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            _clip(self.network, self.options.clip)
            for optimizer in optimizers:
                optimizer.step()
            total += loss.item() * len(rows)
        return total / len(order)

    def _outputs(self, rows: npt.NDArray[np.int64]) -> Any:
        places = self.train.places[rows]
        texts = [self.train.texts[i] for i in places.ravel().tolist()]
        encoded = encode(self.network, self.shape, texts, self.device)
        return classify(self.network, encoded.reshape(-1, self.shape.texts, encoded.shape[1])).reshape(len(rows), -1)

    def _validate(self) -> dict[str, float]:
        if not self.data.valid:
            return {}
        logits = logits_of(self.network, self.shape, self.valid, self.device)
        with np.errstate(invalid="ignore"):  # weights that are not finite show in the figures
            return validated(self.data, probabilities(logits, self.data.task.labels, self.options.name))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: bytes must not depend on the number of cores; small networks gain little from more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _started(shape: NetworkShape, vocabulary: KnownWords, known: Mapping[str, Any], *, frozen: bool) -> Any:
    """A network with random weights and the vectors that are known."""
    import torch

    network = shape.build()
    with torch.no_grad():
        table = network["words"].weight
        table.normal_(0, 0.1)
        table[EMPTY] = 0
        if frozen:
            table[UNKNOWN] = 0
        for number, word in enumerate(vocabulary.words, UNKNOWN + 1):
            if word in known:
                table[number] = torch.from_numpy(known[word])
        table.requires_grad_(not frozen)
    return network


def _optimizers(network: Any, options: WordVectors) -> list[Any]:
    """Those of the network, and one for the vectors that touches only those of a batch's words."""
    from torch import optim

    words = [network["words"].weight] if options.learns_vectors else []
    others = [one for name, one in network.named_parameters() if name != "words.weight"]
    if options.optimizer == "sgd":
        return [optim.SGD([*others, *words], options.learning_rate)]
    sparse = [optim.SparseAdam(words, options.learning_rate)] if words else []
    return [optim.Adam(others, options.learning_rate), *sparse]


def _clip(network: Any, most: float) -> None:
    """Cut the gradients of a network, dense and sparse ones together, to a norm."""
    import torch

    values = []
    for parameter in network.parameters():
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            values.append(parameter.grad._values())
        elif parameter.grad is not None:
            values.append(parameter.grad)
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(one) for one in values]))
    scale = (most / (norm + 1e-6)).clamp(max=1.0)
    for one in values:
        one.mul_(scale)


# Files of word vectors


def read_vectors(path: Path, wanted: Sequence[str], more: int = 0) -> dict[str, npt.NDArray[np.float32]]:
    """The vectors that a file has for the wanted words, and for `more` others, its first ones.

    It has the text form of GloVe or word2vec. The file is read line by line; lines of other words are not kept. Where a
    word comes twice, the first counts.
    """
    needed = {word.encode("utf-8", "surrogatepass") for word in wanted}
    found: dict[str, npt.NDArray[np.float32]] = {}
    others = size = 0
    for number, line in _lines(path):
        word, _, rest = line.partition(b" ")
        if number == 1 and word.isdigit() and rest.isdigit():  # word2vec's first line: how many words, and numbers
            size = int(rest)
            continue
        blanks = line.count(b" ")
        size = size or blanks
        if blanks < size or not word or not size:
            raise _bad_line(path, number, f"found a word and {max(blanks, 0)} numbers instead of {size or 'some'}")
        if blanks > size or (word not in needed and others >= more):
            continue  # a word with blanks in it, of which GloVe has some: none of ours
        text = word.decode("utf-8", "surrogatepass" if word in needed else "replace")
        if text not in found:
            others += word not in needed
            found[text] = _numbers(path, number, rest)
    if not needed & {word.encode("utf-8", "surrogatepass") for word in found}:
        fix = "give vectors of the language of the data; lower=false where their words keep capitals"
        raise BadInput("has none of the words of the training data", where=str(path), field="vectors", fix=fix)
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if number == 1 and (line[:2] in (b"PK", b"\x1f\x8b") or b"\0" in line):
                message = "is compressed or binary"
                raise BadInput(message, where=str(path), field="vectors", fix="unpack it: vectors are read as text")
            if stripped := line.replace(b"\t", b" ").strip(b" \r\n"):
                yield number, stripped


def _numbers(path: Path, number: int, text: bytes) -> npt.NDArray[np.float32]:
    try:
        values = np.array(text.split(b" "), dtype=np.float32)
    except ValueError as error:
        raise _bad_line(path, number, f"found {_shown(text)!r}, not numbers") from error
    if not np.isfinite(values).all():
        raise _bad_line(path, number, "found NaN or infinity")
    return values


def _shown(text: bytes) -> str:
    return text[:40].decode("utf-8", "replace")


def _bad_line(path: Path, number: int, message: str) -> BadInput:
    fix = "give a text file with a word and its numbers on each line, as many on each"
    return BadInput(message, where=f"{path}:{number}", field="vectors", fix=fix)
