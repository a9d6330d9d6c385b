"""Sentences broken and reworded by script: what an equivalence judge learns to tell apart.

A change is a kind and a list of edits `(start, end, new text)` of one sentence; changes that do not overlap can be
applied together. `broken` says another thing in nearly the same words; `reworded` says the same. Both are rough: a few
in a hundred are ungrammatical or of the other class, which is good enough for training and not for a test set.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from otherwords.grammar.parsing import Node, ParseTree
from otherwords.variants.contractions import closed, opened
from otherwords.words.inflection import article, cased, inflected
from otherwords.words.lexicon import lexicon

Edit = tuple[int, int, str]


class Change(NamedTuple):
    """What is changed in a sentence."""

    kind: str
    edits: tuple[Edit, ...]

    def apply(self, text: str) -> str:
        """The sentence after the change; a and an follow the word behind them, a sentence keeps its capital.

        >>> Change("modifier", ((2, 5, "old"),)).apply("A big dog.")
        'An old dog.'
        """
        return tidied(text, self.edits)


def tidied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made, single spaces, and articles that fit."""
    new = text
    for start, end, what in sorted(edits, reverse=True):
        new = new[:start] + what + new[end:]
    new = re.sub(r"\s+", " ", new).strip()
    new = re.sub(r"\s+([.,;:!?])", r"\1", new)
    new = re.sub(r"^[,;:]\s*", "", new)
    new = re.sub(r"\b([Aa])n? (?=([A-Za-z]+))", lambda m: cased(article(m[2]), m[1]) + " ", new)
    return new[:1].upper() + new[1:] if text[:1].isupper() else new


def free(one: Change, other: Change) -> bool:
    """Whether no edit of one change touches an edit of the other."""
    return all(a[1] < b[0] or b[1] < a[0] for a in one.edits for b in other.edits)


# Words

#: A general word and words below it; those of one row are not the same thing.
GROUPS = {
    "person": "man woman boy girl child baby teenager adult player worker musician artist dancer soldier doctor nurse "
    "teacher student lawyer farmer chef cook waiter waitress singer driver cyclist biker runner skater surfer "
    "policeman officer fireman clown guard vendor tourist swimmer climber golfer performer father mother son "
    "daughter brother sister uncle aunt wife husband grandmother grandfather king queen president senator",
    "animal": "dog cat horse cow bird sheep elephant monkey goat pig lion tiger bear duck fish rabbit mouse snake",
    "vehicle": "car bus truck train bicycle motorcycle boat plane taxi tractor ship helicopter scooter van",
    "instrument": "guitar piano drum violin trumpet flute cello saxophone banjo accordion harp",
    "sport": "soccer football baseball basketball tennis hockey rugby volleyball golf cricket badminton",
    "garment": "shirt jacket coat hat dress skirt sweater scarf vest jersey cap helmet glove shoe boot suit tie",
    "food": "pizza cake bread rice soup salad sandwich apple banana orange cheese chicken meat burger pasta",
    "drink": "beer coffee tea wine juice milk soda",
    "building": "house church school hospital restaurant store office hotel museum library castle temple bank",
    "furniture": "table chair bench couch bed desk sofa stool shelf",
    "tool": "hammer saw drill shovel knife axe broom rake ladder",
    "place": "park beach street field forest kitchen garden mountain river lake desert city village island pool "
    "stage yard road bridge",
    "relative": "cousin nephew niece grandson",
    "ball": "baseball basketball football",
    "month": "January February March April May June July August September October November December",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "season": "summer winter spring autumn",
    "meal": "breakfast lunch dinner",
    "colour": "red blue green yellow black white orange purple pink brown gray grey",
}
_SISTERS = {word: [one for one in words.split() if one != word] for words in GROUPS.values() for word in words.split()}
_ABOVE = {
    word: above
    for above, words in GROUPS.items()
    for word in words.split()
    if above not in ("month", "day", "season", "meal", "colour", "place", "relative")
}
_COLOURS = GROUPS["colour"].split()
_NEARBY = {frozenset(pair) for pair in (("gray", "grey"), ("couch", "sofa"), ("cook", "chef"), ("biker", "cyclist"))}
_OPPOSITE = {
    "young": "old", "big": "small", "large": "small", "little": "big", "tall": "short", "long": "short", "hot": "cold",
    "happy": "sad", "new": "old", "good": "bad", "rich": "poor", "empty": "full", "wet": "dry", "dirty": "clean",
    "dark": "bright", "heavy": "light", "strong": "weak", "first": "last", "high": "low",
    "male": "female", "early": "late", "left": "right", "public": "private", "busy": "quiet", "sunny": "rainy",
    "possible": "impossible", "important": "unimportant", "easy": "difficult", "cheap": "expensive",
    "same": "different",
    "inside": "outside", "indoors": "outdoors", "up": "down", "upstairs": "downstairs", "quickly": "slowly",
    "above": "below", "under": "over", "behind": "before", "into": "out of", "onto": "off", "with": "without",
    "before": "after", "after": "before", "more": "less", "less": "more", "better": "worse", "worse": "better",
    "larger": "smaller", "smaller": "larger", "higher": "lower", "lower": "higher", "older": "younger",
    "most": "least", "best": "worst", "increase": "decrease", "rise": "fall", "win": "lose", "buy": "sell",
    "accept": "reject", "love": "hate", "like": "dislike", "open": "close", "enter": "leave", "arrive": "depart",
    "remember": "forget", "pass": "fail", "start": "stop", "begin": "end", "agree": "disagree", "allow": "forbid",
    "push": "pull", "laugh": "cry", "sit": "stand", "stand": "sit", "walk": "run", "run": "walk", "sleep": "work",
    "import": "export", "lend": "borrow", "attack": "defend", "support": "oppose", "always": "rarely",
    "often": "rarely", "sometimes": "never", "never": "always", "usually": "rarely", "near": "far from",
    "alone": "together", "everyone": "nobody", "everybody": "nobody", "everything": "nothing", "someone": "nobody",
    "nothing": "everything", "nobody": "everyone", "anywhere": "nowhere", "today": "yesterday", "tomorrow": "yesterday",
    "he": "she", "she": "he", "his": "her", "him": "her", "himself": "herself", "herself": "himself",
    "they": "we", "we": "they", "their": "our", "our": "their", "my": "your", "your": "my", "i": "you",
    "true": "false", "right": "wrong", "legal": "illegal", "alive": "dead", "able": "unable", "likely": "unlikely",
}  # fmt: skip
_PRONOUNS = {"he", "she", "his", "him", "himself", "herself", "they", "we", "their", "our", "my", "your", "i"}
_PREPOSITIONS = {
    "inside",
    "outside",
    "indoors",
    "outdoors",
    "up",
    "down",
    "upstairs",
    "above",
    "under",
    "behind",
    "into",
    "onto",
    "with",
    "near",
}
_QUANTIFIERS = {
    "all": ("some", "few", "no", "most"), "every": ("no", "hardly any"), "each": ("no",), "some": ("all", "no", "most"),
    "many": ("few", "no", "all"), "few": ("many", "most", "no"), "several": ("all", "no", "two"),
    "most": ("few", "some", "all"), "no": ("some", "many", "all"), "both": ("neither of", "one of"),
    "any": ("no", "every"), "much": ("little",), "another": ("no other", "the same"), "always": ("sometimes",),
    "never": ("sometimes", "often"), "often": ("never", "always"), "sometimes": ("always", "never"),
    "usually": ("never", "always"), "everyone": ("someone", "hardly anyone"), "everybody": ("someone",),
    "everything": ("something",), "someone": ("everyone",), "something": ("everything", "nothing"),
    "at least": ("at most", "exactly"), "at most": ("at least",), "more than": ("less than", "exactly"),
    "less than": ("more than",), "a few": ("a lot of", "no"), "a lot of": ("a few", "no"), "only": ("not only",),
    "almost": ("exactly",), "nearly": ("exactly",), "half of": ("all of",), "none of": ("some of", "all of"),
}  # fmt: skip
_QUANTIFIER = re.compile(rf"\b({'|'.join(sorted(_QUANTIFIERS, key=len, reverse=True))})\b", re.I)
_NUMBERS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "thirty",
    "forty",
    "fifty",
]
_MODALS = {"can": ("must", "may"), "could": ("must",), "may": ("will", "must"), "might": ("will",),
           "must": ("may", "might"), "should": ("might", "did not have to"), "will": ("might", "will probably not"),
           "would": ("might", "could")}  # fmt: skip
_SYMMETRIC = {
    "meet",
    "marry",
    "resemble",
    "equal",
    "match",
    "join",
    "be",
    "become",
    "include",
    "remain",
    "seem",
    "have",
}
_SYMMETRIC_PREPOSITIONS = {
    "with",
    "near",
    "beside",
    "like",
    "against",
    "between",
    "alongside",
    "next",
    "than",
    "around",
    "as",
}
_OBJECTS = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us"}
_SUBJECTS = {obj: sub for sub, obj in _OBJECTS.items()}
_ADDED = (
    "with a friend", "for the first time", "in the morning", "at night", "on a sunny day", "in the rain", "with joy",
    "for money", "near a lake", "because of the weather", "after work", "in secret", "at home", "for a living",
    "to impress people", "without help", "in the summer", "before dinner", "with great care", "during the war",
)  # fmt: skip
_ADVERBS = [
    "quickly",
    "slowly",
    "happily",
    "secretly",
    "angrily",
    "quietly",
    "barely",
    "nearly",
    "almost",
    "supposedly",
    "again",
]

#: Ways to say the same, each way round.
_SAME = [
    ("next to", "beside"), ("although", "though"), ("although", "even though"), ("despite", "in spite of"),
    ("no one", "nobody"), ("everyone", "everybody"), ("someone", "somebody"), ("anyone", "anybody"),
    ("a lot of", "lots of"), ("a lot of", "plenty of"), ("outdoors", "outside"), ("indoors", "inside"),
    ("kid", "child"), ("kids", "children"), ("bike", "bicycle"), ("bikes", "bicycles"), ("photo", "picture"),
    ("couch", "sofa"), ("maybe", "perhaps"), ("near", "close to"), ("big", "large"), ("small", "little"),
    ("shop", "store"), ("begins", "starts"), ("began", "started"), ("begin", "start"), ("because", "since"),
    ("while", "as"), ("toward", "towards"), ("until", "till"), ("over", "more than"),
    ("for example", "for instance"), ("however", "nevertheless"), ("in order to", "so as to"), ("buy", "purchase"),
    ("bought", "purchased"), ("help", "assist"), ("get", "obtain"), ("got", "received"), ("lady", "woman"),
    ("guy", "man"), ("guys", "men"), ("ladies", "women"), ("talking", "speaking"), ("talk", "speak"),
    ("speaking", "talking"), ("fast", "quickly"), ("automobile", "car"), ("plane", "airplane"), ("almost", "nearly"),
    ("also", "as well as that"), ("film", "movie"), ("happy", "glad"), ("sad", "unhappy"), ("truck", "lorry"),
    ("looking at", "watching"), ("jumping", "leaping"), ("street", "road"), ("many", "numerous"),
    ("enough", "sufficient"),
    ("doesn't", "does not"), ("percent", "per cent"), ("try to", "attempt to"), ("trying to", "attempting to"),
    ("tried to", "attempted to"), ("wants to", "would like to"), ("want to", "would like to"), ("a group of", "some"),
    ("important", "significant"), ("difficult", "hard"), ("difficult", "not easy"), ("impossible", "not possible"),
    ("unable", "not able"), ("people", "persons"), ("mother", "mom"), ("father", "dad"), ("home", "house"),
    ("seems", "appears"), ("seem", "appear"), ("whole", "entire"), ("finally", "in the end"), ("ill", "sick"),
    ("answer", "reply"), ("answered", "replied"), ("several", "a number of"), ("in the middle of", "amid"),
    ("rock", "stone"), ("rocks", "stones"), ("garbage", "trash"), ("sidewalk", "pavement"), ("soccer", "football"),
    ("television", "tv"), ("grey", "gray"), ("colour", "color"), ("organise", "organize"), ("centre", "center"),
    ("two people", "a couple of people"), ("taking a picture of", "photographing"), ("is able to", "can"),
    ("needs to", "has to"), ("need to", "have to"), ("must", "has to"), ("mainly", "mostly"), ("frequently", "often"),
    ("currently", "at present"), ("now", "at the moment"), ("entirely", "completely"), ("gathered", "assembled"),
    ("asleep", "sleeping"), ("sleeping", "asleep"), ("crying", "weeping"), ("afraid", "scared"), ("angry", "mad"),
    ("by himself", "alone"), ("by herself", "alone"), ("in the water", "in water"), ("nearby", "close by"),
]  # fmt: skip
_WAYS = defaultdict(list)
for _one, _other in _SAME:
    _WAYS[_one].append(_other)
    if _other not in ("some", "can", "alone", "as", "has to"):
        _WAYS[_other].append(_one)
_WAY = re.compile(rf"\b({'|'.join(map(re.escape, sorted(_WAYS, key=len, reverse=True)))})\b", re.I)


class Corpus:
    """What other sentences have: names, adjectives of nouns, phrases behind verbs."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = defaultdict(list)
        self.adjectives: dict[str, list[str]] = defaultdict(list)
        self.phrases: dict[str, list[str]] = defaultdict(list)
        self.nouns: dict[str, list[str]] = defaultdict(list)

    def add(self, tree: ParseTree) -> None:
        """Take what a sentence has."""
        for at, node in enumerate(tree.nodes):
            if node.named and node.text.isalpha() and len(node.text) > 2:
                self.names[_role(tree, at)].append(node.text)
            elif node.dep == "amod" and node.tag == "JJ" and node.text.islower():
                self.adjectives[tree[node.head].lemma].append(node.text)
            elif node.dep == "prep" and tree[node.head].pos == "VERB" and tree.contiguous(at):
                if (phrase := tree.phrase(at)).count(" ") in (1, 2, 3) and phrase.islower() and phrase.isascii():
                    self.phrases[tree[node.head].lemma].append(phrase)
            elif node.tag in ("NN", "NNS") and node.text.isalpha():
                self.nouns[node.tag].append(node.text.lower())


def _role(tree: ParseTree, at: int) -> str:
    node = tree[at]
    if node.dep == "pobj" and tree[node.head].text.lower() in ("in", "at", "from", "near", "to"):
        return "place"
    return "person" if node.dep in ("nsubj", "dobj", "poss", "nsubjpass") else "other"


# Broken


def broken(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    """What makes another statement of a sentence, several kinds, each a few times at most."""
    for rule in (_roles, _places, _negation, _words, _names, _numbers, _quantifiers, _moved, _order, _less, _modality):
        yield from rule(tree, corpus, rng)
    yield from _more(tree, corpus, rng)


def _chunk(tree: ParseTree, at: int) -> tuple[int, int] | None:
    """First and last character of a noun with what belongs to it on its left, and of-phrases."""
    if tree[at].pos not in ("NOUN", "PROPN", "PRON") or not tree.contiguous(at) or "sel" in tree[at].text.lower()[-4:]:
        return None
    if any(tree[one].dep in ("relcl", "acl", "conj", "cc", "appos") for one in tree.children(at)):
        left = [one for one in tree.subtree(at) if one <= at]
        return tree[left[0]].start, tree[at].end
    below = tree.subtree(at)
    return tree[below[0]].start, tree[below[-1]].end


def _plural(node: Node) -> bool:
    return node.tag in ("NNS", "NNPS") or node.text.lower() in ("they", "them", "we", "us", "you")


def _exchange(tree: ParseTree, one: int, other: int, kind: str, verb: int | None) -> Iterator[Change]:
    """Two noun phrases in each other's place; the verb agrees with its new subject."""
    first, second = _chunk(tree, one), _chunk(tree, other)
    if not first or not second or not (first[1] < second[0] or second[1] < first[0]):
        return
    texts = [
        _moved_text(tree, at, span, other_at) for at, span, other_at in ((one, first, other), (other, second, one))
    ]
    if texts[0].lower() == texts[1].lower() or tree[one].lemma == tree[other].lemma:
        return
    edits = [(*first, texts[1]), (*second, texts[0])]
    if verb is not None and _plural(tree[one]) != _plural(tree[other]):
        edits += _agree(tree, verb, _plural(tree[other]))
    yield Change(kind, tuple(edits))


def _moved_text(tree: ParseTree, at: int, span: tuple[int, int], to: int) -> str:
    text = tree.text[slice(*span)]
    word = text.lower()
    subject = tree[to].dep.startswith("nsubj")
    if word in _OBJECTS and not subject:
        return _OBJECTS[word]
    if word in _SUBJECTS and subject:
        return _SUBJECTS[word] if word != "her" else "she"
    first = min(tree.subtree(at))
    keep = tree[first].named or text[:2] == "I " or text == "I"
    return text if keep or span[0] else text[:1].lower() + text[1:]


def _agree(tree: ParseTree, verb: int, plural: bool) -> list[Edit]:
    """The finite verb in the other number."""
    auxiliaries = tree.children(verb, "aux", "auxpass")
    finite = tree[auxiliaries[0] if auxiliaries else verb]
    swap = {"is": "are", "was": "were", "has": "have", "does": "do"}
    new = swap.get(finite.text.lower()) if plural else {b: a for a, b in swap.items()}.get(finite.text.lower())
    if not new and finite.tag in ("VBZ", "VBP"):
        new = inflected(finite.lemma, "VBP" if plural else "VBZ")
    return [(finite.start, finite.end, new)] if new else []


def _roles(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if node.pos not in ("VERB", "AUX") or node.lemma in _SYMMETRIC:
            continue
        subjects, objects = tree.children(at, "nsubj", "nsubjpass"), tree.children(at, "dobj")
        below = [
            one
            for prep in tree.children(at, "prep", "agent", "dative")
            if tree[prep].text.lower() not in _SYMMETRIC_PREPOSITIONS
            for one in tree.children(prep, "pobj")
        ]
        if node.dep == "acl" and node.tag == "VBG":  # a man riding a horse
            yield from (change for one in objects for change in _exchange(tree, node.head, one, "role", None))
        yield from (c for a in subjects for b in objects for c in _exchange(tree, a, b, "role", at))
        yield from (c for a in subjects for b in below for c in _exchange(tree, a, b, "role", at))
        yield from (c for a in objects for b in below for c in _exchange(tree, a, b, "role", None))
        if len(below) > 1:
            yield from _exchange(tree, below[0], below[1], "role", None)
        yield from (c for a in subjects for b in tree.children(at, "dative") for c in _exchange(tree, a, b, "role", at))


def _places(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    """A man with a dog on a boat: nouns and what is said of them exchanged."""
    for at, node in enumerate(tree.nodes):
        if (
            node.dep == "prep"
            and tree[node.head].pos == "NOUN"
            and node.text.lower() in ("in", "on", "under", "behind")
        ):
            yield from (c for one in tree.children(at, "pobj") for c in _exchange(tree, node.head, one, "role", None))
        if node.dep == "prep" and node.text.lower() == "than" and tree.children(at, "pobj"):
            verb = next((one for one in tree.roots()), None)
            for subject in tree.children(verb, "nsubj") if verb is not None else []:
                yield from _exchange(tree, subject, tree.children(at, "pobj")[0], "role", None)


def _negation(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if node.dep == "neg" and node.text.lower() in ("not", "n't", "n’t", "never"):
            before = tree[at - 1] if at else None
            full = {"ca": "can", "wo": "will", "sha": "shall"}.get(before.text.lower()) if before else None
            edits: list[Edit] = [(node.start, node.end, "")]
            if full and before:
                edits = [(before.start, node.end, cased(full, before.text))]
            yield Change("negation", tuple(edits))
        elif node.pos in ("VERB", "AUX") and node.dep in ("ROOT", "conj", "ccomp", "acl", "relcl", "advcl"):
            if tree.children(at, "neg"):
                continue
            auxiliaries = tree.children(at, "aux", "auxpass")
            finite = tree[auxiliaries[0]] if auxiliaries else node
            short = finite.text.lower()
            if short in ("is", "are", "was", "were", "has", "have", "had", "can", "could", "will", "would", "should"):
                if auxiliaries or node.lemma == "be":
                    what = " not" if rng.random() < 0.6 else "n't"
                    yield Change("negation", ((finite.end, finite.end, what if short != "can" else "not"),))
            elif not auxiliaries and node.tag in ("VBD", "VBZ", "VBP") and node.lemma.isalpha():
                do = {"VBD": "did", "VBZ": "does", "VBP": "do"}[node.tag]
                what = rng.choice((f"{do} not {node.lemma}", f"{do}n't {node.lemma}"))
                yield Change("negation", ((node.start, node.end, what),))
            elif node.tag in ("VBG",) and not auxiliaries:
                yield Change("negation", ((node.start, node.start, "not "),))


def _words(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for node in tree.nodes:
        word, lemma = node.text.lower(), node.lemma.lower()
        if node.tag in ("NN", "NNS", "NNP") and (sisters := _SISTERS.get(word if node.named else lemma)):
            sister = rng.choice(sisters)
            if frozenset((sister, lemma)) not in _NEARBY and (form := inflected(sister, node.tag.replace("NNP", "NN"))):
                yield Change("noun", ((node.start, node.end, cased(form, node.text)),))
            if lemma in _ABOVE and node.tag in ("NN", "NNS") and (form := inflected(_ABOVE[lemma], node.tag)):
                yield Change("hypernym", ((node.start, node.end, cased(form, node.text)),))
        elif node.tag in ("NN", "NNS") and rng.random() < 0.15 and len(corpus.nouns[node.tag]) > 50:
            other = rng.choice(corpus.nouns[node.tag])
            if other != word:
                yield Change("noun", ((node.start, node.end, other),))
        elif node.tag == "JJ" and word in _COLOURS:
            colour = rng.choice([one for one in _COLOURS if frozenset((one, word)) not in _NEARBY and one != word])
            yield Change("modifier changed", ((node.start, node.end, cased(colour, node.text)),))
        elif opposite := _opposite(node, rng):
            kind = "modifier changed" if node.tag in ("JJ", "JJR", "JJS", "RB") else "opposite"
            kind = "entity" if word in _PRONOUNS else "preposition" if word in _PREPOSITIONS else kind
            yield Change(kind, ((node.start, node.end, cased(opposite, node.text)),))


def _opposite(node: Node, rng: random.Random) -> str | None:
    word, lemma = node.text.lower(), node.lemma.lower()
    if node.named or (
        word in ("like", "right", "left", "open", "over", "before", "after") and node.pos not in ("VERB", "ADJ")
    ):
        return None
    if word in _OPPOSITE and node.pos != "VERB":
        return _OPPOSITE[word] if word != "her" else None
    if node.pos == "VERB" and lemma in _OPPOSITE:
        return inflected(_OPPOSITE[lemma], node.tag)
    if node.pos in ("ADJ", "VERB", "ADV") and (found := sorted(lexicon().antonyms(lemma))):
        plain = [one for one in found if " " not in one]
        return inflected(rng.choice(plain), node.tag) if plain else None
    return None


def _names(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if node.named and node.text.isalpha() and len(node.text) > 2 and node.text.lower() not in _SISTERS:
            pool = corpus.names[_role(tree, at)]
            if len(pool) > 20 and (other := rng.choice(pool)) != node.text:
                yield Change("entity", ((node.start, node.end, other),))


def _numbers(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for node in tree.nodes:
        word = node.text.lower()
        if node.tag == "CD" and word in _NUMBERS:
            other = rng.choice([one for one in _NUMBERS[:9] if one != word])
            yield Change("number", ((node.start, node.end, cased(other, node.text)),))
        elif node.tag == "CD" and re.fullmatch(r"\d[\d,.]*", node.text):
            place = rng.randrange(len(node.text))
            digit = rng.choice([one for one in "123456789" if one != node.text[place]])
            if node.text[place].isdigit():
                new = node.text[:place] + digit + node.text[place + 1 :]
                yield Change("number", ((node.start, node.end, new),))
        elif node.tag == "NNS" and node.dep in ("nsubj", "dobj", "pobj") and rng.random() < 0.1:
            at = next(place for place, one in enumerate(tree.nodes) if one is node)
            left = tree.children(at, "det", "poss", "nummod", "amod", "compound")
            if not tree.children(at, "det", "poss", "nummod"):
                first = tree[min([*left, at])].start
                yield Change("number", ((first, first, rng.choice(_NUMBERS[:5]) + " "),))


def _quantifiers(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for match in _QUANTIFIER.finditer(tree.text):
        new = rng.choice(_QUANTIFIERS[match[1].lower()])
        yield Change("quantifier", ((match.start(), match.end(), cased(new, match[1])),))


def _moved(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    adjectives = [at for at, one in enumerate(tree.nodes) if one.dep == "amod" and one.tag == "JJ" and at < one.head]
    nouns = [
        at for at, one in enumerate(tree.nodes) if one.pos == "NOUN" and one.dep in ("nsubj", "dobj", "pobj", "ROOT")
    ]
    for at in adjectives:
        adjective, own = tree[at], tree[at].head
        others = [one for one in nouns if one != own and tree[one].lemma != tree[own].lemma]
        if not others:
            continue
        noun = rng.choice(others)
        others = [one for one in tree.children(noun, "amod") if one in adjectives]
        if others:
            if tree[others[0]].text.lower() != adjective.text.lower():
                swap = tree[others[0]]
                yield Change(
                    "modifier moved",
                    (
                        (adjective.start, adjective.end, cased(swap.text.lower(), adjective.text)),
                        (swap.start, swap.end, cased(adjective.text.lower(), swap.text)),
                    ),
                )
        else:
            left = [one for one in tree.children(noun, "compound", "amod", "nummod") if one < noun]
            place = tree[min([*left, noun])].start
            yield Change(
                "modifier moved",
                ((adjective.start, adjective.end + 1, ""), (place, place, adjective.text.lower() + " ")),
            )


def _final(tree: ParseTree) -> int:
    """Where the words of a text end."""
    return len(tree.text.rstrip(" .!?\"'"))


def _clauses(tree: ParseTree) -> tuple[str, str, str, int] | None:
    """Main clause, conjunction, and subordinate clause of a sentence that is built so."""
    for at, node in enumerate(tree.nodes):
        if node.dep != "advcl" or not tree.contiguous(at) or tree[node.head].dep != "ROOT":
            continue
        below = tree.subtree(at)
        mark, end = tree[below[0]], tree[below[-1]].end
        if mark.text.lower() in (
            "before",
            "after",
            "because",
            "when",
            "while",
            "if",
            "although",
            "since",
            "until",
            "though",
            "as",
        ) and (
            end >= _final(tree)
            and mark.start > 8
            and mark.dep in ("mark", "advmod")
            and tree.children(at, "nsubj", "nsubjpass")
        ):
            main = tree.text[: mark.start].strip(" ,")
            return main, mark.text.lower(), tree.text[mark.end : _final(tree)].strip(), _final(tree)
    return None


def _lowered(tree: ParseTree, text: str) -> str:
    keep = (
        tree[0].named
        or tree[0].text == "I"
        or tree[0].text.startswith("I'")
        or (not text[:2].istitle() and text[:1] == "I")
    )
    return text if keep else text[:1].lower() + text[1:]


def _order(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    if found := _clauses(tree):
        main, mark, other, end = found
        if mark not in ("when", "while", "although", "though", "as", "since"):
            yield Change("order", ((0, end, f"{other[:1].upper()}{other[1:]} {mark} {_lowered(tree, main)}"),))
        if mark in ("before", "after"):
            new = "after" if mark == "before" else "before"
            yield Change("order", ((0, end, f"{main} {new} {other}"),))
        if mark in ("because", "if"):
            yield Change("order", ((0, end, f"{main} {'although' if mark == 'because' else 'unless'} {other}"),))
    elif match := re.search(r"\b(before|after)\b", tree.text):
        yield Change("order", ((match.start(), match.end(), "after" if match[1] == "before" else "before"),))


def _less(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if node.dep == "amod" and node.tag == "JJ" and at < node.head and rng.random() < 0.6:
            yield Change("dropped", ((node.start, min(node.end + 1, len(tree.text)), ""),))
        elif node.dep in ("prep", "advcl", "relcl", "acl", "conj") and tree.contiguous(at) and at > 2:
            below = tree.subtree(at)
            start, end = tree[below[0]].start, tree[below[-1]].end
            if node.text.lower() == "of" or end - start < 8:
                continue
            if node.dep == "conj":
                cc = [one for one in tree.children(node.head, "cc") if one < at]
                if len(cc) != 1 or tree[cc[0]].text.lower() != "and":
                    continue
                start = tree[cc[0]].start
            yield Change("dropped", ((start, end, ""),))


def _more(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if node.tag in ("NN", "NNS") and rng.random() < 0.35 and not tree.children(at, "amod", "compound"):
            pool = corpus.adjectives[node.lemma]
            if len(pool) > 2:
                yield Change("added", ((node.start, node.start, rng.choice(pool) + " "),))
        elif node.dep == "ROOT" and node.pos == "VERB":
            pool = corpus.phrases[node.lemma]
            phrase = rng.choice(pool) if len(pool) > 3 and rng.random() < 0.7 else rng.choice(_ADDED)
            if phrase not in tree.text:
                yield Change("added", ((_final(tree), _final(tree), " " + phrase),))
        elif node.tag in ("VBG", "VBD") and rng.random() < 0.15:
            yield Change("added", ((node.start, node.start, rng.choice(_ADVERBS) + " "),))


def _modality(tree: ParseTree, corpus: Corpus, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        word = node.text.lower()
        if node.tag == "MD" and word in _MODALS and not tree.text[node.end : node.end + 4].startswith(("n't", " not")):
            yield Change("modality", ((node.start, node.end, cased(rng.choice(_MODALS[word]), node.text)),))
        elif node.tag in ("VBZ", "VBP") and word in ("is", "are") and rng.random() < 0.25 and node.text == word:
            if at and tree[at - 1].text.lower() in ("there", "it", "that", "what"):
                continue
            new = rng.choice(("might be", "will be", "used to be", "should be"))
            yield Change("modality", ((node.start, node.end, new),))


# Reworded


def reworded(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    """What leaves the meaning of a sentence as it is, other than the package's own generators make."""
    for rule in (_ways, _contracted, _fronted, _clause_fronted, _there, _relative, _digits, _surface, _conjuncts):
        yield from rule(tree, rng)


def _ways(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    for match in _WAY.finditer(tree.text):
        node = next((one for one in tree.nodes if one.start == match.start()), None)
        word = match[1].lower()
        fits = {"while": "SCONJ", "as": "SCONJ", "since": "SCONJ", "because": "SCONJ", "over": "", "about": "",
                "like": "", "fast": "ADV", "hard": "ADJ", "home": "", "mad": "ADJ"}.get(word)  # fmt: skip
        if node and not node.named and (fits is None or (fits and node.pos == fits)):
            if word == "because" and tree.text[match.end() : match.end() + 3] == " of":
                continue
            new = rng.choice(_WAYS[word])
            yield Change("wording", ((match.start(), match.end(), cased(new, match[1])),))


def _contracted(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    for change in (opened, closed):
        if (new := change(tree.text)) != tree.text:
            yield Change("contraction", difference(tree.text, new))


def difference(old: str, new: str) -> tuple[Edit, ...]:
    """The one stretch in which two texts differ, in whole words.

    >>> difference("He is not in.", "He isn't in.")
    ((3, 9, "isn't"),)
    """
    left = 0
    while left < min(len(old), len(new)) and old[left] == new[left]:
        left += 1
    left = old.rfind(" ", 0, left) + 1
    right = 0
    while right < min(len(old), len(new)) - left and old[-1 - right] == new[-1 - right]:
        right += 1
    while right and old[len(old) - right] not in " .":
        right -= 1
    return ((left, len(old) - right, new[left : len(new) - right]),)


def _fronted(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    """A phrase of place or time at the end, put first."""
    for at, node in enumerate(tree.nodes):
        if node.dep == "prep" and tree[node.head].dep == "ROOT" and tree[node.head].pos in ("VERB", "AUX"):
            below = tree.subtree(at)
            place = node.text.lower() in (
                "in",
                "on",
                "at",
                "near",
                "during",
                "under",
                "beside",
                "outside",
                "after",
                "before",
            )
            if (
                place
                and tree.contiguous(at)
                and tree[below[-1]].end >= _final(tree)
                and tree.children(node.head, "nsubj", "nsubjpass")
            ):
                if tree[node.head].lemma in ("be", "look", "believe", "live", "put", "depend", "lie"):
                    continue
                phrase, rest = tree.text[node.start : _final(tree)], tree.text[: node.start].rstrip(" ,")
                yield Change(
                    "fronted", ((0, _final(tree), f"{phrase[:1].upper()}{phrase[1:]}, {_lowered(tree, rest)}"),)
                )


def _clause_fronted(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    if found := _clauses(tree):
        main, mark, other, end = found
        yield Change("clause fronted", ((0, end, f"{mark.capitalize()} {other}, {_lowered(tree, main)}"),))
        if mark in ("before", "after"):  # the converse
            new = "after" if mark == "before" else "before"
            yield Change("converse", ((0, end, f"{other[:1].upper()}{other[1:]} {new} {_lowered(tree, main)}"),))


def _there(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    roots = list(tree.roots())
    if len(roots) != 1 or tree[0].text.lower() not in ("a", "an", "two", "three", "some", "several", "four", "many"):
        return
    root = tree[roots[0]]
    if root.pos == "NOUN" and root.tag in ("NN", "NNS"):
        be = "are" if root.tag == "NNS" else "is"
        yield Change("there", ((0, tree[0].end, f"There {be} {tree[0].text.lower()}"),))
    auxiliaries = tree.children(roots[0], "aux", "auxpass")
    if root.tag in ("VBG", "VBN") and len(auxiliaries) == 1 and tree[auxiliaries[0]].text in ("is", "are"):
        be = tree[auxiliaries[0]]
        subjects = tree.children(roots[0], "nsubj", "nsubjpass")
        if subjects and tree.subtree(subjects[0])[-1] == auxiliaries[0] - 1:
            there = f"There {be.text} {tree[0].text.lower()}"
            yield Change("there", ((0, tree[0].end, there), (be.start, be.end + 1, "")))


def _relative(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    for at, node in enumerate(tree.nodes):
        if (
            node.dep == "acl"
            and node.tag in ("VBG", "VBN")
            and node.head == at - 1
            and tree[node.head].tag in ("NN", "NNS")
        ):
            be = "are" if tree[node.head].tag == "NNS" else "is"
            who = rng.choice(("who", "that")) if tree[node.head].lemma in _PEOPLE else "that"
            yield Change("relative", ((node.start, node.start, f"{who} {be} "),))
        elif node.dep == "nsubj" and node.text.lower() in ("who", "that") and tree[node.head].dep == "relcl":
            following = tree[at + 1] if at + 1 < len(tree.nodes) else None
            if following and following.text.lower() in ("is", "are") and tree[node.head].tag in ("VBG", "VBN"):
                yield Change("relative", ((node.start, following.end + 1, ""),))
        elif node.dep == "mark" and node.text == "that" and tree[node.head].dep == "ccomp":
            yield Change("that", ((node.start, node.end + 1, ""),))


_PEOPLE = {*GROUPS["person"].split(), "people", "person", "guy", "lady", "kid", "couple", "group", "crowd"}


def _digits(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    numbers = {word: str(value) for value, word in enumerate(_NUMBERS[:11], 2)}
    words = {value: word for word, value in numbers.items()}
    for node in tree.nodes:
        new = numbers.get(node.text.lower()) or words.get(node.text)
        if node.tag == "CD" and new:
            yield Change("digits", ((node.start, node.end, cased(new, node.text)),))


def _surface(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    """Full stop and capital: what says nothing."""
    if rng.random() < 0.1:
        if tree.text.endswith("."):
            yield Change("surface", ((len(tree.text) - 1, len(tree.text), ""),))
        elif tree.text[-1:].isalpha():
            yield Change("surface", ((len(tree.text), len(tree.text), "."),))


def _conjuncts(tree: ParseTree, rng: random.Random) -> Iterator[Change]:
    """A and B to B and A, where each is a short phrase."""
    for at, node in enumerate(tree.nodes):
        if node.dep != "conj" or node.pos not in ("NOUN", "ADJ", "PROPN") or tree[node.head].pos != node.pos:
            continue
        cc = [
            one
            for one in tree.children(node.head, "cc")
            if node.head < one < at and tree[one].text.lower() in ("and", "or")
        ]
        if (
            len(cc) != 1
            or tree.children(node.head, "conj") != [at]
            or tree.children(at, "conj", "prep", "relcl", "acl")
        ):
            continue
        left, right = min(tree.subtree(node.head)), tree.subtree(at)
        if tree[node.head].end + 1 == tree[cc[0]].start and tree[right[0]].start == tree[cc[0]].end + 1:
            start, middle, end = tree[left].start, tree[cc[0]], tree[right[-1]].end
            first, second = tree.text[start : middle.start].strip(), tree.text[tree[right[0]].start : end]
            first = first if start or tree[left].named else first[:1].lower() + first[1:]
            second = second[:1].upper() + second[1:] if not start else second
            if len(first) < 30 and tree.children(node.head, "prep", "relcl", "acl") == []:
                yield Change("conjuncts", ((start, end, f"{second} {middle.text} {first}"),))


# Sentences in which anybody may have done it

_DEEDS = [
    "chase",
    "follow",
    "push",
    "pull",
    "hit",
    "kick",
    "help",
    "watch",
    "hold",
    "carry",
    "teach",
    "call",
    "kiss",
    "hug",
    "tackle",
    "attack",
    "feed",
    "photograph",
    "interview",
    "greet",
    "lead",
    "defeat",
    "visit",
    "thank",
    "pay",
    "hire",
    "fire",
    "blame",
    "invite",
    "praise",
    "warn",
    "trust",
    "lift",
    "catch",
    "beat",
    "join",
    "ignore",
    "meet",
    "bite",
    "scare",
    "save",
    "accuse",
    "sue",
    "insult",
    "guide",
    "pass",
    "love",
    "hate",
    "miss",
    "surprise",
    "bother",
    "cheer",
    "tease",
    "splash",
    "paint",
    "replace",
    "question",
]


def person(tree: ParseTree, rng: random.Random) -> str | None:
    """A noun phrase of a sentence that names somebody, without what stands behind the noun."""
    for at, node in enumerate(tree.nodes):
        animate = node.lemma in _PEOPLE or node.lemma in GROUPS["animal"].split()
        left = [one for one in tree.subtree(at) if one <= at]
        if animate and node.tag == "NN" and at - left[0] == len(left) - 1 and 1 <= len(left) - 1 <= 2:
            text = tree.stretch(left[0], at)
            if text.lower().split()[0] in ("a", "an", "the", "one", "another") and text.isascii():
                return text[:1].lower() + text[1:]
    return None


def filled(tree: ParseTree, somebody: list[str], rng: random.Random) -> str | None:
    """A sentence of a subject, a verb and perhaps more, with another verb and somebody as its object."""
    roots = list(tree.roots())
    if len(roots) != 1 or tree[roots[0]].tag not in ("VBG", "VBD", "VBZ") or not person(tree, rng):
        return None
    verb, subjects = roots[0], tree.children(roots[0], "nsubj")
    below = [one for one in tree.children(verb) if one > verb and tree[one].dep not in ("prep", "punct")]
    if len(subjects) != 1 or below or tree.children(verb, "neg") or tree[subjects[0]].tag not in ("NN", "NNP"):
        below = [one for one in below if tree[one].dep != "dobj"]
        if below or len(subjects) != 1 or tree.children(verb, "neg"):
            return None
    objects = tree.children(verb, "dobj")
    form, other = inflected(rng.choice(_DEEDS), tree[verb].tag), rng.choice(somebody)
    if not form or (objects and not tree.contiguous(objects[0])):
        return None
    end = tree[tree.subtree(objects[0])[-1]].end if objects else tree[verb].end
    return tidied(tree.text, [(tree[verb].start, end, f"{form} {other}")])
