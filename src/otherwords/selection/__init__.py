"""Selection: which problems are used for what (Srikanth et al. 2024, section 4), on any data of any task."""

from .aflite import AFLite, Filtered, aflite, filter_easy
from .partition import Partition, PartSize, partition
from .sampling import Chosen, deciles, sample

__all__ = [
    "AFLite",
    "Chosen",
    "Filtered",
    "PartSize",
    "Partition",
    "aflite",
    "deciles",
    "filter_easy",
    "partition",
    "sample",
]
