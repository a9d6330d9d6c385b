"""Draw what judges are trained on, as tokens: needs numpy and tokenizers alone.

    pairs.py TOKENIZER.json JUDGE.json.xz CLUSTERS.json.xz OUT [--passes 4] [--tiny]

OUT gets a.npy and b.npy (tokens of both texts), table.npz (pass, label, weight, fold, source of each pair), and the
same for pairs that are scored: score-a.npy, score-b.npy, score.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import random
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import frames
import numpy as np
from tokenizers import Tokenizer

SEED = 20_261_118
#: The longest text, in tokens.
LONGEST = 60
#: Frames in a pass, and the sources of pairs by number.
FRAMES = 40_000
SOURCES = ("script", "frame", "paraphrase", "set", "own", "row")
PARAPHRASES = ("d-SNLI", "d-ATOMIC", "d-SOCIAL", "a-NLI", "parte")
Pair = tuple[str, str, float, float, int, str]


def article(word: str) -> str:
    """The indefinite article before a word, by its letters."""
    word = word.lower()
    if re.match(r"hour|honest|honor|heir", word):
        return "an"
    return "an" if word[0] in "aeiou" and not re.match(r"uni|use|eu|one\b|once|ut", word) else "a"


def edited(text: str, edits: Any) -> str:
    """The text with all edits made, as edits.py does it."""
    new = text
    for start, end, what in sorted(edits, reverse=True):
        new = new[:start] + what + new[end:]
    new = re.sub(r"\s+", " ", new).strip()
    new = re.sub(r"\s+([.,;:!?])", r"\1", new)
    new = re.sub(r"^[,;:]\s*", "", new)
    new = re.sub(r"\b([Aa])n? (?=([A-Za-z]+))", lambda m: (m[1] + article(m[2])[1:]) + " ", new)
    return new[:1].upper() + new[1:] if text[:1].isupper() else new


def free(one: Any, other: Any) -> bool:
    """Whether no edit of one change touches an edit of the other."""
    return all(a[1] < b[0] or b[1] < a[0] for a in one for b in other)


def scripted(group: dict[str, Any], rng: random.Random) -> list[Pair]:
    """A sentence beside its changes, with one that keeps the meaning now and then: in the same text or in the other."""
    text, good, bad = group["t"], group["g"], group["b"]
    found: list[Pair] = []
    for label, changes in ((0.0, bad), (1.0, good)):
        for _, edits in changes:
            others = [one for _, one in good if one is not edits]
            left, right, loose = [], list(edits), [one for one in others if free(one, edits)]
            if loose and rng.random() < 0.55:
                (right if rng.random() < 0.5 else left).extend(rng.choice(loose))
            if others and not left and rng.random() < 0.3:
                left = list(rng.choice(others))
            a, b = edited(text, left) if left else text, edited(text, right)
            found.append((a, b, label, 1.0, -1, "script"))
    return found


def lightly(member: dict[str, Any], rng: random.Random, share: float) -> str:
    """A sentence, reworded by script now and then."""
    good = member.get("g")
    return edited(member["t"], rng.choice(good)[1]) if good and rng.random() < share else member["t"]


def broken(member: dict[str, Any], change: Any, rng: random.Random) -> str:
    """A sentence broken by script, and perhaps reworded."""
    loose = [one for _, one in member["g"] if free(one, change)]
    more = rng.choice(loose) if loose and rng.random() < 0.3 else []
    return edited(member["t"], [*change, *more])


def together(cluster: dict[str, Any], rng: random.Random) -> list[Pair]:
    """Pairs of a cluster: sentences that say the same, broken ones, and ones that say another thing."""
    members, others, fold = cluster["m"], cluster["x"], cluster["f"]
    source = "paraphrase" if cluster["s"] in PARAPHRASES else "own" if cluster["s"] == "own" else "set"
    own, found = source != "paraphrase", []

    def add(a: str, b: str, label: float, weight: float = 1.0) -> None:
        found.append((a, b, label, weight, fold, source))

    if own:
        for one, other in itertools.combinations(members, 2):
            add(lightly(one, rng, 0.3), lightly(other, rng, 0.3), 1.0, 1.5)
    else:
        for one in members[1:]:
            add(lightly(members[0], rng, 0.25), lightly(one, rng, 0.25), 1.0)
            add(lightly(rng.choice(members[1:]), rng, 0.25), lightly(one, rng, 0.25), 1.0)
    for kind, text in others:
        for one in members if own else members[:1]:
            add(lightly(one, rng, 0.3), text, 0.0 if kind != "refused" else 0.1, 1.5 if own else 0.7)
    for one in members:
        for _, change in rng.sample(one.get("b", []), min(3, len(one.get("b", [])))):
            rest = [other for other in members if other is not one]
            beside = rng.choice(rest) if rest and rng.random() < 0.8 else one
            add(lightly(beside, rng, 0.3), broken(one, change, rng), 0.0, 1.0 if rest else 0.5)
    if source == "own":
        for (kind, a), (other, b) in itertools.combinations(others, 2):
            if kind != other and rng.random() < 0.1:
                add(a, b, 0.0, 0.5)
    return found


def draw(given: tuple[list[Any], list[Any], list[Any], int]) -> list[Pair]:
    """All pairs of a pass."""
    groups, clusters, rows, turn = given
    rng = random.Random(SEED + turn)
    found = [pair for group in groups for pair in scripted(group, rng)]
    found += [pair for cluster in clusters for pair in together(cluster, rng)]
    found += [
        (a, b, label, 1.0, -1, "frame") for a, b, label, _ in frames.pairs(FRAMES if len(groups) > 999 else 500, rng)
    ]
    found += [(a, b, 0.0, 0.5, -1, "row") for a, b, label in rows if label]
    texts = [row[0] for row in rows]
    found += [(rng.choice(texts), rng.choice(texts), 0.0, 0.5, -1, "row") for _ in range(len(rows) // 8)]
    found = [pair if rng.random() < 0.5 else (pair[1], pair[0], *pair[2:]) for pair in found if pair[0] != pair[1]]
    texts = [pair for pair in found if pair[5] == "paraphrase"]
    found += [(text, text, 1.0, 0.5, -1, "row") for text, *_ in rng.sample(texts, min(1500, len(texts)))]
    rng.shuffle(found)
    return found


def scored(clusters: list[Any]) -> list[tuple[str, str, int, str, int, str]]:
    """Pairs that are scored: text, text, whether they say the same, kind, fold, set."""
    found = []
    for one in clusters:
        first, *rest = [member["t"] for member in one["m"]]
        everyone = (
            itertools.combinations([first, *rest], 2) if one["s"] == "own" else ((first, other) for other in rest)
        )
        found += [(a, b, 1, "good", one["f"], one["s"]) for a, b in everyone]
        for kind, text in one["x"]:
            beside = [first, *rest] if one["s"] == "own" else [first]
            found += [(own, text, 0, kind, one["f"], one["s"]) for own in beside]
    return found


def tokens(tokenizer: Tokenizer, texts: list[str]) -> np.ndarray:
    """The tokens of each text, 0 behind its end."""
    known = list(dict.fromkeys(texts))
    found = np.zeros((len(known), LONGEST), np.int16)
    for at, one in enumerate(tokenizer.encode_batch(known, add_special_tokens=False)):
        found[at, : min(LONGEST, len(one.ids))] = one.ids[:LONGEST]
    place = {text: at for at, text in enumerate(known)}
    return found[[place[text] for text in texts]]


def read(path: Path) -> Any:
    """A compressed JSON file."""
    return json.loads(lzma.decompress(path.read_bytes()))


def main() -> None:
    """Everything."""
    parser = argparse.ArgumentParser()
    for name in ("tokenizer", "data", "clusters", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    data, clusters = read(given.data), read(given.clusters)
    texts = data["texts"]
    for group in data["groups"]:
        group["t"] = texts[group["t"]] if isinstance(group["t"], int) else group["t"]
    rows = [(texts[a], texts[b], label) for a, b, label in data["rows"]]
    groups, some = data["groups"], clusters
    if given.tiny:
        groups, some, rows = groups[::100], clusters[::20], rows[::100]
    with ProcessPoolExecutor(given.passes) as pool:
        drawn = list(pool.map(draw, [(groups, some, rows, turn) for turn in range(given.passes)]))
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    every = [pair for one in drawn for pair in one]
    for which, name in enumerate("ab"):
        np.save(given.out / f"{name}.npy", tokens(tokenizer, [pair[which] for pair in every]))
    turn = np.concatenate([np.full(len(one), at, np.int8) for at, one in enumerate(drawn)])
    np.savez(
        given.out / "table.npz", turn=turn, label=np.array([pair[2] for pair in every], np.float32),
        weight=np.array([pair[3] for pair in every], np.float32), fold=np.array([pair[4] for pair in every], np.int8),
        source=np.array([SOURCES.index(pair[5]) for pair in every], np.int8),
    )  # fmt: skip
    asked = scored(some)
    for which, name in enumerate("ab"):
        np.save(given.out / f"score-{name}.npy", tokens(tokenizer, [pair[which] for pair in asked]))
    (given.out / "score.json").write_text(json.dumps([pair[2:] for pair in asked]))
    print(f"{len(every)} pairs, {len(asked)} to score", flush=True)
    for name in SOURCES:
        own = [pair for pair in drawn[0] if pair[5] == name]
        print(name, len(own), sum(pair[2] > 0.5 for pair in own), flush=True)


if __name__ == "__main__":
    main()
