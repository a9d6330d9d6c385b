"""What people see: progress bars on standard error, tables on standard output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..pipes import Summary
    from ..problem import Score


def console(stderr: bool = False) -> Console:
    """A console; wide enough not to cut columns where the output is a file or a pipe."""
    made = Console(stderr=stderr)
    return made if made.is_terminal else Console(stderr=stderr, width=max(made.width, 120))


@contextmanager
def bars(quiet: bool) -> Iterator[None]:
    """Show a bar with rate and time left for every stage in the block."""
    from ..progress import Progress as Listener
    from ..progress import heard_by

    if quiet:
        with heard_by(Listener()):
            yield
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "", style="dim")

    layout = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    shown = Progress(*layout, console=console(stderr=True))

    class Bars(Listener):
        task: Any = None
        count = 0

        def start(self, stage: str, total: int | None = None) -> None:
            shown.start()  # not before: what fails at once leaves no empty line
            self.task, self.count = shown.add_task(stage, total=total), 0

        def advance(self, count: int) -> None:
            self.count += count
            shown.advance(self.task, count)

        def done(self) -> None:
            shown.update(self.task, total=max(self.count, 1), completed=max(self.count, 1))

    listener = Bars()
    try:
        with heard_by(listener):
            yield
    finally:
        if listener.task is not None:
            shown.stop()


def score_table(scores: Sequence[Score], confidence: float) -> Table:
    """Scores in per cent with their intervals, a row each."""
    table = Table(title=None, header_style="bold", row_styles=["", ""])
    several, grouped = len({one.model for one in scores}) > 1, any(one.group for one in scores)
    names = [*(["model"] if several else []), *(["group"] if grouped else []), "metric"]
    for name in names:
        table.add_column(name, overflow="fold")
    for name in ("value", f"{confidence:.0%} interval", "buckets", "answers"):
        table.add_column(name, justify="right", no_wrap=True)
    last: tuple[str, str | None] | None = None
    for one in scores:
        cells = {"model": "", "group": "", "metric": one.metric}
        if last != (one.model, one.group):  # a name is said once, at the head of its section
            cells |= {"model": one.model, "group": one.group or "all"}
            table.add_section()
        last = (one.model, one.group)
        interval = "–" if one.low is None or one.high is None else f"{100 * one.low:.1f} – {100 * one.high:.1f}"
        value = "–" if one.value is None else f"{100 * one.value:.1f} %"
        table.add_row(*(Text(cells[name]) for name in names), value, interval, f"{one.n_units:,}", f"{one.n_answers:,}")
    return table


def tell(done: Summary, out: str) -> None:
    """Say on standard error what a stage did."""
    place = "standard output" if out == "-" else out
    say(f"{sentence(done.counts)}; {done.rows:,} rows written to {place}")
    if done.rejected:
        say(f"rejected rows and the reasons are in {done.rejected}")


def say(text: str) -> None:
    """Print a line on standard error, as it is."""
    console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)


_WORDS = {
    "rows": "rows taken in",
    "originals": "originals",
    "no_majority": "without a majority label",
    "rejected": "rejected",
    "variants": "variants made",
    "dropped": "dropped",
}


def sentence(counts: Mapping[str, int]) -> str:
    """Counts in words, leaving out what did not occur.

    >>> sentence({"rows": 1200, "rejected": 0, "variants": 40})
    '1,200 rows taken in, 40 variants made'
    """
    return ", ".join(f"{counts[name]:,} {words}" for name, words in _WORDS.items() if counts.get(name))
