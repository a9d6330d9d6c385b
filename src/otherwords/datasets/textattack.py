"""TextAttack's log of an attack (`--log-to-csv`): every text before and after, changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import TASKS
from ..registry import datasets
from .records import Dataset, Record, delimited
from .rewordings import PAIR, Rewording, numbered, plain_label, suite

#: Two inputs are joined by a token (the older `>>>>`, then `<SPLIT>`) that also stands for every line break in a text.
_BREAK = r"(?:<SPLIT>|>>>>)"
_FIELDS = {name for task in TASKS.values() for name in task.fields}.union(PAIR)
_NAMES = "|".join(sorted(name.capitalize() for name in _FIELDS))
#: A field begins with its name: bare in the style `plain`, in double marks in the styles `file` and `html`.
_FIELD = re.compile(
    rf"(?:\A|{_BREAK}|\n)\s*(?:\[\[\[\[(\w+)\]\]\]\]|(?:<font color = \w+>){{2}}(\w+)(?:</font>){{2}}|({_NAMES})): ?"
)
_MARK = re.compile(r"\[\[(.*?)\]\]|<font color = \w+>(.*?)</font>", re.S)


@datasets("textattack.v1")
def textattack(path: Path, labels: tuple[str, ...] = ()) -> Dataset:
    """TextAttack's CSV log of an attack on pairs of sentences: originals and what the attack made of them.

    Failed attempts are rewordings too, and marked so in `result_type`; rows that were skipped, or come back unchanged,
    leave their original alone. `labels` names the classes 0, 1, ... in order: there is no default, because the
    victim decides (TextAttack's bert-base-uncased-snli has contradiction first, its distilbert entailment).
    """
    translated = numbered(labels, "textattack.v1")
    return Dataset(lambda: suite(rewordings(path), "textattack", path), files=(path,), labels=translated)


def rewordings(path: Path) -> Iterator[Rewording]:
    """Read a log row by row."""
    for record in delimited(path, ","):
        if missing := {"original_text", "perturbed_text"} - set(record.row) if not record.error else ():
            fix = f"there are {', '.join(record.row)}: TextAttack writes its own with --log-to-csv FILE"
            raise BadInput("no such column", where=record.where, field=min(missing), fix=fix)
        yield _read(record)


def unmarked(text: str) -> str:
    """A text without the marks around changed words.

    >>> unmarked("A [[canine]] <font color = red>sleeps</font>.")
    'A canine sleeps.'
    """
    while (bare := _MARK.sub(lambda match: match[1] or match[2] or "", text)) != text:
        text = bare
    return text


def fields(text: str) -> dict[str, str]:
    """The texts by field, as they were before TextAttack joined them; nothing where there was only one.

    >>> fields("[[[[Premise]]]]: A [[dog]] sleeps.<SPLIT>[[[[Hypothesis]]]]: It rests.")
    {'premise': 'A dog sleeps.', 'hypothesis': 'It rests.'}
    """
    begins = list(_FIELD.finditer(text))
    ends = [*(match.start() for match in begins), len(text)][1:]
    found = {}
    for match, end in zip(begins, ends, strict=True):
        name = (match[1] or match[2] or match[3]).lower()
        found[PAIR.get(name, name)] = re.sub(_BREAK, "\n", unmarked(text[match.end() : end]))
    return found


def _read(record: Record) -> Rewording:
    row: dict[str, Any] = dict(record.row)
    before, after = fields(row.pop("original_text", "")), fields(row.pop("perturbed_text", ""))
    label = plain_label(row.pop("ground_truth_output", None))
    extra = {name: value for name, value in row.items() if name}  # pandas may have written its index, without a name
    reason = "skipped" if row.get("result_type") == "Skipped" else ""
    error = record.error
    if not error and not before:
        error = "original_text: found one text, not a pair as in Premise: ... and Hypothesis: ..."
    elif not error and not reason and list(after) != list(before):
        error = f"perturbed_text: found {', '.join(after) or 'no fields'}, but the original has {', '.join(before)}"
    return Rewording(record.where, before, {} if reason else after, extra, label, reason=reason, error=error)
