"""Rewordings recorded by other tools: texts before and after; without ids, the original's text is the link."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput, caller_level, decode
from ..problem import label_key, normalize_spaces
from ..storage.files import digest, fingerprint
from .records import Record

#: The names of the two sentences in GLUE, and in tools that read it.
PAIR = {"sentence1": "premise", "sentence2": "hypothesis"}


class RecordedRewording(NamedTuple):
    """One original and its rewording.

    `original` and `reworded` hold texts by field; a tool without fields has "" for its one sentence. `reason` says why
    it is not a variant though nothing is wrong with it, `error` why it cannot be read.
    """

    where: str
    original: Mapping[str, str]
    reworded: Mapping[str, str]
    extra: Mapping[str, Any]
    label: str | None = None
    of: str = ""
    reason: str = ""
    error: str = ""


def suite(rewordings: Iterable[RecordedRewording], how: str, path: Path) -> Iterator[Record]:
    """Yield rewordings as whole buckets: every original once, with its variants; warn of what is not a variant.

    The id of an original without one is a digest of its texts, and that of a variant contains a digest of the file, so
    that several files can be read together.
    """
    seen: dict[str, tuple[str, str | None]] = {}  # by digest: the texts themselves would fill the memory
    source = f"{how}.{fingerprint(path)[:8]}" if path.is_file() else how
    for number, rewording in enumerate(with_reasons(rewordings, path), 1):
        if not rewording.original and not rewording.error:
            continue
        key = digest(text_key(rewording.original))[:16]
        name, label = seen.get(key, (rewording.of or key, rewording.label))
        if error := rewording.error or _unusable(rewording, label):
            yield Record(rewording.where, {**rewording.extra, **rewording.original}, error)
            continue
        if key not in seen:
            seen[key] = (name, label)
            yield Record(rewording.where, {**rewording.original, "id": name, "label": label})
        if not rewording.reason:
            known = {"id": f"{name}~{source}.{number}", "of": name, "how": how, "label": label}
            yield Record(rewording.where, {**rewording.extra, **rewording.original, **rewording.reworded, **known})


def with_reasons(rewordings: Iterable[RecordedRewording], path: Path) -> Iterator[RecordedRewording]:
    """Keep in `reworded` what changed in more than white space; at the end, warn how many are not variants, and why."""
    reasons: Counter[str] = Counter()
    for rewording in rewordings:
        texts = rewording.reworded.items()
        original = rewording.original
        changed = {k: text for k, text in texts if normalize_spaces(text) != normalize_spaces(original.get(k))}
        reason = rewording.reason or ("" if changed or rewording.error else "unchanged")
        reasons[reason] += 1
        yield rewording._replace(reworded=changed, reason=reason)
    total = reasons.total()
    if not total:
        raise BadInput("contains no rewordings", where=str(path), fix="give a file with at least one")
    del reasons[""]
    if reasons:
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        warnings.warn(
            f"{path}: {reasons.total()} of {total} entries are not variants: {listed}", stacklevel=caller_level()
        )


def text_key(texts: Mapping[str, str]) -> str:
    """Return a key by which a problem is found by its texts, whatever their white space.

    >>> text_key({"premise": "A  dog\\nruns."}) == text_key({"premise": "A dog runs. "})
    True
    """
    return json.dumps(sorted((name, normalize_spaces(text)) for name, text in texts.items()))


def read_json(path: Path) -> Any:
    """Read a JSON file; the error says why it cannot be read."""
    try:
        return json.loads(decode(path.read_bytes(), str(path)))
    except json.JSONDecodeError as error:
        raise BadInput(f"broken JSON: {error.msg}", where=f"{path}, line {error.lineno}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot be read: {error}", where=str(path)) from error


def label_text(value: Any) -> str | None:
    """Return a label as text, None if it is empty; tables written by pandas call the class 1 "1.0".

    >>> label_text("1.0"), label_text(2), label_text("neutral"), label_text("")
    ('1', '2', 'neutral', None)
    """
    text = "" if value is None else str(value).strip()
    return re.sub(r"\A(-?\d+)\.0+\Z", r"\1", text) or None


def same_label(first: str | None, second: str | None) -> bool:
    """Whether two labels are equal, however they are written; no label equals only no label.

    >>> same_label("Not_Entailment", "not-entailment"), same_label(None, "neutral"), same_label(None, None)
    (True, False, True)
    """
    return label_key(first or "") == label_key(second or "")


def numbered_labels(labels: Any, where: str) -> tuple[tuple[str, str], ...]:
    """Map the numbers 0, 1, ... to label names; what they stand for differs from model to model."""
    if not isinstance(labels, (list, tuple)):
        fix = 'list the names of 0, 1, ..., as in ["entailment", "neutral", "contradiction"]'
        raise BadInput(f"found {labels!r}", where=where, field="labels", fix=fix)
    return tuple((str(number), str(name)) for number, name in enumerate(labels))


def _unusable(rewording: RecordedRewording, label: str | None) -> str:
    """Why a rewording cannot be used without the user's problems."""
    if "" in rewording.original:
        return "one sentence is not a problem: give your problems as data, and this file as --with recorded:FILE"
    if rewording.label is None:
        return "no label: give your problems as data, and this file as --with recorded:FILE"
    if not same_label(rewording.label, label):
        return f"found the label {rewording.label!r}; an earlier entry of the same problem has {label!r}"
    return ""
