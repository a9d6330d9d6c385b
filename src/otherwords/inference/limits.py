"""What rows of one batch are filled up with, and whether they may be: no answer may depend on its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput, WrongAnswer
from .tokens import Rows, Tokens

# MERGED from inference.limits: How long a row may be, and which tokens it may have: seen before a batch is sent, and told where it fails.

#: Below this, special tokens leave no room for text (and `tokenizers` then quietly does not truncate at all).
SHORTEST = 8
#: Families that count positions from behind the number of their filling token; it is 1 where they do not say.
_BEHIND_PAD = (
    *("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm", "data2vec-text"),
    *("ibert", "longformer", "luke", "mpnet", "xmod"),
)
#: Names of position tables: BERT's and its kin's, GPT-2's.
_TABLES = ("embeddings.position_embeddings", "wpe")


def refuse_sizes(who: str, max_length: int, tokens: int = 1) -> None:
    """Raise where a length or a budget of tokens cannot work."""
    for name, value, least in (("max_length", max_length, SHORTEST), ("tokens", tokens, 1)):
        if value < least:
            raise BadInput(f"found {value}", where=who, field=name, fix=f"give {least} or more")


def limit(who: str, max_length: int, room: int) -> int:
    """How many tokens are read: `max_length`, but no more than the model has positions for, where that is known.

    >>> limit("m", 1000, room=512), limit("m", 256, room=512), limit("m", 1000, room=0)
    (512, 256, 1000)
    """
    if 0 < room < SHORTEST:
        raise BadInput(f"has positions for {room} tokens", where=who, fix=f"use a model of {SHORTEST} or more")
    return min(max_length, room) if room else max_length


def positions(model: Any) -> int:
    """How many tokens a model of transformers has places for; 0 where there is no such limit, or none that we see."""
    for name, module in model.named_modules():
        if name.endswith(_TABLES) and hasattr(module, "weight"):
            pad = getattr(module, "padding_idx", None)
            rows = int(module.weight.shape[0]) - (0 if pad is None else pad + 1)  # as RoBERTa and its kin count
            told = getattr(model.config, "max_position_embeddings", rows)  # of Nystromformer's table, two stay unused
            return min(rows, told)
    return 0


def configured_positions(config: Mapping[str, Any]) -> int:
    """The same, from what a config.json says.

    >>> configured_positions({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0})
    512
    >>> configured_positions({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    512
    """
    most = config.get("max_position_embeddings", config.get("n_positions"))
    if not isinstance(most, int) or config.get("position_biased_input") is False:  # DeBERTa without a table
        return 0
    pad = config.get("pad_token_id", 1) if config.get("model_type") in _BEHIND_PAD else None
    return max(0, most - (pad + 1 if isinstance(pad, int) else 0))


def known_tokens(model: Any) -> int:
    """How many tokens a model of transformers has embeddings for; 0 where it has no table of them (CANINE)."""
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:
        return 0
    weight = getattr(table, "weight", None)
    return 0 if weight is None else int(weight.shape[0])


def careful(start: Callable[[Any], Any], model: Any, who: str, max_length: int) -> Callable[[Any], Any]:
    """Look at a batch before it is started; where it fails, say what may help.

    On a GPU, a place or a token that a model has no row for is an error after which the process cannot use it again.
    """
    room, words = positions(model), known_tokens(model)
    shorter = f"a smaller max_length (now {max_length}) may work"

    def checked(rows: Rows | Tokens) -> Any:
        long, last = rows.longest, int(rows.ids.max())
        if 0 < room < long:
            raise _failed(who, rows, f"{long} tokens, but it has {room} positions", shorter)
        if 0 < words <= last:
            found = f"the tokenizer gave the number {last}, but it knows {words} tokens"
            raise _failed(who, rows, found, "use the tokenizer that it was trained with")
        try:
            return start(rows)
        except (IndexError, RuntimeError, ValueError) as error:
            raise _failed(who, rows, str(error), shorter) from error

    return checked


def _failed(who: str, rows: Rows | Tokens, why: str, hint: str) -> WrongAnswer:
    return WrongAnswer(f"{who} failed on a batch of {len(rows)} rows: {why}; {hint}")


# MERGED from inference.padding: What rows of one batch are filled up with, and whether they may be: no answer may depend on its neighbours.

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
