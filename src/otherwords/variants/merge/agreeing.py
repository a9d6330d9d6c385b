"""The set operations of MERGE: one masked-LM at every occurrence, any masked-LM in a text, and all texts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

#: Words that each masked-LM accepts, by its name.
Accepted = Mapping[str, Set[str]]


class Rule(NamedTuple):
    """Which filters hold: likelier than the original word, of its class in context, accepted in all texts."""

    likelier: bool = True
    same_class: bool = True
    all_texts: bool = True


#: MERGE itself, and what it is taken apart into (Zgreaban et al. 2025, section 5.4); scrambling comes after the rule.
RULES = {
    "": Rule(),
    "union": Rule(all_texts=False),
    "class-only": Rule(likelier=False),
    "probability-only": Rule(same_class=False),
    "none": Rule(likelier=False, same_class=False),
    "scrambled": Rule(),
}


def at_every_occurrence(occurrences: Sequence[Accepted]) -> dict[str, frozenset[str]]:
    """What each masked-LM accepts wherever a word occurs in a text: it is the same one that must.

    >>> at_every_occurrence([{"a": {"cat", "cow"}, "b": {"pig"}}, {"a": {"cat", "pig"}, "b": {"cow"}}])
    {'a': frozenset({'cat'}), 'b': frozenset()}
    """
    return {model: frozenset.intersection(*(frozenset(one[model]) for one in occurrences)) for model in occurrences[0]}


def by_any_model(text: Accepted) -> frozenset[str]:
    """What one masked-LM or another accepts in a text.

    >>> sorted(by_any_model({"a": {"cat"}, "b": {"pig"}}))
    ['cat', 'pig']
    """
    return frozenset(word for words in text.values() for word in words)


def in_texts(texts: Sequence[Accepted], rule: Rule) -> frozenset[str]:
    """What is accepted in all texts, by any masked-LM in each; or in any text, where the rule says so.

    >>> sorted(in_texts([{"a": {"cat"}, "b": {"pig"}}, {"a": {"pig"}, "b": {"cow"}}], Rule()))
    ['pig']
    """
    pooled = [by_any_model(text) for text in texts]
    return frozenset.intersection(*pooled) if rule.all_texts else frozenset.union(*pooled)


def origins(word: str, texts: Sequence[Accepted]) -> tuple[str, ...]:
    """The masked-LMs that accept a word in some text: two, if one does here and another there.

    >>> origins("pig", [{"a": {"cat"}, "b": {"pig"}}, {"a": {"pig"}, "b": {"cow"}}])
    ('a', 'b')
    """
    return tuple(model for model in texts[0] if any(word in text[model] for text in texts))
