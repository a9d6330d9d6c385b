"""What rows of one batch are filled up with, and whether they may be: no answer may depend on its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .limits import known_tokens

#: A number that no token has.
NO_TOKEN = -1


@dataclass(frozen=True)
class Padding:
    """The token that rows are filled up with; `exact` batches hold rows of one length, and nothing is filled up."""

    pad: int
    exact: bool


def choose_padding(tokenizer: Any, model: Any) -> Padding:
    """Choose so that a row in a batch is computed as it is alone.

    Decoders with a head for labels read the last token that is not the pad of their configuration, whatever mask they
    are given, so that rows are filled up with that one, not with the tokenizer's. Where the configuration names none,
    alone they read the last token, and refuse batches: it is then given a pad that no row can end with, and rows of
    one length only.
    """
    config = model.config.get_text_config()
    pad = getattr(config, "pad_token_id", None)
    if pad is None:
        config.pad_token_id = NO_TOKEN
        return Padding(0, exact=True)
    usable = isinstance(pad, int) and 0 <= pad < (known_tokens(model) or pad + 1)
    return Padding(pad if usable else 0, exact=not usable or not _may_be_filled_up(tokenizer))


def _may_be_filled_up(tokenizer: Any) -> bool:
    """Whether rows may be filled up behind their end: not where a model looks there (XLNet), or at all (FNet)."""
    return tokenizer.padding_side == "right" and "attention_mask" in tokenizer.model_input_names
