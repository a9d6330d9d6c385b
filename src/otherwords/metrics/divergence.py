"""Jensen-Shannon divergence: how far two distributions are apart, in bits or in nats, never as its square root."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from .metric import Array

#: The divisor that turns nats into the unit asked for.
UNITS = {"2": math.log(2), "e": 1.0}


def jsd(p: npt.ArrayLike, q: npt.ArrayLike, base: str = "2") -> Array:
    """Jensen-Shannon divergence of each row of `p` from the same row of `q`: from 0 (equal) to 1 bit (disjoint).

    >>> jsd([[1, 0, 0], [0.5, 0.5, 0]], [[0, 1, 0], [0.5, 0.5, 0]]).tolist()
    [1.0, 0.0]
    """
    unit = unit_of(base)
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if one.shape != other.shape or one.size == 0:
        fix = "give as many rows of probabilities in both, at least one"
        raise BadInput(f"divergence of arrays of shapes {one.shape} and {other.shape}", fix=fix)
    return divergence(one, other) / unit


def divergence(p: Array, q: Array) -> Array:
    """In nats, along the last axis; rounding must not make it negative, nor larger than it can be."""
    from scipy.special import rel_entr  # late: `otherwords --help` needs no scipy

    middle = (p + q) / 2
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / 2
    return np.asarray(np.clip(nats, 0, math.log(2)))


def unit_of(base: str) -> float:
    """What nats are divided by, for a logarithm to this base."""
    if base not in UNITS:
        raise BadInput(f"found {base!r}", field="base", fix="use 2 (bits) or e (nats)")
    return UNITS[base]
