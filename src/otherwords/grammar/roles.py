"""Who does what to whom: the places of words in a parse, whatever the voice.

A place is a role and the word that it belongs to: in "Anna's dog bit Ben" Ben is what was bitten, Anna the owner of a
dog.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .parsing import ParseTree

#: Prepositions of company and nearness: what is said of one holds of the other.
MUTUAL = {"with", "near", "beside", "by", "alongside", "between", "among", "amongst", "against", "opposite", "next",
           "like", "unlike"}  # fmt: skip
#: A preposition, the one that says the same, and whether it says so of the two exchanged.
_INVERSE = {
    "below": ("under", False),
    "beneath": ("under", False),
    "underneath": ("under", False),
    "above": ("under", True),
    "over": ("under", True),
    "after": ("before", True),
    "in front of": ("behind", True),
    "inside": ("in", False),
    "within": ("in", False),
    "upon": ("on", False),
    "on top of": ("on", False),
}
#: Of these it holds of the one as of the other: "similar to", "married to".
BOTH_WAYS = {"similar", "different", "close", "equal", "identical", "next", "adjacent", "parallel", "married",
             "related", "engaged", "opposite", "far", "separate", "distinct", "comparable", "equivalent"}  # fmt: skip
#: Prepositions that say who gets, faces or suffers something, also beside an object: "throw a ball at him".
_TOWARDS = {"to", "from", "at", "against", "for"}
#: Words from "from" to the "to" that belongs to it, at most.
_WAY = 7
_SIDES = {"front", "top", "back", "side", "middle", "center", "bottom", "edge", "end"}
_TIMES = {"before", "after"}
#: Pronouns for somebody else than the subject.
_OTHERS = {"him", "her", "them"}
_ORDERS = {"before", "after", "because", "until", "if", "unless", "although", "though"}
#: Parts of speech that can have a role.
NOUNS = {"NOUN", "PROPN", "PRON", "NUM"}
_SUBJECTS = {"nsubj", "nsubjpass"}
_RELATIVE = {"who", "that", "which", "whom"}
#: What stands for the subject of "be".
_STANDING = {"one", "ones"}
#: A role and the node that it belongs to.
Place = tuple[str, int]


@dataclass
class Roles:
    """The places of each word of a parsed text, and what links two of them whichever verb says so."""

    tree: ParseTree
    places: dict[int, set[Place]] = field(default_factory=dict)
    links: set[tuple[str, int, int]] = field(default_factory=set)

    def put(self, role: str, governor: int, nodes: Iterable[int]) -> None:
        """Note a role of some words."""
        for node in nodes:
            if self.tree[node].text.lower() not in _RELATIVE:
                self.places.setdefault(node, set()).add((role, governor))

    def holders(self, role: str, governor: int) -> list[int]:
        """Who has a role."""
        return [node for node, places in self.places.items() if (role, governor) in places]


def roles(tree: ParseTree) -> Roles:
    """Read off who has which role; the passive, relative clauses and the dative are undone.

    >>> from .parsing import parser
    >>> text = "The book was given to Ann by him."
    >>> [nodes] = parser()([text])
    >>> found = roles(ParseTree(text, nodes))
    >>> sorted({(role, nodes[at].lemma, nodes[node].text) for node in found.places for role, at in found.places[node]})
    [('obj', 'give', 'book'), ('subj', 'give', 'him'), ('to', 'give', 'Ann')]
    """
    found = Roles(tree)
    for at, node in enumerate(tree.nodes):
        if node.pos in {"VERB", "AUX"} and node.dep not in {"aux", "auxpass"}:
            _read_verb(found, at)
    for at, node in enumerate(tree.nodes):
        if node.pos in NOUNS:
            _read_noun(found, at)
        if node.text.lower() == "from":
            _read_way(found, at)
        if node.text.lower() == "than":
            _read_comparison(found, at)
        if node.pos in {"VERB", "AUX"}:
            _read_order(found, at)
        if node.dep == "poss" and node.pos in {"NOUN", "PROPN"}:
            _read_owner(found, at)
        if node.lemma == "be":
            _read_cleft(found, at)
    return found


# Reading a parse


def _read_verb(found: Roles, verb: int) -> None:
    tree = found.tree
    passive = bool(tree.children(verb, "nsubjpass", "auxpass")) or (tree[verb].dep == "acl" and tree[verb].tag == "VBN")
    things = _joined(tree, tree.children(verb, "dobj"))
    receivers = [one for one in tree.children(verb, "dative") if tree[one].pos in NOUNS]
    role = ("to" if things else "obj") if passive else "subj"
    subjects = _joined(tree, _subjects(tree, verb))
    found.put(role, verb, subjects)
    found.put("obj", verb, things)
    found.put("to", verb, _joined(tree, receivers))
    if asked := _asked(tree, verb):
        found.put("obj", verb, asked)
    for preposition in tree.children(verb, "prep", "agent", "dative"):
        if tree[preposition].pos not in {"ADP", "SCONJ"}:
            continue
        name, objects = _prepositional(tree, preposition)
        agent = tree[preposition].dep == "agent" or (passive and name == "by")
        found.put("subj" if agent else name, verb, objects)
        if not agent and (not things or name in _TIMES or (name in _TOWARDS and not passive)):
            _link(found, name, subjects, objects)
    if passive and not found.holders("subj", verb):
        found.put("subj", verb, _hidden_agent(tree, verb))
    _read_ends(found, verb, things, [] if passive else subjects)
    if not passive:
        _link(found, "to", subjects, receivers)
        for subject in subjects:
            found.put(f"{tree[verb].lemma}>", subject, things)  # whose it is: "one man holds a cup, one a plate"


def _hidden_agent(tree: ParseTree, verb: int) -> list[int]:
    """The "by" of a passive that a parser hangs on another noun: "threatened with a wrench by the officer"."""
    for preposition in tree.children(verb, "prep"):
        for noun in tree.children(preposition, "pobj"):
            for by in tree.children(noun, "prep"):
                if tree[by].text.lower() == "by" and not tree.children(verb, "agent"):
                    return _joined(tree, [one for one in tree.children(by, "pobj") if tree[one].pos in NOUNS])
    return []


def _read_ends(found: Roles, verb: int, things: Iterable[int], subjects: Iterable[int]) -> None:
    """ "Steals a sandwich from a tourist": parsers hang the end of a way on the thing that goes it."""
    for thing in things:
        for preposition in found.tree.children(thing, "prep"):
            name, objects = _prepositional(found.tree, preposition)
            if name in {"from", "to"}:
                found.put(name, verb, objects)
                _link(found, name, subjects, objects)


def _read_cleft(found: Roles, copula: int) -> None:
    """ "It was Ann who called", "Ann was the one who called", "Ann was what he saw": the clause is about her."""
    tree = found.tree
    subjects = tree.children(copula, *_SUBJECTS)
    named = [one for one in tree.children(copula, "attr") if tree[one].text.lower() in _STANDING]
    named += [what for clause in tree.children(copula, "ccomp") for what in tree.children(clause, *_SUBJECTS, "dobj")
              if tree[what].text.lower() == "what"]  # fmt: skip
    for other in named:
        for subject in subjects:
            found.places.setdefault(subject, set()).update(found.places.get(other, ()))
    if not any(tree[one].text.lower() == "it" for one in subjects):
        return
    for preposition in tree.children(copula, "prep"):
        for clause in tree.children(copula, "ccomp", "advcl", "relcl"):
            name, objects = _prepositional(tree, preposition)
            if preposition < clause:
                found.put(name, clause, objects)
                _link(found, name, _joined(tree, _subjects(tree, clause)), objects)


def _read_owner(found: Roles, owner: int) -> None:
    """ "Anna's aunt called her" is about Anna: a pronoun beside what somebody owns stands for the owner."""
    tree, owned = found.tree, found.tree[owner].head
    verbs = {verb for role, verb in found.places.get(owned, ()) if role == "subj"}
    for at, node in enumerate(tree.nodes):
        if node.tag == "PRP" and node.text.lower() in _OTHERS:
            found.places.setdefault(owner, set()).update(one for one in found.places.get(at, ()) if one[1] in verbs)
            found.links |= {(name, owned, owner) for name, a, b in found.links if (a, b) == (owned, at)}


def _read_way(found: Roles, origin: int) -> None:
    """ "From A to B", whatever it belongs to: parsers hang it on verbs, adverbs and nouns."""
    tree = found.tree
    ends: dict[str, list[int]] = {}
    for at in range(origin, min(origin + _WAY, len(tree.nodes))):
        if tree[at].text.lower() in {"from", "to", "into"} and tree[at].pos == "ADP":
            ends.setdefault(tree[at].text.lower().removeprefix("in"), tree.children(at, "pobj"))
    _link(found, "from", ends.get("to", ()), ends.get("from", ()))


def _subjects(tree: ParseTree, verb: int) -> list[int]:
    """The subject of a verb, or what it shares with the verb or noun that it hangs on."""
    own = _own_subjects(tree, verb)
    head, dep = tree[verb].head, tree[verb].dep
    if own and tree[own[0]].text.lower() in _RELATIVE and dep == "relcl":
        return [head]
    if own or head == verb:
        return own
    if dep == "acl" and tree[verb].tag in {"VBG", "VBN"}:
        return [head] if tree[head].pos in NOUNS else []
    if dep in {"conj", "advcl", "xcomp"} and tree[head].pos in {"VERB", "AUX"} and not tree.children(verb, "mark"):
        controlled = tree.children(head, "dobj") if dep == "xcomp" else []
        return controlled or _subjects(tree, head)
    return []


def _own_subjects(tree: ParseTree, verb: int) -> list[int]:
    """The subjects that a parse gives a verb; "whom" is none."""
    return [one for one in tree.children(verb, *_SUBJECTS) if tree[one].text.lower() != "whom"]


def _asked(tree: ParseTree, verb: int) -> list[int]:
    """The noun that a relative clause leaves out as its object: "the book (that) Tom wrote"."""
    if tree[verb].dep != "relcl" or tree[tree[verb].head].pos not in NOUNS:
        return []
    subject, things = _own_subjects(tree, verb), tree.children(verb, "dobj")
    open_object = not things or tree[things[0]].text.lower() in _RELATIVE
    as_subject = any(tree[one].text.lower() in _RELATIVE for one in subject)
    transitive = not tree.children(verb, "prep", "nsubjpass", "acomp", "attr") and tree[verb].lemma != "be"
    return [tree[verb].head] if subject and open_object and not as_subject and transitive else []


def _prepositional(tree: ParseTree, at: int) -> tuple[str, list[int]]:
    """A preposition with the words that belong to it, and its objects."""
    name, objects = tree[at].text.lower(), tree.children(at, "pobj")
    for inner in tree.children(at, "prep"):
        more, objects_inside = _prepositional(tree, inner)
        name, objects = f"{name} {more}", objects or objects_inside
    if objects and tree[objects[0]].lemma in _SIDES:
        for inner in tree.children(objects[0], "prep"):
            if tree[inner].text.lower() == "of":
                return f"{name} {tree[objects[0]].lemma} of", _joined(tree, tree.children(inner, "pobj"))
    return name, _joined(tree, objects)


def _read_noun(found: Roles, noun: int) -> None:
    tree = found.tree
    found.put("'s", noun, _joined(tree, tree.children(noun, "poss")))
    found.put("mod", noun, tree.children(noun, "amod", "nummod", "compound"))
    for preposition in tree.children(noun, "prep"):
        name, objects = _prepositional(tree, preposition)
        found.put("'s" if name == "of" else name, noun, objects)
        _link(found, name, [noun], objects)
    if tree[noun].dep in _SUBJECTS and tree[tree[noun].head].lemma == "be":
        [*_, holder] = [noun, *(_subjects(tree, tree[noun].head) if tree[noun].text.lower() in _RELATIVE else [])]
        qualities = _joined(tree, tree.children(tree[noun].head, "acomp"))
        found.put("mod", holder, qualities)
        for preposition in _prepositions(tree, qualities):
            name, objects = _prepositional(tree, preposition)
            _link(found, f"be {name}" if name in MUTUAL else name, _joined(tree, [holder]), objects)


def _prepositions(tree: ParseTree, qualities: Iterable[int]) -> list[int]:
    """Those of adjectives: "afraid of", but not "similar to"."""
    return [one for at in qualities if tree[at].lemma not in BOTH_WAYS for one in tree.children(at, "prep")]


def _read_comparison(found: Roles, than: int) -> None:
    """ "A is taller than B"; "less" turns it round."""
    tree, at = found.tree, than
    others = _joined(tree, tree.children(than, "pobj", "nsubj"))
    if tree[than].dep == "mark" and tree[tree[than].head].pos in {"VERB", "AUX"}:  # "than B is"
        others = _joined(tree, _subjects(tree, tree[than].head))
        at = tree[than].head
    quality, below = "", at
    while tree[at].head != at and (at == below or (tree[at].pos != "VERB" and tree[at].lemma != "be")):
        at = tree[at].head
        words = [at, *tree.children(at)]
        if not quality and any(tree[one].tag in {"JJR", "RBR"} for one in words):
            [degree] = [one for one in words if tree[one].tag in {"JJR", "RBR"}][:1]
            quality = f"{tree[degree].lemma}/{tree[at].lemma}" if degree != at else tree[at].lemma
    for one in _joined(tree, _subjects(tree, at)) if quality else []:
        found.links |= {(f"than {quality}", one, other) for other in others}


def _read_order(found: Roles, verb: int) -> None:
    """Clauses with "before", "after", "because", "if"; who did not pay before he ate paid later."""
    tree = found.tree
    if tree.children(verb, "neg"):
        return
    for clause in tree.children(verb, "advcl"):
        marks = [tree[one].text.lower() for one in tree.children(clause, "mark", "advmod")]
        for mark in _ORDERS.intersection(marks):
            _link(found, mark, [verb], [clause])
    for preposition in tree.children(verb, "prep"):
        if (mark := tree[preposition].text.lower()) in {"before", "after", "until"}:
            _link(found, mark, [verb], tree.children(preposition, "pcomp"))


def _link(found: Roles, name: str, ones: Iterable[int], others: Iterable[int]) -> None:
    name, turned = _INVERSE.get(name, (name, False))
    if name.split()[0] not in {*MUTUAL, "than"}:
        found.links |= {(name, *((b, a) if turned else (a, b))) for a in ones for b in others}


def _joined(tree: ParseTree, nodes: Iterable[int]) -> list[int]:
    """Nodes with what is joined to them: "a man and a woman"."""
    waiting, found = list(nodes), []
    while waiting:
        found.append(waiting.pop())
        waiting += tree.children(found[-1], "conj")
    return found
