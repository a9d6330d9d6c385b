"""The kinds of rewritings that change whole clauses."""

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
from .reduced import (
    delete_relativizer,
    exchange_relativizer,
    insert_relativizer,
    to_full_relative,
    to_reduced_relative,
)
from .rewriting import Kind
from .times import any_time_to_end, any_time_to_front, time_to_end, time_to_front

CLAUSES: dict[str, Kind] = {
    "reduced-relative": Kind(
        (to_full_relative, to_reduced_relative),
        {"reduced to full relative": to_reduced_relative, "full to reduced relative": to_full_relative},
    ),
    "relativizer": Kind(
        (exchange_relativizer, insert_relativizer, delete_relativizer),
        {
            "relative pronoun": exchange_relativizer,
            "relative pronoun inserted": delete_relativizer,
            "relative pronoun left out": insert_relativizer,
        },
    ),
    "there": Kind((to_there, without_there), {"there": any_without_there, "without there": to_there}),
    "caption": Kind(
        (caption_to_there, caption_to_sentence),
        {"caption to there": there_to_caption, "caption to sentence": sentence_to_caption},
    ),
    "that": Kind((insert_that, delete_that), {"that inserted": any_delete_that, "that left out": any_insert_that}),
    "clause-order": Kind(
        (clause_to_front, clause_to_end),
        {"clause to front": any_clause_to_end, "clause to end": any_clause_to_front},
    ),
    "time-fronting": Kind(
        (time_to_front, time_to_end), {"time to front": any_time_to_end, "time to end": any_time_to_front}
    ),
    "apposition": Kind((swap_apposition,), {"apposition swap": swap_apposition}),
    "comparative": Kind((swap_comparison,), {"comparison swap": any_comparison}),
}
