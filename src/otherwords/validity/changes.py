"""What a rewording changed, in numbers: negations, quantifiers, numbers, opposites, names, nouns, and how much it kept.

A broken variant changes little besides what breaks it; a paraphrase changes much, also words that carry a label.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from ..grammar.parsing import ParseTree
from ..words.alignment import split_words
from ..words.language import FUNCTION_WORDS
from ..words.lexicon import lexicon
from .label_safety import LabelText, violations

_KINDS = ("negation", "quantifier", "number")
_CONTENT = {"NOUN", "PROPN", "VERB", "ADJ", "ADV"}
#: Words that deny without a negation.
_NOT_DONE = {"fail", "refuse", "decline", "unable", "incapable", "lack", "absent", "impossible", "neglect", "deny",
             "forget", "avoid", "prevent", "refrain", "abstain", "forbid", "prohibit", "absence", "devoid",
             "unless"}  # fmt: skip
#: Phrases that do.
_PHRASES_NOT_DONE = re.compile(
    r"\b(?:yet to|far from|free (?:of|from)|instead of|rather than|too \w+(?: \w+)?? to"
    r"|(?:stop(?:s|ped)?|ke(?:eps?|pt)) \w+(?: \w+)? from)\b"
)
#: A negation of these is one of what follows: "I don't think he is here".
_PASSED_ON = {"think", "believe", "want", "seem", "expect", "suppose", "appear", "intend", "feel", "imagine", "plan"}
#: Syllables that deny what follows.
_DENYING = ("un", "in", "im", "ir", "il", "dis", "non", "non-")
#: Endings without which two words with the same stem are compared.
_ENDINGS = re.compile("(?:ally|ily|ly|ness|ity|y|able|e)$")
#: Words that say how many times.
_MULTIPLES = {"double", "triple", "treble", "quadruple", "halve", "twice", "thrice", "twofold", "threefold"}
#: Changes that go with a comparison that was turned.
_DEGREE = re.compile(r"^(?:antonym|quantifier)\b.*\b(?:more|less|few|fewer|many|much|least|most)\b|^antonym")
_BESIDE = (["left", "of"], ["right", "of"])
#: Verbs and nouns that say little by themselves.
_LIGHT = {"be", "have", "do", "get", "go", "make", "take", "there", "thing", "someone", "somebody", "one"}
#: How far up the definitions are followed: a poodle is a dog, a dog an animal.
_LEVELS = 2
#: The beginning of a definition, up to its noun.
_GENUS = re.compile(
    r"\s*((?:[a-z-]+ )*?[a-z-]+)(?=[;,:.]|$| (?:of|that|which|who|whose|with|used|having|for|to|in|on|at|from|by|and|or"
    r"|usually|where|when|made|consisting|worn|containing|designed|without|as|about|such|characterized|found) )"
)
#: Nouns that definitions begin with where what is meant follows: "a term for a youth or man".
_EMPTY = {"term", "kind", "type", "sort", "member", "group", "variety", "any", "one", "piece", "class", "name", "part"}
#: Words with a common beginning of so many letters are taken for forms of one: "swim" and "swimmer".
_STEM = 4


class Changes(NamedTuple):
    """Counts of changes between two texts, and `kept`: the share of content words that both have, or synonyms of.

    `denied` is 1 where a negation came, went or moved and no opposite makes up for it; of quantifiers and numbers some
    `became` others, some were only added or lost. Names and nouns are counted where one was lost and another,
    unrelated, is new; `others` counts verbs, adjectives and adverbs likewise. `replaced` counts words with an
    unrelated one in the very same place, and `frame` is the share of all words that stand in the same order.
    """

    denied: int
    opposed: int
    quantifier_became: int
    quantifier_moved: int
    number_became: int
    number_moved: int
    names: int
    nouns: int
    others: int
    replaced: int
    kept: float
    frame: float


def changes(before: LabelText, after: LabelText, tree: ParseTree, other: ParseTree) -> Changes:
    """Count what changed; the trees are those of both texts."""
    lines = violations(before, after, _KINDS, antonyms=True)
    negations, opposites = (_count(lines, kind) for kind in ("negation", "antonym"))
    denying = _denying(before.words - after.words, after.words - before.words)
    withheld = (_withheld(tree) != _withheld(other)) != (denying % 2 == 1)
    opposites = max(0, opposites - denying)
    if _comparison_turned(tree, other):
        opposites, lines = 0, [line for line in lines if not _DEGREE.search(line)]
    cues = {word for text in (before, after) for cue in text.cues for word in cue.words.split()}
    old, new = (_content(one, cues) for one in (tree, other))
    lost, gained = _unrelated(old, new), _unrelated(new, old)
    names, nouns, others = [
        min(_of(lost, kind), _of(gained, kind)) for kind in (("PROPN",), ("NOUN",), ("VERB", "ADJ", "ADV"))
    ]
    share = 1 - (len(lost) + len(gained)) / max(1, len(old) + len(new))
    replaced, frame = _aligned(before.text, after.text, _forms(tree, lost), _forms(other, gained))
    multiples = min(len(_multiples(tree) - _multiples(other)), len(_multiples(other) - _multiples(tree)))
    return Changes(
        int(((bool(negations) != withheld) and not opposites) or _negation_moved(tree, other)),
        int(bool(opposites) and not negations),
        _count(lines, "quantifier", " became "),
        _count(lines, "quantifier") - _count(lines, "quantifier", " became "),
        _count(lines, "number", " became ") + multiples,
        _count(lines, "number") - _count(lines, "number", " became "),
        names,
        nouns,
        others,
        replaced,
        share,
        frame,
    )


def _aligned(before: str, after: str, lost: set[str], gained: set[str]) -> tuple[int, float]:
    """How many lost words have a gained one in their place, and the share of words in the same order."""
    old, new = split_words(before), split_words(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    replaced = 0
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        some = [
            [word for word in words if word in known] for words, known in ((old[i:i_end], lost), (new[j:j_end], gained))
        ]
        replaced += tag == "replace" and [len(one) for one in some] == [1, 1] and i_end - i <= 2 and j_end - j <= 2
    return replaced, matcher.ratio()


def _multiples(tree: ParseTree) -> set[str]:
    return {node.lemma.lower() for node in tree.nodes} & _MULTIPLES


def _comparison_turned(tree: ParseTree, other: ParseTree) -> bool:
    """Whether both texts compare the same, the other way round: "A is older than B", "B is younger than A".

    So do "left of" and "right of".
    """
    sides = []
    for one in (tree, other):
        words = [node.text.lower() for node in one.nodes]
        than = next((at for at, word in enumerate(words) if word == "than" or words[at - 1 : at + 1] in _BESIDE), None)
        if than is None:
            return False
        named = {"NOUN", "PROPN"} if words[than] == "than" else {"NOUN", "PROPN", "ADJ"}
        nouns = [at for at, node in enumerate(one.nodes) if node.pos in named]
        sides.append([{one[at].lemma.lower() for at in nouns if (at < than) == before} for before in (True, False)])
    (first, second), (new_first, new_second) = sides
    return bool(second & new_first - first and first & new_second - second)


def _withheld(tree: ParseTree) -> bool:
    """Whether a text says in other words that something is not so: "fails to", "has yet to"; twice is not at all."""
    words = sum(node.lemma.lower() in _NOT_DONE for node in tree.nodes)
    return (words + len(_PHRASES_NOT_DONE.findall(tree.text.lower()))) % 2 == 1


def _negation_moved(tree: ParseTree, other: ParseTree) -> bool:
    """Whether a negation went from one verb to another: "did not say he left", "said he did not leave"."""
    denied, there = (_denied_verbs(one) for one in (tree, other))
    gone, new = denied - there, there - denied
    if len(denied) != len(there) or (gone | new) & _PASSED_ON:
        return False
    words, others = ({node.lemma.lower() for node in one.nodes} for one in (tree, other))
    return bool(gone) and gone <= others and new <= words


def _denied_verbs(tree: ParseTree) -> set[str]:
    heads = [tree[node.head] for node in tree.nodes if node.dep == "neg"]
    return {node.lemma.lower() for node in heads if node.pos in {"VERB", "AUX", "ADJ"}} - _LIGHT


def _denying(lost: Iterable[str], gained: Iterable[str]) -> int:
    """How many words came or went with a syllable that denies them.

    >>> _denying(["legally", "ran"], ["illegally", "walked"]), _denying(["able"], ["enable"])
    (1, 0)
    """
    return sum(_denies(one, other) or _denies(other, one) for one in lost for other in gained)


@lru_cache(maxsize=1 << 16)
def _denies(word: str, other: str) -> bool:
    """Whether a word is another one, in some form, with a syllable before it or "-less" behind it that denies it."""
    stem = _ENDINGS.sub("", other)
    if len(stem) < _STEM - 1:
        return False
    return any(_ENDINGS.sub("", word) == prefix + stem for prefix in _DENYING) or (
        word.endswith("less") and word.removesuffix("less") == _ENDINGS.sub("", other.removesuffix("ful"))
    )


def _count(lines: Sequence[str], kind: str, part: str = "") -> int:
    return sum(line.startswith(kind) and part in line for line in lines)


def _content(tree: ParseTree, cues: set[str]) -> list[tuple[str, str]]:
    """The base forms of content words with their parts of speech; words that carry a label are counted elsewhere."""
    return [
        (node.lemma.lower(), node.pos)
        for node in tree.nodes
        if node.pos in _CONTENT
        and node.lemma.lower() not in _LIGHT
        and node.text.lower() not in cues
        and node.text.lower() not in FUNCTION_WORDS
        and node.text[0].isalnum()
    ]


def _forms(tree: ParseTree, words: Sequence[tuple[str, str]]) -> set[str]:
    """The words of a text as they stand that have these base forms."""
    wanted = {word for word, _ in words}
    return {node.text.lower() for node in tree.nodes if node.lemma.lower() in wanted}


def _unrelated(words: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Words that the other text does not have as often, nor one that is new there and related."""
    own, there = Counter(word for word, _ in words), Counter(word for word, _ in others)
    fresh = there - own
    gone = own - there
    return [
        one for one in dict.fromkeys(words) if gone[one[0]] and not any(are_related(one[0], word) for word in fresh)
    ]


def _of(words: Sequence[tuple[str, str]], kinds: Sequence[str]) -> int:
    return sum(pos in kinds for _, pos in words)


@lru_cache(maxsize=1 << 17)
def are_related(word: str, other: str) -> bool:
    """Whether two words share a sense or a beginning, or one is a kind of the other.

    >>> are_related("sofa", "couch"), are_related("guitar", "instrument"), are_related("guitar", "piano")
    (True, True, False)
    """
    shorter = min(len(word), len(other))
    if shorter >= _STEM and word[: max(_STEM, shorter - 2)] == other[: max(_STEM, shorter - 2)]:
        return True
    return other in _above(word) or word in _above(other)


@lru_cache(maxsize=1 << 15)
def _above(word: str) -> frozenset[str]:
    """The synonyms of a word in its frequent senses, and what it is a kind of, as far as definitions say so."""
    found, level = set(_synonyms(word)), _genera(word)
    for _ in range(_LEVELS):
        found |= level
        level = frozenset(above for genus in level for above in _genera(genus, 1)) - found
    return frozenset(found)


@lru_cache(maxsize=1 << 15)
def _synonyms(word: str) -> frozenset[str]:
    synsets = [synset for part in "nvar" for synset in lexicon().synsets(word, part)[:4]]
    return frozenset(part for synset in synsets for name in synset.words for part in name.lower().split())


@lru_cache(maxsize=1 << 15)
def _genera(word: str, senses: int = 3) -> frozenset[str]:
    """The nouns that definitions begin with: a guitar is "a stringed instrument usually having six strings"."""
    glosses = [re.sub(r"\(.*?\)", "", synset.gloss).lower() for synset in lexicon().synsets(word, "n")[:senses]]
    heads = [(match[1].split()[-1], gloss) for gloss in glosses if (match := _GENUS.match(gloss))]
    return frozenset(one for head, gloss in heads for one in ([head] if head not in _EMPTY else _words(gloss)))


def _words(gloss: str) -> list[str]:
    return [word for word in re.findall("[a-z]+", gloss.partition(";")[0]) if word not in FUNCTION_WORDS]
