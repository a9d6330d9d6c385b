"""What MERGE's filters removed: notes that count it for each problem, and the rates that the paper's tables give."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import polars as pl

from ...errors import BadInput
from ...problem import Note
from .filters import AcceptedWord, AgreementRule, OfferedWord, Trial, origins
from .suggestions import CLASSES, Offer

#: The filters in the order in which they are applied; the first three look at single places, the others at texts.
NO_WORD = "left out: no whole word"
UNLIKELY = "left out: no likelier than the word itself"
PRESENT = "left out: already in the problem"
OCCURRENCE = "left out: not at every occurrence"
ELSEWHERE = "left out: not in every text"
CLASS = "left out: of another word class"
CLASS_ELSEWHERE = "left out: of another word class in another text"
FILTERS = (NO_WORD, UNLIKELY, PRESENT, OCCURRENCE, ELSEWHERE, CLASS, CLASS_ELSEWHERE)
#: Places where a masked-LM suggests nothing, because the word there is several tokens.
SEVERAL = "left out: a place with a word of several tokens"
#: Suggestions that passed all filters, by the masked-LMs that accept them.
KEPT = "suggestions kept"
_Key = tuple[str, str, str, str]
#: All word classes together.
ALL = "all"
_FIX = "give the notes of masked-lm: vary --notes FILE, or notes/ of a run folder"


# Notes


def filter_notes(
    of: str, words: Sequence[AcceptedWord], rule: AgreementRule, alone: Mapping[Trial, str] | None = None
) -> Iterator[Note]:
    """For every masked-LM, class and field, how many suggestions reached each filter of a rule, and how many went.

    What is counted is a suggestion at a place: where a word stands twice in a text, one that is accepted there counts
    twice, at every filter. So what reached a filter is what it removed and what reached the next.
    With `alone`, the tags of all suggestions, the filters of words are counted by themselves: on all suggestions.
    """
    removed: Counter[_Key] = Counter()
    reached: Counter[_Key] = Counter()
    for one in words:
        shared = one.word.shared
        for name in shared.places:
            for model in one.word.offers[name][0]:
                for what, left, came in _counts(one, name, model, rule, alone):
                    removed[model, shared.word_class, name, what] += left
                    reached[model, shared.word_class, name, what] += came
    for (model, word_class, name, what), came in reached.items():
        if came:
            about = {"model": model, "word_class": word_class, "field": name, "reached": str(came)}
            yield Note(of, what, removed[model, word_class, name, what], about)


def kept_notes(of: str, word_class: str, words: Sequence[AcceptedWord]) -> Iterator[Note]:
    """How many suggestions of a class exactly which masked-LMs accept, in one text or another."""
    kept = Counter("+".join(origins(word, list(one.accepted.values()))) for one in words for word in one.words)
    for names, count in sorted(kept.items()):
        yield Note(of, KEPT, count, {"word_class": word_class, "origin": names})


def _counts(
    one: AcceptedWord, name: str, model: str, rule: AgreementRule, alone: Mapping[Trial, str] | None
) -> Iterator[tuple[str, int, int]]:
    """Each filter with what it removed, and what had reached it."""
    several = sum(not place[model].suggestions for place in one.word.offers[name])
    yield SEVERAL, several, several
    for place in range(len(one.word.offers[name])):
        if alone is None:
            yield from _in_turn(one.word, one.word.offers[name][place][model], rule)
        else:
            yield from _alone(one.word, name, place, model, rule, alone)
    yield from _of_texts(one, name, model, rule)
    if rule.same_class and one.accepted:
        yield from (row for row in _of_class(one, name, model, rule) if alone is None or row[0] != CLASS)


def _in_turn(word: OfferedWord, offer: Offer, rule: AgreementRule) -> Iterator[tuple[str, int, int]]:
    """The filters of single places, one after the other."""
    words = offer.suggestions - offer.no_word
    left = words - offer.unlikely if rule.likelier else words
    yield NO_WORD, offer.no_word, offer.suggestions
    if rule.likelier:
        yield UNLIKELY, offer.unlikely, words
    yield PRESENT, left - len(word.passing(offer, rule)), left


def _alone(
    word: OfferedWord, name: str, place: int, model: str, rule: AgreementRule, tags: Mapping[Trial, str]
) -> Iterator[tuple[str, int, int]]:
    """Each filter on all suggestions; a suggestion that is not a word has no class."""
    offer, wanted = word.offers[name][place][model], CLASSES[word.shared.word_class]
    yield NO_WORD, offer.no_word, offer.suggestions
    if rule.likelier:
        yield UNLIKELY, offer.unlikely + offer.unlikely_rest, offer.suggestions
    yield PRESENT, sum(not word.is_new(one) for one in offer.words), offer.suggestions
    if rule.same_class:
        others = sum(tags[word.trial(one, name, place, model)] != wanted for one in offer.words)
        yield CLASS, offer.no_word + others, offer.suggestions


def _of_texts(one: AcceptedWord, name: str, model: str, rule: AgreementRule) -> Iterator[tuple[str, int, int]]:
    """All places of a text together, and all texts."""
    offers = [place[model] for place in one.word.offers[name]]
    came = sum(len(one.word.passing(offer, rule)) for offer in offers)
    everywhere = len(offers) * len(one.word.accepted(rule)[name][model])
    yield OCCURRENCE, came - everywhere, came
    if rule.all_texts:
        yield ELSEWHERE, everywhere - len(offers) * len(one.word.candidates(rule)[name][model]), everywhere


def _of_class(one: AcceptedWord, name: str, model: str, rule: AgreementRule) -> Iterator[tuple[str, int, int]]:
    """The class here, and in the other texts."""
    places, fitting = len(one.word.offers[name]), one.accepted[name][model]
    came = places * len(one.word.candidates(rule)[name][model])
    yield CLASS, came - places * len(fitting), came
    if rule.all_texts:
        yield CLASS_ELSEWHERE, places * len(fitting - one.words), places * len(fitting)


# Rates


def filter_rates(notes: pl.DataFrame) -> pl.DataFrame:
    """Table 6: of the suggestions that reached a filter, the share in per cent that it removed.

    By masked-LM, word class, field and filter, in the order in which filters are applied. What is counted is a
    suggestion at a place, so that for a word that stands twice in a text each counts twice, at every filter: what
    reached one is what it removed and what reached the next. At the class alone less may arrive, because it is looked
    at only where a problem may have suggestions enough. An ablation has the filters that it applies.

    >>> about = {"model": ["bert"], "word_class": ["noun"], "field": ["premise"], "reached": ["200"]}
    >>> notes = pl.DataFrame({"id": ["p"], "what": [FILTERS[0]], "count": [30], **about})
    >>> filter_rates(notes).row(0)
    ('bert', 'noun', 'premise', 'no whole word', 30, 200, 15.0)
    """
    counted = _of_masked_lm(notes, *FILTERS)
    keys = ["model", "word_class", "field", "what"]
    sums = counted.group_by(keys).agg(removed=pl.col("count").sum(), reached=pl.col("reached").cast(pl.Int64).sum())
    order = pl.col("what").replace_strict({name: place for place, name in enumerate(FILTERS)}, return_dtype=pl.Int64)
    return sums.sort("model", "word_class", "field", order).select(
        "model",
        "word_class",
        "field",
        pl.col("what").str.strip_prefix("left out: ").alias("filter"),
        "removed",
        "reached",
        percent=100 * pl.col("removed") / pl.col("reached"),
    )


def overlap(notes: pl.DataFrame) -> pl.DataFrame:
    """Figure 9: how many suggestions of a seed two masked-LMs have in common, and on the diagonal one has alone.

    >>> about = {"word_class": ["noun"] * 3, "origin": ["a", "a+b", "b"]}
    >>> overlap(pl.DataFrame({"id": ["p", "p", "q"], "what": [KEPT] * 3, "count": [4, 2, 1], **about})).rows()
    [('a', 2.0, 1.0), ('b', 1.0, 0.5)]
    """
    kept = _of_masked_lm(notes, KEPT)
    seeds = kept["id"].n_unique()
    by_origin = kept.group_by("origin").agg(pl.col("count").sum()).sort("origin").rows()
    models = sorted({model for origin, _ in by_origin for model in origin.split("+")})
    cells = {(one, other): 0 for one in models for other in models}
    for origin, count in by_origin:
        names = origin.split("+")
        for one, other in combinations(names, 2) if len(names) > 1 else [(names[0], names[0])]:
            cells[one, other] += count
            cells[other, one] += count if one != other else 0
    return pl.DataFrame({"model": models, **{one: [cells[other, one] / seeds for other in models] for one in models}})


def unique_variants(variants: pl.DataFrame) -> dict[str, float]:
    """Table 2's Uni: how many variants of a subsample are in no other, on average; by word class, and of all.

    >>> unique_variants(pl.DataFrame({"word_class": ["noun"] * 3, "subsamples": ["1 2", "1", "2"]}))
    {'all': 1.0, 'noun': 1.0}
    """
    drawn = _of_one(with_columns(variants, "word_class", "subsamples"), "how")
    numbers = pl.col("subsamples").str.split(" ")
    draws = drawn.select(numbers.list.explode(empty_as_null=True, keep_nulls=True).n_unique()).item()
    alone = drawn.filter(numbers.list.len() == 1)
    counts = {name: alone.filter(word_class=name).height / draws for name in sorted(drawn["word_class"].unique())}
    return {ALL: alone.height / draws, **counts}


def seed_counts(variants: pl.DataFrame, notes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Table 2: seeds by word class, how many variants each has on average, and their labels in per cent.

    Where `notes` are given, the average is of all suggestions that passed the filters, drawn or not, as in the paper.

    >>> rows = {"of": ["p", "p", "q"], "word_class": ["noun", "verb", "noun"], "label": ["yes", "yes", "no"]}
    >>> seed_counts(pl.DataFrame(rows)).rows()
    [('all', 2, 1.5, 50.0, 50.0), ('noun', 2, 1.0, 50.0, 50.0), ('verb', 1, 1.0, 0.0, 100.0)]
    """
    drawn = _of_one(with_columns(variants, "of", "word_class", "label"), "how")
    kept = drawn.select("word_class", id="of", count=1) if notes is None else _of_masked_lm(notes, KEPT)
    _refuse_others(drawn, kept)
    labels = sorted(drawn["label"].drop_nulls().unique())
    rows = []
    for name in (ALL, *sorted(drawn["word_class"].unique())):
        some, passed = (table if name == ALL else table.filter(word_class=name) for table in (drawn, kept))
        seeds = some.unique("of")
        shares = {label: 100 * seeds.filter(label=label).height / seeds.height for label in labels}
        average = passed["count"].sum() / passed["id"].n_unique()
        rows.append({"word_class": name, "seeds": seeds.height, "variants": average, **shares})
    return pl.DataFrame(rows)


def _of_masked_lm(notes: pl.DataFrame, *what: str) -> pl.DataFrame:
    """The notes with one of these texts; a table without any is refused."""
    if "what" not in notes.columns or not (found := notes.filter(pl.col("what").is_in(what))).height:
        raise BadInput("the notes contain no suggestions of masked-LMs", fix=_FIX)
    return _of_one(found, "generator")


def _of_one(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Refuse several generators, such as an ablation and the full method: their numbers must not be added."""
    names = sorted(table[column].drop_nulls().unique()) if column in table.columns else []
    if len(names) > 1:
        fix = f"select one, as in table.filter({column}={names[0]!r})"
        raise BadInput(f"the table has {len(names)} generators", field=column, fix=fix)
    return table


def _refuse_others(variants: pl.DataFrame, kept: pl.DataFrame) -> None:
    if "how" in variants.columns and "generator" in kept.columns and variants["how"][0] != kept["generator"][0]:
        fix = f"give the notes of {variants['how'][0]}"
        raise BadInput("the notes and the variants come from different generators", field="generator", fix=fix)


def with_columns(variants: pl.DataFrame, *names: str) -> pl.DataFrame:
    """The variants that have a value in each of these columns, which only those of `masked-lm` have."""
    if lost := [name for name in names if name not in variants.columns]:
        fix = "give the variants of masked-lm; with subsamples=10, they have a column subsamples"
        raise BadInput(f"the table has no column {', '.join(lost)}", fix=fix)
    if not (found := variants.drop_nulls(list(names))).height:
        raise BadInput("the table has no variants of masked-lm", fix="give a table of its variants")
    return found
