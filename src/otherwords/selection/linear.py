"""Many linear classifiers at once: logistic regressions on overlapping parts of the same rows, for AFLite.

A round of AFLite trains 64 of them. They are fitted together, so that one product of the rows with all weights serves
every classifier; and in coordinates in which the loss of a typical one is nearly round, which takes 30 to 60 steps
where the embeddings' own take hundreds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .rows import Array

#: The length of the gradient at which a fit ends, in the new coordinates: labels are then those of the exact minimum.
ENOUGH = 1e-8
#: Steps after which a fit ends, whatever it has reached, and how many former steps L-BFGS remembers.
STEPS, MEMORY = 1_000, 12
#: Rows that are multiplied at a time; and from how many times its own training rows on a classifier is fitted alone.
_BLOCK, _ALONE = 4096, 16

Loss = Callable[[Array, Array], tuple[Array, Array]]


class Round(NamedTuple):
    """Rows in coordinates in which the loss of a classifier is nearly round, and the way back to weights."""

    rows: Array
    back: Array

    def of(self, some: Array) -> "Round":
        """Some of the rows, in the same coordinates."""
        return Round(self.rows[some], self.back)


def in_round_coordinates(vectors: Array, trained_on: int) -> Round:
    """Change coordinates for classifiers that are trained on so many of the rows each.

    The curvature of the loss is at most a quarter of the rows' products, and that of the penalty; its root is the
    change. The last column is 1, for the offset, which has no penalty.
    """
    from scipy.linalg import cholesky, solve_triangular  # late: most commands need no scipy

    points = np.column_stack([np.asarray(vectors, np.float64), np.ones(len(vectors))])
    curvature = points.T @ points * (trained_on / len(points) / 4)
    penalised = np.arange(len(curvature) - 1)
    curvature[penalised, penalised] += 1
    back = solve_triangular(cholesky(curvature), np.eye(len(curvature)))
    return Round(points @ back, back[:-1])


def classify(data: Round, gold: Array, training: npt.NDArray[np.bool_]) -> tuple[Array, int]:
    """What classifiers answer, a column each, that are trained on the rows marked in theirs; how many did not converge.

    Half the squared weights and the logistic loss are minimised, offsets free: scikit-learn's default (C = 1), whose
    minimum is unique. Beyond two labels the loss is that of softmax. A classifier knows the labels that it has seen.
    """
    answers, slow = np.empty(training.shape, gold.dtype), 0
    for labels, columns in _by_labels(gold, training).items():
        if len(labels) == 1:
            answers[:, columns] = labels[0]
            continue
        together = len(data.rows) <= _ALONE * training[:, columns].sum(axis=0).min()
        for some in [columns] if together else [[one] for one in columns]:
            found, late = _fit(data, gold, training[:, some], np.array(labels))
            slow += late
            answers[:, some] = _answers(data.rows, found, np.array(labels))
    return answers, slow


def _by_labels(gold: Array, training: npt.NDArray[np.bool_]) -> dict[tuple[int, ...], list[int]]:
    """Classifiers by the labels that they see."""
    found: dict[tuple[int, ...], list[int]] = {}
    for column in range(training.shape[1]):
        found.setdefault(tuple(np.unique(gold[training[:, column]]).tolist()), []).append(column)
    return found


def _answers(rows: Array, weights: Array, labels: Array) -> Array:
    """The label that each classifier gives each row; of two, the second where its value is positive."""
    values = (rows @ weights.reshape(len(weights), -1)).reshape(len(rows), *weights.shape[1:])
    return np.asarray(labels[(values[..., 0] > 0).astype(int) if len(labels) == 2 else values.argmax(axis=2)])


def _fit(data: Round, gold: Array, training: npt.NDArray[np.bool_], labels: Array) -> tuple[Array, int]:
    """The weights of classifiers, coordinates x classifiers x outputs; two labels have one output."""
    used = training.any(axis=1)
    rows, mask = data.rows[used], training[used]
    wanted = (gold[used, None] == (labels[1:] if len(labels) == 2 else labels)).astype(np.float64)
    penalty = data.back.T @ data.back
    outputs = wanted.shape[1]

    def loss(weights: Array, columns: Array) -> tuple[Array, Array]:
        flat = weights.reshape(len(weights), -1)
        pulled = penalty @ flat
        total = 0.5 * (flat * pulled).reshape(weights.shape).sum(axis=(0, 2))
        slopes = pulled
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            values = (rows[block] @ flat).reshape(-1, len(columns), outputs)
            lost, slope = _logistic(values, wanted[block, None], mask[block][:, columns])
            total += lost
            slopes = slopes + rows[block].T @ slope.reshape(len(slope), -1)
        return total, slopes.reshape(weights.shape)

    return minimise(loss, np.zeros((rows.shape[1], training.shape[1], outputs)))


def _logistic(values: Array, wanted: Array, mask: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """The loss of each classifier on its rows, and the slope of each value."""
    if values.shape[2] == 1:
        small = np.exp(-np.abs(values))
        lost = np.maximum(values, 0) + np.log1p(small) - wanted * values
        slope = np.where(values > 0, 1, small) / (1 + small) - wanted
    else:
        top = values.max(axis=2, keepdims=True)
        raised = np.exp(values - top)
        total = raised.sum(axis=2, keepdims=True)
        lost = top + np.log(total) - (wanted * values).sum(axis=2, keepdims=True)
        slope = raised / total - wanted
    return (lost[..., 0] * mask).sum(axis=0), slope * mask[..., None]


# Minimising


def minimise(loss: Loss, start: Array) -> tuple[Array, int]:
    """Where convex functions are least, found side by side by L-BFGS; how many of them had not converged.

    `start` has a function in each place of its second axis. `loss` is given the places of all that still move, the
    columns to compute, and gives values and slopes.
    """
    weights, columns = start.copy(), np.arange(start.shape[1])
    value, slope = loss(weights, columns)
    past: list[tuple[Array, Array]] = []
    for _ in range(STEPS):
        going = np.sqrt(_dots(slope, slope)) > ENOUGH
        columns, value, slope = columns[going], value[going], slope[:, going]
        past = [(moved[:, going], changed[:, going]) for moved, changed in past]
        if not len(columns):
            break
        step = _direction(slope, past)
        moved, value, new = _stepped(loss, weights[:, columns], columns, value, slope, step)
        weights[:, columns] += moved
        past = [*past[1 - MEMORY :], (moved, new - slope)]
        slope = new
    return weights, len(columns)


def _dots(one: Array, other: Array) -> Array:
    return np.asarray(np.einsum("dck,dck->c", one, other))


def _direction(slope: Array, past: list[tuple[Array, Array]]) -> Array:
    """Downhill, bent by how the slope changed in former steps (Nocedal and Wright 2006, algorithm 7.4)."""
    step, shares = -slope, []
    for moved, changed in reversed(past):
        turn = _dots(moved, step) / np.maximum(_dots(moved, changed), 1e-300)
        shares.append(turn)
        step = step - turn[:, None] * changed
    if past:
        moved, changed = past[-1]
        step = step * (_dots(moved, changed) / np.maximum(_dots(changed, changed), 1e-300))[:, None]
    for (moved, changed), turn in zip(past, reversed(shares), strict=True):
        back = _dots(changed, step) / np.maximum(_dots(moved, changed), 1e-300)
        step = step + (turn - back)[:, None] * moved
    return np.asarray(step)


def _stepped(
    loss: Loss, weights: Array, columns: Array, value: Array, slope: Array, step: Array
) -> tuple[Array, Array, Array]:
    """A step of each that lowers its value, halved until it does; with the new value and slope."""
    length, descent = np.ones(len(columns)), _dots(slope, step)
    after, new = loss(weights + step, columns)
    for _ in range(40):
        # At the end values differ by less than they can be told apart: then the step is as good as it gets.
        high = np.flatnonzero(after > value + 1e-4 * length * descent + 1e-12 * np.abs(value))
        if not len(high):
            break
        length[high] /= 2
        some = weights[:, high] + length[high][:, None] * step[:, high]
        after[high], new[:, high] = loss(some, columns[high])
    return length[:, None] * step, after, new
