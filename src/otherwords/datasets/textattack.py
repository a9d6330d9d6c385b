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
_BEGIN = rf"(?:\A|{_BREAK}|\n)\s*"
#: A field begins with its name, in double marks in the styles `file` and `html`. Whatever a text's own lines begin with
#: there, such as "Update:", is text.
_MARKED = re.compile(
    rf"{_BEGIN}(?:\[\[\[\[(?P<file>\w+)\]\]\]\]|(?:<font color = \w+>){{2}}(?P<html>\w+)(?:</font>){{2}}): ?"
)
#: The style `plain` has bare names, so that only those that tasks have are taken for one.
_PLAIN = re.compile(rf"{_BEGIN}(?P<plain>{_NAMES}): ?")
_ORDERS = [task.fields for task in TASKS.values()]
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

    A name that comes twice may be part of a text, and so, in the style `plain`, may one that no task has in that place:
    nobody can tell, and it is refused.

    >>> fields("[[[[Premise]]]]: A [[dog]] sleeps.<SPLIT>[[[[Hypothesis]]]]: It rests.")
    {'premise': 'A dog sleeps.', 'hypothesis': 'It rests.'}
    """
    style = next((style for style in (_MARKED, _PLAIN) if style.match(text)), None)
    begins = list(style.finditer(text)) if style else []
    ends = [*(match.start() for match in begins), len(text)][1:]
    names = [str(match[match.lastgroup or 0]).lower() for match in begins]
    names = [PAIR.get(name, name) for name in names]
    _refuse_doubtful(names, bare=style is _PLAIN)
    texts = [re.sub(_BREAK, "\n", unmarked(text[match.end() : end])) for match, end in zip(begins, ends, strict=True)]
    return dict(zip(names, texts, strict=True))


def _refuse_doubtful(names: list[str], bare: bool) -> None:
    fix = "log with --csv-coloring-style file, which marks the names of fields"
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"found {twice[0].capitalize()}: twice, and a text may hold one of them", fix=fix)
    if bare and not any([name for name in order if name in names] == names for order in _ORDERS):
        raise BadInput(f"found {', '.join(names)}: no task has them in this order, and a text may hold one", fix=fix)


def _read(record: Record) -> Rewording:
    row: dict[str, Any] = dict(record.row)
    before, unclear = _apart(row, "original_text")
    after, unclear_after = _apart(row, "perturbed_text")
    label = plain_label(row.pop("ground_truth_output", None))
    extra = {name: value for name, value in row.items() if name}  # pandas may have written its index, without a name
    reason = "skipped" if row.get("result_type") == "Skipped" else ""
    error = record.error or unclear or unclear_after
    if not error and not before:
        error = "original_text: found one text, not a pair as in Premise: ... and Hypothesis: ..."
    elif not error and not reason and list(after) != list(before):
        error = f"perturbed_text: found {', '.join(after) or 'no fields'}, but the original has {', '.join(before)}"
    return Rewording(record.where, before, {} if reason else after, extra, label, reason=reason, error=error)


def _apart(row: dict[str, Any], column: str) -> tuple[dict[str, str], str]:
    """Take a column's texts out of a row, or the reason why they cannot be told apart."""
    try:
        return fields(row.pop(column, "")), ""
    except BadInput as error:
        return {}, f"{column}: {error}"
