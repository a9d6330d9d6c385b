"""Pairs asked both ways round: (P, H) and (H, P) with another answer are an original and its contrast."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

from ..problem import plain
from ..storage.files import digest
from .records import Record


def reversals(records: Iterable[Record], suite: str) -> Iterator[Record]:
    """Pair every problem with the first that asks it the other way round and has another answer.

    The one that comes first is the original. What has no such partner is left out, and how many that are is said.
    Pairs that share a sentence, or are linked by others that do, are one cluster.

    >>> ways = [("A man runs.", "A man moves.", "entailment"), ("A man moves.", "A man runs.", "neutral")]
    >>> rows = [dict(zip(("premise", "hypothesis", "label"), way), id=str(n)) for n, way in enumerate(ways)]
    >>> [(r.row["id"], r.row.get("of"), r.row["contrast"]) for r in reversals((Record("", r) for r in rows), "some")]
    [('0', None, 'some'), ('1', '0', 'some')]
    """
    found = list(records)
    asked = [place for place, record in enumerate(found) if _is_whole(record)]
    partner = _partners(found, asked)
    clusters = _clusters([found[place].row for place in partner])
    for place, record in enumerate(found):
        if not _is_whole(record):
            yield record  # the door says what is wrong with it
        elif place in partner:
            shared = {"contrast": suite, "cluster": clusters[record.row["premise"]]}
            other = found[partner[place]]
            yield record._replace(row={**record.row, **shared})
            yield other._replace(row={**other.row, **shared, "of": record.row["id"]})
    if left_out := len(asked) - 2 * len(partner):
        said = f"{left_out:,} of {len(asked):,} rows have no reverse with another answer, and are left out"
        warnings.warn(f"{suite}: {said}", stacklevel=2)


def _is_whole(record: Record) -> bool:
    named = (record.row.get(name) for name in ("id", "premise", "hypothesis", "label"))
    return not record.error and all(isinstance(value, str) and value.strip() for value in named)


def _partners(records: Sequence[Record], asked: Iterable[int]) -> dict[int, int]:
    """The place of each original, and that of its contrast."""
    waiting: dict[tuple[str, str], list[int]] = {}
    partner = {}
    for place in asked:
        row = records[place].row
        reverse = waiting.get((row["hypothesis"], row["premise"]), [])
        first = next((one for one in reverse if plain(records[one].row["label"]) != plain(row["label"])), None)
        if first is None:
            waiting.setdefault((row["premise"], row["hypothesis"]), []).append(place)
        else:
            reverse.remove(first)
            partner[first] = place
    return partner


def _clusters(originals: Sequence[dict[str, str]]) -> dict[str, str]:
    """The cluster of each sentence, named after the first of them in the alphabet."""
    leader: dict[str, str] = {}

    def lead(sentence: str) -> str:
        while leader.setdefault(sentence, sentence) != sentence:
            leader[sentence] = sentence = leader[leader[sentence]]  # halve the way for the next
        return sentence

    for row in originals:
        one, other = sorted((lead(row["premise"]), lead(row["hypothesis"])))
        leader[other] = one
    return {sentence: digest(lead(sentence))[:16] for sentence in leader}
