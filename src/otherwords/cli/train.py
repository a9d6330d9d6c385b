"""otherwords train"""

import inspect
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from . import options as opt
from .display import bars, print_json, print_line

_OF_ENGINES = ("engine", "workers", "gpus", "gpu_share")


#: The trainers of the package, with the first lines of what they say of themselves: help must not import them.
TRAINERS = {
    "encoder": "Fine-tune an encoder of the Hugging Face hub, or of a folder, for a task.",
    "boosted": "Gradient boosting on bag of words: the baseline of the IE paper, with xgboost.",
    "bag_of_words": "Logistic regression on the words that the last field shares with the others, and those that it "
    "adds.",
    "ngrams": "The classifier of fastText: word n-grams, hashed, with a linear layer; needs no extra.",
    "bow_mlp": "Means of word vectors and a network of three layers (PaRTE, Appendix A.1); needs torch.",
    "bilstm": "A BiLSTM over word vectors and a network of three layers (PaRTE, Appendix A.2; InferSent); needs torch.",
    "masked-lm": "Fine-tune an encoder to guess masked words.",
    "nli": "The old name of encoder.",
}


class TrainerCommands(TyperGroup):
    """A command for every trainer: those of the package, and any other that a plug-in brings."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; the error about a name that is none lists the trainers. A plug-in is loaded later."""
        named = any(one.partition("=")[0] == "--plugin" for one in args)
        if args[0] not in self.commands and not named:
            from ..registry import trainers

            trainers.get(args[0])
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a trainer: all take the same options."""
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, "encoder")


app = typer.Typer(
    cls=TrainerCommands,
    no_args_is_help=True,
    help="Train a model (otherwords list trainers).",
)


def train(
    ctx: typer.Context,
    recipe: Annotated[str, typer.Argument(metavar="RECIPE.toml", help="A recipe file; options override it.")] = "",
    out: Annotated[
        str,
        typer.Option(
            "-o", "--out", metavar="FOLDER", help="Where to write the model; run the same command again to continue."
        ),
    ] = "",
    data: Annotated[
        list[str], typer.Option("--data", metavar="FILE", help="A file or data set to train on; may be repeated.")
    ] = [],  # noqa: B006
    valid: Annotated[
        list[str],
        typer.Option(
            "--valid",
            metavar="SHARE|FILE",
            help="A share of the data to validate on, or a data set; data sets may be repeated.",
        ),
    ] = [],  # noqa: B006
    without: Annotated[
        list[str],
        typer.Option(
            "--without", metavar="FILE", help="Leave out rows that share a text with this data set; may be repeated."
        ),
    ] = [],  # noqa: B006
    fields: Annotated[
        list[str],
        typer.Option(
            "--fields", metavar="NAME", help="Show the model only this field (partial input); may be repeated."
        ),
    ] = [],  # noqa: B006
    share: Annotated[
        float | None,
        typer.Option("--share", metavar="SHARE", help="Train on this share of the problems, cluster by cluster."),
    ] = None,
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="OPTION=VALUE", help="An option of the trainer; may be repeated."),
    ] = [],  # noqa: B006
    search: Annotated[
        int | None,
        typer.Option(
            "--search", metavar="N", help="Try N random draws of the options and keep the model that validates best."
        ),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            "--space", metavar="NAME|FILE.toml", help="The search space of --search: ie-paper (default) or a file."
        ),
    ] = "",
    engine: opt.EngineName = "in-process",
    workers: opt.Workers = 0,
    gpus: opt.Gpus = "",
    gpu_share: opt.GpuShare = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Random seed.")] = None,
    start: Annotated[
        str,
        typer.Option("--start", metavar="MODEL", help="The encoder to start from: a Hugging Face name or a folder."),
    ] = "",
    teachers: Annotated[
        list[str], typer.Option("--teacher", metavar="MODEL", help="A model to distil from; may be repeated.")
    ] = [],  # noqa: B006
    recombine: Annotated[
        int | None,
        typer.Option(
            "--recombine",
            metavar="N",
            help="Number of additional sentence pairs, recombined from the data, for teachers to label.",
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", metavar="N", help="Number of epochs.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", metavar="RATE", help="The peak learning rate, after the warm-up.")
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", metavar="N", help="Examples per update.")] = None,
    accumulate: Annotated[
        int | None,
        typer.Option("--accumulate", metavar="N", help="Split each batch into N parts, if it does not fit in memory."),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", metavar="N", help="Truncate texts to N tokens.")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option("--patience", metavar="N", help="Stop after N validations without improvement; 0: never."),
    ] = None,
    precision: Annotated[
        str, typer.Option("--precision", metavar="KIND", help="auto (bf16 on GPUs, else fp32), bf16 or fp32.")
    ] = "",
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda or cuda:1.")] = "",
    masked: Annotated[
        float | None, typer.Option("--masked", metavar="SHARE", help="masked-lm: share of tokens to mask.")
    ] = None,
    valid_fields: Annotated[
        list[str],
        typer.Option(
            "--valid-field",
            metavar="NAME",
            help="masked-lm: validate only on this field of the data sets of --valid; may be repeated.",
        ),
    ] = [],  # noqa: B006
    task: opt.TaskName = "",
    field: opt.Fields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad rows and count them.")] = False,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare", help="encoder, masked-lm: only write the data; python -m otherwords.training then trains."
        ),
    ] = False,
    plugin: opt.Plugins = [],  # noqa: B006
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a model.

    Takes a recipe, options, or both. Use the trained folder as the model trained:FOLDER. The options from --start to
    --valid-field apply to trainers that have them; --set sets any option of any trainer. With --search, FOLDER/search
    has the table of trials; the trials run on --engine, whose workers must have access to FOLDER.
    """
    _train(**locals())


#: What the help of all trainers says after their own line.
_HOW = (inspect.getdoc(train) or "").partition("\n")[2]
for _name, _summary in TRAINERS.items():
    app.command(_name, help=f"{_summary}\n{_HOW}")(train)


def _train(ctx: typer.Context, recipe: str, out: str, json: bool, quiet: bool, **given: Any) -> None:
    """Options override the recipe."""
    from ..errors import BadInput
    from ..registry import load_plugins

    trainer = str(ctx.info_name)
    if not out:
        raise BadInput("no folder named", fix="name one with -o FOLDER")
    load_plugins(given.pop("plugin"))
    how = {name: given.pop(name) for name in ("prepare", "search", "space", *_OF_ENGINES)}
    columns, labels = opt.pairs(given.pop("field"), "--field"), opt.pairs(given.pop("label"), "--label")
    own = _values(given.pop("settings"))
    given |= {"valid": _share(given["valid"]), "columns": columns, "labels": labels}
    chosen = {name: value for name, value in given.items() if value or type(value) in (int, float)}  # 0 is a value
    if twice := sorted(set(chosen) & set(own)):
        raise BadInput(f"{twice[0]} is given twice", where="--set", fix="give it once")
    with bars(quiet):
        trained = _carry_out(recipe or {}, trainer, out, {**chosen, **own}, **how)
    if json:
        print_json({"folder": str(trained.folder), **trained.counts, "best": trained.figures})
    elif not quiet:
        for line in describe_counts(trained.counts):
            print_line(line)
        typer.echo(_result(trained.figures, out, trained.before))


def _carry_out(
    recipe: Any,
    trainer: str,
    out: str,
    given: dict[str, Any],
    *,
    prepare: bool,
    search: int | None,
    space: str,
    **engine: Any,
) -> Any:
    from pathlib import Path

    from ..errors import BadInput
    from ..registry import Bound, plugin_files
    from ..running.engines import InProcess, closing, make_engine
    from ..training.making import refuse_unready, train
    from ..training.search import IE_PAPER, train_best

    engine["gpus"] = opt.gpu_numbers(engine["gpus"])
    made = make_engine(engine.pop("engine"), **engine)
    if search is None:
        for name, idle in (("--engine", not isinstance(made, InProcess)), ("--space", bool(space))):
            if idle:
                raise BadInput("is for the trials of a search", field=name, fix="add --search N, or leave it out")
        return train(recipe, trainer, out=out, prepare_only=prepare, **given)
    if prepare:
        raise BadInput("does not go with --search", field="--prepare", fix="leave one of them out")

    def ready(bound: Bound) -> None:
        if made.elsewhere:  # workers must see the trials, and have the trainer
            named = [("trainers", bound.plugin.full_name)]
            made.prepare(str(Path(out).absolute().parent), plugins=plugin_files(), named=named, own=True)
        else:
            refuse_unready(bound)

    with closing(made):
        space = space or IE_PAPER
        return train_best(recipe, trainer, out=out, budget=search, space=space, mapper=made.map, ready=ready, **given)


def _values(settings: list[str]) -> dict[str, Any]:
    """What --set says: a number, true, false or a list as JSON writes it, else a text."""
    from ..storage.specs import decode

    return {name: decode(text) for name, text in opt.pairs(settings, "--set").items()}


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
