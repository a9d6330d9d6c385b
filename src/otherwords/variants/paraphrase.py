"""Paraphrases by a language model: asked with a prompt, refined until enough of them pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadInput
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..storage.files import seed_for
from ..writers.decoding import Decoding, choose_decoding
from ..writers.writing import TOO_LONG, Writer, load
from .prompts import choose_prompt
from .rewriting import Job, Sieve, choose_check, planned, rewritten
from .sweeps import is_controlled, prefixes

_WHERE = "paraphrase.v1"
#: How refinements are drawn in the code that preceded Arakelyan et al. (2024).
_REFINED = {"temperature": 0.9, "top_k": 40}


@generators("paraphrase.v1", unsigned=("model", "accept"))
def paraphrase(
    model: str,
    prompt: str = "",
    field: str = "",
    k: int = 10,
    decoding: str = "diverse",
    beams: int = 0,
    diversity: float = 0.0,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 0.0,
    draw: int = 0,
    tries: int = 15,
    need: int = 0,
    accept: str = "",
    context: bool = False,
    sweep: list[str] = [],  # noqa: B006 (it is never changed)
    cut: bool = False,
) -> Any:
    """Let a language model rewrite sentences: up to `k` distinct ones each, which pass a check if one is named.

    `model` is a writer (`hf:google/flan-t5-xl`), `prompt` what it is told, with {text} for the sentence. `field`: one
    field, `both` (all targets at once) or `each` (every target alone, then all); by default the hypothesis, or all
    targets of a task that has none. The column `rewritten` says which. `decoding` is diverse (as many groups of `beams`
    as candidates, with `diversity` taken off a token that another has there, at a `temperature`), beams, sample
    (`temperature`, `top_k`, `top_p`) or greedy; `draw` asks for more candidates than `k`. `accept` is a check's spec;
    what it drops does not count. Where fewer than `need` (0: `k`) pass, up to `tries` more are drawn, at temperature
    0.9 and top-k 40.

    With `context`, the prompt shows the other fields, as {context} or by name. `sweep` is a list of settings, each of
    which gives `k` candidates: a prefix to the text, or "semantic=80 lexical=30 syntactic=50" for models with QCPG's
    control tokens; the column `sweep` says which. Texts that were cut off count only where `cut` is true.
    """
    _refuse_wrong(k, draw, tries, need)
    chosen = choose_decoding(decoding, draw or k, _WHERE, beams, diversity, temperature, top_k, top_p)
    before = prefixes(sweep, _WHERE) or {"": ""}
    asked = choose_prompt(prompt, context, any(map(is_controlled, before)), _WHERE)
    sieve, writer = Sieve(k, choose_check(accept, _WHERE), cut), load(model)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        plan = planned(problems, seeds, field, list(before), _WHERE)
        jobs = [job for _, _, mine in plan for job in mine.values()]
        for job in jobs:
            job.prompt = asked.fill(job.problem, job.field, before[job.setting])
        _write(writer, jobs, [job.seed for job in jobs], chosen, sieve)
        _refine(writer, jobs, need or k, tries, sieve)
        for problem, together, mine in plan:
            yield from rewritten(problem, together, mine, list(before))

    told = [writer.signature, *([sieve.accept.signature] if sieve.accept else [])]
    vary.identity = "+".join(told)  # type: ignore[attr-defined]
    return vary


def _write(writer: Writer, jobs: list[Job], seeds: list[int], decoding: Decoding, sieve: Sieve) -> None:
    found = writer.write([job.prompt for job in jobs], seeds, decoding)
    for job, drafts in zip(jobs, found, strict=True):
        if not drafts:
            job.left_out["nothing was written"] += 1
        if all(draft.fault == TOO_LONG for draft in drafts) and (drafts or not decoding.seeded):
            job.hopeless = True
    sieve.take(jobs, [[(draft, "") for draft in drafts] for drafts in found])


def _refine(writer: Writer, jobs: list[Job], need: int, tries: int, sieve: Sieve) -> None:
    """Draw as many more as a job lacks, as often as its tries allow; each try has a seed of its own."""
    decoding = choose_decoding("sample", 1, _WHERE, **_REFINED)  # type: ignore[arg-type]
    spent = dict.fromkeys(range(len(jobs)), 0)
    while True:
        going = [(n, job) for n, job in enumerate(jobs) if not job.hopeless]
        wanted = {n: min(need - len(job.passed), tries - spent[n]) for n, job in going}
        asked = [(n, spent[n] + one) for n, count in wanted.items() for one in range(count)]
        if not asked:
            return
        for n, _ in asked:
            spent[n] += 1
        _write(writer, [jobs[n] for n, _ in asked], [seed_for(jobs[n].seed, one) for n, one in asked], decoding, sieve)


def _refuse_wrong(k: int, draw: int, tries: int, need: int) -> None:
    for name, value, least in (("k", k, 1), ("draw", draw, 0), ("tries", tries, 0), ("need", need, 0)):
        if value < least:
            raise BadInput(f"found {value}", where=_WHERE, field=name, fix=f"give {least} or more")
    if draw and draw < k:
        raise BadInput(f"{draw} are fewer than k={k}", where=_WHERE, field="draw", fix="give k or more, or 0")
    if need > k:
        raise BadInput(f"{need} are more than k={k}", where=_WHERE, field="need", fix="give k or fewer, or 0")
