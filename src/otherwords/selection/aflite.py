"""AFLite: which problems are easy for linear classifiers on embeddings (Sakaguchi et al. 2021, as ParaNLU used it).

In each round, `n` classifiers are each trained on `m` problems and asked the others. Of the problems that more than a
share `tau` of them get right, the `k` with the highest shares leave. It ends when fewer than k leave, or fewer than m
remain. A problem's score is its mean over the rounds that it was in, and it is *easy* if that is above tau (a sentence
of ParaNLU's text says the reverse). The m problems are drawn as whole premise-hypothesis pairs, as in the released
code, so that no classifier is asked about a pair that it was trained on.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ..datasets.source import Name, files_of
from ..errors import BadInput, caller_level, setting
from ..problem import Task
from ..progress import current
from ..storage import tables
from ..storage.in_memory import AnyTable
from .embedding import embed
from .linear import classify, in_round_coordinates
from .rows import Array, add_column, linked_clusters, read_problems

#: The columns that are added: easy or difficult, the score, and the round in which a problem left (null: it stayed).
STRATUM, SCORE, LEFT = "aflite", "aflite_score", "aflite_left"
EASY, DIFFICULT = "easy", "difficult"


@dataclass(frozen=True)
class AFLite:
    """The settings: classifiers, problems that each is trained on, problems that may leave in a round, threshold."""

    n: int = 64
    m: int = 5_000
    k: int = 500
    tau: float = 0.75
    seed: int = 1

    def refuse_wrong(self) -> None:
        """Refuse numbers below 1, and a threshold that is no share."""
        for name, flag in (("n", "--classifiers"), ("m", "--train-on"), ("k", "--leave")):
            if getattr(self, name) < 1:
                fix = "give a number from 1 on"
                raise BadInput(f"found {getattr(self, name)}", field=setting(flag, name), fix=fix)
        if not 0 <= self.tau < 1:
            raise BadInput(f"found {self.tau:g}", field=setting("--tau", "tau"), fix="give a share from 0 to below 1")

    def refuse_few(self, problems: int, pairs: int) -> None:
        """Refuse data that leave nobody to ask."""
        if problems <= self.m or pairs < 2:
            found = f"{problems:,} problems in {pairs:,} pairs, of which {self.m:,} problems train each classifier"
            m, k = max(1, problems // 2), max(1, problems // 20)
            fix = f"give more problems, or {setting(f'--train-on {m} --leave {k}', f'm={m}, k={k}')}"
            raise BadInput(f"too few: {found}", field=setting("--train-on", "m"), fix=fix)


class Filtered(NamedTuple):
    """What AFLite found of each problem: its score, and the round (from 1) in which it left, 0 if it stayed."""

    score: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    leaving: tuple[int, ...]


def aflite(
    data: AnyTable | Name | Sequence[Name],
    embeddings: Any = None,
    *,
    model: str = "",
    encoder: str = "",
    settings: AFLite = AFLite(),  # noqa: B008  # frozen
    task: str | Task | Mapping[str, Any] = "",
    columns: Mapping[str, str | int] | None = None,
    labels: Mapping[Any, str] | None = None,
    out: str | Path | None = None,
    rejected: str | Path | None = None,
) -> tuple[pl.DataFrame, Filtered]:
    """Mark problems as easy or difficult, with scores; ParaNLU took the training data less the embedder's part.

    `embeddings` is an array, or a file of them (`embedding.read_embeddings`). Otherwise they are computed: by `model`,
    a trained classifier, whose embedding is the first token of the last layer on the whole problem, as in the paper; or
    by a sentence `encoder`.
    """
    settings.refuse_wrong()
    tables.refuse_unwritable(out, *files_of(data), *([embeddings] if isinstance(embeddings, str | Path) else []))
    rows, chosen = read_problems(data, task, columns, labels, rejected)
    pairs = linked_clusters(rows, chosen)
    settings.refuse_few(rows.height, pairs.n_unique())
    vectors = embed(rows, chosen, embeddings, model, encoder)
    order = rows.select(pairs.alias("pair"), "id", place=pl.int_range(pl.len())).sort("pair", "id")["place"].to_numpy()
    gold = rows["label"].rank("dense").to_numpy().astype(np.int64) - 1
    found = filter_easy(vectors[order], gold[order], pairs.rank("dense").to_numpy()[order], settings)
    back = np.argsort(order)
    found = Filtered(found.score[back], found.left[back], found.leaving)
    stratum = np.where(found.score > settings.tau, EASY, DIFFICULT)
    left = pl.Series(LEFT, found.left).replace(0, None)
    for column in (pl.Series(STRATUM, stratum), pl.Series(SCORE, found.score, nan_to_null=True), left):
        rows = add_column(rows, column)
    if out:
        tables.write([rows], out)
    return rows, found


def filter_easy(vectors: Array, gold: Array, pairs: Array, settings: AFLite) -> Filtered:
    """AFLite itself, on arrays: a vector for each problem, the number of its label, the number of its pair.

    In a round, each classifier takes the pairs that are left in the order of a permutation, from the seed, the round
    and its own number, until it has m problems or more. A problem that no classifier of a round was asked has no score
    there.
    """
    size = len(gold)
    total, rounds, left = np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64)
    here, leaving = np.arange(size), list[int]()
    data, slow = in_round_coordinates(vectors, settings.m), 0
    current().start("aflite", None)
    while len(here) > settings.m:
        drawn = [_drawn(pairs[here], settings.m, settings.seed, len(leaving), number) for number in range(settings.n)]
        training = np.column_stack([one for one in drawn if not one.all()] or [np.ones(len(here), np.bool_)])
        answers, late = classify(data.of(here), gold[here], training)
        slow += late
        right, asked = ((answers == gold[here, None]) & ~training).sum(axis=1), (~training).sum(axis=1)
        current().advance(1)
        scored = asked > 0
        share = np.divide(right, asked, out=np.zeros(len(here)), where=scored)
        total[here[scored]] += share[scored]
        rounds[here[scored]] += 1
        above = np.flatnonzero(scored & (right > settings.tau * asked))
        best = above[np.argsort(-share[above], kind="stable")][: settings.k]
        leaving.append(len(best))
        left[here[best]] = len(leaving)
        here = np.delete(here, best)
        if len(best) < settings.k:
            break
    current().done()
    if slow:
        message = f"{slow:,} linear classifiers did not converge; scale the embeddings to values of about 1"
        warnings.warn(message, stacklevel=caller_level())
    return Filtered(np.divide(total, rounds, out=np.full(size, np.nan), where=rounds > 0), left, tuple(leaving))


def _drawn(pairs: Array, m: int, *seed: int) -> npt.NDArray[np.bool_]:
    """Which problems a classifier is trained on: whole pairs in a random order, until there are m problems."""
    random = np.random.default_rng(seed)
    _, number, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
    order = random.permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), m)) + 1
    return np.isin(number, order[:enough])
