"""Paraphrases by a language model: asked with a prompt, and again until enough of them pass a check."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..language_models.writer import TOO_LONG, Decoding, Preferred, Writer, choose_decoding, load, other_way
from ..problem import Note, Problem, Variant
from ..registry import generators
from ..storage.files import seed_for
from .example_pairs import WITH_EXAMPLES, read_pairs
from .generating import Generator
from .rewriting import DraftFilter, RewriteJob, choose_check, make_variants, plan_jobs

_WHERE = "paraphrase.v1"
#: How refinements are drawn in the code that preceded Arakelyan et al. (2024).
_REFINED = {"temperature": 0.9, "top_k": 40}
#: Arakelyan et al. (2024), section 3.
PLAIN = "Rephrase the following sentence while preserving its original meaning: {text}"
#: Ours.
IN_CONTEXT = "{context}\nRephrase the following sentence while preserving its original meaning in this context: {text}"
#: For models that take the sentence itself, behind control tokens or alone.
BARE = "{text}"
_PLACE = re.compile(r"\{(\w+)\}")
#: The control tokens of QCPG (Bandel et al. 2022), in the order in which the released models expect them, right before
#: the text, as the model card of ibm/qcpg-sentences shows it; numbers are multiples of 5.
QCPG = {"semantic": "COND_SEMANTIC_SIM_{}", "lexical": "COND_LEXICAL_DIV_{}", "syntactic": "COND_SYNTACTIC_DIV_{}"}
#: As far as the control tokens of the released models go (captions: lexical up to 90; questions: 90, syntactic 75).
_MOST = {"semantic": 95, "lexical": 100, "syntactic": 80}
_SETTING = re.compile(r"\s*(semantic|lexical|syntactic)\s*=\s*(\d+)\s*(?:,|\s|$)")


@generators(
    "paraphrase.v1",
    unsigned=("model", "accept", "examples", "shots", "examples_seed"),
    measured="sound: 88.0 % on captions (SNLI) with a model of 135 million weights; elsewhere and with others unknown",
)
def paraphrase(
    model: str,
    prompt: str = "",
    field: str = "",
    k: int = 10,
    decoding: str = Preferred("diverse"),
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
    examples: Path = Path(),
    shots: int = 10,
    examples_seed: int = 0,
) -> Any:
    """Let a language model rewrite sentences: up to `k` distinct ones each, which pass a check if one is named.

    `model` is a writer (`hf:google/flan-t5-xl`), `prompt` its instruction, with {text} for the sentence. `field`: one
    field, `both` (all targets at once) or `each` (every target alone, then all); by default the hypothesis, or all
    targets of a task that has none. The column `rewritten` says which. `decoding` is diverse (as many groups of `beams`
    as candidates, with `diversity` taken off a token that another has there, at a `temperature`), beams, sample
    (`temperature`, `top_k`, `top_p`) or greedy; `draw` asks for more candidates than `k`. Language models on servers
    and in GGUF files (`api:NAME`, `gguf:FILE`) know sample, their default, and greedy. `accept` is a check's spec;
    what it drops does not count. Where fewer than `need` (0: `k`) pass, up to `tries` more are drawn, at temperature
    0.9 and, where the writer knows it, top-k 40.

    `examples` is a file of pairs in the columns `text` and `paraphrase`: so many `shots` of them, drawn by
    `examples_seed`, come before the sentence, as ParaNLU's GPT-3 was asked (k=9, temperature=0.7).

    With `context`, the prompt shows the other fields, as {context} or by name. `sweep` is a list of settings, each of
    which gives `k` candidates: a prefix to the text, or "semantic=80 lexical=30 syntactic=50" for models with QCPG's
    control tokens; the column `sweep` says which. Texts that were cut off count only where `cut` is true.
    """
    _refuse_wrong(k, draw, tries, need)
    numbers = (beams, diversity, temperature, top_k, top_p)
    if not isinstance(decoding, Preferred):  # what no writer can do is refused before one is loaded
        choose_decoding(decoding, draw or k, _WHERE, *numbers)
    before = prefixes(sweep, _WHERE) or {"": ""}
    pairs = read_pairs(examples, shots, examples_seed, _WHERE)
    if pairs and context:
        raise BadInput("examples are sentences without context", where=_WHERE, field="examples", fix="leave one out")
    asked = choose_prompt(prompt or (WITH_EXAMPLES if pairs else ""), context, any(map(is_controlled, before)), _WHERE)
    drafts_filter, writer = DraftFilter(k, choose_check(accept, _WHERE), cut), load(model)
    chosen = choose_decoding(decoding, draw or k, _WHERE, *numbers, ways=writer.ways)

    def vary(problems: Sequence[Problem], seeds: Sequence[int]) -> Iterator[Variant | Note]:
        plan = plan_jobs(problems, seeds, field, list(before), _WHERE)
        jobs = [job for _, _, own in plan for job in own.values()]
        for job in jobs:
            job.prompt = pairs.before(job.source, asked.template)
            job.prompt += asked.fill(job.problem, job.field, before[job.setting])
        _write(writer, jobs, [job.seed for job in jobs], chosen, drafts_filter)
        _refine(writer, jobs, need or k, tries, drafts_filter)
        for problem, together, own in plan:
            yield from make_variants(problem, together, own, list(before))

    signatures = [*other_way(chosen, decoding), *pairs.signature, writer.signature]
    signatures += [drafts_filter.accept.signature] if drafts_filter.accept else []
    return Generator(vary, identity="+".join(signatures))


def _write(
    writer: Writer, jobs: list[RewriteJob], seeds: list[int], decoding: Decoding, drafts_filter: DraftFilter
) -> None:
    written = writer.write([job.prompt for job in jobs], seeds, decoding)
    for job, drafts in zip(jobs, written, strict=True):
        if not drafts:
            job.left_out["nothing was written"] += 1
        if all(draft.fault == TOO_LONG for draft in drafts) and (drafts or not decoding.seeded):
            job.hopeless = True
    drafts_filter.take(jobs, [[(draft, "") for draft in drafts] for drafts in written])


def _refine(writer: Writer, jobs: list[RewriteJob], need: int, tries: int, drafts_filter: DraftFilter) -> None:
    """Draw as many more as a job lacks, as often as its tries allow; each try has its own seed."""
    known = {name: value for name, value in _REFINED.items() if name in writer.ways["sample"]}
    decoding = choose_decoding("sample", 1, _WHERE, ways=writer.ways, **known)  # type: ignore[arg-type]
    spent = dict.fromkeys(range(len(jobs)), 0)
    while True:
        going = [(n, job) for n, job in enumerate(jobs) if not job.hopeless]
        wanted = {n: min(need - len(job.passed), tries - spent[n]) for n, job in going}
        asked = [(n, spent[n] + one) for n, count in wanted.items() for one in range(count)]
        if not asked:
            return
        for n, _ in asked:
            spent[n] += 1
        _write(
            writer,
            [jobs[n] for n, _ in asked],
            [seed_for(jobs[n].seed, one) for n, one in asked],
            decoding,
            drafts_filter,
        )


def _refuse_wrong(k: int, draw: int, tries: int, need: int) -> None:
    for name, value, least in (("k", k, 1), ("draw", draw, 0), ("tries", tries, 0), ("need", need, 0)):
        if value < least:
            raise BadInput(f"found {value}", where=_WHERE, field=name, fix=f"give {least} or more")
    if draw and draw < k:
        raise BadInput(f"{draw} is less than k={k}", where=_WHERE, field="draw", fix="give k or more, or 0")
    if need > k:
        raise BadInput(f"{need} is more than k={k}", where=_WHERE, field="need", fix="give k or fewer, or 0")


# Prompts


@dataclass(frozen=True)
class Prompt:
    """A template: {text} is the sentence to rewrite, {context} all other fields, {premise} and its like one field.

    >>> from otherwords.problem import TASKS
    >>> p = Problem("p1", TASKS["nli"], {"premise": "It rains.", "hypothesis": "It is wet."}, "neutral")
    >>> Prompt("{premise} So {text}").fill(p, "hypothesis")
    'It rains. So It is wet.'
    """

    template: str
    where: str = "paraphrase.v1"

    def fill(self, problem: Problem, field: str, prefix: str = "") -> str:
        """The prompt for one field of a problem; `prefix` comes before the text."""
        text = problem.text[field] or ""
        others = [problem.text[name] for name in problem.task.fields if name != field and problem.text[name]]
        values = {**problem.text, "context": "\n".join(others), "text": prefix + text}

        def value(match: re.Match[str]) -> str:
            if match[1] not in values:
                known = ", ".join(f"{{{name}}}" for name in ("text", "context", *problem.task.fields))
                raise BadInput(f"unknown placeholder {match[0]}", where=self.where, field="prompt", fix=f"use {known}")
            return str(values[match[1]] or "")

        return _PLACE.sub(value, self.template)


def choose_prompt(prompt: str, context: bool, bare: bool, where: str) -> Prompt:
    """The prompt that is given, or the one for the purpose; with `bare`, that is the text alone."""
    template = prompt or (IN_CONTEXT if context else BARE if bare else PLAIN)
    places = set(_PLACE.findall(template))
    if "text" not in places:
        fix = 'write {text} where the sentence goes, as in "Say it in other words: {text}"'
        raise BadInput(f"found {template!r}", where=where, field="prompt", fix=fix)
    if context and places == {"text"}:
        fix = "add {context} to the prompt, or a field such as {premise}"
        raise BadInput("has no placeholder in this prompt", where=where, field="context", fix=fix)
    if not context and places != {"text"}:
        fix = "set context=true to fill it"
        raise BadInput(f"has a placeholder for {sorted(places - {'text'})[0]}", where=where, field="prompt", fix=fix)
    return Prompt(template, where)


# Settings of a controlled paraphraser, one after the other: prefixes as they are, or qualities by their numbers


def prefixes(sweep: Sequence[str], where: str) -> dict[str, str]:
    """What each setting puts before the text; a setting that names qualities becomes control tokens.

    >>> prefixes(["semantic=80 lexical=30 syntactic=50"], "paraphrase.v1")
    {'semantic=80 lexical=30 syntactic=50': 'COND_SEMANTIC_SIM_80 COND_LEXICAL_DIV_30 COND_SYNTACTIC_DIV_50'}
    >>> prefixes(["paraphrase: "], "paraphrase.v1")
    {'paraphrase: ': 'paraphrase: '}
    """
    if not isinstance(sweep, (list, tuple)) or not all(isinstance(one, str) for one in sweep):
        fix = 'give a list, as in ["semantic=80 lexical=30 syntactic=50", "semantic=80 lexical=60 syntactic=50"]'
        raise BadInput(f"found {sweep!r}", where=where, field="sweep", fix=fix)
    if len(set(sweep)) < len(sweep):
        raise BadInput("has a setting twice", where=where, field="sweep", fix="give it once")
    return {setting: _tokens(setting, where) if is_controlled(setting) else setting for setting in sweep}


def is_controlled(setting: str) -> bool:
    """Whether a setting names qualities, and is not a prefix as it stands."""
    return bool(_SETTING.match(setting))


def _tokens(setting: str, where: str) -> str:
    given = {name: int(number) for name, number in _SETTING.findall(setting)}
    wrong = [name for name in QCPG if name not in given or given[name] % 5 or given[name] > _MOST[name]]
    if wrong or _SETTING.sub("", setting).strip():
        most = ", ".join(f"{name} up to {_MOST[name]}" for name in QCPG)
        fix = f"give all three, as multiples of 5: {most}"
        raise BadInput(f"found {setting!r}", where=where, field="sweep", fix=fix)
    return " ".join(token.format(given[name]) for name, token in QCPG.items())
