"""How far variants are from their originals in the structure of their sentences (`syn` in ParaNLU)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..grammar.parsing import parser
from ..grammar.tree_distance import dependency_tree, syntactic_distance
from ..registry import metrics
from .distances import Pair, averaged


@metrics("syntactic_distance.v1")
def syntactic_distance_metric(pipeline: str, level: int = 3, fields: str = "", suite: Path = Path()) -> Any:
    """Edits between the parse trees of original and variant over the nodes of both, averaged over variants.

    `pipeline` is the spaCy pipeline that parses, `level` how far down trees are compared (0: all of them). ParaNLU
    compares constituency trees; here they are dependency trees with the words' functions as labels, so that numbers
    compare with each other, not with the paper's. `fields` names the text columns, with commas between; `suite` a table
    of id and texts, for answers without them.
    """
    if level < 0:
        raise BadInput(f"found {level}", where="syntactic_distance", field="level", fix="give 1 or more, or 0 for all")
    parse = parser(pipeline)

    def compare(pairs: Sequence[Pair]) -> list[float]:
        # White space is no structure, and should not lead the parser astray.
        pairs = [(" ".join(one.split()), " ".join(other.split())) for one, other in pairs]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair if pair[0] != pair[1]))
        trees = {text: dependency_tree(nodes, level or -1) for text, nodes in zip(texts, parse(texts), strict=True)}
        return [0.0 if one == other else syntactic_distance(trees[one], trees[other]) for one, other in pairs]

    return averaged(compare, fields, suite, identity=parse.identity)
