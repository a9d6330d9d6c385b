"""The original of an export, and how far the exported file is from it: in labels of pairs, or masked tokens of texts.

The original is a classifier or masked-LM of transformers, in torch and fp32, with its tokenizer and configuration.
"""

import json
import random
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..inference.hf_folders import CLASSIFIER, MASKED_LM, Folder, find, load, load_fast_tokenizer
from ..inference.joining import JOIN_KEY
from ..inference.limits import SHORTEST, positions
from ..inference.onnx_files import TOKENS, load_graph
from ..inference.scheduling import Scheduler
from ..inference.tokens import PaddedRows, Tokens
from ..models.model import Answerer, Model, Reply, label_names, pairs, probabilities
from ..models.predictions import Floats
from ..problem import TASKS, Batch, label_key
from ..progress import current
from ..storage.files import seed_for
from .graphs import ASKED

KINDS = {"ForSequenceClassification": CLASSIFIER, "ForMaskedLM": MASKED_LM}
#: How many tokens a local model reads by default.
USUAL_LENGTH = 256
#: How transformers names labels without a name.
NAMELESS = re.compile(r"LABEL_\d+")
#: Up to REORDERED rows are asked again in several random orders, each time in pieces of another size.
PIECES = (7, 64, 31, 200, 2)
REORDERED = 1000
_BUDGET = 2048
#: What may help where a model returns no finite numbers.
_REMEDIES = {
    "original": "train or save it again: its weights or its arithmetic is broken",
    "exported": "store the weights as fp32",
}

Ask = Callable[[list[int]], npt.NDArray[Any]]


@dataclass(frozen=True)
class OriginalModel:
    """A model in single precision on the CPU, with its tokenizer and its configuration."""

    folder: Folder
    config: dict[str, Any]
    architecture: str
    model: Any
    tokenizer: Any

    @property
    def is_masked_lm(self) -> bool:
        """Whether it predicts masked words; otherwise it labels pairs."""
        return self.architecture.endswith("ForMaskedLM")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What a classifier answers, in the order of its outputs."""
        return label_names(self.model.config.id2label, f"{self.folder.who}: config.json")

    def named(self, label_map: Mapping[str, str]) -> tuple[str, ...]:
        """Its labels; those without a name get it from the label map. A masked-LM has none."""
        if self.is_masked_lm:
            return ()
        meant = {label_key(label): target for label, target in label_map.items()}
        return tuple(meant.get(label_key(name), name) if NAMELESS.fullmatch(name) else name for name in self.labels)

    @property
    def types(self) -> bool:
        """Whether it takes segment numbers: it has several, and its tokenizer makes them."""
        several = int(getattr(self.model.config, "type_vocab_size", 0) or 0) > 1
        return several and "token_type_ids" in self.tokenizer.model_input_names

    @property
    def max_length(self) -> int:
        """The default length, or fewer tokens if it has fewer positions."""
        return min(USUAL_LENGTH, int(self.tokenizer.model_max_length), positions(self.model) or USUAL_LENGTH)


def open_original(name: str, revision: str = "") -> OriginalModel:
    """Load a model from a folder or from the hub; what cannot be exported is refused before any work."""
    folder = find(name, revision)
    config = folder.read_config()
    architecture, auto = _kind(config, folder.who)
    tokenizer = load_fast_tokenizer(folder)
    original = OriginalModel(folder, config, architecture, load(folder, auto).eval(), tokenizer)
    _refuse_unusable(original)
    return original


def _kind(config: dict[str, Any], who: str) -> tuple[str, str]:
    named = [str(name) for name in config.get("architectures") or []]
    for name in named:
        for ending, auto in KINDS.items():
            if name.endswith(ending):
                return name, auto
    found = f"is a {', '.join(named)}" if named else "does not name its architecture"
    fix = "export a model with an architecture (config.json) that ends in ForSequenceClassification or ForMaskedLM"
    raise BadInput(f"{found}: neither a classifier nor a masked-LM", where=who, field="architectures", fix=fix)


def _refuse_unusable(original: OriginalModel) -> None:
    who = original.folder.who
    if not original.is_masked_lm:
        _ = original.labels
    elif original.tokenizer.mask_token_id is None:
        raise BadInput("its tokenizer has no mask token", where=who, fix="save it with mask_token set")
    if original.max_length < SHORTEST:
        message = f"reads {original.max_length} tokens at most"
        raise BadInput(message, where=who, fix=f"a pair of texts needs {SHORTEST} or more")


def write_config(original: OriginalModel, folder: Path, labels: tuple[str, ...]) -> None:
    """Write the tokenizer and the configuration, with the labels of a classifier."""
    original.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    names: dict[str, Any] = {"id2label": {str(i): name for i, name in enumerate(labels)}} if labels else {}
    if labels and labels != original.labels:
        names["label2id"] = {name: i for i, name in enumerate(labels)}
    text = json.dumps({**original.config, **names}, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


# How far an export is from it


@dataclass(frozen=True)
class Comparison:
    """How far the exported file is from its original on `rows` pairs, or masked tokens.

    `differing` counts other labels (or best words), `order_changes` answers of the exported file that change with the
    order of the rows. Differences are between probabilities (for masked tokens, log-probabilities of the masked token).
    `right` and `original_right` are None where the labels are not those of the data.
    """

    rows: int
    differing: int
    max_difference: float
    mean_difference: float
    right: int | None
    original_right: int | None
    order_changes: int
    reordered: int
    shuffles: int = len(PIECES)

    @property
    def rate(self) -> float:
        """The share of rows whose answer differs."""
        return self.differing / self.rows


def compare_labels(
    original: OriginalModel, exported: Model, batch: Batch, gold: Sequence[str], label_map: Mapping[str, str]
) -> Comparison:
    """Ask both models the same pairs; `label_map` says what the model's labels mean in the data."""

    def ask(rows: list[int]) -> Floats:
        some = {name: [texts[row] for row in rows] for name, texts in batch.columns.items()}
        raw = exported(Batch(batch.task, some))
        return np.asarray(raw.answers if isinstance(raw, Reply) else raw)

    who = original.folder.who
    expected = ask_all(
        _ask_labels(original, pairs(batch, original.config.get(JOIN_KEY, ""))), len(batch), "original", who
    )
    found = ask_all(ask, len(batch), "exported", who)
    labels, expected_labels = found.argmax(axis=1), expected.argmax(axis=1)
    names = _target_names(Answerer(who, "", exported, batch.task, label_map))
    gaps = np.abs(found - expected)
    return Comparison(
        len(batch),
        int((labels != expected_labels).sum()),
        float(gaps.max()),
        float(gaps.mean()),
        _count_right(labels, names, gold),
        _count_right(expected_labels, names, gold),
        *count_order_changes(lambda rows: ask(rows).argmax(axis=1), labels),
    )


def compare_words(original: OriginalModel, graph: Path, texts: Sequence[str]) -> Comparison:
    """Mask one token of every text, chosen by its content, and ask both models for it."""
    masked, who = mask_tokens(original, texts), original.folder.who
    own = np.array([one.own for one in masked])
    expected = ask_all(_ask_words(masked, _original_words(original)), len(masked), "original", who)
    ask = _ask_words(masked, _exported_words(graph))
    found = ask_all(ask, len(masked), "exported", who)
    gaps = np.abs(found[:, 1] - expected[:, 1])
    return Comparison(
        len(masked),
        int((found[:, 0] != expected[:, 0]).sum()),
        float(gaps.max()),
        float(gaps.mean()),
        int((found[:, 0] == own).sum()),
        int((expected[:, 0] == own).sum()),
        *count_order_changes(lambda rows: ask(rows)[:, 0], found[:, 0]),
    )


def ask_all(ask: Ask, count: int, stage: str, who: str, size: int = 256) -> npt.NDArray[Any]:
    """Ask the "original" or "exported" model all rows, in pieces; answers that are not finite are an error."""
    current().start(stage, count)
    pieces = []
    for start in range(0, count, size):
        rows = list(range(start, min(start + size, count)))
        with np.errstate(invalid="ignore"):  # infinity minus infinity; refused below
            pieces.append(np.asarray(ask(rows)))
        current().advance(len(rows))
    current().done()
    answers = np.concatenate(pieces)
    _refuse_non_finite(answers, stage, who)
    return answers


def count_order_changes(ask: Ask, first: npt.NDArray[Any]) -> tuple[int, int]:
    """How many rows get another answer than at first in any of several orders, and how many were asked again."""
    chosen = random.Random(0).sample(range(len(first)), min(len(first), REORDERED))
    changed = np.zeros(len(first), np.bool_)
    current().start("reordered", len(chosen) * len(PIECES))
    for seed, size in enumerate(PIECES):
        order = random.Random(seed).sample(chosen, len(chosen))
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            changed[rows] |= np.asarray(ask(rows)) != first[rows]
            current().advance(len(rows))
    current().done()
    return int(changed.sum()), len(chosen)


def _refuse_non_finite(answers: npt.NDArray[Any], stage: str, who: str) -> None:
    if wrong := int((~np.isfinite(answers)).any(axis=1).sum()):
        side = "the original" if stage == "original" else "the exported file"
        message = f"not exported: {side} returned NaN or infinity for {wrong:,} of {len(answers):,} rows"
        raise BadInput(message, where=who, fix=_REMEDIES[stage])


def _original_scheduler(
    original: OriginalModel, encode: Callable[[Sequence[Any]], Tokens], read: Callable[[Any, PaddedRows], Any]
) -> Scheduler:
    """The original model on rows of one length at a time; `read` takes the answers out of its logits."""
    import torch

    def start(rows: PaddedRows) -> Any:
        given = {"input_ids": rows.ids, "token_type_ids": rows.types}
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(ids) for name, ids in given.items() if ids is not None}
            return read(original.model(**tensors).logits.double(), rows)

    return Scheduler(encode, start, lambda answers: answers, _BUDGET, exact=True, in_flight=1)


# Labels of pairs


def _ask_labels(original: OriginalModel, texts: Sequence[tuple[str, ...]]) -> Ask:
    def encode(some: Sequence[Any]) -> Tokens:
        sides = map(list, zip(*some, strict=True))
        truncation = {"truncation": "longest_first", "max_length": original.max_length, "verbose": False}
        encoded = original.tokenizer(*sides, **truncation)
        types = encoded["token_type_ids"] if original.types else None
        return Tokens.of(encoded["input_ids"], [False] * len(some), types=types)

    ask = _original_scheduler(original, encode, lambda logits, rows: (logits.numpy(),))
    return lambda rows: probabilities(ask([texts[row] for row in rows])[0][0], original.labels, original.folder.who)


def _target_names(asked: Answerer) -> tuple[str, ...] | None:
    """What each label stands for in the data, or None with a warning; a label map that does not fit is an error."""
    try:
        return asked.targets
    except BadInput as error:
        if asked.label_map:
            raise
        message = f"accuracy is not measured: {error.message}; {_advice(asked, error.fix)}"
        warnings.warn(message, UserWarning, stacklevel=2)
        return None


def _advice(asked: Answerer, fix: str) -> str:
    """How accuracy could be measured; with fewer labels than the data has, no map of them is enough."""
    if any(map(NAMELESS.fullmatch, asked.model.labels)):
        return f"{fix} (otherwise the exported file needs --label-map too)"
    count, task = len(asked.model.labels), asked.task
    fitting = [one.name for one in TASKS.values() if (one.fields, len(one.labels)) == (task.fields, count)]
    if count < len(task.labels) and fitting:
        return f"compare it on data with {count} labels, as in --task {fitting[0]}, and {fix}"
    return fix


def _count_right(labels: npt.NDArray[Any], names: tuple[str, ...] | None, gold: Sequence[str]) -> int | None:
    return None if names is None else sum(names[label] == one for label, one in zip(labels, gold, strict=True))


# Masked tokens


@dataclass(frozen=True)
class MaskedToken:
    """A row of tokens, one of which is masked: its position, and the token that was there."""

    ids: list[int]
    types: list[int] | None
    at: int
    own: int


def mask_tokens(original: OriginalModel, texts: Sequence[str]) -> list[MaskedToken]:
    """Mask one token of each text that has any; the text alone decides which."""
    truncation = {"truncation": True, "max_length": original.max_length, "verbose": False}
    encoded = original.tokenizer(list(texts), return_special_tokens_mask=True, **truncation)
    types = encoded["token_type_ids"] if original.types else [None] * len(texts)
    rows = zip(texts, encoded["input_ids"], types, encoded["special_tokens_mask"], strict=True)
    masked = [_mask_one(original, *row) for row in rows if not all(row[3])]
    if not masked:
        raise BadInput("no text has a token to mask", fix="name data with texts")
    return masked


def _mask_one(
    original: OriginalModel, text: str, ids: list[int], types: list[int] | None, special: list[int]
) -> MaskedToken:
    words = [i for i, is_special in enumerate(special) if not is_special]
    at = words[seed_for("masked", text) % len(words)]
    masked = [*ids[:at], original.tokenizer.mask_token_id, *ids[at + 1 :]]
    return MaskedToken(masked, types, at, ids[at])


def _ask_words(masked: list[MaskedToken], ask: Scheduler) -> Ask:
    """The best token, and the log-probability of the masked one, for rows by number."""
    return lambda rows: np.stack(ask([masked[row] for row in rows])[0], axis=1)


def _tokens(masked: Sequence[MaskedToken]) -> Tokens:
    types = None if masked[0].types is None else [one.types for one in masked]
    at, own = [one.at for one in masked], [one.own for one in masked]
    return Tokens.of([one.ids for one in masked], [False] * len(masked), types=types, at=at, own=own)


def _original_words(original: OriginalModel) -> Scheduler:
    def read(logits: Any, rows: PaddedRows) -> tuple[Any, Any]:
        every = np.arange(len(rows))
        logp = logits[every, rows.at].log_softmax(dim=-1)
        return logp.argmax(dim=-1).double().numpy(), logp[every, rows.own].numpy()

    return _original_scheduler(original, _tokens, read)


def _exported_words(file: Path) -> Scheduler:
    graph = load_graph(file, more=tuple(ASKED))

    def start(rows: PaddedRows) -> Any:
        return graph.start(["top_ids", "own_logp"], rows, at=rows.at, own=rows.own, k=np.ones(1, np.int64))

    def wait(started: Any) -> tuple[Any, Any]:
        best, own = graph.wait(started)
        return best[:, 0].astype(np.float64), own.astype(np.float64)

    return Scheduler(_tokens, start, wait, TOKENS, exact=True, in_flight=graph.in_flight)
