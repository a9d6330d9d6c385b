"""Sentences with "there": "A man is walking", "There is a man walking", and the caption "A man walking"."""

from collections.abc import Iterator

from ..words.lexicon import lexicon
from .clauses import FINITE, STATE_PARTICIPLES, has_odd_marks, is_living, number
from .parsing import ParseTree
from .phrases import BE_FORMS, is_adverbial
from .rewriting import Rewriting, join_reordered, rewrite_span

_BE = frozenset(BE_FORMS.values())
_NUMBERS = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_INDEFINITE = {"a", "an", "some", "several", "many", "no", "few", "various", "numerous", "multiple", *_NUMBERS}
_SOMEONE = {"someone", "somebody", "something", "nobody", "nothing"}
#: Words in a subject that compare it with others, or say that there are no more.
_NOT_NEW = {"one", "another", "other", "others", "same", "only", "just", "every", "each", "all", "both", "most", "either",
            "neither", "any", "first", "second", "last", "next", "such", "this", "these", "those", "not", "which", "what",
            "whose", "certain", "or"}  # fmt: skip
_PLACES = {"outside", "inside", "outdoors", "indoors", "nearby", "downstairs", "upstairs"}


def to_there(tree: ParseTree) -> Iterator[Rewriting]:
    """Put "there" and "be" before an indefinite subject whose verb is progressive, or which is somewhere.

    >>> from .parsing import parser
    >>> text = "A man is walking in the park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_there(ParseTree(text, nodes))]
    ['There is a man walking in the park.']
    """
    for root in tree.roots():
        subjects = tree.children(root, "nsubj", "nsubjpass")
        if len(subjects) != 1 or has_odd_marks(tree) or tree.subtree(root)[0] != tree.subtree(subjects[0])[0]:
            continue
        be = tree.subtree(subjects[0])[-1] + 1
        predicate = be + 1
        if tree[be].text in _BE and be <= root and _is_predicate(tree, root, be, predicate):
            if tree.contiguous(subjects[0]) and _is_new(tree, subjects[0], be):
                first = tree.subtree(subjects[0])[0]
                pieces = [("There", None), (tree[be].text, None), (tree.stretch(first, be - 1), first)]
                yield rewrite_span(tree, "there", first, be, join_reordered(tree, pieces))


def without_there(tree: ParseTree) -> Iterator[Rewriting]:
    """Make what "there is" the subject of its participle, or of the place where it is.

    >>> from .parsing import parser
    >>> text = "There is a man walking in the park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in without_there(ParseTree(text, nodes))]
    ['A man is walking in the park.']
    """
    for be, noun in _existentials(tree):
        found = [one for one in tree.children(noun, "acl", "prep") if one > noun]
        starts = [tree.subtree(one)[0] for one in [*found, *tree.children(be, "prep", "advmod", "advcl")] if one > noun]
        verbs = [one for one in starts if tree[one].tag != "IN"]
        for start in verbs or starts[: len(starts) == 1]:
            if _is_predicate(tree, be, be, start) and _is_new(tree, noun, start):
                yield _as_subject(tree, be, start)
                break


def any_without_there(tree: ParseTree) -> Iterator[Rewriting]:
    """Make what stands between "there is" and any participle or place the subject; only to see that `there` is right.

    >>> from .parsing import parser
    >>> text = "There are men dancing."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in any_without_there(ParseTree(text, nodes))]
    ['Men are dancing.']
    """
    for be, _ in _existentials(tree):
        for start in range(be + 2, len(tree.nodes)):
            if tree[start].tag in {"VBG", "VBN", "VBD", "IN", "RB", "NN"}:
                yield _as_subject(tree, be, start)


def caption_to_there(tree: ParseTree) -> Iterator[Rewriting]:
    """Put "There is" before a caption that is one indefinite noun phrase.

    >>> from .parsing import parser
    >>> text = "Two men playing chess in a park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in caption_to_there(ParseTree(text, nodes))]
    ['There are two men playing chess in a park.']
    """
    roots = list(tree.roots())
    if len(roots) != 1 or has_odd_marks(tree) or not tree.nodes or tree.subtree(roots[0])[0] != 0:
        return
    [noun] = roots
    be = _be_for(tree, noun)
    if be and _is_caption(tree, noun):
        pieces = [("There", None), (be, None), (tree[0].text, 0)]
        yield rewrite_span(tree, "caption to there", 0, 0, join_reordered(tree, pieces))


def there_to_caption(tree: ParseTree) -> Iterator[Rewriting]:
    """Leave out "There is" at the beginning of a sentence; only to see whether `caption_to_there` can be reversed.

    >>> from .parsing import parser
    >>> text = "There are two men playing chess in a park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in there_to_caption(ParseTree(text, nodes))]
    ['Two men playing chess in a park.']
    """
    for be, _ in _existentials(tree):
        first = tree[be + 1].text
        yield rewrite_span(tree, "there to caption", be - 1, be + 1, first[:1].upper() + first[1:])


def _as_subject(tree: ParseTree, be: int, start: int) -> Rewriting:
    """What is between "there is" and a node comes first, and "is" after it."""
    new = f"{tree.stretch(be + 1, start - 1)} {tree[be].text}"
    return rewrite_span(tree, "without there", be - 1, start - 1, new[:1].upper() + new[1:])


def _existentials(tree: ParseTree) -> Iterator[tuple[int, int]]:
    """Each "be" that follows a sentence's first word "there", with the noun after it."""
    for root in tree.roots():
        nouns = tree.children(root, "attr", "nsubj")
        plain = [tree[one].text for one in tree.children(root, "expl", "advmod") if one < root] == ["There"] and tree.subtree(root)[0] == root - 1
        if plain and len(nouns) == 1 and nouns[0] > root and tree[root].text in _BE and not has_odd_marks(tree):
            if not tree.children(root, "neg"):
                yield root, nouns[0]


def _is_predicate(tree: ParseTree, root: int, be: int, first: int) -> bool:
    """Whether what begins at a node is a participle or a place, and all that the sentence says of its subject."""
    if first >= len(tree.nodes) or any(one.dep == "neg" and one.head == root for one in tree.nodes):
        return False
    if any(tree[one].dep == "conj" and _is_finite(tree, one) for one in tree.children(root)):
        return False
    if tree[first].text == "being" and tree[first].dep == "auxpass":
        return True
    node = tree[first]
    if node.tag == "VBG" and (node.dep in {"ROOT", "acl", "advcl"}):
        return node.lemma not in {"be", "have"} and not (node.lemma == "go" and tree.children(first, "xcomp"))
    if node.tag in {"VBN", "VBD"} and node.text in STATE_PARTICIPLES:
        return bool(tree.children(first, "prep", "advmod", "acomp", "oprd", "agent"))
    return be == root and _is_place(tree, first)


def _is_place(tree: ParseTree, first: int) -> bool:
    node = tree[first]
    if node.text in _PLACES and not tree.children(first, "prep", "pobj"):
        return True
    return node.dep == "prep" and is_adverbial(tree, first) and bool(tree.children(first, "pobj", "prep"))


def _is_finite(tree: ParseTree, verb: int) -> bool:
    return tree[verb].tag in FINITE or bool(tree.children(verb, "nsubj", "nsubjpass", "aux"))


def _is_new(tree: ParseTree, noun: int, end: int) -> bool:
    """Whether a phrase up to a node brings in somebody or something that is concrete."""
    inside = [one for one in tree.subtree(noun) if one < end]
    words = {tree[one].text.lower() for one in inside}
    if not inside or words & _NOT_NEW or any(tree[one].dep in {"relcl", "acl", "poss", "appos", "punct"} for one in inside):
        return False
    if tree[noun].text.lower() in _SOMEONE:
        return True
    first = tree[inside[0]].text.lower()
    bare = tree[noun].tag == "NNS" and is_living(tree, noun) and not tree.children(noun, "det")
    return tree[noun].pos == "NOUN" and tree[noun].tag != "VBG" and (first in _INDEFINITE or bare)


def _is_caption(tree: ParseTree, noun: int) -> bool:
    """Whether a text is one noun phrase with a participle or a place after the noun."""
    if tree[noun].pos != "NOUN" or any(one.tag in FINITE for one in tree.nodes):
        return False
    after = [one for one in tree.children(noun) if one > noun]
    participles = [one for one in after if tree[one].dep == "acl" and tree[one].tag in {"VBG", "VBN"}]
    described = participles or [one for one in tree.children(noun, "prep") if tree[one].text != "of"]
    if not described or not _is_new(tree, noun, described[0]):
        return False
    inner = [one for one in tree.subtree(noun) if tree[one].dep in {"compound", "amod"} and one < noun]
    return not any(tree[one].tag == "NNS" or is_living(tree, one) for one in inner) and not _may_be_verb(tree, noun)


def _may_be_verb(tree: ParseTree, noun: int) -> bool:
    """Whether a noun after another may be the verb of a sentence: "A boy runs on a beach"."""
    return bool(tree.children(noun, "compound")) and lexicon().knows(tree[noun].text, "v")


def _be_for(tree: ParseTree, noun: int) -> str | None:
    joined = [tree[one].text.lower() for one in tree.children(noun, "cc")]
    if joined == ["and"]:
        return "are"
    plural = number(tree, noun)
    return None if plural is None else BE_FORMS["present", plural]
