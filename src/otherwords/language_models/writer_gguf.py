"""Language models in GGUF files that write, as llama.cpp reads them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import BadInput
from ..registry import writers
from .completing import LOCAL, CompletionWriter, choose_form, refuse_short
from .gguf_file import GgufFile
from .writer import TOO_LONG, Decoding, Draft, Writer


@writers("gguf.v1", unsigned=("path", "context", "threads", "cache_prompt"), extra="gguf")
def gguf(
    path: Path,
    max_new: int = 64,
    chat: str = "auto",
    context: int = 0,
    threads: int = 0,
    cache_prompt: bool = False,
) -> Writer:
    """Write with a language model in a GGUF file, on this machine and without a server.

    A text has up to `max_new` tokens. Where the model has a template for chats, the prompt is the user's message,
    unless `chat` is false. It decodes by sample or greedy; each text of a prompt has a seed of its own. `context`,
    `threads` and `cache_prompt` are as those of the model `gguf`; for a prompt that does not fit nothing is written.
    """
    where = f"gguf:{path}"
    refuse_short(max_new, where)
    model = GgufFile(path, context=context, threads=threads, cache_prompt=cache_prompt)
    author = CompletionWriter(model, max_new, choose_form(chat, model, where))
    return Writer(partial(_compose, author), model.identity, batch_invariant=not cache_prompt, ways=LOCAL)


def _compose(
    author: CompletionWriter, prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding
) -> list[list[Draft]]:
    """Prompt by prompt: one that is too long gets one draft with the reason."""
    drafts: list[list[Draft]] = []
    for prompt, seed in zip(prompts, seeds, strict=True):
        try:
            drafts += author.compose([prompt], [seed], decoding)
        except BadInput as error:
            if error.field != "context":
                raise
            drafts.append([Draft("", TOO_LONG)])
    return drafts
