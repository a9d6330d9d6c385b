"""Other names for people and towns in all texts of a problem at once: the label stays, though other people are meant.

Only first names without a surname, and towns of which the texts say nothing else, so that no fact depends on them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from .parsing import Node
from .rewriting import Rewriting

_WOMEN = """
    Anna Susan Linda Karen Lisa Sandra Donna Carol Sarah Laura Julia Emma Emily Hannah Rachel Rebecca Jennifer Jessica
    Amanda Michelle Melissa Stephanie Nicole Helen Amy Angela Barbara Patricia Margaret Deborah Cynthia Kathleen
    Jane Alice Claire Lucy Sophie Julie Kate Ellen Janet Judy Betty
"""
_MEN = """
    John Peter David Michael Robert Daniel Andrew Steven Kevin Brian Gary Eric Jeffrey Benjamin Samuel Gregory
    Patrick Tom Tim Jim Joe Dave Steve Mike Ben Martin Philip Alan Ian Neil Jon Tommy Bob Ken Anthony Stephen
"""
_TOWNS = (
    "Leeds Bristol Sheffield Nottingham Leicester Coventry",
    "Tulsa Omaha Wichita Boise Dayton Fresno",
)
#: Names that can replace each other: women's, men's, towns of one country.
NAMES: tuple[frozenset[str], ...] = tuple(frozenset(text.split()) for text in (_WOMEN, _MEN, *_TOWNS))
_ABOUT_NAMES = """
    letter letters initial initials alphabet spell spells spelled spelling rhyme rhymes saint bible biblical gospel
    apostle king queen prince princess pope president emperor syllable syllables alphabetical pronounced
"""
#: With these words the texts may say something of the name itself, or of a famous bearer.
_SPEAKS_OF_NAMES = frozenset(_ABOUT_NAMES.split())
_ABOUT_TOWNS = """
    north south east west northern southern eastern western coast coastal sea ocean river lake mountain mountains state
    county country region capital island border mile miles km kilometers kilometres university airport team accent
    weather climate population state's abroad overseas city's football club
"""
#: With these words the texts may say something of the town that holds for no other.
_SPEAKS_OF_TOWNS = frozenset(_ABOUT_TOWNS.split())
_WHERE = {
    "in",
    "to",
    "from",
    "near",
    "through",
    "around",
    "for",
    "leave",
    "leaves",
    "left",
    "visit",
    "visits",
    "visited",
}
#: What joins a first name to more of a name: "Robert le Lorrain", "Dave & Buster's".
_JOINS = {"-", "&", "/", "the", "of", "le", "la", "de", "di", "da", "du", "van", "von", "der", "el", "al", "bin", "y"}
_SENTENCE_MARKS = {".", "!", "?", '"', "“", "”", "(", ":", ";", "'", "-", "--", "—"}


_NOTHING = [Node("", 0, "", "", "", 0, "", False)] * 2


class Renaming(NamedTuple):
    """One name replaced by another in all texts of a problem: the rewritings of every field that has the name."""

    old: str
    new: str
    rewritings: dict[str, list[Rewriting]]

    def apply(self, texts: Mapping[str, str]) -> dict[str, str]:
        """All texts with the new name; the others as they are."""
        found = dict(texts)
        for field, rewritings in self.rewritings.items():
            for one in reversed(rewritings):
                found[field] = one.apply(found[field])
        return found


def renamings(texts: Mapping[str, str], nodes: Mapping[str, Sequence[Node]], random: Random) -> Iterator[Renaming]:
    """For each person and town that several texts name and that may have another name, a renaming in all of them.

    `nodes` are those of the whole text of every field; `random` draws the new names.

    >>> from .parsing import parser
    >>> texts = {"premise": "Anna met Tom's sister.", "hypothesis": "Tom met Anna."}
    >>> nodes = dict(zip(texts, parser()(texts.values())))
    >>> [one.apply(texts)["hypothesis"] for one in renamings(texts, nodes, Random(1))]
    ['Tom met Cynthia.', 'Benjamin met Anna.']
    """
    words = {word for text in texts.values() for word in re.findall(r"\w+(?:'s)?", text)}
    for old, group in _found(texts):
        shared = sum(bool(re.search(rf"\b{old}\b", text)) for text in texts.values()) > 1
        if not shared or not all(_may_rename(old, group, nodes[field], words) for field in texts):
            continue
        new = [name for name in sorted(group) if name != old and not _is_alike(name, words)]
        if new:
            yield _renaming(old, random.choice(new), texts)


def _found(texts: Mapping[str, str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The listed names in some texts in their order, with the group that each belongs to."""
    words = dict.fromkeys(word for text in texts.values() for word in re.findall(r"[^\W\d_]+", text))
    return ((word, group) for word in words for group in NAMES if word in group)


def _may_rename(old: str, group: frozenset[str], nodes: Sequence[Node], words: set[str]) -> bool:
    """Whether a name stands alone wherever it occurs in a text, and nothing else may depend on it."""
    places = [at for at, node in enumerate(nodes) if node.text == old]
    if group not in NAMES[:2] and not _is_only_place(old, nodes, words):
        return False
    if _is_alike(old, words - {old, f"{old}'s"}) or {word.lower() for word in words} & _SPEAKS_OF_NAMES:
        return False
    return all(nodes[at].pos == "PROPN" and _stands_alone(nodes, at) for at in places) and _counted(old, nodes)


def _counted(old: str, nodes: Sequence[Node]) -> bool:
    """Whether the name is nowhere inside another token."""
    return not any(old in node.text and node.text != old for node in nodes)


def _stands_alone(nodes: Sequence[Node], at: int) -> bool:
    """Whether neither a title, a surname nor a number is beside a name."""
    before, (after, second) = nodes[at - 1] if at else None, [*nodes[at + 1 : at + 3], *_NOTHING][:2]
    titled = (
        before is not None
        and before.text not in _SENTENCE_MARKS
        and before.pos != "SPACE"
        and ((before.text[:1].isupper() and at > 1) or before.named or before.tag in {"DT", "JJ", "HYPH"})
    )
    followed = after.text[:1].isupper() or after.named or after.pos == "NUM" or after.text.lower() in _JOINS
    paired = after.text == "and" and second.named and not any(second.text in group for group in NAMES)  # Tom and Jerry
    return not titled and not followed and not paired


def _is_alike(name: str, words: set[str]) -> bool:
    """Whether another word may be a form of the name: "Tommy" and "Tom", "Jon" and "John"."""
    beginnings = {name[:3], {"Jon": "Joh", "Joh": "Jon"}.get(name[:3], name[:3])}
    return any(word[:3] in beginnings for word in words)


def _is_only_place(old: str, nodes: Sequence[Node], words: set[str]) -> bool:
    """Whether a town is the only name but for people's, and follows a word for where somebody is or goes."""
    people = NAMES[0] | NAMES[1]
    others = [node.text for node in nodes if node.named and node.text != old and node.text not in people]
    placed = all(at and nodes[at - 1].text.lower() in _WHERE for at, node in enumerate(nodes) if node.text == old)
    return placed and not others and not {word.lower() for word in words} & _SPEAKS_OF_TOWNS


def _renaming(old: str, new: str, texts: Mapping[str, str]) -> Renaming:
    rewritings = {
        field: [Rewriting("renaming", match.start(), old, new) for match in re.finditer(rf"\b{old}\b", text)]
        for field, text in texts.items()
    }
    return Renaming(old, new, {field: some for field, some in rewritings.items() if some})
