"""Prompts as a model of transformers reads them: in its template for chats where it has one, as rows of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BadInput, WrongAnswer
from ..inference.hf_folders import quietly
from ..inference.limits import known_tokens

if TYPE_CHECKING:
    import torch


@dataclass
class Prompter:
    """Turns prompts into tokens of up to `length`; causal models get theirs filled up on the left."""

    tokenizer: Any
    model: Any
    who: str
    length: int
    chat: bool = True

    def encode(self, prompts: Sequence[str]) -> list[list[int]]:
        """The tokens of each prompt; none for one that is too long."""
        chat = self.chat and not self.model.config.is_encoder_decoder and bool(self.tokenizer.chat_template)
        with quietly():  # transformers warns of texts longer than models usually read
            texts = [self._said(prompt) for prompt in prompts] if chat else list(prompts)
            rows = self.tokenizer(texts, add_special_tokens=not chat)["input_ids"] if texts else []
        self._refuse_unknown(rows)
        return [list(row) if len(row) <= self.length else [] for row in rows]

    def side_by_side(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token numbers and the mask of what is no filling, on the model's device."""
        import torch

        width, left = max(map(len, rows)), not self.model.config.is_encoder_decoder
        pad = next((one for one in (self.tokenizer.pad_token_id, self.model.config.eos_token_id, 0) if _number(one)), 0)
        ids = torch.full((len(rows), width), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if left else slice(0, len(row))
            ids[number, place] = torch.tensor(row)
            mask[number, place] = 1
        return ids.to(self.model.device), mask.to(self.model.device)

    def _said(self, prompt: str) -> str:
        """The prompt as a user's message, and the beginning of an answer."""
        message = [{"role": "user", "content": prompt}]
        try:
            return str(self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # templates are programs of a kind, and fail in their own ways
            fix = "write with chat=false"
            raise BadInput(f"its template for chats fails: {error}", where=self.who, fix=fix) from error

    def _refuse_unknown(self, rows: Sequence[Sequence[int]]) -> None:
        """On a GPU, a token that a model has no row for is an error after which the process cannot use it again."""
        known, last = known_tokens(self.model), max((max(row) for row in rows if len(row)), default=0)
        if 0 < known <= last:
            found = f"the tokenizer gave the number {last}, but it knows {known} tokens"
            raise WrongAnswer(f"{self.who}: {found}; use the tokenizer that it was trained with")


def _number(one: Any) -> bool:
    return isinstance(one, int) and one >= 0
