"""otherwords audit"""

from typing import Annotated, Any

import typer

from . import options as opt
from .display import console, print_json, print_line


def audit(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="An answers table: a file, a run folder, or - for JSONL on standard input. Give several if each has "
            "one model or more.",
        ),
    ],
    which: Annotated[
        str,
        typer.Option(
            "--list",
            metavar="LIST",
            help="never-right: no model is right on any variant; hard-cases: every model is right on the original, and "
            "wrong on a variant; hard-always: on every variant.",
        ),
    ] = "never-right",
    below: Annotated[
        float | None,
        typer.Option(
            "--below",
            metavar="SHARE",
            help="Instead of a list: all problems whose mean accuracy over models is below this, as in 0.05.",
        ),
    ] = None,
    task: opt.AnswersTask = "",
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            metavar="SUITE",
            help="The suite with the texts: a file or a run folder. Default: that of the run.",
        ),
    ] = "",
    field: opt.AnswerFields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    runs_of: Annotated[
        str,
        typer.Option(
            "--runs-of",
            metavar="COLUMN",
            help="For hard cases: the column that names the model of which each `model` is one run.",
        ),
    ] = "",
    out: Annotated[str, opt.out_file("Write the list")] = "",
    safe_csv: opt.SafeCsv = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """List the problems that all models get wrong, for inspection.

    Lists every model's answers and all other columns of the problems, such as annotators' labels: of the 31 seeds that
    no model in the MERGE paper got right, only 29 % had the right label.
    """
    from ..metrics.across import audit as list_problems
    from .tables import frame_table

    names: dict[str, Any] = {"columns": opt.answer_columns(field), "labels": opt.pairs(label, "--label")}
    names |= {"suite": suite or None, "runs_of": runs_of, "below": below, "out": out or None}
    listed = list_problems(answers, which, task=task, **names)
    if json and out != "-":  # which has the same as JSON lines
        print_json(listed.to_dicts())
    elif not quiet and out != "-":
        if listed.height:
            console().print(frame_table(_useful(listed)))
        what = which if below is None else f"mean accuracy over models below {below:g}"
        print_line(f"{listed.height:,} problems: {what}")


def _useful(listed: Any) -> Any:
    """The list as people read it: no verdicts, no digests, no column in which nothing stands. Files have them all."""
    shown = [name for name in listed.columns if not name.startswith("check:") and name not in ("cluster", "how")]
    return listed.select(name for name in shown if any(cell not in (None, "") for cell in listed[name].to_list()))
