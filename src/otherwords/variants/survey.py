"""Generators that must see all texts before they make the first variant: what they learn becomes a file.

Such a generator's function has a method `survey(texts)`, which gives the content of its table, and its factory an
option `table`. So what it learned is named in the signature by content, travels to other machines, and can be reused.
Options that the table makes needless are listed in `spent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ..registry import generators
from ..storage.files import digest, write_text


def surveyed(spec: str, texts: Callable[[], Iterable[str]], folder: Path, *known: str) -> str:
    """Let a generator see all texts, if it must; give the spec by which it knows what it learned.

    The table lies in `folder`, under a name made of the spec and of what is `known` to decide its content; one that is
    there is not made again.
    """
    bound = generators.make(spec)
    survey = getattr(bound.function, "survey", None)
    if survey is None:
        return spec
    path = folder / digest(bound.signature, *known)[:8] / "table.tsv"
    if not path.exists():
        write_text(path, survey(texts()))
    spent = dict.fromkeys(getattr(bound.function, "spent", ()))
    return generators.respell(spec, table=path.resolve(), **spent)
