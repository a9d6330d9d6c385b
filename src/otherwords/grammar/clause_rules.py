"""The rules for whole clauses by kind, and the rule that reverses each rewriting, by the rewriting's name."""

from collections.abc import Callable, Iterable

from .comparison import any_comparison, swap_apposition, swap_comparison
from .complement import any_delete_that, any_insert_that, delete_that, insert_that
from .existential import (
    any_without_there,
    caption_to_sentence,
    caption_to_there,
    sentence_to_caption,
    there_to_caption,
    to_there,
    without_there,
)
from .orders import any_clause_to_end, any_clause_to_front, clause_to_end, clause_to_front
from .parsing import ParseTree
from .reduced import (
    delete_relativizer,
    exchange_relativizer,
    insert_relativizer,
    to_full_relative,
    to_reduced_relative,
)
from .rewriting import Rewriting
from .times import any_time_to_end, any_time_to_front, time_to_end, time_to_front

#: The rules of each kind.
CLAUSE_RULES: dict[str, tuple[Callable[[ParseTree], Iterable[Rewriting]], ...]] = {
    "reduced-relative": (to_full_relative, to_reduced_relative),
    "relativizer": (exchange_relativizer, insert_relativizer, delete_relativizer),
    "there": (to_there, without_there),
    "caption": (caption_to_there, caption_to_sentence),
    "that": (insert_that, delete_that),
    "clause-order": (clause_to_front, clause_to_end),
    "time-fronting": (time_to_front, time_to_end),
    "apposition": (swap_apposition,),
    "comparative": (swap_comparison,),
}
#: The rule that reverses a rewriting, by the rewriting's name.
CLAUSE_INVERSES: dict[str, Callable[[ParseTree], Iterable[Rewriting]]] = {
    "reduced to full relative": to_reduced_relative,
    "full to reduced relative": to_full_relative,
    "relative pronoun": exchange_relativizer,
    "relative pronoun inserted": delete_relativizer,
    "relative pronoun left out": insert_relativizer,
    "there": any_without_there,
    "without there": to_there,
    "caption to there": there_to_caption,
    "caption to sentence": sentence_to_caption,
    "that inserted": any_delete_that,
    "that left out": any_insert_that,
    "clause to front": any_clause_to_end,
    "clause to end": any_clause_to_front,
    "time to front": any_time_to_end,
    "time to end": any_time_to_front,
    "apposition swap": swap_apposition,
    "comparison swap": any_comparison,
}
