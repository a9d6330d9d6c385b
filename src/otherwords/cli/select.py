"""otherwords select"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .display import bars, console, print_json, print_line

app = typer.Typer(help="Choose problems: parts that share nothing, easy ones, draws.", no_args_is_help=True)


@app.command()
def partition(
    inputs: opt.Inputs,
    part: Annotated[
        list[str],
        typer.Option(
            "--part",
            metavar="NAME[=SHARE]",
            help="A part and its share of the clusters; one without a share gets what is left. May be repeated. "
            "Default, as ParaNLU: embedder=0.1 (5,000 problems or more), pool=0.055, rest.",
        ),
    ] = [],  # noqa: B006
    at_least: Annotated[
        list[str],
        typer.Option("--at-least", metavar="NAME=N", help="The least number of problems of a part; may be repeated."),
    ] = [],  # noqa: B006
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", metavar="FILE", help="One file with a column part; or {part} in the name, a file for each."
        ),
    ] = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Divide data into parts of which no two share a premise-hypothesis pair.

    What shares a `cluster`, the context (the premise; premise and hypothesis in d-NLI; both observations in a-NLI) or
    an original stays together, so nothing leaks from one part into another.
    """
    from ..selection.partition import partition as divide

    _refuse_two_tables(json, out)
    with bars(quiet):
        done = divide(
            inputs,
            _shares(part) if part else None,
            at_least=opt.numbers(at_least, "--at-least"),
            **_settings(task, field, label, skip_bad, out),
            seed=seed,
        )
    if json:
        print_json({"parts": [one._asdict() for one in done.parts], "left_out": done.left_out})
    elif not quiet:
        _print_rows(("part", "clusters", "problems", "rows"), [(one.name, *one[2:]) for one in done.parts], out)
        if done.left_out:
            print_line(f"{done.left_out:,} rows are in no part")


@app.command()
def aflite(
    inputs: opt.Inputs,
    embeddings: Annotated[
        str,
        typer.Option(
            "--embeddings",
            metavar="FILE",
            help=".npy (a row for each problem, in their order); .npz or .parquet with id and embedding.",
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Embed with a trained classifier, as in trained:FOLDER or hf:NAME: first token, last layer.",
        ),
    ] = "",
    encoder: Annotated[
        str, typer.Option("--encoder", metavar="ENCODER", help="Embed with a sentence encoder, as in hf:NAME.")
    ] = "",
    classifiers: Annotated[int, typer.Option("--classifiers", metavar="N", help="Linear classifiers of a round.")] = 64,
    train_on: Annotated[
        int, typer.Option("--train-on", metavar="M", help="Problems that each classifier is trained on.")
    ] = 5_000,
    leave: Annotated[int, typer.Option("--leave", metavar="K", help="The most problems that leave in a round.")] = 500,
    tau: Annotated[
        float, typer.Option("--tau", metavar="SHARE", help="A problem is easy if more of them get it right.")
    ] = 0.75,
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    plugin: opt.Plugins = [],  # noqa: B006
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Mark problems as easy or difficult for linear classifiers on embeddings (AFLite).

    Writes all problems with the columns aflite (easy, difficult), aflite_score and aflite_left, the round in which a
    problem left. ParaNLU runs it on the training data less the part that trained the embedder.
    """
    from ..registry import load_plugins
    from ..selection.aflite import AFLite
    from ..selection.aflite import aflite as filter_problems

    load_plugins(plugin)
    _refuse_two_tables(json, out)
    with bars(quiet):
        rows, found = filter_problems(
            inputs,
            embeddings or None,
            model=model,
            encoder=encoder,
            settings=AFLite(classifiers, train_on, leave, tau, seed),
            **_settings(task, field, label, skip_bad, out),
        )
    easy = int((rows["aflite"] == "easy").sum())
    if json:
        print_json({"problems": rows.height, "easy": easy, "leaving": found.leaving})
    elif not quiet:
        rounds = f"{len(found.leaving):,} round{'s' if len(found.leaving) != 1 else ''}"
        print_line(f"{easy:,} of {rows.height:,} problems are easy; {sum(found.leaving):,} left in {rounds}")


@app.command()
def deciles(
    inputs: opt.Inputs,
    answers: Annotated[
        str, typer.Option("--answers", metavar="FILE", help="A model's answers to the problems, with probabilities.")
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Which model, where the answers are of several.")
    ] = "",
    by: Annotated[
        str, typer.Option("--by", metavar="COLUMN", help="Strata, drawn from one by one, such as aflite.")
    ] = "",
    number: Annotated[int, typer.Option("-n", "--number", metavar="N", help="Problems from each stratum.")] = 125,
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Draw problems evenly over the deciles of a model's confidence in the right label.

    One from each decile in turn; a decile that is exhausted is skipped. ParaNLU draws 125 easy and 125 difficult ones.
    """
    from ..selection.sampling import deciles as draw

    _refuse_two_tables(json, out)
    settings = _settings(task, field, label, skip_bad, out)
    with bars(quiet):
        done = draw(inputs, answers, by=by, n=number, model=model, seed=seed, **settings)
    _print_counts(done.counts, out, json, quiet)


@app.command()
def sample(
    inputs: opt.Inputs,
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", help="Problems in all, from strata in proportion.")
    ] = 0,
    each: Annotated[int, typer.Option("--each", metavar="N", help="Problems from each stratum, instead of -n.")] = 0,
    by: Annotated[
        list[str], typer.Option("--by", metavar="COLUMN", help="A column that makes strata; may be repeated.")
    ] = [],  # noqa: B006
    out: opt.Out = "-",
    safe_csv: opt.SafeCsv = False,
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: opt.SkipBad = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Draw problems at random, stratified by columns; rewordings come along with their problem."""
    from ..selection.sampling import sample as draw

    _refuse_two_tables(json, out)
    with bars(quiet):
        done = draw(inputs, number, each=each, by=by, seed=seed, **_settings(task, field, label, skip_bad, out))
    _print_counts(done.counts, out, json, quiet)


def _settings(task: str, field: Sequence[str], label: Sequence[str], skip_bad: bool, out: str) -> dict[str, Any]:
    """What all selections are given alike."""
    columns, labels = opt.pairs(field, "--field"), opt.pairs(label, "--label")
    rejected = Path(out).parent if skip_bad else None
    return {"task": task, "columns": columns, "labels": labels, "out": out, "rejected": rejected}


def _shares(parts: Sequence[str]) -> dict[str, float | None]:
    """Read NAME=SHARE options; a name alone is what is left."""
    shares: dict[str, float | None] = dict.fromkeys(one.partition("=")[0].strip() for one in parts)
    return {**shares, **opt.numbers([one for one in parts if "=" in one], "--part")}


def _refuse_two_tables(json: bool, out: str) -> None:
    from ..errors import BadInput

    if json and out == "-":
        raise BadInput("the rows go to standard output", field="--json", fix="name a file with -o")


def _print_counts(counts: Any, out: str, json: bool, quiet: bool) -> None:
    if json:
        print_json(counts.to_dicts())
    elif not quiet:
        _print_rows(counts.columns, counts.rows(), out)


def _print_rows(names: Sequence[str], rows: Sequence[Sequence[Any]], out: str) -> None:
    """Show a small table, on standard error: the rows may go to standard output."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*names, header_style="bold")
    for row in rows:
        table.add_row(*(f"{one:,}" if isinstance(one, int) else Text(str(one)) for one in row))
    console(stderr=True).print(table)
    if out != "-":
        print_line(out)
