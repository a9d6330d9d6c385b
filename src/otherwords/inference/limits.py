"""How long a row may be, which tokens it may have, and how it may be padded: checked before a batch is sent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput, WrongAnswer
from .tokens import PaddedRows, Tokens

#: Below this, special tokens leave no room for text (and `tokenizers` then silently does not truncate at all).
SHORTEST = 8
#: A number that no token has.
NO_TOKEN = -1
#: Families that count positions from behind the number of their padding token; it is 1 where they do not say.
_BEHIND_PAD = (
    *("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm", "data2vec-text"),
    *("ibert", "longformer", "luke", "mpnet", "xmod"),
)
#: Names of position tables: BERT's and its kin's, GPT-2's.
_TABLES = ("embeddings.position_embeddings", "wpe")


@dataclass(frozen=True)
class Padding:
    """The token that rows are padded with; `exact` batches hold rows of one length, and nothing is padded."""

    pad: int
    exact: bool


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
        raise BadInput(f"has positions for {room} tokens", where=who, fix=f"use a model with {SHORTEST} or more")
    return min(max_length, room) if room else max_length


def positions(model: Any) -> int:
    """How many positions a model of transformers has; 0 where there is no limit, or none that can be seen."""
    for name, module in model.named_modules():
        if name.endswith(_TABLES) and hasattr(module, "weight"):
            pad = getattr(module, "padding_idx", None)
            rows = int(module.weight.shape[0]) - (0 if pad is None else pad + 1)  # as RoBERTa and its kin count
            # Two rows of Nystromformer's table stay unused.
            return min(rows, getattr(model.config, "max_position_embeddings", rows))
    return 0


def configured_positions(config: Mapping[str, Any]) -> int:
    """The same, from a config.json.

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


def with_limits_checked(start: Callable[[Any], Any], model: Any, who: str, max_length: int) -> Callable[[Any], Any]:
    """Check a batch against the model's tables before it is started; where it fails, say what may help.

    On a GPU, an index beyond a table is an error after which the process cannot use the device again.
    """
    room, known = positions(model), known_tokens(model)
    shorter = f"a smaller max_length (now {max_length}) may work"

    def checked(rows: PaddedRows | Tokens) -> Any:
        if 0 < room < rows.longest:
            raise _failed(who, rows, f"{rows.longest} tokens, but the model has {room} positions", shorter)
        refuse_unknown_token(f"{who} failed on a batch of {len(rows)} rows", int(rows.ids.max()), known)
        try:
            return start(rows)
        except (IndexError, RuntimeError, ValueError) as error:
            raise _failed(who, rows, str(error), shorter) from error

    return checked


def refuse_unknown_token(what: str, token: int, known: int) -> None:
    """Raise where a token id is beyond the `known` ones of a model, if it says how many these are."""
    if 0 < known <= token:
        cause = f"the tokenizer returned token id {token}, but the model has {known} token embeddings"
        raise WrongAnswer(f"{what}: {cause}; use the tokenizer that the model was trained with")


def choose_padding(tokenizer: Any, model: Any) -> Padding:
    """Choose so that a row in a batch is computed as it is alone.

    Decoders with a classification head read the last token that is not the pad of their configuration, whatever mask
    they are given, so rows are padded with that one, not with the tokenizer's. Where the configuration names none,
    they read the last token of a single row, and refuse batches: the configuration is then given a pad that no row
    can end with, and batches hold rows of one length only.
    """
    config = model.config.get_text_config()
    pad = getattr(config, "pad_token_id", None)
    if pad is None:
        config.pad_token_id = NO_TOKEN
        return Padding(0, exact=True)
    usable = isinstance(pad, int) and 0 <= pad < (known_tokens(model) or pad + 1)
    # Rows cannot be padded on the right where a model looks there (XLNet), or ignores the mask (FNet).
    paddable = tokenizer.padding_side == "right" and "attention_mask" in tokenizer.model_input_names
    return Padding(pad if usable else 0, exact=not usable or not paddable)


def _failed(who: str, rows: PaddedRows | Tokens, why: str, hint: str) -> WrongAnswer:
    return WrongAnswer(f"{who} failed on a batch of {len(rows)} rows: {why}; {hint}")
