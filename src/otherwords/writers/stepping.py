"""A model of transformers that writes many texts at once, one token at a time, with its cache of keys and values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..errors import WrongAnswer

if TYPE_CHECKING:
    import torch


class Stepper:
    """Rows of tokens being written: `first` reads the prompts, `next` adds a token to every row; both give logits.

    `ids` and `mask` are the prompts of one batch: filled up on the right for a model with an encoder, whose decoder
    begins with the tokens `start`, and on the left for a causal one, which has no `start`.
    """

    def __init__(self, model: Any, ids: torch.Tensor, mask: torch.Tensor, start: list[int]):
        self.model, self.ids, self.mask, self.start = model, ids, mask, start
        self.states: Any = None
        self.cache: Any = None
        self._takes = set(inspect.signature(model.forward).parameters)

    def first(self, copies: int) -> torch.Tensor:
        """Read the prompts once, and make `copies` rows of each; gives logits [prompts, tokens], before the copying."""
        if self.start:
            self.states = self.model.get_encoder()(input_ids=self.ids, attention_mask=self.mask).last_hidden_state
            begun = self.ids.new_tensor([self.start]).expand(len(self.ids), -1)
            logits = self._forward(begun)
        else:
            logits = self._forward(self.ids)
        if not hasattr(self.cache, "reorder_cache"):
            raise WrongAnswer(f"{type(self.model).__name__} keeps no keys and values that can be put in another order")
        if logits.isnan().any():
            raise WrongAnswer(f"{type(self.model).__name__} gave no numbers; another dtype may work")
        import torch

        self._select(torch.arange(len(self.ids), device=self.ids.device).repeat_interleave(copies))
        return logits

    def next(self, tokens: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Go on with the chosen rows (all, where none are named), each with its next token: logits [rows, tokens]."""
        if rows is not None:
            self._select(rows)
        if not self.start:
            self.mask = self._longer(self.mask)
        return self._forward(tokens[:, None])

    def _select(self, rows: torch.Tensor) -> None:
        self.cache.reorder_cache(rows)
        self.mask = self.mask[rows]
        if self.states is not None:
            self.states = self.states[rows]

    def _longer(self, mask: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        given: dict[str, Any] = {"attention_mask": self.mask, "past_key_values": self.cache, "use_cache": True}
        if self.start:
            given |= {"decoder_input_ids": tokens, "encoder_outputs": (self.states,)}
        else:
            given["input_ids"] = tokens
            if "position_ids" in self._takes:  # filling on the left must not move a row's places
                given["position_ids"] = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
            if "logits_to_keep" in self._takes:  # those of the whole prompt would need gigabytes
                given["logits_to_keep"] = 1
        output = self.model(**given, return_dict=True)
        self.cache = output.get("past_key_values")
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits
