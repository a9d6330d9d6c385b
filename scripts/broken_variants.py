"""Variants that are broken on purpose, one kind at a time: what checks should drop, to find out what they see.

python scripts/broken_variants.py TEXTS.txt OUT.csv [--per-kind 100] [--seed 20]

TEXTS has a sentence per line. OUT has the columns kind, original, variant.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from otherwords.grammar import ParseTree, parser
from otherwords.grammar.phrases import OBJECT_CASE, SUBJECT_CASE, is_plural
from otherwords.words.inflection import inflected
from otherwords.words.lexicon import lexicon

_AUXILIARIES = "is are was were has have had can could will would should must may might does do did".split()  # noqa: SIM905
_NUMBERS = "two three four five six seven eight nine ten eleven twelve twenty thirty fifty".split()  # noqa: SIM905
_ORDINALS = "first second third fourth fifth sixth".split()  # noqa: SIM905
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non")
_QUANTIFIERS = {
    "all": ("some", "few", "most"),
    "every": ("no", "some"),
    "each": ("no",),
    "most": ("few", "all", "some"),
    "many": ("few", "all"),
    "some": ("all", "no", "most"),
    "several": ("all", "no", "most"),
    "few": ("many", "all"),
    "always": ("sometimes", "rarely"),
    "often": ("rarely", "always"),
    "sometimes": ("always", "never"),
    "usually": ("rarely", "always"),
    "everyone": ("someone", "nobody"),
    "everybody": ("somebody", "nobody"),
    "someone": ("everyone",),
    "everything": ("something", "nothing"),
    "both": ("neither of", "one of"),
}
#: Things that exclude each other: one of a row for another.
_ROWS = """
    man woman | boy girl | father mother | brother sister | king queen | actor singer painter writer | cat dog horse cow
    rabbit elephant | guitar piano drum violin trumpet | shirt hat jacket dress coat shoe | apple banana sandwich cake
    pizza soup | coffee tea beer milk juice water | car truck bus bike train boat plane | football baseball tennis golf
    soccer basketball hockey | doctor teacher lawyer soldier farmer policeman | red blue green yellow black white orange
    pink | house school church hospital restaurant store | beach park street forest mountain desert | morning evening
    afternoon night | monday tuesday friday sunday | summer winter autumn | hand foot head arm leg | table chair bed
    bench sofa | ball frisbee stick kite | book newspaper magazine letter | spring fall | north south east west |
    money food oil gas | report law book film song | company government army university | year month week day | Paris
    London Rome Berlin Madrid | France Germany Italy Spain China Japan India Russia | American French Chinese German |
    California Texas Florida | Clinton Bush Reagan Nixon | John Peter Mary Susan | January March June | camera phone
    computer | wall fence door window | sun rain snow
"""
_PEERS = {word: [other for other in row.split() if other != word] for row in _ROWS.split("|") for word in row.split()}
_SYMMETRIC = {"meet", "marry", "resemble", "join", "be", "have", "kiss", "date", "face"}


def negation(tree: ParseTree, rng: random.Random) -> str | None:
    """A negation added or removed, now and then as the first syllable of a word."""
    text = tree.text
    if rng.random() < 0.3 and (prefixed := _prefixed(tree)):
        return prefixed
    if re.search(r"\b(not|never)\b|n't", text):
        new = re.sub(r"\b(not|never) |n't", "", text, count=1)
        return None if re.search(r"\b(ca|wo|do|does|did) ", new) else new
    if re.search(r"\bwith\b", text) and rng.random() < 0.2:
        return re.sub(r"\bwith\b", "without", text, count=1)
    for at in tree.roots():
        node = tree[at]
        left = [one for one in tree.children(at, "aux", "auxpass") if tree[one].text.lower() in _AUXILIARIES]
        helper = tree[left[0]] if left else node
        if helper.text.lower() in _AUXILIARIES and helper.lemma in {"be", "can", "will", "have", "do"}:
            if helper is node and node.lemma != "be":
                continue
            short = helper.text.lower() in {"is", "are", "was", "were", "has", "does", "did"} and rng.random() < 0.4
            return (
                text[: helper.end] + rng.choice(["n't"] if short else [" not", " not", " never"]) + text[helper.end :]
            )
        if node.tag in {"VBZ", "VBD", "VBP"}:
            helpers = {"VBZ": "does", "VBD": "did", "VBP": "do"}
            new = f"{helpers[node.tag]} {rng.choice(['not', 'not', 'never'])} {node.lemma}"
            if rng.random() < 0.3:
                new = rng.choice(
                    [f"never {node.text}", f"{'failed' if node.tag == 'VBD' else 'fails'} to {node.lemma}"]
                )
            return text[: node.start] + new + text[node.end :]
    return None


def _prefixed(tree: ParseTree) -> str | None:
    """An adjective or adverb with its opposite of the same stem: "safe", "unsafe"."""
    for node in tree.nodes:
        word = node.text
        if node.pos not in {"ADJ", "ADV"} or not word.islower():
            continue
        shorter = [word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)]
        for new in [*(prefix + word for prefix in _PREFIXES), *shorter]:
            if new in lexicon().antonyms(word) and lexicon().knows(new):
                return tree.text[: node.start] + new + tree.text[node.end :]
    return None


def number(tree: ParseTree, rng: random.Random) -> str | None:
    """A number changed."""
    for found in re.finditer(r"\b(\d[\d,.]*\d|\d|[a-z]+)\b", tree.text, re.IGNORECASE):
        word = found[0].lower()
        for some in (_NUMBERS, _ORDINALS):
            if word in some:
                new = rng.choice([one for one in some if one != word])
                new = new.capitalize() if found[0][0].isupper() else new
                return tree.text[: found.start()] + new + tree.text[found.end() :]
        if word.isdecimal():
            return tree.text[: found.start()] + str(int(word) + rng.choice([1, 2, 10, 7])) + tree.text[found.end() :]
    return None


def quantifier(tree: ParseTree, rng: random.Random) -> str | None:
    """A quantifier replaced, or put before a subject that has none."""
    counted = re.search(r"\b(two|three|four|five|six|\d\d+)\b", tree.text)
    if counted and rng.random() < 0.4:
        new = rng.choice(["at least", "more than", "fewer than", "at most", "only"])
        return f"{tree.text[: counted.start()]}{new} {tree.text[counted.start() :]}"
    for found in re.finditer(r"\b[a-z]+\b", tree.text, re.IGNORECASE):
        if (word := found[0].lower()) in _QUANTIFIERS:
            new = rng.choice(_QUANTIFIERS[word])
            new = new.capitalize() if found[0][0].isupper() else new
            return tree.text[: found.start()] + new + tree.text[found.end() :]
    subjects = [one for at in tree.roots() for one in tree.children(at, "nsubj", "nsubjpass")]
    if not subjects or rng.random() < 0.7 or tree[subjects[0]].tag not in {"NNS", "NN"}:
        return None
    first, plural = tree[tree.subtree(subjects[0])[0]], tree[subjects[0]].tag == "NNS"
    if plural and first.text.lower() == "the":
        return (
            tree.text[: first.start] + rng.choice(["Few of the", "Most of the", "None of the"]) + tree.text[first.end :]
        )
    if plural and first.tag in {"NNS", "JJ"} and first.start == 0:
        return f"{rng.choice(['Few', 'All', 'Most', 'No'])} {first.text.lower()}{tree.text[first.end :]}"
    if not plural and first.text.lower() in {"a", "an"}:
        return tree.text[: first.start] + rng.choice(["Every", "No"]) + tree.text[first.end :]
    return None


def roles(tree: ParseTree, rng: random.Random) -> str | None:
    """Subject and object exchanged."""
    for at in [one for one in range(len(tree.nodes)) if tree[one].pos == "VERB"]:
        subject, thing = tree.children(at, "nsubj"), tree.children(at, "dobj")
        if len(subject) != 1 or len(thing) != 1 or tree[at].lemma in _SYMMETRIC:
            continue
        one, other = subject[0], thing[0]
        if tree[one].pos not in {"NOUN", "PROPN", "PRON"} or tree[other].pos not in {"NOUN", "PROPN", "PRON"}:
            continue
        if not (tree.contiguous(one) and tree.contiguous(other)) or is_plural(tree, one) != is_plural(tree, other):
            continue
        words = [tree.words(one), tree.words(other)]
        if any(
            word in {"what", "who", "which", "that", "his", "her", "their", "its"} for some in words for word in some
        ):
            continue
        return _exchanged(tree, one, other)
    return None


def _exchanged(tree: ParseTree, one: int, other: int) -> str:
    old, new = tree.phrase(one), tree.phrase(other)
    start, end = tree[tree.subtree(one)[0]].start, tree[tree.subtree(one)[-1]].end
    from_, to = tree[tree.subtree(other)[0]].start, tree[tree.subtree(other)[-1]].end
    first = SUBJECT_CASE.get(new.lower(), new)
    second = OBJECT_CASE.get(old.lower(), old if tree[tree.subtree(one)[0]].named else old[0].lower() + old[1:])
    first = first[0].upper() + first[1:] if start == 0 else first
    return tree.text[:start] + first + tree.text[end:from_] + second + tree.text[to:]


def entity(pool: dict[str, list[str]]) -> Callable[[ParseTree, random.Random], str | None]:
    """A name or a noun replaced by another that occurs in other sentences."""

    def change(tree: ParseTree, rng: random.Random) -> str | None:
        listed = [node for node in tree.nodes if node.lemma in _PEERS or node.text in _PEERS]
        if listed and rng.random() < 0.8:
            node = rng.choice(listed)
            new = rng.choice(_PEERS.get(node.lemma) or _PEERS[node.text])
            new = inflected(new, "NNS") or new if node.tag == "NNS" else new
            new = new.capitalize() if node.text[0].isupper() else new
            return tree.text[: node.start] + new + tree.text[node.end :]
        names = [node for node in tree.nodes if node.tag == "NNP" and node.text in pool["NNP"]]
        nouns = [node for node in tree.nodes if node.tag in {"NN", "NNS"} and node.lemma in pool["NN"]]
        some = names if names and rng.random() < 0.8 else nouns
        if not some:
            return None
        node = rng.choice(some)
        if node in names:
            new = rng.choice([name for name in pool["NNP"] if name != node.text])
        else:
            lemma = rng.choice([one for one in pool["NN"] if not _related(one, node.lemma)])
            new = inflected(lemma, "NNS") or lemma if node.tag == "NNS" else lemma
        return tree.text[: node.start] + (new.capitalize() if node.text[0].isupper() else new) + tree.text[node.end :]

    return change


@lru_cache(maxsize=100_000)
def _related(one: str, other: str) -> bool:
    """Whether two nouns share a sense, or one is in the definition of the other."""
    for a, b in ((one, other), (other, one)):
        for synset in lexicon().synsets(a, "n"):
            if b in synset.words or re.search(rf"\b{re.escape(b)}", synset.gloss):
                return True
    return False


def pools(trees: list[ParseTree]) -> dict[str, list[str]]:
    """Names and nouns that are frequent in these sentences."""
    names = Counter(n.text for t in trees for n in t.nodes if n.tag == "NNP" and n.start > 0 and n.text.istitle())
    nouns = Counter(n.lemma for t in trees for n in t.nodes if n.tag in {"NN", "NNS"} and n.lemma.isalpha())
    common = [noun for noun, times in nouns.most_common(400) if times > 3 and lexicon().knows(noun, "n")]
    return {"NNP": [name for name, _ in names.most_common(150)], "NN": common}


def broken(texts: list[str], per_kind: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Kind, original and variant: `per_kind` of each, each sentence for one kind alone."""
    rng = random.Random(seed)
    rng.shuffle(texts)
    trees = [
        ParseTree(text, nodes) for text, nodes in zip(texts, parser()(texts), strict=True) if 5 <= len(nodes) <= 40
    ]
    kinds = {
        "roles": roles,
        "number": number,
        "negation": negation,
        "entity": entity(pools(trees)),
        "quantifier": quantifier,
    }
    left = dict.fromkeys(kinds, per_kind)
    for tree in trees:
        for kind in sorted(kinds, key=lambda kind: -left[kind]):
            new = kinds[kind](tree, rng) if left[kind] else None
            if new and new != tree.text:
                left[kind] -= 1
                yield kind, tree.text, new
                break


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--per-kind", type=int, default=100)
    options.add_argument("--seed", type=int, default=20)
    given = options.parse_args()
    lines = given.texts.read_text(encoding="utf-8").splitlines()
    rows = sorted(broken(lines, given.per_kind, given.seed))
    with given.out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("kind", "original", "variant"), *rows])
