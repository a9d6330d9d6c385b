"""Options that several commands share, and how to read their values."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BadInput
from ..problem import AGAIN, MOST_REPLICATES

if TYPE_CHECKING:
    from ..harnesses.samples import LogOptions

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="A JSONL, CSV, TSV or Parquet file; - for JSONL on standard input; a data set, as in snli:FILE or "
        "everyday; or a run folder. Several inputs are read as one.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "-o", "--out", metavar="FILE", help="Where to write: .jsonl, .csv, .tsv, .parquet, or - for standard output."
    ),
]


def out_file(what: str) -> Any:
    """The option -o of a command that prints by default: `what` it then writes to a file."""
    text = f"{what} to a file: .jsonl, .csv, .tsv, .parquet, or - for standard output."
    return typer.Option("-o", "--out", metavar="FILE", help=text)


def _write_safe_csv(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        from ..storage.tables import SAFE_CSV

        ctx.call_on_close(partial(SAFE_CSV.reset, SAFE_CSV.set(True)))
    return wanted


SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        callback=_write_safe_csv,
        help="In .csv and .tsv output, write ' before texts that a spreadsheet would run as formulas (= + - @).",
    ),
]
TaskName = Annotated[
    str,
    typer.Option(
        "--task",
        metavar="TASK",
        help="nli, rte, a-nli, d-nli, or a .toml file. Default: the data set's task, else nli.",
    ),
]
AnswersTask = Annotated[
    str,
    typer.Option("--task", metavar="TASK", help="nli, rte, ... or a .toml file. Default: the labels in the answers."),
]
Port = Annotated[
    int, typer.Option("--port", metavar="N", help="The port to serve on; 0: any free port.", min=0, max=65535)
]
Suite = Annotated[
    list[str],
    typer.Argument(
        metavar="SUITE", help="Originals and variants: a run folder, files or data sets; - for standard input."
    ),
]
Fields = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="NAME=COLUMN",
        help="The column to use as a text field, label, id, cluster or of; may be repeated.",
    ),
]
Labels = Annotated[
    list[str],
    typer.Option(
        "--label", metavar="FOUND=LABEL", help="What a label in the data means, as in 0=entailment; may be repeated."
    ),
]
AnswerFields = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="[TABLE:]NAME=COLUMN",
        help="The column to use as bucket, variant, gold, pred, model, cluster or p:LABEL, as in pred=prediction; for "
        "the table gpt.csv only: gpt:pred=prediction. May be repeated.",
    ),
]
BucketFrom = Annotated[
    str,
    typer.Option(
        "--bucket-from",
        metavar="HOW",
        help="How to tell which rows are wordings of the same problem: a regular expression for ids, as in "
        "'(?P<bucket>.+)#(?P<variant>.*)'; a file with id, bucket and variant; or a column. Default: the columns "
        "(or metadata) bucket and variant.",
    ),
]
Scorer = Annotated[
    str,
    typer.Option(
        "--scorer", metavar="NAME", help="The scorer (Inspect) or filter (lm-eval) to use when a log has several."
    ),
]
Graded = Annotated[
    bool,
    typer.Option(
        "--graded",
        help="For logs of free-form answers: score whether each was graded correct, instead of comparing labels.",
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip bad rows and write them to rejected.jsonl.")]
Veto = Annotated[
    str,
    typer.Option(
        "--veto", metavar="FILE", help="A file of words that generators must not change, one per line. Default: none."
    ),
]
Corpus = Annotated[
    str,
    typer.Option(
        "--corpus",
        metavar="FILE",
        help="The data set or .txt file from which wordnet-ie takes word frequencies. Default: the input.",
    ),
]
SynonymTable = Annotated[
    str, typer.Option("--table", metavar="FILE", help="A saved synonym table to use instead of a corpus.")
]
SaveTable = Annotated[
    str, typer.Option("--save-table", metavar="FILE", help="Save the synonym table, to reuse with --table.")
]
_SEED = typer.Option("--seed", metavar="N", help="Random seed.")
Seed = Annotated[int, _SEED]
#: Of a study, which may have one itself; so with all that begin with "Study".
StudySeed = Annotated[int | None, _SEED]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress bars and no tables.")]
Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="[NAME=]MODEL",
        help="A model (otherwords list models), as in hf:NAME_OR_PATH or small=onnx:PATH; a path may contain *. May be "
        "repeated.",
    ),
]
LabelMap = Annotated[
    list[str],
    typer.Option(
        "--label-map",
        metavar="[NAME:]MODEL'S=TASK'S,...",
        help="How to translate the models' labels to the task's; prefix a model's name and a colon to translate for "
        "that model only.",
    ),
]

Plugins = Annotated[
    list[str],
    typer.Option("--plugin", metavar="FILE.py", help="A Python file that registers plug-ins; may be repeated."),
]
MaxRequests = Annotated[
    int | None,
    typer.Option("--max-requests", metavar="N", min=0, help="Send at most N requests to servers, then stop."),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", metavar="X", min=0, help="Stop before the cost of requests can exceed X, according to --prices."
    ),
]
PriceTable = Annotated[
    str, typer.Option("--prices", metavar="FILE", help="A TOML file with the price per million tokens of each model.")
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Estimate requests to servers, tokens and cost; send and write nothing."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ignore cached answers: ask again and replace them.")]
NoCanary = Annotated[
    bool,
    typer.Option("--no-canary", help="Skip the dozen trivial questions that detect permuted labels."),
]
CachePath = Annotated[
    str, typer.Option("--cache", metavar="FILE", help="An answer cache to use instead of the shared one.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not read or write the shared answer cache.")]
_ENGINE = partial(
    typer.Option,
    "--engine",
    metavar="ENGINE",
    help="Where the work is done: in-process, processes (one worker per core), ray or ray://HOST:PORT (a cluster). "
    "Results are identical.",
)
EngineName = Annotated[str, _ENGINE()]
StudyEngine = Annotated[str, _ENGINE(show_default="in-process")]
Workers = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=0, help="Number of workers; 0: as many as fit."),
]
Gpus = Annotated[
    str,
    typer.Option("--gpus", metavar="0,1,...", help="With --engine processes: the GPUs to use, one worker each."),
]
GpuShare = Annotated[
    float | None,
    typer.Option("--gpu-share", metavar="X", help="With --engine ray: GPUs per worker, as in 1 or 0.25."),
]
Shared = Annotated[
    str,
    typer.Option(
        "--shared",
        metavar="FOLDER",
        help="With --engine ray: a folder that all machines can access, or a URL such as s3://BUCKET/FOLDER.",
    ),
]
_BATCH_SIZE = typer.Option("--batch-size", metavar="N", min=0, help="Problems per batch; 0: the model's default.")
BatchSize = Annotated[int, _BATCH_SIZE]
StudyBatchSize = Annotated[int | None, _BATCH_SIZE]
Templates = Annotated[
    list[str],
    typer.Option(
        "--template",
        metavar="TEMPLATE",
        help="A prompt template for language models: a name (otherwords list templates) or a .toml file. May be "
        "repeated: with several, each gives a model of its own, MODEL@TEMPLATE.",
    ),
]
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="A metric (otherwords list metrics), or all; may be repeated. Default: the usual ones.",
    ),
]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also score each group of this column; may be repeated. answers:FILE groups by whether another model is "
        "right on the original; family:FILE.toml averages over the models of a family.",
    ),
]
_REPLICATES = typer.Option(
    "--replicates", metavar="N", min=2, max=MOST_REPLICATES, help="Number of bootstrap replicates."
)
Replicates = Annotated[int, _REPLICATES]
StudyReplicates = Annotated[int | None, _REPLICATES]
_REPEATS = typer.Option("--repeats", metavar="N", min=0, help="Ask everything N more times, to measure noise.")
Repeats = Annotated[int, _REPEATS]
StudyRepeats = Annotated[int | None, _REPEATS]
RepeatWays = Annotated[
    list[str],
    typer.Option(
        "--repeat-way",
        metavar="WAY",
        help="How to repeat: usual, cold, alone or shuffled, as far as the model supports it; may be repeated.",
    ),
]
UntilRule = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="RULE",
        help="Stop asking once this is decided: 'flip_rate within 0.01', or 'flip_rate<=0.1' (decided either way).",
    ),
]
_CONFIDENCE = typer.Option(
    "--confidence", metavar="SHARE", min=0.5, max=0.9999, help="Confidence level of the intervals."
)
Confidence = Annotated[float, _CONFIDENCE]
StudyConfidence = Annotated[float | None, _CONFIDENCE]
Interval = Annotated[
    str,
    typer.Option(
        "--interval",
        metavar="KIND",
        help="auto (Wilson over clusters for shares, else percentile), wilson, percentile or bca.",
    ),
]
Require = Annotated[
    list[str],
    typer.Option(
        "--require",
        metavar="GATE",
        help="Exit with 1 unless this holds, as in 'flip_rate<=0.1', 'flip_rate[topic=sport].high<=10%' or "
        "'certificate(flip_rate<=0.1, sensitivity>=0.8)'; may be repeated.",
    ),
]

Baseline = Annotated[
    str,
    typer.Option(
        "--baseline",
        metavar="ANSWERS",
        help="Answers to compare with (see --no-worse): a run folder, a table or a log.",
    ),
]
NoWorse = Annotated[
    list[str],
    typer.Option(
        "--no-worse",
        metavar="GATE",
        help="With --baseline: exit with 1 unless non-inferiority is shown, as in 'flip_rate<=0.02' (at most two "
        "points above the baseline) or 'accuracy_original>=-0.02'; may be repeated.",
    ),
]
Junit = Annotated[str, typer.Option("--junit", metavar="FILE.xml", help="Also write the gates as JUnit XML.")]
BuildSummary = Annotated[
    str, typer.Option("--summary", metavar="FILE.md", help="Also write gates and scores as Markdown.")
]


def numbers(options: Iterable[str], flag: str) -> dict[str, float]:
    """Read NAME=NUMBER options.

    >>> numbers(["snli=9824"], "--size")
    {'snli': 9824.0}
    """
    read = {}
    for name, value in pairs(options, flag).items():
        try:
            read[name] = float(value)
        except ValueError as error:
            raise BadInput(f"found {value!r} for {name}", field=flag, fix=f"write {flag} {name}=NUMBER") from error
    return read


def pairs(options: Iterable[str], flag: str, twice: str = "") -> dict[str, str]:
    """Read NAME=VALUE options.

    >>> pairs(["0=entailment", "1=neutral"], "--label")
    {'0': 'entailment', '1': 'neutral'}
    """
    read: dict[str, str] = {}
    for option in options:
        name, mark, value = option.partition("=")
        if not mark or not name or not value:
            raise BadInput(f"cannot read {flag} {option}", fix=f"write {flag} NAME=VALUE")
        if name in read:
            raise BadInput(f"{flag} {name} is given twice", fix=twice.format(name))
        read[name.strip()] = value.strip()
    return read


def answer_columns(options: Iterable[str]) -> dict[str, str | dict[str, str]]:
    """Read the columns of answers tables: of all, or after a table's name and a colon, of one.

    >>> answer_columns(["pred=said", "p:yes=p1", "gpt:pred=answer", "gpt:p:yes=p2"])
    {'pred': 'said', 'p:yes': 'p1', 'gpt': {'pred': 'answer', 'p:yes': 'p2'}}
    """
    columns: dict[str, str | dict[str, str]] = {}
    twice = "for one table alone, write --field NAME:{}=COLUMN: NAME is that of its file without .csv, .jsonl ..."
    for key, column in pairs(options, "--field", twice).items():
        table, colon, name = key.rpartition(":")
        for start in ("p:", AGAIN):
            if f":{start}" in key:
                table, _, name = key.partition(f":{start}")
                name = f"{start}{name}"
        if not colon or key.startswith(("p:", AGAIN)):
            columns[key] = column
            continue
        own = columns.setdefault(table, {})
        if isinstance(own, str):
            raise BadInput(f"cannot read --field {key}", fix=f"give the table {table} another name")
        own[name] = column
    return columns


def cache_file(cache: str, no_cache: bool) -> str | None:
    """The answer cache that a user names, "" for the shared one, None for none."""
    if cache and no_cache:
        raise BadInput("both are given", field="--cache, --no-cache", fix="leave one of them out")
    return None if no_cache else cache


def log_options(bucket_from: str, scorer: str, graded: bool, *answers: str) -> "LogOptions":
    """How logs of other harnesses are read; what is for logs alone is refused where none of the answers is one."""
    from ..harnesses.logs import find_harness
    from ..harnesses.samples import LogOptions

    if (scorer or graded) and not any(map(find_harness, answers)):
        fix = "leave it out: tables and runs have one answer a row, in pred"
        raise BadInput("is for logs of other harnesses", field="--scorer" if scorer else "--graded", fix=fix)
    return LogOptions(bucket_from, scorer, graded)


def refuse_wrong_build(baseline: str, no_worse: list[str], junit: str, summary: str, *inputs: str) -> None:
    """Refuse, before any work, what cannot be compared with a baseline or written."""
    from ..scoring.builds import parse_baseline, refuse_wrong_files

    parse_baseline(no_worse)
    if bool(baseline) != bool(no_worse):
        raise BadInput(
            "--baseline and --no-worse belong together", fix="as in --baseline runs/old --no-worse 'flip_rate<=0.02'"
        )
    if baseline and not Path(baseline).exists():
        raise BadInput("no such file or folder", where=baseline, field="--baseline")
    if baseline and len(inputs) > 1:
        raise BadInput(f"--baseline is for one table, not {len(inputs)}", fix="give one ANSWERS")
    refuse_wrong_files(junit, summary, baseline or None, *inputs)


def given(**options: str) -> dict[str, str]:
    """Options that were given at all."""
    return {name: value for name, value in options.items() if value}


def gpu_numbers(text: str) -> list[int]:
    """The GPUs that --gpus names.

    >>> gpu_numbers("0, 2")
    [0, 2]
    """
    parts = [one.strip() for one in text.split(",") if one.strip()]
    if (text and not parts) or any(not one.isdecimal() for one in parts):
        raise BadInput(f"found {text!r}", field="--gpus", fix="give numbers of GPUs, as in 0,1")
    return [int(one) for one in parts]
