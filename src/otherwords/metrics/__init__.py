"""What is measured: each metric a plain function on arrays and, registered, a statistic on answers tables."""

from .accuracy import accuracy
from .consistency import p_c
from .flips import flip_rate

__all__ = ["accuracy", "flip_rate", "p_c"]
