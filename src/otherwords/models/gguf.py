"""Language models in GGUF files: asked by templates like those on servers, without a server."""

from dataclasses import replace
from pathlib import Path

from ..language_models.gguf_file import GgufFile
from ..problem import Task, get_task
from ..registry import models
from .model import Model
from .prompting import prompted
from .readouts import AUTO

#: Problems asked at a time: seconds of a small model, which is all that a killed run loses.
PROBLEMS = 16
#: Options that are signed by the identity, or change no answer: what does not fit into the context is refused.
_UNSIGNED = (
    *("path", "template", "readout", "shots", "shots_from", "seed"),
    *("context", "threads", "cache_prompt"),
)


@models("gguf.v1", unsigned=_UNSIGNED, extra="gguf")
def gguf(
    path: Path,
    template: str = "",
    readout: str = AUTO,
    shots: int = -1,
    shots_from: str | list[str] = "",
    seed: int = 0,
    context: int = 0,
    threads: int = 0,
    cache_prompt: bool = False,
    task: Task | None = None,
) -> Model:
    """Ask a language model in a GGUF file, by a template, on this machine and without a server.

    `template`, `readout`, `shots`, `shots_from` and `seed` say how problems are put and answers read. The model reads
    up to `context` tokens (0: what it was trained on, up to 8192) with so many `threads` (0: as llama.cpp chooses).
    Every prompt is computed from its first token, so that no answer depends on another; `cache_prompt` keeps what a
    prompt has in common with the one before, which is faster with many shots, and not quite the same.
    """
    model = GgufFile(path, context=context, threads=threads, cache_prompt=cache_prompt)
    asked = prompted(
        model,
        task or get_task("nli"),
        template=template,
        readout=readout,
        shots=shots,
        shots_from=shots_from,
        seed=seed,
        where=f"gguf:{path}",
        batch_size=PROBLEMS,
        batch_invariant=not cache_prompt,
    )
    return replace(asked, positions=model.capabilities.context, uses_all_cores=True)
