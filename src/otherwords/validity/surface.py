"""Surface checks: a variant is not empty, unchanged or a repetition, in proportion, and shares not too many words.

PaRTE keeps a paraphrase only if it does not share too many words with its source (its section 3): `overlap`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ..errors import BadInput
from ..problem import Bucket, Problem, Task, Verdict, changed_fields, normalize_spaces
from ..registry import checks
from ..words.distance import jaccard
from ..words.language import UNSPACED, split_words
from .checking import Check, has_text

#: What Python takes for white space besides the blank, all of it, and where it is not a single blank between words.
_OTHER_SPACE = "\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE = f" {_OTHER_SPACE}"
_ODD_SPACE = f"^ | $|  |[{_OTHER_SPACE}]"


@checks("surface.v1")
def surface(min_ratio: float = 0.33, max_ratio: float = 3.0) -> Any:
    """Drop variants that are empty, unchanged, repeated in their bucket, or out of proportion to the original.

    Between `min_ratio` and `max_ratio` is in proportion: of lengths in words, over all fields together.
    """
    if not 0 <= min_ratio <= max_ratio:
        message = f"found min_ratio={min_ratio:g}, max_ratio={max_ratio:g}"
        raise BadInput(message, where="surface", fix="give 0 <= min_ratio <= max_ratio")

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            seen = {_key(bucket.problem): "unchanged"}
            words = _words(bucket.problem)
            for variant in bucket.variants:
                ratio = _words(variant) / words
                reason = seen.get(_key(variant), "")
                seen.setdefault(_key(variant), "repeated in its bucket")
                changed = changed_fields(bucket.problem, variant).values()
                if any(has_text(old) and not has_text(new) for old, new in changed):
                    reason = "empty text"
                elif not reason and not min_ratio <= ratio <= max_ratio:
                    reason = f"length ratio {ratio:.2f}"
                yield Verdict(not reason, reason, ratio)

    def columns(rows: pl.DataFrame, task: Task) -> pl.DataFrame:
        texts, pairs = _single_spaced(rows, task)
        lengths = [pl.sum_horizontal(_word_counts(texts, side)).clip(1) for side in zip(*pairs, strict=True)]
        found = texts.select(
            (lengths[0] / lengths[1]).alias("score"),
            pl.all_horizontal(pl.col(new) == pl.col(old) for new, old in pairs).alias("unchanged"),
            (~pl.struct("of", *task.fields).is_first_distinct()).alias("repeated"),
            _emptied(texts, pairs).alias("emptied"),
        )
        wrong = found["score"].filter(~found["score"].is_between(min_ratio, max_ratio)).unique()
        ratios = {ratio: f"length ratio {ratio:.2f}" for ratio in wrong}
        reason = (
            pl.when("emptied").then(pl.lit("empty text"))
            .when("unchanged").then(pl.lit("unchanged"))
            .when("repeated").then(pl.lit("repeated in its bucket"))
            .otherwise(_named(pl.col("score"), ratios))
        )  # fmt: skip
        return found.select(reason.is_null().alias("keep"), reason.alias("reason"), "score")

    return Check(check, columns=columns)


@checks("overlap.v1")
def overlap(most: float = 0.75) -> Any:
    """Drop variants whose changed fields share too many words with the original's (Jaccard above `most`).

    The paper's Appendix B words the condition the wrong way round; its data follow this one.
    """
    if not 0 <= most <= 1:
        raise BadInput(f"found {most!r}", where="overlap", field="most", fix="give a share from 0 to 1")

    def check(buckets: Sequence[Bucket]) -> Iterator[Verdict]:
        for bucket in buckets:
            for variant in bucket.variants:
                changed = changed_fields(bucket.problem, variant)
                share = max((jaccard(*texts) for texts in changed.values()), default=1.0)
                yield Verdict(share <= most, "" if share <= most else _above(share), share)

    def columns(rows: pl.DataFrame, task: Task) -> pl.DataFrame:
        texts, pairs = _single_spaced(rows, task)
        shares = texts.select(_jaccards(texts, new, old) for new, old in pairs)
        score = shares.select(pl.max_horizontal(pl.all()).fill_null(1.0).alias("score")).to_series()
        reasons = {share: _above(share) for share in score.filter(score > most).unique()}
        return pl.select(
            (score <= most).alias("keep"), _named(pl.lit(score), reasons).alias("reason"), score.alias("score")
        )

    def _above(share: float) -> str:
        return f"Jaccard {share:.3f} above {most:g}"

    return Check(check, columns=columns)


def _key(problem: Problem) -> tuple[str, ...]:
    return tuple(normalize_spaces(problem.text[name]) for name in problem.task.fields)


def _words(problem: Problem) -> int:
    return max(1, sum(len(split_words(problem.text[name] or "")) for name in problem.task.fields))


# The same on columns


def _single_spaced(rows: pl.DataFrame, task: Task) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
    """The rows with texts as `normalize_spaces` has them, and both names of each field: variant's and original's."""
    pairs = [(name, f"original:{name}") for name in task.fields]
    texts = rows.with_columns(pl.col(name).fill_null("") for pair in pairs for name in pair)
    odd = [name for pair in pairs for name in pair if texts[name].str.contains(_ODD_SPACE).any()]
    single = (pl.col(name).str.replace_all(f"[{_SPACE}]+", " ").str.strip_chars(" ") for name in odd)
    return texts.with_columns(single), pairs


def _word_counts(texts: pl.DataFrame, names: Iterable[str]) -> Iterator[pl.Series]:
    """How many words `split_words` finds in each text: one more than blanks, unless its script has none."""
    for name in names:
        column = texts[name]
        ascii_only = (column.str.len_bytes() == column.str.len_chars()).all()
        if not ascii_only and column.str.contains(f"[{UNSPACED}]").any():
            yield pl.Series(name, [len(split_words(text)) for text in column], dtype=pl.UInt32)
        else:
            yield column.str.count_matches(" ", literal=True) + (column != "")


def _emptied(texts: pl.DataFrame, pairs: Sequence[tuple[str, str]]) -> pl.Series:
    """Which variants left a field empty; only what has no visible ASCII character is looked at one by one."""
    emptied = pl.repeat(False, texts.height, eager=True)
    for new, old in pairs:
        doubtful = (~texts[new].str.contains("[!-~]") & (texts[new] != texts[old])).arg_true()
        some = zip(texts[new].gather(doubtful), texts[old].gather(doubtful), strict=True)
        emptied[doubtful.filter(pl.Series([has_text(b) and not has_text(a) for a, b in some], dtype=pl.Boolean))] = True
    return emptied


def _jaccards(texts: pl.DataFrame, new: str, old: str) -> pl.Series:
    """The Jaccard index of the texts that differ; null where they do not."""
    differ = texts[new] != texts[old]
    pairs = zip(texts[old].filter(differ), texts[new].filter(differ), strict=True)
    found = pl.Series(new, [jaccard(*pair) for pair in pairs], dtype=pl.Float64)
    return pl.repeat(None, texts.height, dtype=pl.Float64, eager=True).alias(new).scatter(differ.arg_true(), found)


def _named(score: pl.Expr, reasons: Mapping[float, str]) -> pl.Expr:
    """The reason that belongs to each score, null where there is none."""
    return score.replace_strict(reasons, default=None, return_dtype=pl.String) if reasons else pl.lit(None, pl.String)
