"""Language models on servers that write: any endpoint that is OpenAI-compatible, and Anthropic's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..registry import writers
from ..storage.files import answer_cache_path, digest
from .budget import Counted
from .completing import SERVED, CompletionWriter, choose_form, refuse_short
from .completion import Capabilities
from .endpoint import ANTHROPIC, endpoint_of
from .probe import find_or_expect, find_stored
from .sending import Manner
from .served import CONCURRENCY, Served, refuse_wrong
from .writer import Decoding, Draft, Writer

#: Options that are signed by the identity, or change no text.
_UNSIGNED = ("model", "url", "key_env", "dialect", "extra", "concurrency", "timeout", "patience", "served_as")


@writers("api.v1", unsigned=_UNSIGNED, extra="api")
def api(
    model: str,
    url: str | None = None,
    key_env: str = "",
    dialect: str = "openai",
    max_new: int = 64,
    chat: str = "auto",
    concurrency: int = CONCURRENCY,
    timeout: float = 120.0,
    patience: float = 120.0,
    served_as: str = "",
    extra: Any = None,
) -> Writer:
    """Write with a language model on a server.

    A text has up to `max_new` tokens. The prompt is the user's message of a chat, or, with `chat` false or a server
    that does not chat, a text to be continued. It decodes by sample or greedy. `url`, `key_env`, `dialect`,
    `concurrency`, `timeout`, `patience`, `served_as` and `extra` are as those of the model `api`. Replies are kept
    beside the answer cache: what was interrupted is not asked, nor paid, twice.
    """
    where = f"api:{model}"
    refuse_short(max_new, where)
    endpoint, manner = endpoint_of(model, url, dialect, key_env, extra, served_as), Manner(timeout, patience)
    refuse_wrong(where, concurrency, manner)
    endpoint.warn_unencrypted()
    found = find_stored(endpoint) if dialect == "anthropic" else find_or_expect(endpoint, manner)
    can = found.capabilities if found else ANTHROPIC if dialect == "anthropic" else Capabilities()
    # llama.cpp writes no more at once than it has slots.
    several = found is not None and found.several and found.software != "llamacpp"
    served = Served(endpoint, can, concurrency=concurrency, manner=manner)
    served.keep_replies(answer_cache_path(), 0.0)
    author = CompletionWriter(served, max_new, choose_form(chat, served, where), several)

    def compose(prompts: Sequence[str], seeds: Sequence[int], decoding: Decoding) -> list[list[Draft]]:
        try:
            return author.compose(prompts, seeds, decoding)
        except Counted:
            return [_stand_ins(prompt, decoding.count) for prompt in prompts]

    return Writer(compose, served.identity, batch_invariant=False, ways=SERVED)


def _stand_ins(prompt: str, count: int) -> list[Draft]:
    """What a dry run has instead of drafts: distinct texts of a sentence's length."""
    named = digest(prompt)[:12]
    texts = [f"Text {number} of {named} will be here when it is written." for number in range(count)]
    return [Draft(text, stand_in=True) for text in texts]
