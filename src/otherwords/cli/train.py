"""otherwords train"""

from typing import Annotated, Any

import typer

from . import options as opt
from .display import bars, print_json, print_line

app = typer.Typer(help="Fine-tune an encoder: for the labels of NLI, or for masked words.", no_args_is_help=True)

_Recipe = Annotated[str, typer.Argument(metavar="RECIPE.toml", help="A recipe; options below come on top of it.")]
_Out = Annotated[
    str, typer.Option("-o", "--out", metavar="FOLDER", help="Where the model goes; repeat the command to continue.")
]
_Data = Annotated[
    list[str], typer.Option("--data", metavar="FILE", help="A file or data set to train on; may be repeated.")
]
_Valid = Annotated[
    list[str],
    typer.Option(
        "--valid", metavar="SHARE|FILE", help="A share of the data to validate on, or a data set; may be repeated."
    ),
]
_Without = Annotated[
    list[str],
    typer.Option("--without", metavar="FILE", help="Leave out rows that share a text with this data set."),
]
_Start = Annotated[str, typer.Option("--start", metavar="MODEL", help="The encoder: a Hugging Face name or a folder.")]
_Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the training.")]
_Epochs = Annotated[int | None, typer.Option("--epochs", metavar="N", help="How often every example is seen.")]
_Rate = Annotated[
    float | None, typer.Option("--learning-rate", metavar="RATE", help="The highest rate, after the warm-up.")
]
_Batch = Annotated[int | None, typer.Option("--batch", metavar="N", help="Examples an update sees.")]
_Portions = Annotated[
    int | None,
    typer.Option("--accumulate", metavar="N", help="Parts of a batch, where it does not fit in memory at once."),
]
_Length = Annotated[int | None, typer.Option("--max-length", metavar="N", help="Tokens after which texts are cut.")]
_Patience = Annotated[
    int | None,
    typer.Option("--patience", metavar="N", help="Stop after so many validations without a better one; 0: never."),
]
_Precision = Annotated[
    str, typer.Option("--precision", metavar="KIND", help="auto, bf16 or fp32. By itself bf16 on a GPU only.")
]
_Device = Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda, or cuda:1.")]
_Prepare = Annotated[
    bool, typer.Option("--prepare", help="Write the data only; python -m otherwords.training FOLDER trains later.")
]


@app.command()
def nli(
    recipe: _Recipe = "",
    out: _Out = "",
    data: _Data = [],  # noqa: B006
    valid: _Valid = [],  # noqa: B006
    without: _Without = [],  # noqa: B006
    start: _Start = "",
    teachers: Annotated[
        list[str], typer.Option("--teacher", metavar="MODEL", help="A model to learn from; may be repeated.")
    ] = [],  # noqa: B006
    recombine: Annotated[
        int | None,
        typer.Option("--recombine", metavar="N", help="Further pairs of the sentences, for teachers to label."),
    ] = None,
    seed: _Seed = None,
    epochs: _Epochs = None,
    learning_rate: _Rate = None,
    batch: _Batch = None,
    accumulate: _Portions = None,
    max_length: _Length = None,
    patience: _Patience = None,
    precision: _Precision = "",
    device: _Device = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out, and count them.")] = False,
    prepare: _Prepare = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model to predict the label of a pair of texts.

    From a recipe, from options, or from both. The folder then loads as hf:FOLDER.
    """
    _train("nli", **locals())


@app.command("masked-lm")
def masked_lm(
    recipe: _Recipe = "",
    out: _Out = "",
    data: _Data = [],  # noqa: B006
    valid: _Valid = [],  # noqa: B006
    valid_fields: Annotated[
        list[str],
        typer.Option("--valid-field", metavar="NAME", help="Validate on this field of the data sets of --valid only."),
    ] = [],  # noqa: B006
    without: _Without = [],  # noqa: B006
    start: _Start = "",
    masked: Annotated[
        float | None, typer.Option("--masked", metavar="SHARE", help="Share of tokens to be guessed.")
    ] = None,
    seed: _Seed = None,
    epochs: _Epochs = None,
    learning_rate: _Rate = None,
    batch: _Batch = None,
    accumulate: _Portions = None,
    max_length: _Length = None,
    patience: _Patience = None,
    precision: _Precision = "",
    device: _Device = "",
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out, and count them.")] = False,
    prepare: _Prepare = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model to guess masked words, on the distinct sentences of the data.

    From a recipe, from options, or from both.
    """
    _train("masked-lm", **locals())


def _train(objective: str, recipe: str, out: str, prepare: bool, json: bool, quiet: bool, **given: Any) -> None:
    """Options override the recipe."""
    from ..errors import BadInput
    from ..training.making import train

    if not out:
        raise BadInput("no folder named", fix="name one with -o FOLDER")
    columns, labels = opt.pairs(given.pop("field"), "--field"), opt.pairs(given.pop("label"), "--label")
    given |= {"valid": _share(given["valid"]), "columns": columns, "labels": labels}
    chosen = {name: value for name, value in given.items() if value or type(value) in (int, float)}  # 0 is a value
    with bars(quiet):
        trained = train(recipe or {}, objective, out=out, prepare_only=prepare, **chosen)
    if json:
        print_json({"folder": str(trained.folder), **trained.counts, "best": trained.figures})
    elif not quiet:
        for line in describe_counts(trained.counts):
            print_line(line)
        typer.echo(_result(trained.figures, out, trained.before))


def describe_counts(counts: dict[str, Any]) -> list[str]:
    """How many examples there are, and what was left out, in lines.

    >>> describe_counts({"train": 1200, "recombined": 0, "valid": 40, "left_out": {"empty text": 2}})
    ['1,200 examples to train on, 40 to validate on', 'left out 2: empty text']
    """
    parts = f"{counts['train']:,} examples to train on", f"{counts['valid']:,} to validate on"
    further = (f"{counts['recombined']:,} pairs recombined",) if counts["recombined"] else ()
    first = ", ".join((*parts, *further))
    return [first, *(f"left out {count:,}: {reason}" for reason, count in counts["left_out"].items())]


def _result(figures: dict[str, float] | None, out: str, before: bool) -> str:
    if figures is None:
        return f"{out} is prepared: python -m otherwords.training {out} trains it"
    measured = (f"{name} {figures[name]:.4f}" for name in ("valid_accuracy", "valid_loss") if name in figures)
    return ", ".join((f"{out} was trained before" if before else f"{out} is trained", *measured))


def _share(valid: list[str]) -> float | list[str]:
    """One number is a share."""
    try:
        return float(valid[0]) if len(valid) == 1 else valid
    except ValueError:
        return valid
