"""otherwords profile"""

from typing import Annotated

import typer

from . import options as opt
from .display import bars, console, print_json


def profile(
    suite: opt.Suite,
    kept: Annotated[bool, typer.Option("--kept", help="Leave out variants that a check dropped.")] = False,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many substitutions to show.")] = 20,
    words: Annotated[
        bool, typer.Option("--all-words", help="Also show artifact words whose frequency does not change.")
    ] = False,
    out: Annotated[str, opt.out_file("Write all substitutions")] = "",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    plugin: opt.Plugins = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show how much, and what, the rewordings of a suite change.

    Covers all variants, overall and by generator: the share of problems changed, words changed per variant, the most
    frequent substitutions, length before and after by label, and how often words occur that give away a label
    (Gururangan et al. 2018). A problem without variants counts as unchanged. For a run folder with variants of
    masked-lm, also shows what each filter removed and how far the masked-LMs agree.
    """
    from ..profiling.profile import profile as describe
    from .tables import profile_tables

    columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
    with bars(quiet or json):
        result = describe(suite, task, kept=kept, columns=columns, labels=labels, skip_bad=skip_bad, out=out or None)
    if json and out != "-":  # which has the substitutions as JSON lines
        print_json(result.shortened(top))
    elif not quiet and out != "-":
        screen = console()
        for table in profile_tables(result, top, words):
            screen.print(table)
