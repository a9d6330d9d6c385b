"""MERGE's tables from notes and variants, by hand, and from a run from beginning to end."""

from __future__ import annotations

import json

import polars as pl
import pytest
from refusals import refuses
from varying import vary_rows

from otherwords.errors import BadInput
from otherwords.papers.merge import over_draws
from otherwords.variants.masked_lm import filter_rates, overlap, seed_counts, unique_variants
from otherwords.variants.masked_lm.counts import CLASS, KEPT, UNLIKELY


def notes(*rows: dict) -> pl.DataFrame:
    return pl.DataFrame([{"id": "p", "generator": "masked-lm.v1()", **row} for row in rows])


def removed(identity: str, model: str, what: str, count: int, reached: int) -> dict:
    about = {"model": model, "word_class": "noun", "field": "premise", "reached": str(reached)}
    return {"id": identity, "what": what, "count": count, **about}


def test_rates_are_of_all_suggestions_together():
    """20 of 100 and 5 of 10 are 25 of 110; filters in the order in which they are applied."""
    table = notes(
        removed("p", "bert", CLASS, 1, 4),
        removed("p", "bert", UNLIKELY, 20, 100),
        removed("q", "bert", UNLIKELY, 5, 10),
        removed("q", "roberta", UNLIKELY, 0, 10),
        {"what": "left out: something else", "count": 3},
    )
    found = filter_rates(table)
    assert found.select("model", "filter", "removed", "reached").rows() == [
        ("bert", "no likelier than the word itself", 25, 110),
        ("bert", "of another word class", 1, 4),
        ("roberta", "no likelier than the word itself", 0, 10),
    ]
    assert found["percent"].to_list() == pytest.approx([2500 / 110, 25.0, 0.0])


def test_overlap_by_hand():
    """Two seeds. All three share 2, a and b share 3 more, a alone has 4, c alone 1: halves of the sums."""
    rows = [("p", "a+b+c", 2), ("p", "a", 1), ("q", "a+b", 3), ("q", "a", 3), ("q", "c", 1)]
    noted = [{"id": name, "what": KEPT, "count": count, "word_class": "noun", "origin": o} for name, o, count in rows]
    found = overlap(notes(*noted))
    assert found.columns == ["model", "a", "b", "c"]
    assert found.rows() == [("a", 2.0, 2.5, 1.0), ("b", 2.5, 0.0, 1.0), ("c", 1.0, 1.0, 0.5)]


def test_unique_variants_by_hand():
    """Three subsamples; alone in one are two nouns and a verb."""
    rows = {"word_class": ["noun", "noun", "noun", "verb"], "subsamples": ["1", "1 2 3", "3", "2"]}
    assert unique_variants(pl.DataFrame(rows)) == {"all": 1.0, "noun": 2 / 3, "verb": 1 / 3}


def test_seeds_and_labels_by_hand():
    """p has two nouns and a verb, q a noun; with notes, averages are of all that could have been drawn."""
    labels = ["neutral", "neutral", "neutral", "entailment"]
    rows = {"of": ["p", "p", "p", "q"], "word_class": ["noun", "noun", "verb", "noun"], "label": labels}
    found = seed_counts(pl.DataFrame(rows))
    assert found.columns == ["word_class", "seeds", "variants", "entailment", "neutral"]
    assert found.rows() == [("all", 2, 2.0, 50.0, 50.0), ("noun", 2, 1.5, 50.0, 50.0), ("verb", 1, 1.0, 0.0, 100.0)]
    kept = [("p", "noun", 30), ("p", "verb", 21), ("q", "noun", 50)]
    noted = [{"id": i, "what": KEPT, "count": n, "word_class": c, "origin": "a"} for i, c, n in kept]
    assert seed_counts(pl.DataFrame(rows), notes(*noted))["variants"].to_list() == [101 / 2, 40.0, 21.0]


def test_from_beginning_to_end(tmp_path):
    """One seed, one masked-LM: cat and cow of three suggestions, the third of which is the word itself."""
    words = [["cat", 0.5], ["cow", 0.3], ["dog", 0.2]]
    (tmp_path / "a.json").write_text(json.dumps({"A [MASK] ran.": words, "The [MASK] slept.": words}))
    rows = {"id": ["p"], "premise": ["A dog ran."], "hypothesis": ["The dog slept."], "label": ["neutral"]}
    spec = f'masked-lm(models="a=scripted:{tmp_path}/a.json", least=1, n=1, top=3, subsamples=4)'
    variants, noted = vary_rows(pl.DataFrame(rows), [spec])
    rates = filter_rates(noted).filter(pl.col("filter").str.starts_with("no likelier"))
    assert rates.select("model", "word_class", "field", "percent").rows() == [
        ("a", "noun", "hypothesis", pytest.approx(100 / 3)),
        ("a", "noun", "premise", pytest.approx(100 / 3)),
    ]
    assert overlap(noted).rows() == [("a", 2.0)]
    assert seed_counts(variants, noted).rows() == [("all", 1, 2.0, 100.0), ("noun", 1, 2.0, 100.0)]
    alone = sum(" " not in one for one in variants["subsamples"])
    assert unique_variants(variants)["noun"] == alone / 4


def test_several_generators_are_not_counted_together(tmp_path):
    """The whole and an ablation of it, in one table of variants and one of notes: each alone has its numbers."""
    words = [["cat", 0.5], ["dog", 0.3], ["cow", 0.2]]
    (tmp_path / "a.json").write_text(json.dumps({"A [MASK] ran.": words, "The [MASK] slept.": words}))
    rows = {"id": ["p"], "premise": ["A dog ran."], "hypothesis": ["The dog slept."], "label": ["neutral"]}
    options = f'models="a=scripted:{tmp_path}/a.json", least=1, n=1, top=3, subsamples=2'
    variants, noted = vary_rows(
        pl.DataFrame(rows), [f"masked-lm({options})", f"masked-lm({options}, ablation=class-only)"]
    )
    for table in (filter_rates, overlap):
        with refuses(BadInput):
            table(noted)
    for ask in (unique_variants, seed_counts, lambda table: seed_counts(table, noted)):
        with refuses(BadInput):
            ask(variants)
    whole, part = sorted(noted["generator"].unique())
    assert [
        seed_counts(variants.filter(how=one), noted.filter(generator=one))["variants"][0] for one in (whole, part)
    ] == [1, 2]
    assert [overlap(noted.filter(generator=one)).rows() for one in (whole, part)] == [[("a", 1.0)], [("a", 2.0)]]
    with refuses(BadInput):
        seed_counts(variants.filter(how=whole), noted.filter(generator=part))


def test_other_tables_are_refused():
    with refuses(BadInput):
        filter_rates(notes({"what": "left out: empty", "count": 1}))
    with refuses(BadInput):
        overlap(pl.DataFrame({"id": ["p"]}))
    with refuses(BadInput):
        unique_variants(pl.DataFrame({"word_class": ["noun"]}))
    with refuses(BadInput):
        seed_counts(pl.DataFrame({"of": [None], "word_class": [None], "label": ["neutral"]}))


def test_over_draws_by_hand():
    """Two seeds, two draws: PA@0.9 is 1/2 in the first (b has a wrong one), 1 in the second."""
    rows = [("a", None, "x", None), ("a", "a1", "x", "1"), ("a", "a2", "x", "2"), ("b", None, "x", None)]
    rows += [("b", "b1", "y", "1"), ("b", "b2", "x", "1 2"), ("c", None, "y", None)]
    answers = pl.DataFrame(rows, ["bucket", "variant", "pred", "subsamples"], orient="row")
    found = over_draws(answers.with_columns(gold=pl.lit("x")), ["pa", "accuracy_variants", "accuracy_original"])
    values = {name: tuple(numbers) for _, name, *numbers in found.rows()}
    assert values["pa"] == (0.75, 0.5, 1.0, 2)
    assert values["accuracy_variants"] == pytest.approx(((2 / 3 + 1) / 2, 2 / 3, 1.0, 2))
    assert values["accuracy_original"] == (1.0, 1.0, 1.0, 2)  # c is no seed: it has no variant


def test_over_draws_wants_draws():
    with refuses(BadInput):
        over_draws(pl.DataFrame({"bucket": ["a"], "variant": ["a1"]}))
