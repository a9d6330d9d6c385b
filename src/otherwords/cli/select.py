"""otherwords select"""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from . import options as opt
from .display import bars, console, print_json, print_line

app = typer.Typer(help="Select problems: leak-free parts, strata, random samples.", no_args_is_help=True)
PartOut = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="One file with a column `part`; or, if the name contains {part}, one file per part.",
    ),
]


class Shown(NamedTuple):
    """What a selection shows: as JSON, or as a small table and a line."""

    plain: Any
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    line: str = ""


def _shared(
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
    """The options that all selections have."""


def _selection(**kinds: Any) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """Make a command of a selection, with the options that all have; `kinds` replaces the kind of one.

    The function is given `how`: what these options say to the library.
    """

    def register(function: Callable[..., Shown]) -> Callable[..., Shown]:
        own = list(inspect.signature(function).parameters.values())[1:]
        more = [one.replace(annotation=kinds.get(name, one.annotation))
                for name, one in inspect.signature(_shared).parameters.items()]  # fmt: skip

        def command(**given: Any) -> None:
            how = _how(**{one.name: given[one.name] for one in more})
            with bars(given["quiet"]):
                shown = function(how, **{one.name: given[one.name] for one in own})
            _show(shown, given["out"], given["json"], given["quiet"])

        needed = [one for one in own if one.default is one.empty]
        parameters = [*needed, *(one for one in own if one not in needed), *more]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.__doc__ = function.__doc__
        app.command(function.__name__)(command)
        return function

    return register


def _how(**given: Any) -> dict[str, Any]:
    """What all selections are given alike."""
    from ..errors import BadInput

    if given["json"] and given["out"] == "-":
        raise BadInput("the rows go to standard output", field="--json", fix="name a file with -o")
    columns, labels = opt.pairs(given["field"], "--field"), opt.pairs(given["label"], "--label")
    rejected = Path(given["out"]).parent if given["skip_bad"] else None
    same = {name: given[name] for name in ("task", "out", "seed")}
    return {**same, "columns": columns, "labels": labels, "rejected": rejected}


def _show(shown: Shown, out: str, json: bool, quiet: bool) -> None:
    if json:
        print_json(shown.plain)
    elif not quiet:
        if shown.columns:
            _print_rows(shown.columns, shown.rows, out)
        if shown.line:
            print_line(shown.line)


@_selection(out=PartOut)
def partition(
    how: dict[str, Any],
    inputs: opt.Inputs,
    part: Annotated[
        list[str],
        typer.Option(
            "--part",
            metavar="NAME[=SHARE]",
            help="A part and its share of the clusters; a part without a share gets the rest. May be repeated. "
            "Default, as in ParaNLU: embedder=0.1 (5,000 problems or more), pool=0.055, rest.",
        ),
    ] = [],  # noqa: B006
    at_least: Annotated[
        list[str],
        typer.Option("--at-least", metavar="NAME=N", help="The minimum number of problems in a part; may be repeated."),
    ] = [],  # noqa: B006
) -> Shown:
    """Split data into parts so that no two share a premise-hypothesis pair.

    Problems that share a `cluster`, an original or the context (the premise; premise and hypothesis in d-NLI; both
    observations in a-NLI) stay together, so nothing leaks from one part into another.
    """
    from ..selection.partition import partition as divide

    done = divide(inputs, _shares(part) if part else None, at_least=opt.numbers(at_least, "--at-least"), **how)
    rows = [(one.name, *one[2:]) for one in done.parts]
    line = f"{done.left_out:,} rows are in no part" if done.left_out else ""
    plain = {"parts": [one._asdict() for one in done.parts], "left_out": done.left_out}
    return Shown(plain, ("part", "clusters", "problems", "rows"), rows, line)


@_selection()
def aflite(
    how: dict[str, Any],
    inputs: opt.Inputs,
    embeddings: Annotated[
        str,
        typer.Option(
            "--embeddings",
            metavar="FILE",
            help="A .npy file (one row per problem, in order), or .npz or .parquet with id and embedding.",
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Embed with a trained classifier (first token, last layer), as in trained:FOLDER or hf:NAME.",
        ),
    ] = "",
    encoder: Annotated[
        str, typer.Option("--encoder", metavar="ENCODER", help="Embed with a sentence encoder, as in hf:NAME.")
    ] = "",
    classifiers: Annotated[int, typer.Option("--classifiers", metavar="N", help="Linear classifiers per round.")] = 64,
    train_on: Annotated[int, typer.Option("--train-on", metavar="M", help="Training problems per classifier.")] = 5_000,
    leave: Annotated[
        int, typer.Option("--leave", metavar="K", help="The maximum number of problems removed per round.")
    ] = 500,
    tau: Annotated[
        float,
        typer.Option(
            "--tau", metavar="SHARE", help="A problem is easy if more than this share of classifiers get it right."
        ),
    ] = 0.75,
    plugin: opt.Plugins = [],  # noqa: B006
) -> Shown:
    """Mark problems as easy or difficult for linear classifiers on embeddings (AFLite).

    Writes all problems with the columns aflite (easy, difficult), aflite_score and aflite_left, the round in which a
    problem was removed. ParaNLU runs it on the training data without the part that trained the embedder.
    """
    from ..registry import load_plugins
    from ..selection.aflite import AFLite
    from ..selection.aflite import aflite as filter_problems

    load_plugins(plugin)
    settings = AFLite(classifiers, train_on, leave, tau, how.pop("seed"))
    rows, found = filter_problems(inputs, embeddings or None, model=model, encoder=encoder, settings=settings, **how)
    easy, left = int((rows["aflite"] == "easy").sum()), found.leaving
    rounds = f"{len(left):,} round{'s' if len(left) != 1 else ''}"
    line = f"{easy:,} of {rows.height:,} problems are easy; {sum(left):,} left in {rounds}"
    return Shown({"problems": rows.height, "easy": easy, "leaving": left}, line=line)


@_selection()
def deciles(
    how: dict[str, Any],
    inputs: opt.Inputs,
    answers: Annotated[
        str, typer.Option("--answers", metavar="FILE", help="One model's answers to the problems, with probabilities.")
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Which model to use, if the answers are from several.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="COLUMN", help="A column that defines strata, such as aflite; the draw is made in each."
        ),
    ] = "",
    number: Annotated[int, typer.Option("-n", "--number", metavar="N", help="Problems per stratum.")] = 125,
) -> Shown:
    """Draw problems evenly over the deciles of a model's confidence in the right label.

    Takes one from each decile in turn; an exhausted decile is skipped. ParaNLU draws 125 easy and 125 difficult ones.
    """
    from ..selection.sampling import deciles as draw

    return _counted(draw(inputs, answers, by=by, n=number, model=model, **how).counts)


@_selection()
def sample(
    how: dict[str, Any],
    inputs: opt.Inputs,
    number: Annotated[
        int,
        typer.Option(
            "-n", "--number", metavar="N", help="Total number of problems, drawn from the strata in proportion."
        ),
    ] = 0,
    each: Annotated[int, typer.Option("--each", metavar="N", help="Problems per stratum, instead of -n.")] = 0,
    by: Annotated[
        list[str], typer.Option("--by", metavar="COLUMN", help="A column that defines strata; may be repeated.")
    ] = [],  # noqa: B006
) -> Shown:
    """Draw a random sample, stratified by columns; rewordings stay with their problem."""
    from ..selection.sampling import sample as draw

    return _counted(draw(inputs, number, each=each, by=by, **how).counts)


def _counted(counts: Any) -> Shown:
    return Shown(counts.to_dicts(), counts.columns, counts.rows())


def _shares(parts: Sequence[str]) -> dict[str, float | None]:
    """Read NAME=SHARE options; a name alone is what is left."""
    shares: dict[str, float | None] = dict.fromkeys(one.partition("=")[0].strip() for one in parts)
    return {**shares, **opt.numbers([one for one in parts if "=" in one], "--part")}


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
