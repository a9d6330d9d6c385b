"""The genitive with "'s" and with "of": "the company's director" and "the director of the company".

Only for nouns that name a relation: a role, kin, a part of an institution, a quality or an event of somebody's life.
"""

from collections.abc import Iterator

from .parsing import ParseTree
from .rewriting import Rewriting, begins_sentence, join_reordered, lower_first_word, rewrite_span
from .substituting import tag_at, word_at

_ROLES = """
    president director leader leaders chairman chairwoman chief king queen mayor governor minister founder founders
    owner owners author authors spokesman spokeswoman spokesperson ruler rulers emperor captain manager boss editor
    secretary ambassador commander chancellor assistant successor opponent opponents employees architect
    designer designers
"""
_KIN = "mother father wife husband son daughter brother sister parents children widow grandson nephew friends friend"
_INSTITUTIONS = """
    capital population economy government parliament constitution citizens residents inhabitants members army budget
    headquarters flag currency border borders
"""
_QUALITIES = """
    name names size color colour shape age weight length width value price cost costs quality importance purpose
    history culture origin origins success failure popularity effectiveness performance role structure mission goals
    goal policies policy impact effect effects influence results findings recommendations location condition design
    reputation future fate strength weakness complexity accuracy validity usefulness beauty roof walls entrance surface
    facade interior edge center centre intent benefits details wealth duration focus layout potential nature
    severity status tradition traditions teachings presence life past legacy birthplace health behavior behaviour
    needs abilities position objectives objective requirements efforts strategy plans decision
    responsibility responsibilities features wishes resources
    attractions economy security safety stability climate landscape eyes face body
"""
_EVENTS = """
    death birth arrival departure assassination collapse fall defeat destruction development growth creation rise
    expansion implementation establishment demolition liberation victory resignation
"""
#: Nouns that say what something or somebody is to another.
RELATIONAL = frozenset(" ".join((_ROLES, _KIN, _INSTITUTIONS, _QUALITIES, _EVENTS)).split())
_TIMES = """
    today yesterday tomorrow week month year day night morning century season monday tuesday wednesday thursday friday
    saturday sunday january february march april may june july august september october november december decade hour
    moment summer winter spring autumn weekend minute
"""
#: Possessors that say when, not whose.
_WHEN = frozenset(_TIMES.split())
#: After the noun, these show that more belongs to it.
_MORE = {"of", "for", "to", "that", "who", "which", "whose", "between", "against", "toward", "towards", "than", "as"}
#: Before "of" these nouns are part of a set phrase: "in the name of", "at the head of".
_SET_PHRASES = {
    ("in", "name"), ("at", "head"), ("to", "effect"), ("with", "effect"), ("by", "name"), ("for", "purpose"),
    ("at", "age"), ("to", "size"), ("in", "history"), ("on", "death"), ("at", "cost"), ("for", "price"),
    ("by", "age"), ("under", "name"), ("in", "face"), ("at", "price"), ("at", "fall"), ("in", "fall"),
}  # fmt: skip
_QUANTIFIED = {
    "each",
    "every",
    "all",
    "both",
    "no",
    "any",
    "some",
    "many",
    "most",
    "several",
    "few",
    "one",
    "other",
    "another",
}
#: What is after "of" may be the very thing: "the name of Peter", "the city of Rome".
_OF_ITSELF = {"name", "names", "age", "color", "colour", "value", "price", "goal", "purpose", "position"}
#: Names of firms that end with "'s".
_SHOPS = {"McDonald", "Wendy", "Macy", "Sotheby", "Christie", "Lloyd", "Levi", "Kellogg", "Sainsbury", "Domino",
          "Denny", "Moody", "Arby", "Dillard", "Kohl", "Lowe", "Morrison", "Harrod", "Selfridge", "Applebee", "Reese",
          "Hershey"}  # fmt: skip
#: A longer possessor is heavy before "'s".
_MAX_POSSESSOR = 5


def to_of(tree: ParseTree) -> Iterator[Rewriting]:
    """Put the possessor after "of".

    >>> from .parsing import parser
    >>> text = "He met the company's new director."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_of(ParseTree(text, nodes))]
    ['He met the new director of the company.']
    """
    for noun, owner in _with_possessor(tree):
        first, mark = tree.subtree(owner)[0], tree.subtree(owner)[-1]
        if not _may_own(tree, owner, mark - 1) or not _is_whole(tree, noun, mark):
            continue
        if tree[first].text in {"The", "This", "That"} and not begins_sentence(tree, first):  # after markup, in a title
            continue
        own = tree.stretch(first, mark - 1)
        lowered = lower_first_word(own, tree[first]) if begins_sentence(tree, first) else own
        article = "The" if begins_sentence(tree, first) else "the"
        yield rewrite_span(tree, "of-genitive", first, noun, f"{article} {tree.stretch(mark + 1, noun)} of {lowered}")


def to_s(tree: ParseTree) -> Iterator[Rewriting]:
    """Put the possessor before the noun, with "'s".

    >>> from .parsing import parser
    >>> text = "The new director of the company left."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_s(ParseTree(text, nodes))]
    ["The company's new director left."]
    """
    for noun, node in enumerate(tree.nodes):
        if node.text not in RELATIONAL or word_at(tree, noun + 1) != "of":
            continue
        first, below = tree.subtree(noun)[0], tree.children(noun + 1, "pobj")
        if word_at(tree, first) != "the" or len(below) != 1 or not _is_of_phrase(tree, noun, below[0]):
            continue
        start, last = tree.subtree(below[0])[0], tree.subtree(below[0])[-1]
        own = f"{tree.stretch(start, last)}{_mark(tree, last)}"
        pieces = [(own, start), (tree.stretch(first + 1, noun), first + 1)]
        new = join_reordered(tree, pieces) if begins_sentence(tree, first) else " ".join(piece for piece, _ in pieces)
        yield rewrite_span(
            tree, "s-genitive", first, last, new[:1].upper() + new[1:] if begins_sentence(tree, first) else new
        )


def _with_possessor(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Relational nouns with a possessor in the genitive, which comes first in the phrase."""
    for noun, node in enumerate(tree.nodes):
        owners = tree.children(noun, "poss")
        if node.text in RELATIONAL and node.pos == "NOUN" and len(owners) == 1:
            below = tree.subtree(owners[0])
            if tree[below[-1]].tag == "POS" and below[-1] < noun and tree.contiguous(owners[0]):
                yield noun, owners[0]


def _may_own(tree: ParseTree, owner: int, last: int) -> bool:
    """Whether a possessor is one definite person or thing: a name, or a noun with "the" or a possessor."""
    below = [one for one in tree.subtree(owner) if one <= last]
    words = {tree[one].text.lower() for one in below}
    if owner != last or len(below) > _MAX_POSSESSOR or words & (_WHEN | _QUANTIFIED | {"of", "and", "or", ","}):
        return False
    first = tree[below[0]].text.lower()
    if (first.strip(".") == "st" and len(below) == 2) or tree[owner].text in _SHOPS:
        return False  # "St. John's mayor" is that of a town
    if first == "the" and below[0] and tree[below[0] - 1].tag == "NNP" and tree[owner].tag == "NNP":
        return False  # "Alexander the Great's father"
    named = tree[owner].named and tree[below[0]].named and first not in {"a", "an"}
    definite = first in {"the", "this", "that", "his", "her", "their", "its", "our", "my"} and tree[owner].pos in {
        "NOUN",
        "PROPN",
    }
    return (named or definite) and not any(tree[one].tag == "POS" for one in below)


def _is_whole(tree: ParseTree, noun: int, mark: int) -> bool:
    """Whether the phrase ends with the noun, has nothing but adjectives before it, and is not a conjunct."""
    inside = [tree[one] for one in range(mark + 1, noun)]
    plain = all(node.tag in {"JJ", "NN", "VBN", "JJS", "NNP"} and node.text.lower() != "own" for node in inside)
    right = [one for one in tree.children(noun) if one > noun and tree[one].dep not in {"punct", "appos"}]
    joined = tree[noun].dep in {"conj", "compound", "poss"} or word_at(tree, noun + 1) in _MORE | {
        "and",
        "or",
        "-",
        "'s",
    }
    before = word_at(tree, tree.subtree(noun)[0] - 1)
    compound = tag_at(tree, noun + 1) in {"NN", "NNS", "NNP", "CD", "POS", "HYPH"}
    return (
        plain
        and len(inside) <= 2
        and not right
        and not joined
        and not compound
        and before not in {"and", "or", "'s", "of"}
    )


def _is_of_phrase(tree: ParseTree, noun: int, owner: int) -> bool:
    """Whether "the noun of the owner" is whole, and says whose: a plain owner, and nothing behind it."""
    first, last = tree.subtree(owner)[0], tree.subtree(owner)[-1]
    inside = [tree[one] for one in range(tree.subtree(noun)[0] + 1, noun)]
    if first != noun + 2 or len(inside) > 2 or not all(node.tag in {"JJ", "NN", "VBN", "JJS"} for node in inside):
        return False
    if last != owner or tree.subtree(noun)[-1] != last or not _may_own(tree, owner, owner):
        return False
    before = word_at(tree, tree.subtree(noun)[0] - 1)
    if tree[noun].text in _OF_ITSELF and tree[owner].named:  # "the name of Peter" may be "Peter"
        return False
    if (before, tree[noun].text.lower()) in _SET_PHRASES or tree[noun].dep in {"conj", "poss", "compound"}:
        return False
    after = word_at(tree, last + 1) in _MORE | {"and", "or", "-", "'s", "'"} or tag_at(tree, last + 1) in {
        "NN",
        "NNS",
        "NNP",
        "CD",
    }
    ends = tree[last].text.lower().endswith(("s", "x", "z")) and tree[last].tag in {"NNP", "NNPS", "NN"}
    return not after and not ends and before not in {"and", "or"}


def _mark(tree: ParseTree, last: int) -> str:
    return "'" if tree[last].tag == "NNS" and tree[last].text.endswith("s") else "'s"
