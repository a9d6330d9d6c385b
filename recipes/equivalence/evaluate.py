"""Compare judges of equivalence by ParaNLU's human verdicts.

    evaluate.py pairs PARANLU_FOLDER OUT.jsonl          ParaNLU's pairs as a table
    evaluate.py score PAIRS.jsonl OUT.jsonl JUDGE ...   equivalence:mpnet, mutual:nli-small, cosine:ENCODER
    evaluate.py paranlu PARANLU_FOLDER SCORES.jsonl ... against validators

A table of pairs has `id`, `a` and `b`. A table of scores has a column for each judge besides, higher where the judge
finds the texts more alike. ParaNLU's ids are ROW.FIELD of validation.parquet; the score of a rewording is the least
over its fields. Only the half of ParaNLU is read that neither judges nor limits are fitted on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from stack_pairs import is_calibration

Scores = npt.NDArray[np.float64]
#: The share of good rewordings that a judge may drop where it is asked how much of the broken it sees.
FALSE_DROPS = 0.10


def auc(positive: Scores, negative: Scores) -> float:
    """The chance that one of the first scores more than one of the second; ties count half.

    >>> auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    scores = np.concatenate([positive, negative])
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    n, m = len(positive), len(negative)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def paranlu_pairs(folder: Path) -> pl.DataFrame:
    """Each reworded field beside its original, of the buckets that nothing is fitted on."""
    verdicts = pl.read_parquet(folder / "validation.parquet").with_row_index("row")
    originals = pl.read_parquet(folder / "problems.parquet").select("split", "bucket_id", a1="target1", a2="target2")
    kept = originals.filter([not is_calibration(text) for text in originals["a1"]])
    both = verdicts.join(kept, on=["split", "bucket_id"]).filter(pl.col("decision").is_in(["valid", "invalid"]))
    parts = [
        both.select(
            pl.format("{}.{}", "row", pl.lit(field)).alias("id"),
            pl.col(f"a{field}").alias("a"),
            pl.col(f"target{field}").alias("b"),
        )
        for field in ("1", "2")
    ]
    texts = [pl.col(name).str.replace_all(r"\s+", " ").str.strip_chars() for name in ("a", "b")]
    return pl.concat(parts).drop_nulls().with_columns(texts).filter(pl.col("a") != "", pl.col("b") != "")


def score(pairs: pl.DataFrame, judges: Sequence[str]) -> pl.DataFrame:
    """The pairs with a column of scores for each judge."""
    texts = list(zip(pairs["a"], pairs["b"], strict=True))
    for judge in judges:
        how, _, name = judge.partition(":")
        values = {"mutual": mutual, "cosine": cosine, "equivalence": equivalence}[how](texts, name)
        pairs = pairs.with_columns(pl.Series(how if f"{how}" not in pairs.columns else judge, values))
    return pairs


def mutual(pairs: list[tuple[str, str]], name: str) -> list[float]:
    """The smaller probability of entailment of both directions."""
    from otherwords.models.cache import Cache
    from otherwords.validity.mutual_entailment import ask_entailment, entailment_of, load_judge

    model = load_judge(name)
    both = list(dict.fromkeys(pair for one in pairs for pair in (one, one[::-1])))
    with Cache(None) as cache:
        answers = ask_entailment(model, cache, both)
    yes = entailment_of(model.task)
    return [min(answers[pair].p[yes], answers[pair[::-1]].p[yes]) for pair in pairs]  # type: ignore[index]


def cosine(pairs: list[tuple[str, str]], name: str) -> list[float]:
    """The cosine of a sentence encoder's vectors."""
    from otherwords.language_models.encoder import load

    return [float(one) for one in load(name).cosines(pairs)]


def equivalence(pairs: list[tuple[str, str]], name: str) -> list[float]:
    """The probability of a judge; 0 where it cannot read the pair."""
    from otherwords.validity.equivalence import load_judge

    return [0.0 if isinstance(one, str) else one for one in load_judge(name or "nli-small")(pairs)]


def against_validators(folder: Path, scores: pl.DataFrame, judge: str) -> pl.DataFrame:
    """AUC of the valid rewordings against the invalid, and of the invalid what a drop of a tenth of the valid finds."""
    row = pl.col("id").str.split(".").list.first().cast(pl.UInt32).alias("row")
    least = scores.group_by(row).agg(pl.col(judge).min())
    verdicts = pl.read_parquet(folder / "validation.parquet").with_row_index("row").join(least, on="row")
    rows = []
    for split in ["all", *sorted(set(verdicts["split"]))]:
        part = verdicts if split == "all" else verdicts.filter(pl.col("split") == split)
        valid, invalid = (part.filter(pl.col("decision") == name)[judge].to_numpy() for name in ("valid", "invalid"))
        limit = float(np.quantile(valid, FALSE_DROPS))
        rows.append({"judge": judge, "split": split, "valid": len(valid), "invalid": len(invalid),
                     "auc": auc(valid, invalid), "dropped": float((invalid < limit).mean())})  # fmt: skip
    return pl.DataFrame(rows)


def read(paths: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Tables of scores joined by id, and the judges in them."""
    tables = [pl.read_ndjson(path) for path in paths]
    whole = tables[0]
    for table in tables[1:]:
        whole = whole.join(
            table.drop([name for name in table.columns if name in whole.columns and name != "id"]), on="id"
        )
    return whole, [name for name in whole.columns if name not in ("id", "a", "b")]


def main() -> None:
    """Do what the first word says."""
    what, *rest = sys.argv[1:]
    pl.Config.set_tbl_rows(200)
    if what == "pairs":
        paranlu_pairs(Path(rest[0])).write_ndjson(rest[1])
    elif what == "score":
        score(pl.read_ndjson(rest[0]), rest[2:]).write_ndjson(rest[1])
    else:
        table, judges = read(rest[1:])
        print(pl.concat([against_validators(Path(rest[0]), table, judge) for judge in judges]))


if __name__ == "__main__":
    main()
