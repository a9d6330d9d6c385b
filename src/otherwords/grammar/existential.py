"""Sentences with "there": "A man is walking", "There is a man walking", and the caption "A man walking"."""

from collections.abc import Iterator

from .clauses import FINITE, MOVING_VERBS, SIMPLE_VERBS, STATE_PARTICIPLES, has_odd_marks, number
from .parsing import ParseTree
from .phrases import BE_FORMS, PEOPLE, PLACE_AND_TIME, is_adverbial, is_living
from .rewriting import Rewriting, join_reordered, may_be_mistagged, rewrite_span

_BE = frozenset(BE_FORMS.values())
#: "A group of men are", but "there is a group of men".
_SINGULAR = {"are": "is", "were": "was"}
#: What is a state and has no progressive: "there is a box containing books".
_NOT_GOING_ON = SIMPLE_VERBS - {"read", "lead", "feature", "live"} | {"be", "relate", "concern", "need", "want"}
_NUMBERS = {"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_INDEFINITE = {"a", "an", "some", "several", "many", "no", "few", "various", "numerous", "multiple",
               *_NUMBERS}  # fmt: skip
#: After "a", these make a plural of what follows: "a few men".
_MANY = {"few", "dozen", "couple", "hundred", "thousand", "million", "many", "lot", "bunch", *_NUMBERS}
_SOMEONE = {"someone", "somebody", "something", "nobody", "nothing"}
#: Words in a subject that compare it with others, or say that there are no more.
_NOT_NEW = {"one", "another", "other", "others", "same", "only", "just", "every", "each", "all", "both",
            "most", "either", "neither", "any", "first", "second", "last", "next", "such", "this", "these",
            "those", "not", "which", "what", "whose", "certain", "or"}  # fmt: skip
#: What a caption names without saying that it is there: "a cold day in the city".
_NO_THINGS = {"day", "night", "morning", "afternoon", "evening", "time", "view", "shot", "summer", "winter",
              "spring", "fall", "season", "year", "look"}  # fmt: skip
#: Nouns that one participle may be said of together with the noun after "of".
_GROUPS = {"group", "crowd", "flock", "herd", "team", "pack", "line", "row", "bunch", "gang", "band",
           "class"}  # fmt: skip
#: How a clause inside a caption begins.
_CLAUSE_WORDS = {"as", "while", "when", "after", "before", "because", "who", "that", "which", "where"}
_ACTIONS = """
    walk run jump play sit stand ride clean look laugh climb leap ski surf paint dance sing talk eat drink swim kick
    throw hold wear watch wait pose smile work hit catch pull push cross drive fly fish cook sleep hike skate perform
    compete race roll slide dive fall rest relax wave cheer read write draw practice bike march stroll attempt sail
    mill gather share enjoy prepare huddle rally kneel bow pray chat point
"""
#: What captions say that somebody does: as a plural noun it is probably a verb.
_VERBS = frozenset(_ACTIONS.split())
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
        first, be = tree.subtree(subjects[0])[0], tree.subtree(subjects[0])[-1] + 1
        found = be <= root and tree[be].text in _BE and _is_predicate(tree, root, be, be + 1)
        if found and tree.contiguous(subjects[0]) and _is_new(tree, subjects[0], be):
            group = tree[subjects[0]].lemma.lower() in _GROUPS and tree[first].text.lower() in {"a", "an"}
            couple = tree[subjects[0]].lemma.lower() == "couple" and "of" not in tree.words(subjects[0])
            verb = _SINGULAR.get(tree[be].text, tree[be].text) if group or couple else tree[be].text
            pieces = [("There", None), (verb, None), (tree.stretch(first, be - 1), first)]
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
            negated = not verbs and tree[be + 1].text in {"no", "nothing", "nobody"}  # "no art is at the museum"
            if _is_predicate(tree, be, be, start) and _is_new(tree, noun, start) and not negated:
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
    for noun, _, be in _captions(tree):
        odd = tree[0].named and may_be_mistagged(tree, 0)  # "Horseback officers" would keep the capital
        if not odd and _is_new(tree, noun, _first_modifier(tree, noun)):
            pieces = [("There", None), (be, None), (tree[0].text, 0)]
            yield rewrite_span(tree, "caption to there", 0, 0, join_reordered(tree, pieces))


def caption_to_sentence(tree: ParseTree) -> Iterator[Rewriting]:
    """Put a form of "be" before the participle of a caption.

    >>> from .parsing import parser
    >>> text = "Two men playing chess in a park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in caption_to_sentence(ParseTree(text, nodes))]
    ['Two men are playing chess in a park.']
    """
    for _, verb, be in _captions(tree):
        apart = verb is not None and (tree[verb - 1].text == "," or tree[verb - 1].tag == "PRP")  # "with him holding"
        if verb is not None and not apart and not _has_second_subject(tree, verb) and not _is_worn(tree, verb):
            yield rewrite_span(tree, "caption to sentence", verb, verb, f"{be} {tree[verb].text}")


def sentence_to_caption(tree: ParseTree) -> Iterator[Rewriting]:
    """Leave out the "be" of a progressive; only to see whether `caption_to_sentence` can be reversed.

    >>> from .parsing import parser
    >>> text = "Two men are playing chess in a park."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in sentence_to_caption(ParseTree(text, nodes))]
    ['Two men playing chess in a park.']
    """
    for root in tree.roots():
        helpers = tree.children(root, "aux", "auxpass")
        if helpers and tree[helpers[0]].text in _BE and helpers[0] + 1 < len(tree.nodes):
            new = tree[helpers[0] + 1].text
            yield rewrite_span(tree, "sentence to caption", helpers[0], helpers[0] + 1, new)


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
        before = [tree[one].text for one in tree.subtree(root) if one < root]
        plain = before == ["There"] and not has_odd_marks(tree) and not tree.children(root, "neg")
        if plain and len(nouns) == 1 and nouns[0] > root and tree[root].text in _BE:
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
        return node.lemma not in _NOT_GOING_ON and not (node.lemma == "go" and tree.children(first, "xcomp"))
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
    if tree[noun].tag == "NN" and tree.children(noun, "cc"):
        return False  # "There are a dog and a cat"
    words = {tree[one].text.lower() for one in inside}
    deps = {tree[one].dep for one in inside}
    if not inside or words & _NOT_NEW or deps & {"relcl", "acl", "poss", "appos", "punct"}:
        return False
    if tree[noun].text.lower() in _SOMEONE:
        return True
    first = tree[inside[0]].text.lower()
    bare = tree[noun].tag == "NNS" and not tree.children(noun, "det") and (is_living(tree, noun) or _is_seen(tree, end))
    return tree[noun].pos == "NOUN" and tree[noun].tag != "VBG" and (first in _INDEFINITE or bare)


def _is_seen(tree: ParseTree, end: int) -> bool:
    """Whether what is said of things without an article is said of certain ones: "crabs are being sold"."""
    verb = min(end + (tree[end].text in _BE), len(tree.nodes) - 1)
    return tree[verb].text == "being" or (tree[verb].tag == "VBG" and tree[verb].lemma in MOVING_VERBS)


def _captions(tree: ParseTree) -> Iterator[tuple[int, int | None, str]]:
    """The noun of a text that has no finite verb, the participle after it if any, and the form of "be" for it."""
    roots = list(tree.roots())
    if len(roots) != 1 or has_odd_marks(tree) or tree.subtree(roots[0])[0] != 0 or _has_verb(tree):
        return
    [root] = roots
    subjects = tree.children(root, "nsubj", "nsubjpass")
    noun, verb = (subjects[0], root) if subjects and _is_participle(tree, root) else (root, _participle(tree, root))
    start = None if verb is None else _start(tree, verb)
    joined = [one for one in tree.children(noun, "conj") if start is not None and one > start]
    joined += [
        one for one in range(start or 0) if tree[one].tag == "VBG" and tree[one].dep == "acl"
    ]  # two do something
    where = PLACE_AND_TIME - {"during", "before", "after"} | {"with"}
    somewhere = any(tree[one].text in where for one in tree.children(noun, "prep"))
    be = None if joined or not _is_thing(tree, noun) else _be_for(tree, noun)
    if be and (start is not None or somewhere) and not _has_hidden_verb(tree, be):
        yield noun, start, be


def _participle(tree: ParseTree, noun: int) -> int | None:
    """The participle that says what the noun of a caption does, also where the parser gives it to a noun between."""
    below = tree.subtree(noun)
    found = [one for one in below if one > noun and tree[one].dep == "acl" and _is_participle(tree, one)]
    own = [one for one in found if tree[one].head == noun]
    group = tree[noun].lemma.lower() in _GROUPS
    inner = [one for one in found if group or (is_living(tree, noun) and not is_living(tree, tree[one].head))]
    preps = {prep for prep in tree.children(noun, "prep") if tree[prep].text in PLACE_AND_TIME or group}
    return min(own or [one for one in inner if tree[tree[one].head].head in preps], default=None)


def _is_thing(tree: ParseTree, noun: int) -> bool:
    """Whether a noun names something that is there, and is probably no verb with its subject before it."""
    if tree[noun].pos != "NOUN" and tree[noun].text.lower() not in PEOPLE:
        return False
    compounds = tree.children(noun, "compound")
    return tree[noun].lemma.lower() not in _NO_THINGS | _VERBS and not any(is_living(tree, one) for one in compounds)


def _start(tree: ParseTree, verb: int) -> int:
    """Where a participle begins, with the adverb or the "being" before it."""
    left = [one for one in tree.children(verb, "advmod", "auxpass", "aux") if one < verb]
    return min([verb, *left])


def _first_modifier(tree: ParseTree, noun: int) -> int:
    """Where the participles and places after a noun begin."""
    return min([one for one in tree.children(noun, "acl") if one > noun], default=noun + 1)


def _has_verb(tree: ParseTree) -> bool:
    """Whether a text has a finite verb outside clauses, or a word that may be one: a plural before a noun."""
    inside = {
        below
        for at, node in enumerate(tree.nodes)
        if node.dep in {"advcl", "relcl"} and tree[tree.subtree(at)[0]].text.lower() in _CLAUSE_WORDS
        for below in tree.subtree(at)
    }
    return any(
        (node.tag in FINITE and at not in inside) or _may_be_verb(tree, at) for at, node in enumerate(tree.nodes)
    )


def _may_be_verb(tree: ParseTree, at: int) -> bool:
    """Whether a word may be the verb of a sentence that is taken for a caption: "a woman in blue walks past"."""
    node = tree[at]
    bare = node.tag == "VB" and not tree.children(at, "aux")
    noun = node.tag == "NNS" and (node.dep == "compound" or node.lemma.lower() in _VERBS)
    noun |= node.tag == "NN" and node.dep == "compound" and node.lemma.lower() in _VERBS and tree[at - 1].tag != "NN"
    return bare or _disagrees(tree, at) or (noun and at > 0 and not tree.children(at, "det", "nummod", "poss"))


def _disagrees(tree: ParseTree, at: int) -> bool:
    """Whether what is taken for a plural has an article of the singular, or a noun before it that is none of its parts.

    So the parser reads verbs as nouns: "a girl holding a cup points at ...", "a man in white pants glowers by ...".
    """
    if tree[at].tag != "NNS" or not at:
        return False
    articles = {tree[one].text.lower() for one in tree.children(at, "det")}
    counted = {tree[one].text.lower() for one in tree.subtree(at)} & _MANY
    beside = tree[at - 1].tag in {"NN", "NNS"} and at - 1 not in tree.subtree(at) and tree[at].dep != "conj"
    return (bool(articles & {"a", "an", "another", "each", "every"}) and not counted) or beside


def _has_hidden_verb(tree: ParseTree, be: str) -> bool:
    """Whether the verb of several is taken for a noun: "Seekers at an amusement park ride through", "men, dance"."""
    last = next((at for at in range(len(tree.nodes) - 1, 0, -1) if tree[at].tag != "."), 0)
    ending = tree[last].tag == "NN" and tree[last - 1].dep == "compound" and tree[last].text.lower() in _VERBS
    if be == "are" and ending:
        return True  # "working on a car talk"
    joined = any(node.text.lower() == "and" for node in tree.nodes)  # "a man and girl pushing a cart walk down"
    return (be == "are" or joined) and any(
        node.tag in {"NN", "VB", "VBP", "NNP"}
        and (tree[at - 1].tag in {"NN", ","} or (tree[at - 1].tag == "JJ" and not tree.children(at, "det", "poss")))
        and tree[at + 1].tag in {"IN", "RB", "RP", "DT"}
        and tree[at + 1].text != "of"
        and node.text.lower() in _VERBS
        for at, node in enumerate(tree.nodes[:-1])
        if at
    )


def _is_participle(tree: ParseTree, at: int) -> bool:
    node, being = tree[at], [tree[one].text for one in tree.children(at, "aux", "auxpass")] == ["being"]
    return (node.tag == "VBG" and not tree.children(at, "aux")) or (
        node.tag == "VBN" and (being or node.text in STATE_PARTICIPLES)
    )


def _has_second_subject(tree: ParseTree, verb: int) -> bool:
    """Whether somebody else does something after "and": "a stand covered with sheets and two men shopping"."""
    joined = [one for one in tree.subtree(verb) if one > verb and tree[one].dep == "conj"]
    clauses = [one for one in joined if tree[one].tag == "VBG" and is_living(tree, one - 1)]
    return bool(clauses) or any(is_living(tree, one) and tree.children(one, "acl") for one in joined)


def _is_worn(tree: ParseTree, verb: int) -> bool:
    """Whether somebody in certain clothes also does something, which is what is said: "Man wearing blue bowing"."""
    after = tree.nodes[verb + 1 :]
    doing = [at for at, one in enumerate(after, verb + 1) if one.tag == "VBG" and one.dep in {"xcomp", "advcl", "acl"}]
    joined = {",", "and", "while", "as", "or"}
    alone = [at for at in doing if tree[at - 1].text not in joined and tree[tree[at].head].dep != "pobj"]
    return tree[verb].text.lower() in {"wearing", "dressed"} and bool(alone)


def _be_for(tree: ParseTree, noun: int) -> str | None:
    joined = [tree[one].text.lower() for one in tree.children(noun, "cc")]
    if joined == ["and"]:
        return "are"
    if tree[noun].lemma.lower() == "couple" and "of" not in tree.words(noun):
        return "is"
    plural = number(tree, noun)
    return None if plural is None else BE_FORMS["present", plural]
