"""TextAttack's log of an attack (`--log-to-csv`): every text before and after, with changed words marked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..problem import TASKS
from ..registry import datasets
from .records import Dataset, Record, delimited
from .rewordings import PAIR, RecordedRewording, label_text, numbered_labels, suite

#: Two inputs are joined by a token (the older `>>>>`, then `<SPLIT>`) that also stands for every line break in a text.
_BREAK = r"(?:<SPLIT>|>>>>)"
_FIELDS = {name for task in TASKS.values() for name in task.fields}.union(PAIR)
_NAMES = "|".join(sorted(name.capitalize() for name in _FIELDS))
_BEGIN = rf"(?:\A|{_BREAK}|\n)\s*"
#: A field begins with its name, in double marks in the styles `file` and `html`; there, "Update:" at the start of a
#: line is text.
_MARKED = re.compile(
    rf"{_BEGIN}(?:\[\[\[\[(?P<file>\w+)\]\]\]\]|(?:<font color = \w+>){{2}}(?P<html>\w+)(?:</font>){{2}}): ?"
)
#: The style `plain` has bare names, so only the fields of known tasks count as names.
_PLAIN = re.compile(rf"{_BEGIN}(?P<plain>{_NAMES}): ?")
_ORDERS = [task.fields for task in TASKS.values()]
_MARK = re.compile(r"\[\[(.*?)\]\]|<font color = \w+>(.*?)</font>", re.S)


@datasets("textattack.v1")
def textattack(path: Path, labels: tuple[str, ...] = ()) -> Dataset:
    """TextAttack's CSV log of an attack on pairs of sentences: originals and the attacked texts.

    Failed attempts are rewordings, too (see `result_type`); rows that were skipped or did not change give their
    original only. `labels` names the classes 0, 1, ... in order. It has no default, because the attacked model
    decides (TextAttack's bert-base-uncased-snli has contradiction first, its distilbert entailment).
    """
    translated = numbered_labels(labels, "textattack.v1")
    return Dataset(lambda: suite(rewordings(path), "textattack", path), files=(path,), labels=translated)


def rewordings(path: Path) -> Iterator[RecordedRewording]:
    """Read a log row by row."""
    for record in delimited(path, ","):
        if missing := {"original_text", "perturbed_text"} - set(record.row) if not record.error else ():
            fix = f"available: {', '.join(record.row)}; TextAttack writes its own with --log-to-csv FILE"
            raise BadInput("no such column", where=record.where, field=min(missing), fix=fix)
        yield _read(record)


def unmarked(text: str) -> str:
    """Return a text without the marks around changed words.

    >>> unmarked("A [[canine]] <font color = red>sleeps</font>.")
    'A canine sleeps.'
    """
    while (bare := _MARK.sub(lambda match: match[1] or match[2] or "", text)) != text:
        text = bare
    return text


def fields(text: str) -> dict[str, str]:
    """Return the texts by field, as they were before TextAttack joined them; nothing if there was only one text.

    A name that occurs twice may be part of a text; so may, in the style `plain`, one that no task has in that place.
    Both are ambiguous and refused.

    >>> fields("[[[[Premise]]]]: A [[dog]] sleeps.<SPLIT>[[[[Hypothesis]]]]: It rests.")
    {'premise': 'A dog sleeps.', 'hypothesis': 'It rests.'}
    """
    style = next((style for style in (_MARKED, _PLAIN) if style.match(text)), None)
    begins = list(style.finditer(text)) if style else []
    ends = [*(match.start() for match in begins), len(text)][1:]
    names = [str(match[match.lastgroup or 0]).lower() for match in begins]
    names = [PAIR.get(name, name) for name in names]
    _refuse_ambiguous(names, bare=style is _PLAIN)
    texts = [re.sub(_BREAK, "\n", unmarked(text[match.end() : end])) for match, end in zip(begins, ends, strict=True)]
    return dict(zip(names, texts, strict=True))


def _refuse_ambiguous(names: list[str], bare: bool) -> None:
    fix = "log with --csv-coloring-style file, which marks the names of fields"
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"found {duplicates[0].capitalize()}: twice; one may be part of a text", fix=fix)
    if bare and not any([name for name in order if name in names] == names for order in _ORDERS):
        raise BadInput(f"found {', '.join(names)}: no task has this order; one may be part of a text", fix=fix)


def _read(record: Record) -> RecordedRewording:
    row: dict[str, Any] = dict(record.row)
    before, ambiguity = _pop_fields(row, "original_text")
    after, ambiguity_after = _pop_fields(row, "perturbed_text")
    label = label_text(row.pop("ground_truth_output", None))
    extra = {
        name: value for name, value in row.items() if name
    }  # pandas may have written its index as a nameless column
    reason = "skipped" if row.get("result_type") == "Skipped" else ""
    error = record.error or ambiguity or ambiguity_after
    if not error and not before:
        error = "original_text: found one text, not a pair as in Premise: ... and Hypothesis: ..."
    elif not error and not reason and list(after) != list(before):
        error = f"perturbed_text: found {', '.join(after) or 'no fields'}, but the original has {', '.join(before)}"
    return RecordedRewording(record.where, before, {} if reason else after, extra, label, reason=reason, error=error)


def _pop_fields(row: dict[str, Any], column: str) -> tuple[dict[str, str], str]:
    """Remove a column from a row; return its texts by field, or the reason why they are ambiguous."""
    try:
        return fields(row.pop(column, "")), ""
    except BadInput as error:
        return {}, f"{column}: {error}"
