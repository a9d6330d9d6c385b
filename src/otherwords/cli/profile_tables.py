"""A profile as tables: what changed by generator, the substitutions as bars, lengths and artifact words by label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..profiling.parts import Part, Profile

#: Letters of the longest bar.
_WIDTH = 30


def profile_tables(found: Profile, top: int, all_words: bool) -> Iterator[Table]:
    """All tables of a profile: of the whole, and where there are several generators of each."""
    yield _summary(found)
    several = len(found.generators) > 1
    for part in (found.whole, *found.generators) if several else (found.whole,):
        if not part.changed:
            continue  # the first table says so
        title = f"{_short(part, found)}: " if several else ""
        yield _substitutions(part, title, top)
        yield _lengths(part, title)
        if table := _artifacts(part, title, all_words):
            yield table


def _short(part: Part, found: Profile) -> str:
    """A generator without its options, unless another one differs in these alone."""
    name = part.how.partition("(")[0]
    return part.how if sum(one.how.startswith(f"{name}(") for one in found.generators) > 1 else name


def _table(title: str, *names: str, numbers: tuple[str, ...] = ()) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left", header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _summary(found: Profile) -> Table:
    numbers = ("problems", "variants", "problems changed", "words changed per variant")
    table = _table("", "generator", numbers=numbers)
    parts = (found.whole, *found.generators) if len(found.generators) > 1 else found.generators
    for part in parts:
        mean = "–" if part.words_changed is None else f"{part.words_changed:.2f}"
        share = f"{part.changed:,} ({part.share_changed:.1%})"
        table.add_row(Text(part.how), f"{part.problems:,}", f"{part.variants:,}", share, mean)
    return table


def _substitutions(part: Part, title: str, top: int) -> Table:
    shown = part.substitutions[:top]
    total = sum(one.count for one in part.substitutions)
    title += f"the {len(shown)} most frequent of {total:,} substitutions ({len(part.substitutions):,} different)"
    table = _table(title, "before", "after", numbers=("times", "share"))
    table.add_column("", no_wrap=True)
    for one in shown:
        bar = "█" * max(1, round(_WIDTH * one.count / shown[0].count))
        words = (Text(side) if side else Text("–", style="dim") for side in (one.before, one.after))
        table.add_row(*words, f"{one.count:,}", f"{one.share:.1%}", bar)
    return table


def _lengths(part: Part, title: str) -> Table:
    table = _table(f"{title}mean length in words", "label", numbers=("problems", "before", "after", "increase"))
    for one in part.lengths:
        increase = "–" if one.increase is None else f"{one.increase:+.1%}"
        table.add_row(Text(one.label), f"{one.problems:,}", f"{one.before:.2f}", f"{one.after:.2f}", increase)
    return table


def _artifacts(part: Part, title: str, all_words: bool) -> Table | None:
    """Words whose frequency changed, in per cent of the label's problems; None where there is none."""
    shown = [one for one in part.artifacts if all_words or one.before != one.after]
    if not shown:
        return None
    title += "problems that contain a word known to betray their label"
    table = _table(title, "label", "word", "known from", numbers=("before", "after"))
    for one in shown:
        table.add_row(Text(one.label), one.word, one.corpus.upper(), f"{one.before:.1%}", f"{one.after:.1%}")
    return table
