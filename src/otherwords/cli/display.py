"""What commands print: progress bars and the summary of each stage on standard error, JSON on standard output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from ..problem import Score
    from ..running.files import Summary
    from ..scoring.gates import GateResult
    from ..scoring.results import Results
    from ..validity.funnel import Funnel


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Ignore a closed pipe: it is not a failure, and Rich would exit with 1, the code for gates."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console; wide enough not to cut columns where the output is a file or a pipe."""
    screen = _Console(stderr=stderr)
    return screen if screen.is_terminal else _Console(stderr=stderr, width=max(screen.width, 120))


@contextmanager
def bars(quiet: bool) -> Iterator[None]:
    """Show a bar with rate and time left for every stage in the block."""
    from ..progress import Progress as Listener
    from ..progress import rate, reporting_to

    if quiet:
        with reporting_to(Listener()):
            yield
        return
    from rich import progress

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{rate(speed)}/s" if speed else "", style="dim")

    layout = (
        progress.SpinnerColumn(finished_text="[green]✓"),
        progress.TextColumn("{task.description:<9}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[note]}", style="dim", markup=False),
    )
    shown = progress.Progress(*layout, console=console(stderr=True))

    class Bars(Listener):
        task: Any = None
        count = 0

        def start(self, stage: str, total: int | None = None) -> None:
            shown.start()  # not before: what fails at once leaves no empty line
            self.task, self.count = shown.add_task(stage, total=total, note=""), 0

        def advance(self, count: int) -> None:
            self.count += count
            shown.advance(self.task, count)

        def note(self, text: str) -> None:
            if self.task is not None:
                shown.update(self.task, note=text)

        def done(self) -> None:
            shown.update(self.task, total=max(self.count, 1), completed=max(self.count, 1))

    listener = Bars()
    try:
        with reporting_to(listener):
            yield
    finally:
        if listener.task is not None:
            shown.stop()


def print_summary(done: Summary, out: str, quiet: bool) -> None:
    """Print what a stage did; of a dry run, what asking would take, also where all else is quiet."""
    if done.planned is not None:
        print_planned(done.planned)
        return
    if quiet:
        return
    place = "standard output" if out == "-" else out
    print_line(f"{sentence(done.counts)}; {done.rows:,} row{'' if done.rows == 1 else 's'} written to {place}")
    _print_unvaried(done.unvaried)
    _print_left_out(done.left_out)
    _print_self_judged(done.self_judged)
    _print_answered(done.answered)
    _print_noise_unknown(done.noise_unknown)
    _print_spent(done.spent)
    print_unreworded(done.counts)
    if done.rejected:
        print_line(f"rejected rows and the reasons are in {done.rejected}")
    for model, line in done.stopped.items():
        if line:  # where the data ran out first, a warning said so
            print_line(line if len(done.stopped) == 1 else f"{model}: {line}")
    print_funnel(done.funnel)


def print_run(manifest: Mapping[str, Any], funnel: Funnel | None) -> None:
    """Print what a run did."""
    print_line(sentence({**manifest["intake"], **manifest["counts"]}))
    _print_unvaried(manifest.get("unvaried", {}))
    _print_left_out(manifest.get("left_out", {}))
    if funnel and any(one.dropped or one.left or one.unjudged for one in funnel.checks):
        print_funnel(funnel)
    _print_self_judged(manifest.get("self_judged", {}))
    _print_answered(manifest.get("answered", {}))
    _print_noise_unknown(manifest.get("noise_unknown", []))
    _print_spent(manifest.get("spent", {}))


def print_unreworded(counts: Mapping[str, int]) -> None:
    """Print what to try where generators made no variant at all."""
    if counts.get("variants") == 0:
        other = "other generators, such as structural or contractions (otherwords list generators)"
        print_line(f"no problem was reworded: try {other}, or rewordings of your own: --with recorded:FILE")


def _print_unvaried(counts: Mapping[str, int]) -> None:
    """Print which of several generators did not vary some problems; one generator is in the summary."""
    from ..storage.specs import short_names

    names = short_names(list(counts))
    for signature, count in counts.items():
        if count and len(counts) > 1:
            print_line(f"{names[signature]} did not vary {count:,} problem{'' if count == 1 else 's'}")


def _print_left_out(counts: Mapping[str, Mapping[str, int]]) -> None:
    """Print what generators left out, the commonest reasons first."""
    from ..report.accounts import given_up

    for one in given_up({"left_out": counts}):
        print_line(f"{one.generator} left out: {'; '.join(f'{reason} ({count:,})' for reason, count in one.reasons)}")


def _print_self_judged(counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Print how many variants each model accepted of those that it had to judge itself."""
    for model, checks in counts.items():
        for check, one in checks.items():
            share = one["accepted"] / one["judged"]
            print_line(f"{check}: {model} accepts {one['accepted']:,} of {one['judged']:,} variants ({share:.1%})")


def _print_answered(counts: Mapping[str, Mapping[str, int | bool]]) -> None:
    """Print how many answers of each model came from the cache, and how many the folder had already."""
    for model, one in counts.items():
        line = f"{model}: {one['answers']:,} answer{'' if one['answers'] == 1 else 's'}"
        line += f", {one['from_cache']:,} from the cache"
        if one["parts_reused"]:
            parts = f"{one['parts_reused']:,} of {one['parts']:,} parts reused"
            line += f", {one['from_folder']:,} from this folder ({parts})"
        for kind in ("unreadable", "withheld"):
            line += f", {one[kind]:,} {kind}" if one.get(kind) else ""
        print_line(f"{line}; all asked anew, stored answers replaced" if one["fresh"] else line)


def _print_noise_unknown(models: Sequence[str]) -> None:
    """Print of which models the noise was not measured, and how to."""
    from ..report.noise import noise_unknown

    if line := noise_unknown({"noise_unknown": models}):
        print_line(line)


def _print_spent(spent: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """Print what asking servers took: by this call, and by all on this folder, where these were more."""
    for model, one in spent.get("now", {}).items():
        line, whole = spent_line(one), spent["in_all"][model]
        in_all = f"; in all {spent_line(whole)}" if whole["requests"] > one["requests"] else ""
        print_line(f"{model}: {line}{in_all}")


def print_planned(planned: Mapping[str, Mapping[str, Any]], as_json: bool = False) -> None:
    """Print what asking would take, on standard output."""
    if as_json:
        print_json(planned)
        return
    if not planned:
        typer.echo("no request to a server")
    for model, one in planned.items():
        typer.echo(f"{model}: about {spent_line(one)}" if one["requests"] else f"{model}: no request to a server")


def spent_line(one: Mapping[str, Any]) -> str:
    """Requests, tokens and costs as a line.

    >>> spent_line({"requests": 1200, "retries": 2, "prompt": 80000, "cached": 0, "completion": 1200, "reasoning": 0})
    '1,200 requests (2 of them again), 80,000 tokens of prompts, 1,200 of completions'
    """
    again = f" ({one['retries']:,} of them again)" if one.get("retries") else ""
    cached = f" ({one['cached']:,} cached)" if one.get("cached") else ""
    thought = f" ({one['reasoning']:,} of reasoning)" if one.get("reasoning") else ""
    line = f"{one['requests']:,} request{'' if one['requests'] == 1 else 's'}{again}, "
    line += f"{one['prompt']:,} tokens of prompts{cached}, {one['completion']:,} of completions{thought}"
    return line + (f", {one['cost']:,.4f} {one.get('currency', '')}".rstrip() if "cost" in one else "")


def print_funnel(funnel: Funnel | None) -> None:
    """Print what each check dropped; nothing where nothing was checked, or made."""
    from .tables import funnel_table

    if funnel and funnel.made:
        console(stderr=True).print(funnel_table(funnel))


def print_one_answer(results: Results[Any]) -> None:
    """Print, beneath a table of scores, which of the models say the same to everything."""
    from ..report.plot import one_answer_note

    if note := one_answer_note(results.one_answer):
        console().print(note, highlight=False, markup=False, soft_wrap=True)


def print_verdicts(scores: Sequence[Score]) -> None:
    """Print, beneath a table of scores, what shares among sound variants rest on."""
    several = len({one.model for one in scores}) > 1
    for one in scores:
        if one.note and one.metric == "flip_rate_sound" and one.low is not None:
            parts = [*([one.model] if several else []), *([one.group] if one.group else [])]
            name = f"{one.metric} ({', '.join(parts)})" if parts else one.metric
            console().print(f"{name}: {one.note}", highlight=False, markup=False, soft_wrap=True)


def in_study_order(scores: Sequence[Score], *sources: Any) -> list[Score]:
    """Scores for people: where they are of a run folder, its models stand as the study names them."""
    from ..answers.alignment import is_run
    from ..storage.run_folder import RunFolder

    runs = [RunFolder(one) for one in sources if isinstance(one, (str, Path)) and is_run(one)]
    models = [name for run in runs for name in run.manifest.get("signatures", {}).get("models", {})]
    return sorted(scores, key=lambda one: models.index(one.model) if one.model in models else len(models))


def print_table(table: Any) -> None:
    """Print a table, and its caption beneath it, whose lines are not broken where the table ends."""
    caption, table.caption = table.caption, None
    console().print(table)
    if caption:
        console().print(caption, highlight=False, soft_wrap=True)


def print_gates(gates: list[GateResult], quiet: bool) -> None:
    """Print which gates were passed, a line for each and each model; raise where one was not."""
    from ..scoring.gates import refuse_failed

    for one in gates if not quiet else ():
        if one.passed:
            print_line(one.line if one.line.startswith("certificate") else f"passed: {one.line}")
    refuse_failed(gates)


def print_json(value: Any) -> None:
    """Print a value on standard output for programs; dataclasses are objects."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=asdict))


def print_line(text: str) -> None:
    """Print a line on standard error, as it is."""
    console(stderr=True).print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


#: What is counted, one of it and several.
_WORDS = {
    "rows": ("row taken in", "rows taken in"),
    "originals": ("original", "originals"),
    "no_majority": ("without a majority label",) * 2,
    "unlabelled": ("without a label",) * 2,
    "rejected": ("rejected",) * 2,
    "variants": ("variant made", "variants made"),
    "unvaried": ("problem left without a variant", "problems left without a variant"),
    "dropped": ("dropped",) * 2,
}


def sentence(counts: Mapping[str, int]) -> str:
    """Counts in words, leaving out what did not occur.

    >>> sentence({"rows": 1200, "rejected": 0, "variants": 1})
    '1,200 rows taken in, 1 variant made'
    """
    return ", ".join(
        f"{counts[name]:,} {words[counts[name] != 1]}" for name, words in _WORDS.items() if counts.get(name)
    )
