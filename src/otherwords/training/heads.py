"""A start that is a classifier itself: the rows of its head are matched to the labels by name, never by position.

roberta-large-mnli answers contradiction, neutral, entailment: by position, a training for entailment, neutral,
contradiction would begin with two of them exchanged.
"""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput, caller_level
from ..inference.hf_folders import Folder, quietly
from ..problem import label_key

_FIX = "say what its labels mean with start_labels, as in start_labels = {LABEL_0 = 'contradiction'}"


@dataclass(frozen=True)
class StartHead:
    """What became of the start's head: `new` where it had none, `matched` to the labels, or `replaced`, and why."""

    how: str
    why: str = ""

    def as_dict(self) -> dict[str, str]:
        """The same as plain values."""
        return {"is": self.how, **({"why": self.why} if self.why else {})}


def begin_labels(folder: Folder, model: Any, labels: Sequence[str], meanings: Mapping[str, str]) -> StartHead:
    """Give a classifier, loaded with these labels, the rows of the start's head that mean them; else new rows.

    `meanings` says what labels of the start mean, where they have other names. A head that does not have one row for
    each label is replaced, with a warning; where the `meanings` themselves cannot be followed, that is an error.
    """
    names = _label_weights(model)
    stored = read_weights(folder, names)
    if len(stored) < len(names):
        if meanings:
            fix = "leave it out, or start from a classifier"
            raise BadInput("the start has no head", where=folder.who, field="start_labels", fix=fix)
        return StartHead("new")
    own = _own_labels(folder, len(stored[names[0]]))
    _refuse_meanings(folder, own, labels, meanings)
    rows, reason = match_labels(own, labels, meanings)
    if reason and meanings:
        raise BadInput(reason, where=folder.who, field="start_labels", fix=f"its labels are {', '.join(own)}")
    _set_rows(model, names, stored, rows)
    if not reason:
        return StartHead(
            "matched", ", ".join(f"{own[row]} -> {label}" for row, label in zip(rows, labels, strict=True))
        )
    warnings.warn(f"{folder.who}: its head is replaced: {reason}; {_FIX}", stacklevel=caller_level())
    return StartHead("replaced", reason)


def begin_choice(folder: Folder, new: Sequence[str], meanings: Mapping[str, str]) -> StartHead:
    """What became of the head of a multiple-choice model: it has one output for all options, so nothing is matched."""
    if meanings:
        fix = "leave it out: a multiple-choice model scores options"
        raise BadInput("found labels", where=folder.who, field="start_labels", fix=fix)
    heads = [name for name in new if "pooler" not in name]
    if not heads or not read_weights(folder, heads):
        return StartHead("new" if heads else "matched")
    reason = "it labels texts, and does not score options"
    warnings.warn(f"{folder.who}: its head is replaced: {reason}", stacklevel=caller_level())
    return StartHead("replaced", reason)


def match_labels(own: Sequence[str], labels: Sequence[str], meanings: Mapping[str, str]) -> tuple[list[int], str]:
    """For each label the number of the row that means it; or none, and why not.

    >>> match_labels(["contradiction", "Neutral", "ENTAILMENT"], ["entailment", "neutral", "contradiction"], {})
    ([2, 1, 0], '')
    >>> match_labels(["LABEL_0", "LABEL_1"], ["entailed", "not-entailed"], {})
    ([], 'none of its labels (LABEL_0, LABEL_1) means entailed')
    """
    given = {label_key(name): meaning for name, meaning in meanings.items()}
    meant = [label_key(given.get(label_key(name), name)) for name in own]
    rows = []
    for label in labels:
        found = [row for row, meaning in enumerate(meant) if meaning == label_key(label)]
        if len(found) != 1:
            which = " and ".join(own[row] for row in found)
            several = f"{which} mean {label}, and a head has one row for each label"
            return [], several if found else f"none of its labels ({', '.join(own)}) means {label}"
        rows += found
    return rows, ""


def read_weights(folder: Folder, names: Sequence[str]) -> dict[str, Any]:
    """Those of the named weights that the files of a folder have."""
    from safetensors import safe_open

    found = {}
    for file in sorted(folder.path.glob("*.safetensors")):
        with safe_open(file, "pt") as weights:
            present = set(weights.keys())
            found.update({name: weights.get_tensor(name) for name in names if name in present})
    return found


def _label_weights(model: Any) -> list[str]:
    """The names of the weights with a row for each label: those that are larger where there is one more label."""
    import torch

    config = copy.deepcopy(model.config)
    config.num_labels = len(model.config.id2label) + 1
    with quietly(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        larger = {name: weight.shape for name, weight in type(model)(config).named_parameters()}
    return [name for name, weight in model.named_parameters() if weight.shape != larger[name]]


def _own_labels(folder: Folder, count: int) -> list[str]:
    """The names of the start's labels; `LABEL_0` and so on where its configuration does not name them."""
    names = folder.read_config().get("id2label")
    by_number = {str(number): str(name) for number, name in names.items()} if isinstance(names, dict) else {}
    return [by_number.get(str(row), f"LABEL_{row}") for row in range(count)]


def _refuse_meanings(folder: Folder, own: Sequence[str], labels: Sequence[str], meanings: Mapping[str, str]) -> None:
    for name, meaning in meanings.items():
        for found, known, what in ((name, own, "its labels"), (meaning, labels, "the labels to learn")):
            if label_key(found) not in {label_key(one) for one in known}:
                fix = f"{what} are {', '.join(known)}"
                raise BadInput(f"found {found!r}", where=folder.who, field="start_labels", fix=fix)


def _set_rows(model: Any, names: Sequence[str], stored: Mapping[str, Any], rows: Sequence[int]) -> None:
    """Copy the chosen rows; without any, draw new ones as transformers does: small weights, and no bias."""
    import torch

    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name in names:
            if rows:
                weights[name].copy_(stored[name][list(rows)])
            elif weights[name].ndim > 1:
                weights[name].normal_(0.0, float(getattr(model.config, "initializer_range", 0.02)))
            else:
                weights[name].zero_()
