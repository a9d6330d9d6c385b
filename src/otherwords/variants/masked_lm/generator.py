"""MERGE: words that the texts share are replaced by others that masked-LMs find likelier (Zgreaban et al. 2025).

The story: find the shared words and ask the masked-LMs for suggestions (`suggestions`), let suggestions pass the
filters (`filters`), leave out word classes with too few, draw from the rest, and put each word at all its places.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from ...errors import BadInput
from ...language_models.masked_lm import MaskedLM, load
from ...problem import Note, Problem, Variant
from ...registry import generators
from ...storage.files import seed_for
from ...storage.specs import split_name
from ...words.tagging import tagger
from ..controls import scrambled
from ..corpus import Frequencies
from ..generating import Change, Generator, with_changes, with_columns
from .counts import filter_notes, kept_notes
from .filters import (
    RULES,
    AcceptedWord,
    AgreementRule,
    OfferedWord,
    Seed,
    SeedFinder,
    TagTrials,
    Trial,
    apply_rule,
    origins,
    tags_in_context,
)
from .suggestions import CLASSES, Suggester, in_place, is_present

COUNTS = ("reached", "all")
AMBIGUOUS = "left out: a shared word of different classes"
#: Letters that are all alike have no other order, and another order may be a word of the problem.
UNSCRAMBLED = "left out: scrambled letters that are no new word"
_FULL = AgreementRule()
_WHERE = "masked-lm.v1"
One = TypeVar("One")


# Masked-LMs are signed by what they are, in the identity: the path of their folders does not matter.
@generators(
    "masked-lm.v1",
    unsigned=("models",),
    language="en",
    extra="spacy",
    measured="sound: 88.5 % on captions (SNLI) with mlm-small; 60-72 % on MNLI, RTE and everyday text, 33-48 % read "
    "more closely",
)
def masked_lm(
    models: str | list[str] = "mlm-small",
    top: int = 200,
    classes: str = "noun+verb+adjective",
    least: int = 20,
    n: int = 20,
    subsamples: int = 1,
    ablation: str = "",
    several: bool = False,
    counts: str = "reached",
    corpus: Path = Path(),
) -> Any:
    """Replace words that premise and hypothesis share by others that masked-LMs find likelier in both (MERGE).

    `models`: one masked-LM or a list, each perhaps with a short name, as in bert=hf:google-bert/bert-base-cased. At
    every place of a shared word their `top` suggestions are taken that are whole words, likelier than the word, new to
    the problem and, as the model writes them, of the word's class; one model must accept a suggestion at all places of
    a text, and each text needs one. `classes`: noun, verb, adjective, adverb, joined by "+". A problem with fewer than
    `least` suggestions for its words of a class has no variants of it; else `n` of each class are drawn (0: all),
    `subsamples` times over: n=2 gives up to six variants.
    `ablation`, on the same problems: union (of the texts), class-only, probability-only, none or scrambled. `several`:
    words of several tokens, too. `counts` of filters are of what reached them, or of all suggestions by each alone,
    which is slow. `corpus`, a data set or a text file, gives the frequency of replacements.
    The texts are the task's targets, of which two or more must share a word; one that stands elsewhere in the problem,
    too, is left alone.
    """
    chosen = _classes(classes)
    _refuse_wrong(ablation, counts, top=top, least=least, n=n, subsamples=subsamples)
    named, tag = _models([models] if isinstance(models, str) else models), tagger()
    frequencies = Frequencies(corpus)
    rule, alone = RULES[ablation], counts == "all"
    suggest = Suggester(named, top, several, every=alone or not rule.likelier)
    find_seeds = SeedFinder(tag, chosen, suggest, _WHERE)
    filter_classes = ClassFilter(tags_in_context(tag), least, rule, alone)
    make_variants = VariantMaker(n, subsamples, ablation == "scrambled", frequencies)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        for filtered in filter_classes(list(find_seeds(problems, seeds))):
            yield from filtered.notes
            yield from make_variants(filtered)

    signatures = [f"{name}={model.signature}" for name, model in named.items()]
    return Generator(vary, identity="+".join([tag.identity, *signatures, *frequencies.identity]))


# Which word classes of a problem have enough suggestions


class FilteredSeed(NamedTuple):
    """A seed with the accepted words of each class that has enough, and notes on the rest."""

    seed: Seed
    by_class: dict[str, list[AcceptedWord]]
    notes: list[Note]


class ClassFilter(NamedTuple):
    """Applies the filters; a class needs `least` suggestions that pass all of them, whatever `rule` is asked for."""

    tags: TagTrials
    least: int
    rule: AgreementRule
    alone: bool

    def __call__(self, seeds: Sequence[Seed]) -> Iterator[FilteredSeed]:
        """All seeds, in order."""
        alone = self.tags(_all_trials(seeds) if self.rule.same_class else ()) if self.alone else None
        groups = [words for seed in seeds for words in seed.by_class.values() if self._is_hopeful(words)]
        full = _by_word(groups, _FULL, self.tags)
        enough = [words for words in groups if sum(len(full[word].words) for word in words) >= self.least]
        final = full if self.rule == _FULL else _by_word(enough, self.rule, self.tags)
        good = {word for words in enough for word in words}
        for seed in seeds:
            passed = {name: words for name, words in seed.by_class.items() if words[0] in good}
            by_class = {name: [final[word] for word in words] for name, words in passed.items()}
            yield FilteredSeed(seed, by_class, list(self._notes(seed, passed, final, alone)))

    def _is_hopeful(self, words: Sequence[OfferedWord]) -> bool:
        """Whether a class has enough before its sentences are tagged; otherwise they need not be."""
        return sum(len(word.possible(_FULL)) for word in words) >= self.least

    def _notes(
        self,
        seed: Seed,
        passed: Mapping[str, Sequence[OfferedWord]],
        final: Mapping[OfferedWord, AcceptedWord],
        alone: Mapping[Trial, str] | None,
    ) -> Iterator[Note]:
        name = seed.problem.id
        accepted = [final.get(word) or AcceptedWord(word, {}, frozenset()) for word in seed.words]
        yield from filter_notes(name, accepted, self.rule, alone)
        if seed.ambiguous:
            yield Note(name, AMBIGUOUS, seed.ambiguous)
        for word_class in seed.by_class:
            if word_class in passed:
                yield from kept_notes(name, word_class, [final[word] for word in passed[word_class]])
            else:
                what = f"left out: a word class with fewer than {self.least} suggestions"
                yield Note(name, what, 1, {"word_class": word_class})


def _by_word(
    groups: Iterable[Sequence[OfferedWord]], rule: AgreementRule, tags: TagTrials
) -> dict[OfferedWord, AcceptedWord]:
    return {one.word: one for one in apply_rule([word for words in groups for word in words], rule, tags)}


def _all_trials(seeds: Sequence[Seed]) -> Iterator[Trial]:
    """All suggestions at all places, as each masked-LM writes them."""
    for word in (word for seed in seeds for word in seed.words):
        for name, places in word.offers.items():
            for place, by_model in enumerate(places):
                for model, offer in by_model.items():
                    yield from (word.trial(one, name, place, model) for one in offer.words)


# Variants of the suggestions that passed


class ReplacedWord(NamedTuple):
    """A shared word, a suggestion for it in lower case, and the word that replaces it: the same, or scrambled."""

    original: AcceptedWord
    suggestion: str
    new: str


class VariantMaker(NamedTuple):
    """Makes variants: `n` for each class, `subsamples` times over."""

    n: int
    subsamples: int
    scramble: bool
    frequencies: Frequencies

    def __call__(self, filtered: FilteredSeed) -> Iterator[Variant | Note]:
        """The variants of a seed, class by class, no two with the same texts."""
        problem, seed = filtered.seed.problem, filtered.seed.seed
        pools = {name: self._pool(words, seed) for name, words in filtered.by_class.items()}
        classes = "+".join(name for name, pool in pools.items() if pool)
        seen = {tuple(problem.text.values())}
        for name, pool in pools.items():
            if lost := sum(len(one.words) for one in filtered.by_class[name]) - len(pool):
                yield Note(problem.id, UNSCRAMBLED, lost, {"word_class": name})
            for one, numbers in drawn(pool, self.n, self.subsamples, seed, name):
                variant = with_changes(problem, list(_changes(one)))
                if tuple(variant.text.values()) not in seen:
                    seen.add(tuple(variant.text.values()))
                    yield with_columns(variant, {**self._columns(one, numbers), "classes": classes})

    def _pool(self, words: Sequence[AcceptedWord], seed: int) -> list[ReplacedWord]:
        pool = [ReplacedWord(one, word, word) for one in words for word in sorted(one.words)]
        if not self.scramble:
            return pool
        shuffled = (_scrambled(one, seed) for one in pool)
        distinct = {(one.original.word.shared.word, one.new): one for one in shuffled}
        return [one for one in distinct.values() if one.new != one.suggestion and not _is_there(one)]

    def _columns(self, one: ReplacedWord, numbers: Sequence[int]) -> dict[str, Any]:
        shared = one.original.word.shared
        columns: dict[str, Any] = {
            "word_class": shared.word_class,
            "replaced": shared.word,
            "replacement": one.new,
            "origin": "+".join(origins(one.suggestion, list(one.original.accepted.values()))),
        }
        if self.subsamples > 1:
            columns["subsamples"] = " ".join(map(str, numbers))
        return {**columns, **self.frequencies(one.new)}


def _scrambled(one: ReplacedWord, seed: int) -> ReplacedWord:
    """The same new order wherever the word stands."""
    random = Random(seed_for(seed, one.original.word.shared.word, one.suggestion))
    return one._replace(new=scrambled(one.suggestion, random))


def _is_there(one: ReplacedWord) -> bool:
    return is_present(one.new, one.original.word.present)


def _changes(one: ReplacedWord) -> Iterator[Change]:
    """The new word at every place, with the probabilities of both by the masked-LMs that accept it there."""
    word = one.original.word
    for name, tokens in word.shared.places.items():
        models = [model for model, accepted in one.original.accepted[name].items() if one.suggestion in accepted]
        for place, token in enumerate(tokens):
            offers = word.offers[name][place]
            probabilities = {
                model: [_probability(offers[model].words[one.suggestion][1]), _probability(offers[model].own)]
                for model in models
            }
            if models and one.new == one.suggestion:
                new = word.written(one.suggestion, name, place, models[0])
            else:
                new = in_place(one.new, (word.texts[name], token.start, token.end))
            about = {"pos": word.shared.word_class, "p": probabilities}
            yield {"field": name, "at": token.start, "from": token.text, "to": new, **about}


def _probability(logp: float) -> float:
    """To four digits: the last bits of a model's arithmetic differ between machines."""
    return float(f"{exp(logp):.4g}")


def drawn(pool: Sequence[One], n: int, subsamples: int, seed: int, about: str) -> list[tuple[One, tuple[int, ...]]]:
    """The members of several draws of `n` each, in the order of the pool, and the numbers of their draws, from 1.

    `n` of 0 takes all. `about` names the pool, so that two pools of a problem are drawn from independently.

    >>> drawn(["a", "b", "c"], 2, 2, seed=1, about="noun")
    [('a', (1,)), ('b', (1, 2)), ('c', (2,))]
    """
    size = min(n, len(pool)) if n else len(pool)
    draws: dict[int, list[int]] = {}
    for number in range(1, subsamples + 1):
        for place in Random(seed_for(seed, about, str(number))).sample(range(len(pool)), size):
            draws.setdefault(place, []).append(number)
    return [(pool[place], tuple(draws[place])) for place in sorted(draws)]


# Options


def _models(specs: Sequence[str]) -> dict[str, MaskedLM]:
    """The masked-LMs by their names: those that the user gives, else the last part of their path."""
    if wrong := [spec for spec in specs if not isinstance(spec, str)]:
        fix = 'give names, as in ["mlm-small", "bert=hf:google-bert/bert-base-cased"]'
        raise BadInput(f"found {wrong[0]!r}", where=_WHERE, field="models", fix=fix)
    named = [(_short(spec) if name == spec else name, spec) for name, spec in map(split_name, specs)]
    names = [name for name, _ in named]
    if not names:
        raise BadInput("no masked-LM given", where=_WHERE, field="models", fix="give one, as in mlm-small")
    if twice := [name for name in names if names.count(name) > 1]:
        fix = 'give each its own name, as in ["base=hf:one/bert", "large=hf:two/bert"]'
        raise BadInput(f"two masked-LMs have the name {twice[0]!r}", where=_WHERE, field="models", fix=fix)
    return {name: _loaded(spec) for name, spec in named}


def _loaded(spec: str) -> MaskedLM:
    model = load(spec)
    try:
        model.masker  # noqa: B018  # which needs a mask token
    except BadInput as error:
        raise BadInput(str(error), where=spec) from error
    return model


def _short(spec: str) -> str:
    """A masked-LM's name without its path and options.

    >>> _short("hf:google-bert/bert-base-cased(device=cpu)"), _short("mlm-small")
    ('bert-base-cased', 'mlm-small')
    """
    path = spec.partition("(")[0].partition(":")[2] or spec.partition("(")[0]
    return path.rstrip("/").rpartition("/")[2].replace("+", "-")


def _classes(named: str) -> list[str]:
    names = named.split("+")
    if strangers := [name for name in names if name not in CLASSES]:
        fix = f"use {', '.join(CLASSES)}, several as in noun+verb"
        raise BadInput(f"no word class {strangers[0]!r}", where=_WHERE, field="classes", fix=fix)
    return [name for name in CLASSES if name in names]


def _refuse_wrong(ablation: str, counts: str, **numbers: int) -> None:
    if ablation not in RULES:
        fix = f"use one of {', '.join(name for name in RULES if name)}, or leave it out"
        raise BadInput(f"found {ablation!r}", where=_WHERE, field="ablation", fix=fix)
    if counts not in COUNTS:
        raise BadInput(f"found {counts!r}", where=_WHERE, field="counts", fix=f"use {' or '.join(COUNTS)}")
    for name, number in numbers.items():
        if number < (name != "n"):
            fix = "give a number of variants, 0 for all" if name == "n" else "give 1 or more"
            raise BadInput(f"found {number}", where=_WHERE, field=name, fix=fix)
    if not numbers["n"] and numbers["subsamples"] > 1:
        fix = "set n to the size of a subsample, or leave subsamples out"
        raise BadInput("has no effect without n", where=_WHERE, field="subsamples", fix=fix)
