"""Options that several commands share, and how to read their values."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput
from ..problem import AGAIN, MOST_REPLICATES

if TYPE_CHECKING:
    from ..harnesses.samples import LogOptions

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="JSONL, CSV, TSV or Parquet; - for JSONL on standard input; or a data set, as in snli:FILE or everyday; "
        "or a run folder. Several are read as one.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "-o", "--out", metavar="FILE", help="Where to write: .jsonl, .csv, .tsv, .parquet, or - for standard output."
    ),
]


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
        help="nli, rte, a-nli, d-nli, or a .toml file. Default: what the data set says, else nli.",
    ),
]
Fields = Annotated[
    list[str],
    typer.Option("--field", metavar="NAME=COLUMN", help="The column that holds a field, the label, id, cluster or of."),
]
Labels = Annotated[
    list[str],
    typer.Option("--label", metavar="FOUND=LABEL", help="What a label in the data means, as in 0=entailment."),
]
AnswerFields = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="[TABLE:]NAME=COLUMN",
        help="The column that holds bucket, variant, gold, pred, model, cluster or p:LABEL, as in pred=prediction; "
        "in one table alone, gpt:pred=prediction for gpt.csv.",
    ),
]
BucketFrom = Annotated[
    str,
    typer.Option(
        "--bucket-from",
        metavar="HOW",
        help="Which rows are wordings of one problem: a pattern of ids, '(?P<bucket>.+)#(?P<variant>.*)'; a file with "
        "id, bucket and variant; or a column. Default: columns (metadata) called bucket and variant.",
    ),
]
Scorer = Annotated[
    str,
    typer.Option(
        "--scorer", metavar="NAME", help="Of a log with several: Inspect's scorer, or lm-eval's filter, that counts."
    ),
]
Graded = Annotated[
    bool,
    typer.Option("--graded", help="Of a log: count whether answers were right, not what they were (free answers)."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and write them to rejected.jsonl.")]
Veto = Annotated[
    str, typer.Option("--veto", metavar="FILE", help="Words that generators leave alone, one a line. Default: none.")
]
Corpus = Annotated[
    str,
    typer.Option(
        "--corpus", metavar="FILE", help="Data set or .txt whose frequencies wordnet-ie uses. Default: the input."
    ),
]
SynonymTable = Annotated[
    str, typer.Option("--table", metavar="FILE", help="A synonym table saved before, instead of a corpus.")
]
SaveTable = Annotated[
    str, typer.Option("--save-table", metavar="FILE", help="Keep the synonym table, for --table later.")
]
_SEED = typer.Option("--seed", metavar="N", help="Seed of all random choices.")
Seed = Annotated[int, _SEED]
#: Of a study, which may have one itself; so with all that begin with "Study".
StudySeed = Annotated[int | None, _SEED]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bars, no tables.")]
Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        metavar="[NAME=]MODEL",
        help="A model (otherwords list models), as in hf:NAME_OR_PATH or small=onnx:PATH; a path may hold a *.",
    ),
]
LabelMap = Annotated[
    list[str],
    typer.Option(
        "--label-map",
        metavar="[NAME:]MODEL'S=TASK'S,...",
        help="What the labels of all models mean, or after a name and a colon, those of one.",
    ),
]

Plugins = Annotated[
    list[str],
    typer.Option("--plugin", metavar="FILE.py", help="A file that registers plug-ins; may be repeated."),
]
MaxRequests = Annotated[
    int | None,
    typer.Option("--max-requests", metavar="N", min=0, help="Stop before more requests are sent to servers."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="X", min=0, help="Stop before requests may cost more, by --prices."),
]
PriceTable = Annotated[
    str, typer.Option("--prices", metavar="FILE", help="A TOML file: what a million tokens of each model cost.")
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Count the requests to servers, their tokens and costs; send and write nothing."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask everything anew, and replace the stored answers.")]
NoCanary = Annotated[
    bool,
    typer.Option("--no-canary", help="Do not ask the dozen trivial questions that reveal permuted labels."),
]
CachePath = Annotated[
    str, typer.Option("--cache", metavar="FILE", help="Answer cache to use instead of the shared one.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep answers for this run only.")]
_ENGINE = partial(
    typer.Option,
    "--engine",
    metavar="ENGINE",
    help="Who works on the shards: in-process, processes (a worker for each core), ray or ray://HOST:PORT (a cluster). "
    "Same results.",
)
EngineName = Annotated[str, _ENGINE()]
StudyEngine = Annotated[str, _ENGINE(show_default="in-process")]
Workers = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=0, help="How many workers; 0: as many as there is room for."),
]
Gpus = Annotated[
    str,
    typer.Option("--gpus", metavar="0,1,...", help="With --engine processes: GPUs, each for a worker of its own."),
]
GpuShare = Annotated[
    float | None,
    typer.Option("--gpu-share", metavar="X", help="With --engine ray: GPUs of a worker, as in 1 or 0.25."),
]
Shared = Annotated[
    str,
    typer.Option(
        "--shared",
        metavar="FOLDER",
        help="With --engine ray: a folder that all machines see, or a URL such as s3://BUCKET/FOLDER.",
    ),
]
_BATCH_SIZE = typer.Option(
    "--batch-size", metavar="N", min=0, help="Problems a model is given at a time; 0: the model's default."
)
BatchSize = Annotated[int, _BATCH_SIZE]
StudyBatchSize = Annotated[int | None, _BATCH_SIZE]
Templates = Annotated[
    list[str],
    typer.Option(
        "--template",
        metavar="TEMPLATE",
        help="How a language model is asked: a name (otherwords list templates) or a .toml file. May be repeated: each "
        "makes a model, called MODEL@TEMPLATE.",
    ),
]
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric", metavar="METRIC", help="A metric (otherwords list metrics), or all. Default: the usual ones."
    ),
]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also score each group of this column. Looked up: answers:FILE (is another model right on the original?), "
        "family:FILE.toml (means over models of a family).",
    ),
]
_REPLICATES = typer.Option("--replicates", metavar="N", min=2, max=MOST_REPLICATES, help="Bootstrap replicates.")
Replicates = Annotated[int, _REPLICATES]
StudyReplicates = Annotated[int | None, _REPLICATES]
_REPEATS = typer.Option("--repeats", metavar="N", min=0, help="Ask the same N times again, to measure the noise.")
Repeats = Annotated[int, _REPEATS]
StudyRepeats = Annotated[int | None, _REPEATS]
RepeatWays = Annotated[
    list[str],
    typer.Option(
        "--repeat-way",
        metavar="WAY",
        help="How to ask again: usual, cold, alone or shuffled, as the model allows; may be repeated.",
    ),
]
UntilRule = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="RULE",
        help="Stop asking when the answer is known: 'flip_rate within 0.01', or 'flip_rate<=0.1' (either way).",
    ),
]
_CONFIDENCE = typer.Option("--confidence", metavar="SHARE", min=0.5, max=0.9999, help="Confidence of the intervals.")
Confidence = Annotated[float, _CONFIDENCE]
StudyConfidence = Annotated[float | None, _CONFIDENCE]
Interval = Annotated[
    str,
    typer.Option(
        "--interval",
        metavar="KIND",
        help="auto: Wilson on clusters for shares, else percentile; wilson; percentile; bca.",
    ),
]
Require = Annotated[
    list[str],
    typer.Option(
        "--require",
        metavar="GATE",
        help="Exit with 1 unless it holds, as in 'flip_rate<=0.1', 'flip_rate[topic=sport].high<=10%' or "
        "'certificate(flip_rate<=0.1, sensitivity>=0.8)'; may be repeated.",
    ),
]

Baseline = Annotated[
    str,
    typer.Option("--baseline", metavar="ANSWERS", help="Compare with these answers: a run folder, a table or a log."),
]
NoWorse = Annotated[
    list[str],
    typer.Option(
        "--no-worse",
        metavar="GATE",
        help="With --baseline: exit with 1 unless it is shown, as in 'flip_rate<=0.02' (at most two points more than "
        "the baseline) or 'accuracy_original>=-0.02'; may be repeated.",
    ),
]
Junit = Annotated[str, typer.Option("--junit", metavar="FILE.xml", help="Write gates as JUnit XML, too.")]
BuildSummary = Annotated[
    str, typer.Option("--summary", metavar="FILE.md", help="Write gates and scores in Markdown, too.")
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
