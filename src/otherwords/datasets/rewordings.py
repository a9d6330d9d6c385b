"""What other tools record: a text before and after. Their files have no `of`, so the original itself is the link."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..problem import normalize_spaces, plain
from ..storage.files import digest, fingerprint
from .records import Record

#: What GLUE, and the tools that read it, call the two sentences.
PAIR = {"sentence1": "premise", "sentence2": "hypothesis"}


class Rewording(NamedTuple):
    """One original and what became of it.

    `original` and `reworded` hold texts by field; a tool that does not know fields says "" for the one sentence it
    saw. `reason` says why it is no variant though nothing is wrong with it, `error` why it could not be read.
    """

    where: str
    original: Mapping[str, str]
    reworded: Mapping[str, str]
    extra: Mapping[str, Any]
    label: str | None = None
    of: str = ""
    reason: str = ""
    error: str = ""


def suite(rewordings: Iterable[Rewording], how: str, path: Path) -> Iterator[Record]:
    """Rewordings as whole buckets: every original once, with its variants, and a word on what is no variant.

    An original without an id is named by a digest of its texts, and a variant after the file's content, so that several
    files can be read together.
    """
    seen: dict[str, tuple[str, str | None]] = {}  # by digest: the texts themselves would fill the memory
    source = f"{how}.{fingerprint(path)[:8]}" if path.is_file() else how
    for number, one in enumerate(told(rewordings, path), 1):
        if not one.original and not one.error:
            continue
        key = digest(text_key(one.original))[:16]
        name, label = seen.get(key, (one.of or key, one.label))
        if error := one.error or _unfit(one, label):
            yield Record(one.where, {**one.extra, **one.original}, error)
            continue
        if key not in seen:
            seen[key] = (name, label)
            yield Record(one.where, {**one.original, "id": name, "label": label})
        if not one.reason:
            known = {"id": f"{name}~{source}.{number}", "of": name, "how": how, "label": label}
            yield Record(one.where, {**one.extra, **one.original, **one.reworded, **known})


def told(rewordings: Iterable[Rewording], path: Path) -> Iterator[Rewording]:
    """Pass everything on, reworded only where more than white space changed; in the end, warn of what is no variant."""
    reasons: Counter[str] = Counter()
    for one in rewordings:
        texts = one.reworded.items()
        changed = {name: text for name, text in texts if normalize_spaces(text) != normalize_spaces(one.original.get(name))}
        reason = one.reason or ("" if changed or one.error else "unchanged")
        reasons[reason] += 1
        yield one._replace(reworded=changed, reason=reason)
    total = reasons.total()
    if not total:
        raise BadInput("holds no rewordings", where=str(path), fix="give a file with at least one")
    del reasons[""]
    if reasons:
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        warnings.warn(f"{path}: {reasons.total()} of {total} entries are no variants: {listed}", stacklevel=2)


def text_key(texts: Mapping[str, str]) -> str:
    """A text by which problems are found again, whatever its white space.

    >>> text_key({"premise": "A  dog\\nruns."}) == text_key({"premise": "A dog runs. "})
    True
    """
    return json.dumps(sorted((name, normalize_spaces(text)) for name, text in texts.items()))


def read_json(path: Path) -> Any:
    """The content of a JSON file, or why it has none."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise BadInput(f"broken JSON: {error.msg}", where=f"{path}, line {error.lineno}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(path)) from error


def plain_label(value: Any) -> str | None:
    """A label as it is compared: tables written by pandas call the class 1 "1.0".

    >>> plain_label("1.0"), plain_label(2), plain_label("neutral"), plain_label("")
    ('1', '2', 'neutral', None)
    """
    text = "" if value is None else str(value).strip()
    return re.sub(r"\A(-?\d+)\.0+\Z", r"\1", text) or None


def same_label(one: str | None, other: str | None) -> bool:
    """Whether two labels are one, however they are written; none is no other's.

    >>> same_label("Not_Entailment", "not-entailment"), same_label(None, "neutral"), same_label(None, None)
    (True, False, True)
    """
    return plain(one or "") == plain(other or "")


def numbered(labels: Any, where: str) -> tuple[tuple[str, str], ...]:
    """Labels by their numbers: what 0, 1 and 2 stand for differs from model to model."""
    if not isinstance(labels, (list, tuple)):
        fix = 'list the names of 0, 1, ..., as in ["entailment", "neutral", "contradiction"]'
        raise BadInput(f"found {labels!r}", where=where, field="labels", fix=fix)
    return tuple((str(number), str(name)) for number, name in enumerate(labels))


def _unfit(one: Rewording, label: str | None) -> str:
    """Why this cannot stand in a data set of its own."""
    if "" in one.original:
        return "one sentence alone is no problem: give your problems as data, and this file as --with recorded:FILE"
    if one.label is None:
        return "no label: give your problems as data, and this file as --with recorded:FILE"
    if not same_label(one.label, label):
        return f"says {one.label!r}, an earlier mention of the same problem says {label!r}"
    return ""
