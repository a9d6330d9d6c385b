"""Words of a text: WordNet, part-of-speech tags, inflection, cues (negations, numbers), distances between texts."""

from .alignment import opposites, substitutions
from .cues import Cue, cues
from .distance import jaccard, lexical_distance, token_overlap
from .inflection import article, inflected
from .language import looks_english
from .lexicon import Lexicon, OtherWordnet, Synset, Wordnet, lexicon, other_wordnet
from .numerals import Numeral, numerals
from .places import TextPlaces, WordPlace, find_places
from .senses import Thesaurus
from .synonyms import Synonym, choose_synonyms
from .tagging import Tagger, Token, tagger

__all__ = [
    "Cue",
    "Lexicon",
    "Numeral",
    "OtherWordnet",
    "Synonym",
    "Synset",
    "Tagger",
    "TextPlaces",
    "Thesaurus",
    "Token",
    "WordPlace",
    "Wordnet",
    "article",
    "choose_synonyms",
    "cues",
    "find_places",
    "inflected",
    "jaccard",
    "lexical_distance",
    "lexicon",
    "looks_english",
    "numerals",
    "opposites",
    "other_wordnet",
    "substitutions",
    "tagger",
    "token_overlap",
]
