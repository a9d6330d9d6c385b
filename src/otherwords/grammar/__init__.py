"""English grammar: dependency parses, rewritings that keep the meaning of a sentence, distances between parse trees."""

from .equivalences import EQUIVALENCES, sound_rewritings
from .parsing import Node, Parser, ParseTree, Sentence, parser, sentences
from .rewriting import Rewriting
from .tree_distance import LabelledTree, dependency_tree, syntactic_distance, tree_distance

__all__ = [
    "EQUIVALENCES",
    "LabelledTree",
    "Node",
    "ParseTree",
    "Parser",
    "Rewriting",
    "Sentence",
    "dependency_tree",
    "parser",
    "sentences",
    "sound_rewritings",
    "syntactic_distance",
    "tree_distance",
]
