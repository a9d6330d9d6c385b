"""The place of clauses and of times in a sentence: "When it rains, he stays", "He stays when it rains"."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from .clauses import FINITE, TIMES, has_odd_marks, is_spoken, number
from .parsing import ParseTree
from .phrases import is_bare_being, is_person
from .rewriting import Rewriting, join_reordered, may_be_mistagged, rewrite_span

_MARKS = {"because", "although", "though", "while", "when", "whenever", "after", "before", "since",
          "unless", "until", "once", "if", "as", "whereas", "even"}  # fmt: skip
#: After "as" these make another word of it.
_AFTER_AS = {"if", "though", "long", "soon", "well", "much", "many", "far", "of", "to", "such", "for"}
#: After "as" these come before their subject: "as does Tom".
_INVERTED = {"do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "will", "can"}
#: In one of the clauses these look back to the other.
_LOOKING_BACK = {"only", "just", "even", "too", "also", "either", "neither", "another", "other", "others",
                 "else", "same", "again", "instead", "so", "then", "thus", "therefore", "still", "yet",
                 "both", "each", "one", "ones", "latter", "former", "however", "respectively", "who",
                 "which", "what", "especially", "particularly", "mainly", "partly", "simply", "merely"}  # fmt: skip
_NEGATIONS = {"not", "n't", "no", "never", "nobody", "nothing", "none", "hardly", "barely", "few", "little",
              "without", "every", "all", "most", "many", "everyone", "everybody", "everything", "nor",
              "cannot"}  # fmt: skip
_CAUSES = {"because", "since", "as", "until"}
#: Verbs with "to" that say how something is done or has to be: "he has to stay if it rains".
_SEMI_MODALS = {"have", "need", "go", "use"}
_ASKING = {"care", "know", "wonder", "ask", "see", "matter", "bug", "tell", "doubt", "decide", "mind",
           "check", "remember", "find", "determine", "say", "learn", "discover", "test", "question",
           "think", "like"}  # fmt: skip
_UNKNOWN = {"unknown", "unclear", "uncertain", "unsure", "sure", "certain", "questionable", "clear"}
#: Before a conjunction these say how long, how soon or where.
_HOW_LONG = {"long", "right", "shortly", "soon", "immediately", "well", "ever", "anywhere", "near",
             "exactly", "day", "moment", "directly", "straight", "little", "bit", "more", "less", "such",
             "much", "many", "far"}  # fmt: skip
_LIKING = {"love", "hate", "appreciate", "enjoy", "resent", "prefer"}
#: With these a clause at the end belongs to the whole sentence, whatever verb comes before it.
_CONDITIONS = {"if", "because", "although", "though", "unless", "even"}
_PARADIGMS = {"he": "he", "him": "he", "his": "he", "himself": "he", "she": "she", "her": "she", "hers": "she",
              "herself": "she", "it": "it", "its": "it", "itself": "it", "they": "they", "them": "they",
              "their": "they", "theirs": "they", "themselves": "they"}  # fmt: skip
_NO_NOUNS = {*_PARADIGMS, "i", "you", "we", "me", "us", "my", "your", "our"}
_WEATHER = {"rain", "snow", "hail", "pour", "freeze", "thunder"}
_MAX_CLAUSE = 16
_MIN_MAIN = 2


class Split(NamedTuple):
    """A sentence of two parts: the main clause and the part that can change its place, each from node to node."""

    main: tuple[int, int]
    part: tuple[int, int]
    verb: int
    root: int


def clause_to_end(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Move a subordinate clause from the beginning of a sentence to its end.

    `loose` also gives the same with a comma, as is needed to see whether `clause_to_front` can be reversed.

    >>> from .parsing import parser
    >>> text = "When it rains, he stays at home."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in clause_to_end(ParseTree(text, nodes))]
    ['He stays at home when it rains.']
    """
    for split in _splits(tree, _initial_clauses(tree), loose):
        for main, clause in _worded(tree, split, loose):
            for mark in (" ", ", ") if loose else (" ",):
                new = join_reordered(tree, [(main, split.main[0]), (clause, split.part[0])], mark)
                yield rewrite_span(tree, "clause to end", split.part[0], split.main[1], new)


def clause_to_front(tree: ParseTree, *, loose: bool = False) -> Iterator[Rewriting]:
    """Move a subordinate clause from the end of a sentence to its beginning; `loose` as in `clause_to_end`.

    >>> from .parsing import parser
    >>> text = "Tom stays at home when he is ill."
    >>> [nodes] = parser()([text])
    >>> [one.apply(text) for one in clause_to_front(ParseTree(text, nodes))]
    ['When Tom is ill, he stays at home.']
    """
    for split in _splits(tree, _final_clauses(tree, loose), loose):
        for main, clause in _worded(tree, split, loose):
            for mark in (", ", " ") if loose else (", ",):
                new = join_reordered(tree, [(clause, split.part[0]), (main, split.main[0])], mark)
                yield rewrite_span(tree, "clause to front", split.main[0], split.part[1], new)


any_clause_to_end = partial(clause_to_end, loose=True)
any_clause_to_front = partial(clause_to_front, loose=True)


# Where the clauses are


def _initial_clauses(tree: ParseTree) -> Iterator[Split]:
    """Sentences that begin with a subordinate clause, with a comma after it or without."""
    for verb, node in enumerate(tree.nodes):
        below, root = tree.subtree(verb), node.head
        if node.dep != "advcl" or below[0] != 0 or tree[root].head != root or not tree.contiguous(verb):
            continue
        last = below[-1] - (tree[below[-1]].text == ",")
        start = last + 1 + (tree[last + 1].text == ",")
        end = last_word(tree)
        cut = start == last + 1 and last == verb and tree[verb].lemma == "be"  # "if it were real heads would roll"
        if start <= root <= end and not cut and begins_main(tree, root, start):
            yield Split((start, end), (0, last), verb, root)


def _final_clauses(tree: ParseTree, loose: bool) -> Iterator[Split]:
    """Sentences that end with a subordinate clause."""
    deps = {"advcl", "xcomp"} if loose else {"advcl"}
    end = last_word(tree)
    for verb, node in enumerate(tree.nodes):
        below, root = tree.subtree(verb), node.head
        if node.dep not in deps or below[-1] != end or tree[root].head != root or not tree.contiguous(verb):
            continue
        last = below[0] - 1 - (tree[below[0] - 1].text == ",")
        if root <= last and begins_main(tree, root, 0):
            yield Split((0, last), (below[0], end), verb, root)


def last_word(tree: ParseTree) -> int:
    """The last node of a sentence before its final stop."""
    last = len(tree.nodes) - 1
    return last - 1 if last and tree[last].text in {".", "!"} else last


def begins_main(tree: ParseTree, root: int, start: int) -> bool:
    """Whether a main clause begins with its subject, or is an imperative."""
    subjects = [one for one in tree.children(root, "nsubj", "nsubjpass", "expl") if one < root]
    first = tree.subtree(subjects[0])[0] if subjects else None
    return first == start or (not subjects and root == start and tree[root].tag == "VB")


def _splits(tree: ParseTree, found: Iterator[Split], loose: bool) -> Iterator[Split]:
    """Those of the sentences whose clauses can change places."""
    if has_odd_marks(tree) or is_spoken(tree) or len(list(tree.roots())) != 1:
        return
    for split in found:
        first = min(split.main[0], split.part[0])
        name = tree[first].named and tree[first].dep in {"nsubj", "nsubjpass"}
        unsure = may_be_mistagged(tree, first) and not name
        if not unsure and _has_mark(tree, split, loose) and _is_single(tree, split) and not _has_scope(tree, split):
            yield split


def _has_mark(tree: ParseTree, split: Split, loose: bool) -> bool:
    """Whether a clause begins with a conjunction whose clause can be in either place."""
    if split.part[0] == split.part[1]:
        return False
    first, second = (tree[one].text.lower() for one in (split.part[0], split.part[0] + 1))
    if first == "even":
        return second in {"if", "though"}
    if first == "to" or (first == "in" and second == "order"):
        purpose = tree[split.verb].tag == "VB" and tree[split.root].lemma not in {"be", "have", "need", "want", "try"}
        return purpose and (split.part[0] == 0 or loose)
    helpers = {tree[one].dep for one in tree.children(split.verb)}
    finite = bool(helpers & {"nsubj", "nsubjpass", "expl"}) or (first == "while" and tree[split.verb].tag == "VBG")
    if _is_bound(tree, split, first):
        return False
    if first == "as" and (second in _AFTER_AS or second in _INVERTED):
        return False
    return first in _MARKS and finite and not (first in {"if", "when"} and _asks(tree, split.root))


def _is_bound(tree: ParseTree, split: Split, mark: str) -> bool:
    """Whether a clause belongs to the word before it: "long after", "in 1680, when", "this is because"."""
    root, before = split.root, tree[max(split.part[0] - 1, 0)]
    if split.main[1] == root and tree[root].lemma == "be":
        return True
    measured = split.part[0] > 0 and (before.text.lower() in _HOW_LONG or before.lemma.lower() in TIMES)
    it_is = tree[root].lemma == "be" and tree[split.main[0]].text.lower() in {"it", "that", "this"}
    same = tree[root].lemma == tree[split.verb].lemma and mark == "as"
    dangling = mark == "while" and not tree.children(split.verb, "nsubj", "nsubjpass", "expl")
    return (
        measured
        or same
        or (mark == "when" and before.text == ",")
        or (mark in {"since", "before", "until", "when"} and it_is)
        or (dangling and not any(_is_someone(tree, one) for one in tree.children(root, "nsubj")))
    )


def _is_someone(tree: ParseTree, subject: int) -> bool:
    return is_person(tree, subject) or tree[subject].named or tree[subject].pos == "PRON"


def _asks(tree: ParseTree, root: int) -> bool:
    """Whether a clause with "if" or "when" may be a question or an object: "he wondered if", "I love it when"."""
    adjectives = {tree[one].text.lower() for one in tree.children(root, "acomp", "attr")}
    it = any(tree[one].text == "it" for one in tree.children(root, "dobj"))
    return tree[root].lemma in _ASKING or bool(adjectives & _UNKNOWN) or (it and tree[root].lemma in _LIKING)


def _is_single(tree: ParseTree, split: Split) -> bool:
    """Whether the main clause has one verb that the other clause can belong to, and no further part."""
    inside = range(split.main[0], split.main[1] + 1)
    part = range(split.part[0], split.part[1] + 1)
    if len(inside) < _MIN_MAIN or len(part) > _MAX_CLAUSE:
        return False
    if any(tree[one].text == "," for one in [*inside, *part]):
        return False
    others = {tree[one].dep for one in inside if one > split.root and tree[one].pos in {"VERB", "AUX"}}
    own = {tree[one].dep for one in part if tree[one].pos in {"VERB", "AUX"}}
    joined = tree.children(split.root, "conj", "cc", "ccomp", "parataxis") or not is_finite(tree, split.root)
    joined = joined or (split.part[0] > 0 and _is_cut(tree, split.part[1]))
    first = tree[split.part[0]].text.lower()
    modal = tree[split.root].lemma in _SEMI_MODALS or (split.part[0] == 0 and first in _CONDITIONS)
    others -= {"aux", "auxpass"}
    return not joined and others <= ({"xcomp"} if modal else set()) and not own & {"ccomp", "conj", "parataxis"}


def _is_cut(tree: ParseTree, last: int) -> bool:
    """Whether a clause ends with a helping verb, whose other half is in the main clause: "before Helen did"."""
    return tree[last].lemma in {"do", "be", "have"} or tree[last].tag == "MD"


def is_finite(tree: ParseTree, verb: int) -> bool:
    """Whether a verb has a tense or a modal, or is an imperative."""
    imperative = tree[verb].tag == "VB" and not tree.children(verb, "nsubj")
    return imperative or any(tree[one].tag in FINITE for one in [verb, *tree.children(verb, "aux", "auxpass")])


def _has_scope(tree: ParseTree, split: Split) -> bool:
    """Whether a clause looks back to the other, or a negation or quantifier may include the other clause."""
    main = {tree[one].text.lower() for one in range(split.main[0], split.main[1] + 1)}
    start = split.part[0] + (tree[split.part[0]].text.lower() == "even")
    part = {tree[one].text.lower() for one in range(start, split.part[1] + 1)}
    cause = tree[split.part[0]].text.lower() in _CAUSES
    bound = any(word in _PARADIGMS for word in part)
    after = [tree[at + 1].pos for at, node in enumerate(tree.nodes[:-1]) if node.tag == "POS"]
    if any(pos in {"AUX", "VERB", "ADP", "PUNCT"} for pos in after):
        return True  # "while Marx's was": the noun is in the other clause
    return bool((main | part) & _LOOKING_BACK or ((cause or bound) and main & _NEGATIONS)) or _shares_noun(tree, split)


def _shares_noun(tree: ParseTree, split: Split) -> bool:
    """Whether both clauses have the same noun, so that one may refer to the other."""
    nouns = [
        {tree[one].lemma.lower() for one in range(first, last + 1) if tree[one].pos in {"NOUN", "PROPN"}}
        for first, last in (split.main, split.part)
    ]
    return bool(nouns[0] & nouns[1])


# Pronouns


def _worded(tree: ParseTree, split: Split, loose: bool) -> Iterator[tuple[str, str]]:
    """The texts of main clause and subordinate clause; the noun stays in the one that comes first, as subject."""
    if not loose and _is_ambiguous(tree, split):
        return
    plain = tree.stretch(*split.main), _lowered(tree.stretch(*split.part))
    refers = _references(tree, split)
    if not refers or loose:
        yield plain
    if refers and (exchanged := _exchanged(tree, split)):
        yield exchanged


def _is_ambiguous(tree: ParseTree, split: Split) -> bool:
    """Whether a pronoun of a clause that moves to the end would find more than one noun before it."""
    if split.part[0] > 0:
        return False
    words = {_PARADIGMS[word] for one in range(split.part[1] + 1) if (word := tree[one].text.lower()) in _PARADIGMS}
    return any(
        len([one for one in range(split.main[0], split.main[1] + 1) if _may_mean(tree, one, word)]) > 1
        for word in words
    )


def _lowered(clause: str) -> str:
    """A clause with its conjunction in lower case."""
    return clause[:1].lower() + clause[1:]


def _references(tree: ParseTree, split: Split) -> bool:
    """Whether a pronoun of the clause that is to come first may refer to a noun in the other."""
    later, earlier = (split.main, split.part) if split.part[0] < split.main[0] else (split.part, split.main)
    pronouns = {_PARADIGMS[tree[one].text.lower()] for one in range(later[0], later[1] + 1)
                if tree[one].text.lower() in _PARADIGMS and not _is_weather(tree, one)}  # fmt: skip
    return any(_may_mean(tree, one, word) for one in range(earlier[0], earlier[1] + 1) for word in pronouns)


def _is_weather(tree: ParseTree, at: int) -> bool:
    return tree[at].text.lower() == "it" and tree[tree[at].head].lemma in _WEATHER


def _may_mean(tree: ParseTree, noun: int, pronoun: str) -> bool:
    """Whether a pronoun may refer to a noun: by person or thing, and number."""
    node = tree[noun]
    if node.pos not in {"NOUN", "PROPN", "PRON"} or node.text.lower() in _NO_NOUNS:
        return False
    if node.dep in {"attr", "compound", "poss"} and tree[node.head].lemma == "be":
        return False  # "Tom was a builder": the same one
    plural = node.tag in {"NNS", "NNPS"} or bool(tree.children(noun, "conj")) or node.text.lower() == "people"
    if pronoun == "they":
        return plural or is_person(tree, noun) or node.named
    someone = node.dep in {"nsubj", "nsubjpass"} or is_person(tree, noun)
    thing = node.dep in {"nsubj", "nsubjpass"} or not is_person(tree, noun)
    return not plural and (node.named or node.pos == "PRON" or (thing if pronoun == "it" else someone))


def _exchanged(tree: ParseTree, split: Split) -> tuple[str, str] | None:
    """Both clauses with the noun and the pronoun that are their subjects exchanged; None where more may be meant."""
    subjects = [tree.children(verb, "nsubj", "nsubjpass") for verb in (split.root, split.verb)]
    if [len(one) for one in subjects] != [1, 1]:
        return None
    [[first], [second]] = subjects
    noun, pronoun = (first, second) if tree[second].text.lower() in _PARADIGMS else (second, first)
    word = tree[pronoun].text.lower()
    used = {_PARADIGMS[node.text.lower()] for node in tree.nodes if node.text.lower() in _PARADIGMS}
    meant = [one for one in range(len(tree.nodes)) if _may_mean(tree, one, _PARADIGMS.get(word, ""))]
    plural = number(tree, noun)
    agrees = plural is not None and plural == (word == "they") and tree.contiguous(noun)
    if used != {word} or meant != [noun] or not agrees or len(tree.subtree(noun)) > 6 or is_bare_being(tree, noun):
        return None
    return _replaced(tree, split.main, noun, pronoun), _lowered(_replaced(tree, split.part, noun, pronoun))


def _replaced(tree: ParseTree, span: tuple[int, int], noun: int, pronoun: int) -> str:
    """A clause with the noun phrase for the pronoun, or the pronoun for the noun phrase."""
    old = noun if span[0] <= noun <= span[1] else pronoun
    new = pronoun if old == noun else noun
    below = tree.subtree(old)
    text = tree.phrase(new)
    head = tree.subtree(new)[0]
    if not tree[head].named and text != "I":
        text = text[:1].lower() + text[1:]
    before = tree.text[tree[span[0]].start : tree[below[0]].start]
    return f"{before}{text}{tree.text[tree[below[-1]].end : tree[span[1]].end]}"
