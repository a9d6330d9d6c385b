"""Exchanges: words that are in each other's places in another text, which makes it say something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from ..words.lexicon import lexicon
from .halves import halves_exchanged
from .parsing import ParseTree
from .participants import Participants, directions_turned
from .phrases import SUBJECT_CASE
from .roles import BOTH_WAYS, MUTUAL, NOUNS, Roles
from .sides import Crossing, crossings, sides_exchanged
from .verb_relations import JOINING, SYMMETRIC, are_synonyms, base_verb, same_both_ways

#: Forms of frequent verbs; others lose an "s".
_FORMS = {"is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "'re": "be", "'s": "'s", "has": "have",
          "does": "do", "an": "a", "his": "he", "this": "this"}  # fmt: skip
#: Before two phrases that say where or when, which may change places.
_PLACES = {"in", "on", "at", "near", "during"}
#: Longer texts are not searched for stretches that changed places.
_MAX_WORDS = 120
_THIRD = {"he", "she", "it", "they"}
_CASES = {**SUBJECT_CASE, "her": "she", "his": "he", "their": "they", "its": "it", "my": "i", "our": "we",
          "your": "you", "whom": "who"}  # fmt: skip
#: Pronouns that mean the same person throughout a text, more or less.
_ONE_PERSON = {"i", "we", "you", "he", "she"}
#: Before what tells a noun from others of its kind.
_TELLING = {"in", "with", "without", "from", "of", "on", "to"}
_MODIFIERS = ("amod", "nummod", "compound", "poss", "nmod")


@dataclass(frozen=True)
class Exchange:
    """Two words that have exchanged their places: as the original has them, and as the variant has them."""

    before: str
    after: str
    kind: str

    def __str__(self) -> str:
        return f"{self.before} became {self.after}"


def exchanged(before: Roles, after: Roles) -> list[Exchange]:
    """Which words of one text are in each other's places in the other.

    >>> from .parsing import parser
    >>> from .roles import roles
    >>> texts = ["Germany defeats Latvia.", "Latvia defeats Germany.", "Latvia is defeated by Germany."]
    >>> one, other, same = (roles(ParseTree(*both)) for both in zip(texts, parser()(texts)))
    >>> [str(one) for one in exchanged(one, other)], exchanged(one, same)
    (['"Germany" defeats "Latvia" became "Latvia" defeats "Germany"'], [])
    """
    names = _names(before.tree, after.tree)
    old, new = _Named(before, names[0]), _Named(after, names[1])
    found = [*_places_exchanged(old, new), *_around_other_verbs(old, new), *_links_turned(old, new)]
    found = found or [_turned(*pair) for pair in directions_turned(before, after, *names)]
    found = found or list(_stretches_exchanged(before.tree, after.tree))
    for around in (sides_exchanged, halves_exchanged):
        found = found or [Exchange(*texts, "roles") for texts in around(before.tree, after.tree)]
    return list({(one.before, one.after): one for one in found}.values())


def crossed(before: Roles, after: Roles) -> list[Crossing]:
    """Two that stand in each other's places on the surface, which `exchanged` may not count: suspicions, no proof."""
    return crossings(before, after, *_names(before.tree, after.tree))


def _turned(one: Participants, other: Participants) -> Exchange:
    before, after = (f'"{some.doer}" {some.predicate} {some.preposition}'.strip() for some in (one, other))
    return Exchange(f'{before} "{one.other}"', f'{after} "{other.other}"', "roles")


class _Named:
    """Roles by the names of words instead of nodes; only words with a name of their own count."""

    def __init__(self, found: Roles, names: Mapping[int, str]):
        self.found, self.names = found, names
        self.nodes = {name: node for node, name in names.items()}
        self.lemmas = [_lemma(found.tree, at) for at in range(len(found.tree.nodes))]
        self.places: dict[str, set[tuple[str, str]]] = {}
        for node, places in found.places.items():
            if node in names:
                named = {(role, self.governor(at)) for role, at in places if role.split()[0] != "than"}  # has links
                self.places.setdefault(names[node], set()).update(named)

    def governor(self, at: int) -> str:
        return self.names.get(at) or self.lemmas[at]

    def text(self, name: str) -> str:
        """The words of a name as they stand, with what is before it in its phrase."""
        tree, at = self.found.tree, self.nodes[name]
        parts = [one for one in tree.children(at, "compound", "amod") if one < at] if " " in name else []
        return f'"{tree.stretch(min([at, *parts]), at)}"'

    def transitive(self) -> Iterator[tuple[int, str, str]]:
        """Verb, subject and object, where both have names."""
        verbs = {at for places in self.found.places.values() for role, at in places if role == "obj"}
        for verb in sorted(verbs):
            for subject in self.found.holders("subj", verb):
                for thing in self.found.holders("obj", verb):
                    if subject in self.names and thing in self.names:
                        yield verb, self.names[subject], self.names[thing]


def _names(one: ParseTree, other: ParseTree) -> tuple[dict[int, str], dict[int, str]]:
    """Names for words that both texts have, each once: base forms, with what modifies them where that is not enough.

    A synonym in the one text of a word that the other does not have gets its name.
    """
    own, others = _base_names(one), _base_names(other)
    rest = [name for name in own.values() if name not in others.values()]
    fresh = [(at, name) for at, name in others.items() if name not in own.values()]
    for at, name in fresh:
        same = [word for word in rest if are_synonyms(word, name)]
        if len(same) == 1 and same[0] not in others.values():
            others[at] = same[0]
    common = {*own.values()} & {*others.values()}
    return tuple({at: name for at, name in some.items() if name in common} for some in (own, others))  # type: ignore[return-value]


def _base_names(tree: ParseTree) -> dict[int, str]:
    """Base forms of words that stand for one thing each; what is told apart by its phrase has it in its name."""
    content = [at for at, node in enumerate(tree.nodes) if node.pos in {*NOUNS, "VERB", "ADJ"} or node.tag == "PRP$"]
    names = {at: _lemma(tree, at) for at in content}
    names |= {at: name for at in content if (name := _stands_for(tree, at))}
    times = Counter(names.values())
    for at, name in list(names.items()):
        if times[name] > 1 and (tree[at].pos in {"NOUN", "PROPN"} or name != _lemma(tree, at)):
            more = sorted(_lemma(tree, one) for one in tree.children(at, *_MODIFIERS)) or _in_phrase(tree, at)
            names[at] = " ".join([*more, name])
    times = Counter(names.values())
    return {at: name for at, name in names.items() if times[name] == 1 or name in _ONE_PERSON}


def _stands_for(tree: ParseTree, at: int) -> str:
    """The noun that "one" stands for: the first of the text, "the man in blue" for "the one in red"."""
    if tree[at].text.lower() not in {"one", "ones"} or tree[at].dep == "nummod" or not tree.children(at):
        return ""
    return next((tree[one].lemma.lower() for one in range(at) if tree[one].pos == "NOUN"), "")


def _in_phrase(tree: ParseTree, noun: int) -> list[str]:
    """The nouns and adjectives right after a noun that tell it from others: "in white shorts", "wearing goggles"."""
    found: list[int] = []
    at = noun + 1
    if at < len(tree.nodes) and (tree[at].text.lower() in _TELLING or tree[at].tag == "VBG"):
        while (at := at + 1) < len(tree.nodes) and tree[at].pos in {"NOUN", "PROPN", "ADJ", "DET", "PRON", "NUM"}:
            found += [at] * (tree[at].pos in {"NOUN", "PROPN", "ADJ"})
    return sorted(_lemma(tree, one) for one in found)


def _lemma(tree: ParseTree, at: int) -> str:
    word = tree[at].text.lower()
    if tree[at].pos == "PRON" or tree[at].tag == "PRP$":
        return _CASES.get(word, word)
    return base_verb(word, tree[at].lemma.lower()) if tree[at].pos == "VERB" else tree[at].lemma.lower()


def _places_exchanged(old: _Named, new: _Named) -> Iterator[Exchange]:
    for one, other in combinations(sorted(old.places.keys() & new.places.keys()), 2):
        a, b, a_new, b_new = old.places[one], old.places[other], new.places[one], new.places[other]
        first, second = (a & b_new) - a_new - b, (b & a_new) - b_new - a
        pairs = [(p, q) for p in sorted(first) for q in sorted(second) if _counts(one, other, p, q)]
        if pairs:
            yield _exchange(old, new, one, other, *min(pairs, key=lambda pair: pair[0][1] != pair[1][1]))


def _counts(one: str, other: str, p: tuple[str, str], q: tuple[str, str]) -> bool:
    """Whether two places differ in what they say; a pronoun may stand for the other word unless both hang on one."""
    same = p[1] == q[1]
    if same and (p[1] in SYMMETRIC or {p[0], q[0]} & MUTUAL or (p[1] in JOINING and {p[0], q[0]} == {"obj", "to"})):
        return False
    if p[1] in (one, other) or q[1] in (one, other):
        return False
    if {p[0], q[0]} == {"mod"} and {p[1], q[1]} & _THIRD:
        return False  # "Ann was happy when she was young": she is Ann
    return not {one, other} & _THIRD or (same and {p[0], q[0]} <= {"subj", "obj", "to"})


def _exchange(old: _Named, new: _Named, one: str, other: str, p: tuple[str, str], q: tuple[str, str]) -> Exchange:
    verb = p[1] if p[1] == q[1] else ""
    kind = "modifiers" if {p[0], q[0]} == {"mod"} else "roles"
    if {p[0], q[0]} == {"subj", "obj"} and verb:
        doer, done = (one, other) if p[0] == "subj" else (other, one)
        was, now = (_word(some, verb) for some in (old, new))
        return Exchange(f"{old.text(doer)} {was} {old.text(done)}", f"{new.text(done)} {now} {new.text(doer)}", kind)
    first, second = (_shown(*place) for place in (p, q))
    return Exchange(
        f"{first.format(old.text(one))}, {second.format(old.text(other))}",
        f"{first.format(new.text(other))}, {second.format(new.text(one))}",
        kind,
    )


def _word(named: _Named, lemma: str) -> str:
    tree = named.found.tree
    return next((tree[at].text for at in range(len(tree.nodes)) if named.governor(at) == lemma), lemma)


def _shown(role: str, governor: str) -> str:
    """A place with a gap for the word in it.

    >>> _shown("'s", "dog"), _shown("mod", "shirt"), _shown("subj", "sit"), _shown("to", "give")
    ("{}'s dog", '{} shirt', '{} sit', 'give to {}')
    """
    if role == "'s":
        return f"{{}}'s {governor}"
    if role in ("mod", "subj"):
        return f"{{}} {governor}"
    return f"{governor} {{}}" if role == "obj" else f"{governor} {role.replace('>', '')} {{}}"


def _around_other_verbs(old: _Named, new: _Named) -> Iterator[Exchange]:
    """Subject and object exchanged around another verb, unless it says just that of the other: "buy" for "sell"."""
    turned = {(thing, subject): verb for verb, subject, thing in new.transitive()}
    straight = {(subject, thing) for _, subject, thing in new.transitive()}
    there = {(subject, thing) for _, subject, thing in old.transitive()}
    for verb, subject, thing in old.transitive():
        other = turned.get((subject, thing))
        if other is None or (subject, thing) in straight or (thing, subject) in there:
            continue
        was, now = old.governor(verb), new.governor(other)
        if was == now or "have" in (was, now) or same_both_ways(was, now):
            continue
        yield Exchange(
            f"{old.text(subject)} {old.found.tree[verb].text} {old.text(thing)}",
            f"{new.text(thing)} {new.found.tree[other].text} {new.text(subject)}",
            "roles",
        )


def _links_turned(old: _Named, new: _Named) -> Iterator[Exchange]:
    """Prepositions, comparisons and orders that hold the other way round."""
    facts, others = ({(name, some.names.get(a), some.names.get(b)): (a, b) for name, a, b in some.found.links}
                     for some in (old, new))  # fmt: skip
    more, others_more = _with_pronouns(old, others), _with_pronouns(new, facts)
    facts, others = facts | more, others | others_more
    for (name, one, other), nodes in facts.items():
        if not one or not other or one == other or {one, other} <= _THIRD:
            continue
        for quality, turned in _qualities(name, others):
            pair = (other, one) if not turned else (one, other)
            straight = (one, other) if not turned else (other, one)
            if (quality, *pair) in others and (quality, *straight) not in others and (name, other, one) not in facts:
                relation = name.removeprefix("than ").split("/")[0]
                shown = relation if relation == name else f"{relation} than"
                yield Exchange(_between(old, *nodes, shown), _between(new, *nodes[::-1], shown, (other, one)), "roles")


def _with_pronouns(
    some: _Named, facts: Iterable[tuple[str, str | None, str | None]]
) -> dict[tuple[str, str | None, str | None], tuple[int, int]]:
    """Comparisons with a pronoun, which stands for the one that was compared before: "Tom is taller than she is"."""
    return {
        (name, some.names[a], one): (a, b)
        for name, a, b in some.found.links
        if name.startswith("than ") and a in some.names and _lemma(some.found.tree, b) in _THIRD
        for _, one, other in facts
        if other == some.names[a] and one in some.nodes and not {one, other} & _THIRD
    }


def _qualities(name: str, others: Iterable[tuple[str, str | None, str | None]]) -> Iterator[tuple[str, bool]]:
    """The relations of another text that say the same, and whether they do so the other way round."""
    yield name, False
    if name.startswith("than "):
        own = name.removeprefix("than ").split("/")
        for quality in {quality for quality, _, _ in others if quality.startswith("than ")} - {name}:
            its = quality.removeprefix("than ").split("/")
            if len(own) == len(its) and own[1:] == its[1:] and its[0] in lexicon().antonyms(own[0]):
                yield quality, True


def _between(named: _Named, one: int, other: int, shown: str, names: tuple[str, str] | None = None) -> str:
    first, second = names or (named.names[one], named.names[other])
    return f"{named.text(first)} {shown} {named.text(second)}"


# Where the parser is lost: two stretches of words in each other's place


def _stretches_exchanged(old: ParseTree, new: ParseTree) -> Iterator[Exchange]:
    """The same words with two stretches in each other's place, around something that is not the same both ways."""
    words, others = _words(old), _words(new)
    plain, other_plain = [word for _, word in words], [word for _, word in others]
    if len(plain) > _MAX_WORDS or plain == other_plain or Counter(plain) != Counter(other_plain):
        return
    head = next(at for at, pair in enumerate(zip(plain, other_plain, strict=True)) if pair[0] != pair[1])
    tail = next(at for at, pair in enumerate(zip(plain[::-1], other_plain[::-1], strict=True)) if pair[0] != pair[1])
    span = words[head : len(words) - tail]
    sizes = _cut(plain[head : len(plain) - tail], other_plain[head : len(plain) - tail])
    if sizes is None:
        return
    first, middle, last = span[: sizes[0]], span[sizes[0] : len(span) - sizes[1]], span[len(span) - sizes[1] :]
    before = [plain[head - 1] if head else "", middle[-1][1]]
    things = _are_things(old, first) and _are_things(old, last)
    if things and _is_one_way(old, [at for at, _ in middle]) and (before[0] != before[1] or before[0] not in _PLACES):
        one, between, other = (old.stretch(part[0][0], part[-1][0]) for part in (first, middle, last))
        yield Exchange(f'"{one}" {between} "{other}"', f'"{other}" {between} "{one}"', "roles")


def _words(tree: ParseTree) -> list[tuple[int, str]]:
    """Words without the marks of number, person and case: whoever changes places takes other forms."""
    kept = [(at, node.text.lower()) for at, node in enumerate(tree.nodes) if node.pos not in {"PUNCT", "SPACE"}]
    return [(at, _CASES.get(word) or _FORMS.get(word) or word.removesuffix("s")) for at, word in kept]


def _cut(old: list[str], new: list[str]) -> tuple[int, int] | None:
    """The lengths of A and B where the one is A M B and the other B M A.

    >>> _cut("dogs chase cats".split(), "cats chase dogs".split()), _cut(["a", "b"], ["b", "a"])
    ((1, 1), None)
    """
    size = len(old)
    for one in range(1, size - 1):
        if new[size - one :] == old[:one]:
            for other in range(1, size - one):
                if new[:other] == old[size - other :] and new[other : size - one] == old[one : size - other]:
                    return one, other
    return None


def _is_one_way(tree: ParseTree, middle: list[int]) -> bool:
    """Whether what stands between two things does not say the same of them both ways round."""
    nodes = [tree[at] for at in middle]
    telling = [node for node in nodes if node.pos in {"VERB", "ADP", "SCONJ"} or node.tag in {"POS", "JJR", "RBR"}]
    telling += [
        node for node in nodes if node.text.lower() in {"who", "whom", "that"}
    ]  # "the wolf that the hunter saw"
    telling = [node for node in telling if node.text.lower() not in {"while", "as", "when", "whereas"}]
    if not any(node.pos in {"VERB", "AUX"} for node in tree.nodes) and not any(node.dep == "cc" for node in nodes):
        telling += [node for node in nodes if lexicon().base_forms(node.text, "v")]  # "A dog bit a man", a noun or two
    last = [node.text.lower() for node in nodes if node.pos != "DET"][-2:]
    mutual = not MUTUAL.isdisjoint(last[-1:]) or last == ["next", "to"]
    if last[-1:] == ["by"] and any(node.pos == "NOUN" for node in nodes):  # "blocks a shot by", not "sits by"
        mutual = False
    mutual = mutual or any(node.lemma.lower() in (SYMMETRIC | BOTH_WAYS) - {"be"} for node in nodes)
    return bool(telling) and not mutual


def _are_things(tree: ParseTree, part: list[tuple[int, str]]) -> bool:
    return any(tree[at].pos in {*NOUNS, "VERB"} for at, _ in part) and tree[part[0][0]].pos not in {"ADP", "ADV"}
