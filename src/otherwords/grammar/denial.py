"""Negations in other words: "there is no milk" and "there is not any milk", "is not open" and "is closed"."""

from collections.abc import Iterator
from functools import cache

from ..words.inflection import forms_of, inflected
from .parsing import ParseTree
from .rewriting import Rewriting, rewrite_span
from .substituting import tag_at, word_at

# Word lists

_MASS_NOUNS = """
    money time water food information evidence music traffic snow rain work proof air room space
    power electricity milk bread rice sugar salt meat fruit furniture luggage equipment advice news
    knowledge research progress help support clothing hair grass luck fun trouble damage data wind noise smoke
    homework housework experience interest reason difference effect hope sign chance change indication
    mention connection guarantee harm sense limit demand concern response discussion relationship requirement purpose
    intention record explanation meaning benefit trace idea need problem impact influence mention comment
    justification basis danger risk provision restriction incentive desire
"""
#: Nouns that may have "any" in the singular.
_MASS = frozenset(_MASS_NOUNS.split())
#: Nouns that, with "no", are an idiom: "there is no doubt", "make no bones".
_IDIOMS = {"doubt", "matter", "use", "point", "way", "wonder", "choice", "longer", "question", "bone"}
_COMPLEMENTS = """
    awake/asleep alive/dead open/closed present/absent true/false possible/impossible legal/illegal able/unable
    aware/unaware available/unavailable married/unmarried known/unknown sure/unsure clear/unclear
    certain/uncertain willing/unwilling familiar/unfamiliar related/unrelated conscious/unconscious
    complete/incomplete correct/incorrect visible/invisible affected/unaffected accurate/inaccurate
    necessary/unnecessary acceptable/unacceptable connected/unconnected
"""
#: Adjectives of which one holds wherever the other does not.
OPPOSITES: dict[str, str] = dict(pair.split("/", 1) for pair in _COMPLEMENTS.split())
_BE = {"is", "are", "was", "were", "am"}
_HAVE = {"has": "does", "have": "do", "had": "did"}
_NOT = {"not", "n't"}
_WHEN = {"today", "tomorrow", "tonight", "yesterday"}
_ANY = {"nothing": "anything", "nobody": "anybody"}
_NONE = {any_: none for none, any_ in _ANY.items()}


def to_any(tree: ParseTree) -> Iterator[Rewriting]:
    """Say "not ... any" for "no", after "there is" and as the object of a verb.

    >>> from .parsing import parser
    >>> texts = ["There are no dogs here.", "He has no money.", "She is wearing no shoes."]
    >>> for text, nodes in zip(texts, parser()(texts)):
    ...     print(*[one.apply(text) for one in to_any(ParseTree(text, nodes))])
    There are not any dogs here.
    He does not have any money.
    She is not wearing any shoes.
    """
    for no, noun, verb in _denied(tree):
        helpers = tree.children(verb, "aux")
        rest = f"any {tree.stretch(no + 1, noun)}" if no < noun else _ANY[tree[no].text]
        if (
            tree[verb].lemma.lower() == "be"
            and tree[verb].text.lower() in _BE
            and not helpers
            and _is_there(tree, verb)
        ):
            yield rewrite_span(tree, "not any", verb, noun, f"{tree[verb].text} not {rest}")
        elif len(helpers) == 1 and helpers[0] == verb - 1 and tree[helpers[0]].text.lower() in _BE | {*_HAVE}:
            first = helpers[0]
            yield rewrite_span(tree, "not any", first, noun, f"{tree[first].text} not {tree[verb].text} {rest}")
        elif not helpers and tree[verb].tag in {"VBZ", "VBP", "VBD"} and tree[verb].lemma.lower() in _DENIED_VERBS:
            do = {"VBZ": "does", "VBP": "do", "VBD": "did"}[tree[verb].tag]
            yield rewrite_span(tree, "not any", verb, noun, f"{do} not {tree[verb].lemma.lower()} {rest}")


def to_no(tree: ParseTree) -> Iterator[Rewriting]:
    """Say "no" for "not ... any".

    >>> from .parsing import parser
    >>> texts = ["There aren't any dogs here.", "He does not have any money.", "She is not wearing any shoes."]
    >>> for text, nodes in zip(texts, parser()(texts)):
    ...     print(*[one.apply(text) for one in to_no(ParseTree(text, nodes))])
    There are no dogs here.
    He has no money.
    She is wearing no shoes.
    """
    for at, node in enumerate(tree.nodes):
        if node.text.lower() not in _NOT or at == 0:
            continue
        found = _any_after(tree, at)
        if found is None:
            continue
        some, noun = found
        new = f"no {tree.stretch(some + 1, noun)}" if some < noun else _NONE[tree[some].text]
        if some == at + 1 and tree[at - 1].text.lower() in _BE and _is_there(tree, at - 1):
            yield rewrite_span(tree, "no", at - 1, noun, f"{tree[at - 1].text} {new}")
        elif some == at + 2 and tree[at + 1].pos in {"VERB", "AUX"} and (verb := _without_not(tree, at)):
            yield rewrite_span(tree, "no", at - 1, noun, f"{verb} {new}")


def contracted_any(tree: ParseTree) -> Iterator[Rewriting]:
    """All of `to_any`, also with "n't", to lead back."""
    for one in to_any(tree):
        yield one
        yield one._replace(after=one.after.replace(" not ", "n't ", 1))


def to_without(tree: ParseTree) -> Iterator[Rewriting]:
    """ "With no shoes" is "without any shoes".

    >>> from .parsing import parser
    >>> text = "A boy with no shoes runs."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_without(ParseTree(text, nodes))]
    ['A boy without any shoes runs.']
    """
    for at, node in enumerate(tree.nodes[:-2]):
        if (
            node.text.lower() != "with"
            or word_at(tree, at + 1) != "no"
            or word_at(tree, at - 1) in {"left", "and", "or"}
        ):
            continue
        noun = _object(tree, at, at + 1)
        if noun is not None and _takes_any(tree, noun):
            new = node.text + "out any"
            yield rewrite_span(tree, "without any", at, at + 1, new)


def to_with_no(tree: ParseTree) -> Iterator[Rewriting]:
    """ "Without any shoes" is "with no shoes".

    >>> from .parsing import parser
    >>> text = "He left without any money."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_with_no(ParseTree(text, nodes))]
    ['He left with no money.']
    """
    for at, node in enumerate(tree.nodes[:-2]):
        if node.text.lower() == "without" and word_at(tree, at + 1) == "any":
            noun = _object(tree, at, at + 1)
            if noun is not None and _takes_any(tree, noun) and not _has_other_negation(tree, at):
                yield rewrite_span(tree, "with no", at, at + 1, f"{node.text[:4]} no")


def to_opposite(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Say the opposite of a denied adjective after "be": "is not open" is "is closed"; `back` also "not unclear".

    >>> from .parsing import parser
    >>> text = "The shop isn't open today."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_opposite(ParseTree(text, nodes))]
    ['The shop is closed today.']
    """
    for at, node in enumerate(tree.nodes):
        other = _opposites().get(node.text, "")
        verb = at - 2
        denied = (
            verb >= 0 and word_at(tree, at - 1) in _NOT and word_at(tree, verb) in _BE and _is_predicate(tree, at, verb)
        )
        if other and denied and (back or node.text in OPPOSITES or node.text in _TURNED) and _may_turn(tree, at, verb):
            yield rewrite_span(tree, "opposite", verb, at, f"{tree[verb].text} {other}")


def to_denied_opposite(tree: ParseTree, *, back: bool = False) -> Iterator[Rewriting]:
    """Deny the opposite of an adjective after "be": "is closed" is "is not open"; `back` also "not unclear".

    >>> from .parsing import parser
    >>> text = "The shop is closed today."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in to_denied_opposite(ParseTree(text, nodes))]
    ['The shop is not open today.']
    """
    for at, node in enumerate(tree.nodes):
        other = _opposites().get(node.text, "")
        verb = at - 1
        wanted = back or node.text not in OPPOSITES or node.text in _BOTH_WAYS
        plain = other and word_at(tree, verb) in _BE and _is_predicate(tree, at, verb) and _may_turn(tree, at, verb)
        if wanted and plain:
            yield rewrite_span(tree, "denied opposite", verb, at, f"{tree[verb].text} not {other}")


def contracted_opposite(tree: ParseTree) -> Iterator[Rewriting]:
    """All of `to_denied_opposite`, also with "n't", to lead back."""
    for one in to_denied_opposite(tree, back=True):
        yield one
        yield one._replace(after=one.after.replace(" not ", "n't ", 1))


# What is denied

#: Verbs whose objects may be denied either way.
_DENIED_VERBS = {"have", "see", "want", "need", "know", "do", "get", "find", "use", "contain", "wear", "eat", "show",
                 "receive", "provide", "own"}  # fmt: skip
#: Adjectives that are the positive of their pair, but may be said with "not" and the other.
_BOTH_WAYS = {"awake", "alive"}
#: Adjectives that are the negative of their pair, and may be denied without irony.
_TURNED = {"asleep", "dead", "closed"}


def _denied(tree: ParseTree) -> Iterator[tuple[int, int, int]]:
    """Each "no" of a plain phrase after its verb, with the noun and the verb."""
    for no, node in enumerate(tree.nodes):
        pronoun = node.text in _ANY and word_at(tree, no + 1) not in {
            "but",
            "more",
            "less",
            "like",
            "short",
            "except",
            "of",
        }
        if not pronoun and (node.text != "no" or node.dep != "det" or not 0 < node.head - no <= 3):
            continue
        noun = no if pronoun else node.head
        verb = tree[noun].head
        role = tree[noun].dep in {"dobj", "attr"} and verb < no and tree[verb].pos in {"VERB", "AUX"}
        left = [one for one in tree.children(verb, "advmod", "neg", "npadvmod") if one < verb]
        plain = (
            role and verb == no - 1 and not left and not tree.children(verb, "conj", "cc") and tree[verb].dep != "conj"
        )
        if (
            plain
            and (pronoun or _takes_any(tree, noun))
            and not _has_other_negation(tree, no)
            and not _is_question(tree)
        ):
            yield no, noun, verb


def _takes_any(tree: ParseTree, noun: int) -> bool:
    """Whether "any" may stand before a noun: a plural, or a mass noun; and it is no idiom with "no"."""
    node, lemma = tree[noun], tree[noun].lemma.lower()
    some = node.tag == "NNS" or (node.tag == "NN" and lemma in _MASS)
    return some and lemma not in _IDIOMS and not tree.children(noun, "conj", "cc", "nummod")


def _any_after(tree: ParseTree, at: int) -> tuple[int, int] | None:
    """The "any" or "anything" soon after "not", and its noun: an object, or what there is not."""
    for one in range(at + 1, min(at + 3, len(tree.nodes))):
        pronoun = tree[one].text in _NONE and word_at(tree, one + 1) not in {"but", "of", "like"}
        determiner = tree[one].text == "any" and tree[one].dep == "det" and 0 < tree[one].head - one <= 3
        noun = tree[one].head if determiner else one
        if (determiner or pronoun) and tree[noun].dep in {"dobj", "attr"} and not _is_question(tree):
            return (one, noun) if pronoun or _takes_any(tree, noun) else None
    return None


def _without_not(tree: ParseTree, at: int) -> str | None:
    """The verb without its "not": "does not have" is "has"; "is not wearing" is "is wearing"."""
    helper, verb = tree[at - 1], tree[at + 1]
    if verb.tag == "VB" and (tag := {"does": "VBZ", "do": "VBP", "did": "VBD"}.get(helper.text.lower())):
        if verb.lemma.lower() not in _DENIED_VERBS:
            return None
        if tag == "VBP":
            return verb.text
        return (
            "has"
            if (verb.text, tag) == ("have", "VBZ")
            else "had"
            if verb.text == "have"
            else inflected(verb.text, tag)
        )
    progressive = verb.tag == "VBG" and helper.text.lower() in _BE
    perfect = verb.tag == "VBN" and helper.text.lower() in _HAVE and verb.text in forms_of(verb.lemma.lower(), "VBN")
    return f"{helper.text} {verb.text}" if progressive or perfect else None


def _object(tree: ParseTree, at: int, determiner: int) -> int | None:
    """The object of a preposition, if the determiner is its own and near."""
    below = tree.children(at, "pobj")
    near = len(below) == 1 and tree[determiner].head == below[0] and below[0] - determiner <= 3
    return below[0] if near else None


def _is_there(tree: ParseTree, verb: int) -> bool:
    return verb > 0 and tree[verb - 1].dep == "expl" and tree[verb - 1].text.lower() == "there"


def _has_other_negation(tree: ParseTree, at: int) -> bool:
    others = {"not", "n't", "no", "never", "nobody", "nothing", "neither", "nor", "none", "only", "hardly", "few",
              "all", "every", "everyone", "both", "most", "many", "often", "always"}  # fmt: skip
    return any(one != at and node.text.lower() in others for one, node in enumerate(tree.nodes))


def _is_question(tree: ParseTree) -> bool:
    return any(node.text == "?" for node in tree.nodes)


# Opposites


def _is_predicate(tree: ParseTree, at: int, verb: int) -> bool:
    """Whether an adjective is the predicate of this form of "be"."""
    node = tree[at]
    complement = node.head == verb and node.dep in {"acomp", "attr", "oprd", "ccomp"}
    participle = node.dep in {"ROOT", "ccomp", "relcl", "advcl"} and tree[verb].head == at and node.tag in {"JJ", "VBN"}
    return (complement or participle) and node.text.islower()


def _may_turn(tree: ParseTree, at: int, verb: int) -> bool:
    """Whether nothing grades or joins the adjective, nothing asks, and no quantifier or modal is in the way."""
    after = word_at(tree, at + 1)
    joined = after in {
        "and",
        "or",
        "but",
        ",",
        "yet",
        "enough",
        "-",
        "until",
        "till",
        "by",
        "off",
        "down",
        "in",
    } or tree.children(at, "conj")
    if tree[at].text in {"known", "unknown"} and after in {"to", "as", "for"}:
        return False  # "was not known to drink"
    if joined or (tag_at(tree, at + 1) in {"NN", "NNS", "NNP"} and after not in _WHEN) or _is_question(tree):
        return False
    subject = [one for one in range(verb) if tree[one].dep in {"nsubj", "nsubjpass"} and tree[one].head in (verb, at)]
    quantified = {"all", "every", "everyone", "everybody", "both", "each", "most", "many", "few", "no", "nobody", "any",
                  "anyone", "one", "nothing", "everything", "some", "only", "always", "never", "often", "none",
                  "not", "n't"}  # fmt: skip
    words = {word for one in subject for word in tree.words(one)} | {
        word_at(tree, one) for one in range(max(0, verb - 3), verb)
    }
    return not words & quantified and bool(subject)


@cache
def _opposites() -> dict[str, str]:
    return OPPOSITES | {other: one for one, other in OPPOSITES.items()}
