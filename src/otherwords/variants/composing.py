"""Rewritings of one problem put together: which go together, in which texts, and what the result is.

A rewriting of structure has a stretch of its own. Synonyms may stand inside it: a word is replaced wherever it occurs,
so that it is replaced in the new order of the words as well, if all its occurrences are still there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..grammar.clause_rules import CLAUSES
from ..grammar.rewriting import Rewriting
from ..words.inflection import article
from .generating import Change
from .structural import Candidate
from .wordnet import SynonymChanges

SYNONYM = "synonym"
#: Of the kinds that rebuild a clause, one is made in a text: not "There is a man is walking".
_OF_CLAUSES = frozenset({*CLAUSES, "voice"})
_ARTICLE = re.compile(r"\ban?(?=\s+$)", re.I)


class Edit(NamedTuple):
    """One rewriting of a problem: of structure, in one text, or a synonym, in all texts that have the word."""

    kind: str
    candidate: Candidate | None = None
    synonym: SynonymChanges | None = None

    @property
    def how(self) -> str:
        """What is done, as the column `rewriting` says it."""
        return self.candidate.group[0].rewriting.how if self.candidate else SYNONYM

    def in_field(self, name: str) -> Rewriting | None:
        """The rewriting of structure in a text."""
        rewritten = self.candidate.group[0] if self.candidate else None
        return rewritten.rewriting if rewritten and rewritten.field == name else None

    def words_in(self, name: str) -> list[Change]:
        """The replaced words in a text, and articles that change with them."""
        return [change for change in self.synonym.changes if change["field"] == name] if self.synonym else []


def combine(fields: Iterable[str], edits: Sequence[Edit]) -> list[Change] | None:
    """All changes of several edits, by field and place; None where they do not go together.

    >>> from .structural import Rewritten
    >>> passive = Rewriting("passive", 0, "A dog chases a cat", "A cat is chased by a dog")
    >>> one = Edit("voice", Candidate("voice", [Rewritten("premise", passive, "A cat is chased by a dog.")]))
    >>> word = {"field": "premise", "at": 15, "from": "cat", "to": "animal", "pos": "noun"}
    >>> before = {"field": "premise", "at": 13, "from": "a", "to": "an", "pos": "article"}
    >>> two = Edit("synonym", None, SynonymChanges("animal", [before, word]))
    >>> [change["to"] for change in combine(["premise"], [one, two])]
    ['An animal is chased by a dog']
    """
    if not _are_different(edits):
        return None
    found = []
    for name in fields:
        some = _combine_in(name, [one for edit in edits if (one := edit.in_field(name))], edits)
        if some is None:
            return None
        found += some
    return found


def _are_different(edits: Sequence[Edit]) -> bool:
    """Whether no two words become one, and no word is replaced twice."""
    words = [edit.synonym for edit in edits if edit.synonym]
    old = [{change["from"].lower() for change in one.changes if change["pos"] != "article"} for one in words]
    new = Counter(one.synonym for one in words)
    return all(count == 1 for count in new.values()) and sum(map(len, old)) == len(set[str]().union(*old))


def _combine_in(name: str, rewritings: Sequence[Rewriting], edits: Sequence[Edit]) -> list[Change] | None:
    clauses = [edit.kind for edit in edits if edit.in_field(name) and edit.kind in _OF_CLAUSES]
    if len(clauses) > 1:
        return None
    spans = sorted((one.at, one.at + len(one.before), one) for one in rewritings)
    if any(end > start for (_, end, _), (start, _, _) in pairwise(spans)):
        return None
    words = [edit.words_in(name) for edit in edits]
    found: list[Change] = []
    for start, end, one in spans:
        inside = [[change for change in some if start <= change["at"] < end] for some in words]
        after = _with_synonyms(one, inside)
        if after is None or any(_is_split(some, within) for some, within in zip(words, inside, strict=True)):
            return None
        found.append({"field": name, "at": one.at, "from": one.before, "to": after, "how": one.how})
    free = [one for some in words for one in some if not any(start <= one["at"] < end for start, end, _ in spans)]
    return sorted([*found, *({**one, "how": SYNONYM} for one in free)], key=lambda change: change["at"])


def _is_split(some: Sequence[Change], inside: Sequence[Change]) -> bool:
    """Whether an article and its word are on different sides of where a stretch begins or ends."""
    return any(one["pos"] == "article" and (one in inside) is not (other in inside) for one, other in pairwise(some))


def _with_synonyms(one: Rewriting, words: Iterable[Sequence[Change]]) -> str | None:
    """The new words of a stretch with synonyms in them; None where a word is lost or new there."""
    after = one.after
    for some in words:
        forms = {change["from"].lower(): change for change in some if change["pos"] != "article"}
        for form, change in forms.items():
            pattern = re.compile(rf"(?<!\w){re.escape(form)}(?!\w)", re.I)
            times = sum(other["from"].lower() == form for other in some)
            if not times == len(pattern.findall(one.before)) == len(pattern.findall(after)):
                return None
            after = _replace(pattern, after, change)
    return after


def _replace(pattern: re.Pattern[str], text: str, change: Change) -> str:
    """A text with a word replaced everywhere, with the capitals that it has there, and a or an before it."""
    pieces: list[str] = []
    done = 0
    for match in pattern.finditer(text):
        new = _recased(change, match[0])
        pieces += [_with_article(text[done : match.start()], new), new]
        done = match.end()
    return "".join([*pieces, text[done:]])


def _recased(change: Change, old: str) -> str:
    """The synonym as it is written where the word is written `old`: only the first letter may differ."""
    new: str = change["to"]
    if old == change["from"]:
        return new
    return (new[:1].upper() if old[:1].isupper() else new[:1].lower()) + new[1:]


def _with_article(before: str, following: str) -> str:
    """A text with the "a" or "an" at its end that the next word asks for."""
    match = _ARTICLE.search(before)
    wanted = article(following) if match else ""
    if not match or match[0].lower() == wanted:
        return before
    return before[: match.start()] + (wanted.capitalize() if match[0][0].isupper() else wanted) + before[match.end() :]


def texts_after(texts: Mapping[str, str], changes: Sequence[Change]) -> dict[str, str]:
    """The texts that are changed, as they are then."""
    after = {change["field"]: texts[change["field"]] for change in changes}
    for change in sorted(changes, key=lambda one: (one["field"], -one["at"])):
        text, at = after[change["field"]], change["at"]
        after[change["field"]] = text[:at] + change["to"] + text[at + len(change["from"]) :]
    return after
