"""Back-translation: paraphrases through another language."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadInput
from ..language_models.writer import USELESS, Decoding, Draft, Preferred, Writer, choose_decoding, load, other_way
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..storage.files import seed_for
from .generating import Generator
from .rewriting import DraftFilter, RewriteJob, choose_check, make_variants, plan_jobs, repeats_itself

_WHERE = "back-translation.v1"


@generators("back-translation.v1", unsigned=("there", "back", "accept"))
def back_translation(
    there: str,
    back: str,
    field: str = "",
    k: int = 1,
    decoding: str = Preferred("beams"),
    beams: int = 0,
    diversity: float = 0.0,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 0.0,
    accept: str = "",
    prefix: str = "",
    return_prefix: str = "",
    cut: bool = False,
) -> Any:
    """Translate sentences into another language and back: up to `k` distinct ones each.

    `there` and `back` are writers (`hf:Helsinki-NLP/opus-mt-en-de` and `hf:Helsinki-NLP/opus-mt-de-en`). There are `k`
    translations, by the `decoding` (beams, diverse, sample or greedy, with `beams`, `diversity`, `temperature`,
    `top_k`, `top_p`; of language models on servers and in GGUF files, sample or greedy); each is translated back in one
    way, by beams or, where the writer does not know these, greedily. The column `pivot` has the translation. `field`:
    one field, `both` or `each`, as in `paraphrase`; the column `rewritten` says which. `accept` is a check's spec; what
    it drops does not count. `prefix` and `return_prefix` come before the text, for models that expect the language
    there. Texts that were cut off count only where `cut` is true.
    """
    if k < 1:
        raise BadInput(f"found {k}", where=_WHERE, field="k", fix="give 1 or more")
    numbers = (beams, diversity, temperature, top_k, top_p)
    if not isinstance(decoding, Preferred):  # what no writer can do is refused before one is loaded
        choose_decoding(decoding, k, _WHERE, *numbers)
    drafts_filter, out, home = DraftFilter(k, choose_check(accept, _WHERE), cut), load(there), load(back)
    chosen = choose_decoding(decoding, k, _WHERE, *numbers, ways=out.ways)
    returning = choose_decoding(Preferred("beams"), 1, _WHERE, ways=home.ways)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        plan = plan_jobs(problems, seeds, field, [""], _WHERE)
        jobs = [job for _, _, own in plan for job in own.values()]
        for job in jobs:
            job.prompt = return_prefix
        pivots = _pivots(out, jobs, prefix, chosen, cut)
        drafts_filter.take(jobs, _returned(home, jobs, pivots, returning))
        for problem, together, own in plan:
            yield from make_variants(problem, together, own, [""])

    signatures = [*other_way(chosen, decoding), out.signature, home.signature]
    signatures += [drafts_filter.accept.signature] if drafts_filter.accept else []
    return Generator(vary, identity="+".join(signatures))


def _pivots(writer: Writer, jobs: list[RewriteJob], prefix: str, decoding: Decoding, cut: bool) -> list[list[str]]:
    """Distinct translations of each sentence; those that are empty, cut off or no translation go no further."""
    written = writer.write([prefix + job.source for job in jobs], [job.seed for job in jobs], decoding)
    pivots = []
    for job, drafts in zip(jobs, written, strict=True):
        texts: dict[str, None] = {}
        for draft in drafts:
            text = draft.text.strip()
            if reason := _defect(draft, job.source, prefix, cut) or ("repeats another candidate" * (text in texts)):
                job.left_out[f"on the way there: {reason}"] += 1
            else:
                texts[text] = None
        if not drafts:
            job.left_out["on the way there: nothing was written"] += 1
        pivots.append(list(texts))
    return pivots


def _defect(draft: Draft, source: str, prefix: str, cut: bool) -> str:
    """Why a translation cannot be used; empty if it can. An unchanged sentence passes: the way back decides."""
    if not draft.text.strip() or draft.fault in USELESS or (draft.fault and not cut):
        return draft.fault or "empty"
    asked = re.sub(r"\s+", " ", prefix.casefold())
    if asked.strip() and re.sub(r"\s+", " ", draft.text.casefold()).lstrip().startswith(asked.lstrip()):
        return "gives the prompt back"
    return "repeats itself" if repeats_itself(draft.text) and not repeats_itself(source) else ""


def _returned(
    writer: Writer, jobs: list[RewriteJob], pivots: list[list[str]], decoding: Decoding
) -> list[list[tuple[Draft, str]]]:
    """The translations back into the first language, each with its pivot; all jobs in one call."""
    asked = [(n, pivot) for n, texts in enumerate(pivots) for pivot in texts]
    seeds = [seed_for(jobs[n].seed, pivot) for n, pivot in asked]
    returned = writer.write([jobs[n].prompt + pivot for n, pivot in asked], seeds, decoding)
    drafts: list[list[tuple[Draft, str]]] = [[] for _ in jobs]
    for (n, pivot), written in zip(asked, returned, strict=True):
        if not written:
            jobs[n].left_out["nothing was written"] += 1
        drafts[n] += [(draft, pivot) for draft in written]
    return drafts
