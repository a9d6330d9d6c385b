"""PaRTE: RTE test problems whose premise, hypothesis or both were paraphrased by a T5 (Verma et al. 2023)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..registry import datasets
from .records import Dataset, Record, delimited, json_lines

#: The generator of every paraphrase: T5 tuned on PAWS (Vamsi/T5_Paraphrase_Paws).
_HOW = "t5_paraphrase_paws"
_LABELS = (("true", "entailed"), ("false", "not-entailed"))
_SIDES = {"p": "premise", "h": "hypothesis", "ph": "both"}
#: Both sentences joined, twice: the other columns have them, too.
_JOINED = ("combined_original", "combined_modified")


@datasets("parte.v1")
def parte(path: Path) -> Dataset:
    """PaRTE as released: RTE_test_paraphrased.jsonl (candidates) or collated_data_and_preds.csv (final).

    Ids are those of the collated file: `<dataset>_<number>_<task>` for an original, with `_p`, `_h` or `_ph`
    for what was paraphrased in a variant. A sentence may have several candidates, which are numbered in the first
    file: `_p1`, `_h2`, `_p1h2`.
    """
    is_table = path.suffix.lower() == ".csv"
    return Dataset(lambda: _collated(path) if is_table else _candidates(path), "rte", (path,), _LABELS)


def _candidates(path: Path) -> Iterator[Record]:
    for record in json_lines(path):
        if record.error:
            yield record
            continue
        row = dict(record.row)
        key = [row.get(name) for name in ("dataset", "corpus_sent_id", "task")]
        if None in key:
            yield record._replace(error="dataset, corpus_sent_id or task: found nothing")
            continue
        original = "_".join(map(str, key))
        premise, hypothesis = row.pop("s1_para_id", None), row.pop("s2_para_id", None)
        gold, silver = row.pop("gold_label", None), row.pop("silver_label", None)
        for name, column in (("premise", "sentence1"), ("hypothesis", "sentence2"), ("source_task", "task")):
            if column in row:
                row[name] = row.pop(column)
        if not premise and not hypothesis:
            yield record._replace(row={**row, "id": original, "label": gold})
            continue
        # RTE2_test.column_s2_485_para1 is the first candidate for the hypothesis ("sentence 2").
        candidates = {"p": premise, "h": hypothesis}
        numbers = {side: str(name).rpartition("_para")[2] for side, name in candidates.items() if name}
        ending = "".join(side + number for side, number in numbers.items())
        row |= {"id": f"{original}_{ending}", "of": original, "how": _HOW, "side": _SIDES["".join(numbers)]}
        # The gold label is the original's; the silver one is assumed for the paraphrase.
        yield record._replace(row={**row, "label": gold if silver is None else silver})


def _collated(path: Path) -> Iterator[Record]:
    """Read one paraphrase per line: every line repeats its original, which comes out once."""
    seen: dict[str, dict[str, Any]] = {}
    for record in delimited(path, ","):
        row = {name: value for name, value in record.row.items() if name not in _JOINED}
        original = {name: row.pop(f"original_pair_{name}", "") for name in ("id", "premise", "hypothesis")}
        original |= {"label": row.pop("gold_label", ""), "source_task": original["id"].rpartition("_")[2]}
        if record.error or not original["id"]:
            yield record._replace(error=record.error or "original_pair_id: found nothing")
            continue
        first = seen.get(original["id"])
        if first is None:
            seen[original["id"]] = original
            yield record._replace(row=original)
        elif first != original:
            yield record._replace(error=f"the original {original['id']!r} differs from its first mention")
            continue
        restated = {name: row.pop(f"paraphrased_pair_{name}", "") for name in ("id", "premise", "hypothesis")}
        side = _SIDES.get(restated["id"].rpartition("_")[2])
        known = {"of": original["id"], "how": _HOW, "side": side}
        # The released id of the line, `prte_1`, stays as `pair`.
        yield record._replace(row={**original, **row, "pair": row.get("id"), **restated, **known})
