"""MERGE: words that the texts share are replaced by what masked-LMs find likelier (Zgreaban et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...language_models.masked_lm import MaskedLM, load
from ...problem import Note, Problem, Variant
from ...registry import generators, split_name
from ...words.tagging import tagger
from ..corpus import Frequencies
from .filters import RULES, tags_in_context
from .replacements import Merging, Replacing, Seeding
from .suggestions import CLASSES, Suggester

COUNTS = ("reached", "all")
_WHERE = "masked-lm.v1"


# Masked-LMs are signed by what they are, in the identity: where their folders lie does not matter.
@generators("masked-lm.v1", unsigned=("models",))
def masked_lm(
    models: str | list[str] = "mlm-small",
    top: int = 200,
    classes: str = "noun+verb+adjective",
    least: int = 20,
    n: int = 20,
    subsamples: int = 1,
    ablation: str = "",
    several: bool = False,
    counts: str = "reached",
    corpus: Path = Path(),
) -> Any:
    """Replace words that premise and hypothesis share by others that masked-LMs find likelier in both (MERGE).

    `models`: one masked-LM or a list, each perhaps with a short name, as in bert=hf:google-bert/bert-base-cased. At
    every place of a shared word their `top` suggestions are taken that are whole words, likelier than the word, new to
    the problem and, as the model writes them, of the word's class; one model must accept a suggestion at all places of
    a text, and each text needs one. `classes`: noun, verb, adjective, adverb, joined by "+". A problem with fewer than
    `least` suggestions for its words of a class has no variants of it; else `n` are drawn (0: all), `subsamples` times
    over.
    `ablation`, on the same problems: union (of the texts), class-only, probability-only, none or scrambled. `several`:
    words of several tokens, too. `counts` of filters are of what reached them, or of all suggestions by each alone,
    which is slow. `corpus`, a data set or a text file, tells how frequent replacements are.
    The texts are the task's targets, of which two or more must share a word; one that stands elsewhere in the problem,
    too, is left alone.
    """
    chosen = _classes(classes)
    _refuse_wrong(ablation, counts, top=top, least=least, n=n, subsamples=subsamples)
    named, tag = _models([models] if isinstance(models, str) else models), tagger()
    frequencies = Frequencies(corpus)
    rule, alone = RULES[ablation], counts == "all"
    suggest = Suggester(named, top, several, every=alone or not rule.likelier)
    find = Seeding(tag, chosen, suggest, _WHERE)
    merge = Merging(tags_in_context(tag), least, rule, alone)
    replace = Replacing(n, subsamples, ablation == "scrambled", frequencies)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        for merged in merge(list(find(problems, seeds))):
            yield from merged.notes
            yield from replace(merged)

    told = [f"{name}={model.signature}" for name, model in named.items()]
    vary.identity = "+".join([tag.identity, *told, *frequencies.identity])  # type: ignore[attr-defined]
    return vary


def _models(specs: Sequence[str]) -> dict[str, MaskedLM]:
    """The masked-LMs by their names: those that the user gives, else the last part of what they are found by."""
    if wrong := [spec for spec in specs if not isinstance(spec, str)]:
        fix = 'give names, as in ["mlm-small", "bert=hf:google-bert/bert-base-cased"]'
        raise BadInput(f"found {wrong[0]!r}", where=_WHERE, field="models", fix=fix)
    told = [split_name(spec) for spec in specs]
    named = [(_short(spec) if name == spec else name, spec) for name, spec in told]
    names = [name for name, _ in named]
    if not names:
        raise BadInput("no masked-LM is named", where=_WHERE, field="models", fix="name one, as in mlm-small")
    if twice := [name for name in names if names.count(name) > 1]:
        fix = 'give each a name of its own, as in ["base=hf:one/bert", "large=hf:two/bert"]'
        raise BadInput(f"two masked-LMs are called {twice[0]!r}", where=_WHERE, field="models", fix=fix)
    return {name: _loaded(spec) for name, spec in named}


def _loaded(spec: str) -> MaskedLM:
    model = load(spec)
    try:
        model.masker  # noqa: B018  # which needs a mask token
    except BadInput as error:
        raise BadInput(str(error), where=spec) from error
    return model


def _short(spec: str) -> str:
    """A masked-LM's name without the way to it and without options.

    >>> _short("hf:google-bert/bert-base-cased(device=cpu)"), _short("mlm-small")
    ('bert-base-cased', 'mlm-small')
    """
    path = spec.partition("(")[0].partition(":")[2] or spec.partition("(")[0]
    return path.rstrip("/").rpartition("/")[2].replace("+", "-")


def _classes(named: str) -> list[str]:
    names = named.split("+")
    if strangers := [name for name in names if name not in CLASSES]:
        fix = f"use {', '.join(CLASSES)}, several as in noun+verb"
        raise BadInput(f"no word class {strangers[0]!r}", where=_WHERE, field="classes", fix=fix)
    return [name for name in CLASSES if name in names]


def _refuse_wrong(ablation: str, counts: str, **numbers: int) -> None:
    if ablation not in RULES:
        fix = f"use one of {', '.join(name for name in RULES if name)}, or leave it out"
        raise BadInput(f"found {ablation!r}", where=_WHERE, field="ablation", fix=fix)
    if counts not in COUNTS:
        raise BadInput(f"found {counts!r}", where=_WHERE, field="counts", fix=f"use {' or '.join(COUNTS)}")
    for name, number in numbers.items():
        if number < (name != "n"):
            fix = "give a number of variants, 0 for all" if name == "n" else "give 1 or more"
            raise BadInput(f"found {number}", where=_WHERE, field=name, fix=fix)
    if not numbers["n"] and numbers["subsamples"] > 1:
        fix = "give the size of a subsample with n, or leave subsamples out"
        raise BadInput("all variants are the same in every subsample", where=_WHERE, field="subsamples", fix=fix)
