"""otherwords score"""

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .display import in_study_order, print_gates, print_json, print_one_answer, print_table, print_verdicts


def score(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="An answers table: a file, a run folder, a log of Inspect, lm-eval, promptfoo or HELM, or - for JSONL "
            "on standard input. Several tables are read as one.",
        ),
    ],
    metric: opt.Metrics = [],  # noqa: B006
    by: opt.By = [],  # noqa: B006
    task: opt.AnswersTask = "",
    field: opt.AnswerFields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    bucket_from: opt.BucketFrom = "",
    scorer: opt.Scorer = "",
    graded: opt.Graded = False,
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    interval: opt.Interval = "auto",
    shrink: Annotated[
        bool,
        typer.Option(
            "--shrink", help="With --by: rank groups by shrunken values (empirical Bayes); small groups shrink most."
        ),
    ] = False,
    require: opt.Require = [],  # noqa: B006
    baseline: opt.Baseline = "",
    no_worse: opt.NoWorse = [],  # noqa: B006
    junit: opt.Junit = "",
    summary: opt.BuildSummary = "",
    largest: Annotated[
        int,
        typer.Option(
            "--largest",
            metavar="N",
            help="For anytime intervals: the largest number of variants that a cluster may ever have.",
            min=0,
        ),
    ] = 0,
    average: Annotated[
        str,
        typer.Option(
            "--average", metavar="COLUMN", help="Also average over the groups of this column, weighted by size."
        ),
    ] = "",
    size: Annotated[
        list[str],
        typer.Option(
            "--size",
            metavar="GROUP=N",
            help="A group's weight in the average; may be repeated. Default: its number of problems.",
        ),
    ] = [],  # noqa: B006
    pool_templates: Annotated[
        bool,
        typer.Option("--pool-templates", help="Treat all templates of a language model as one model."),
    ] = False,
    verdicts: Annotated[
        str,
        typer.Option(
            "--verdicts",
            metavar="FILE",
            help="Human verdicts on some variants, to estimate shares among sound variants: a database from annotate, "
            "or a table.",
        ),
    ] = "",
    sound: Annotated[
        str,
        typer.Option(
            "--sound",
            metavar="RULE",
            help="Which verdicts mean sound: QUESTION, QUESTION=ANSWER, fluency+reasoning>=9, ... Default: depends on "
            "the form.",
        ),
    ] = "",
    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="COLUMN",
            help="A judge's scores for all variants: a column, or a check of the run. Default: the run's check with "
            "scores, if it has exactly one.",
        ),
    ] = "",
    unsound: Annotated[
        float | None,
        typer.Option(
            "--unsound",
            metavar="SHARE",
            help="The largest share of variants that may be unsound: adds bounds that need no verdicts.",
        ),
    ] = None,
    out: Annotated[str, opt.out_file("Also write the scores")] = "",
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Skip unusable answers and write them to rejected.jsonl."),
    ] = False,
    safe_csv: opt.SafeCsv = False,
    plugin: opt.Plugins = [],  # noqa: B006
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Compute metrics with confidence intervals.

    Takes any table with `bucket, variant, gold, pred`, in which originals have an empty variant; the columns `model`,
    `cluster` and `p:<label>` are used if present. Map other column names with --field, other labels with --label.
    Labels may differ in case, spacing and number format. A table without `model` names its model after its file.
    """
    from ..pipeline import score as measure
    from ..scoring.builds import finish_build
    from ..scoring.gates import check
    from ..storage.tables import read
    from .tables import score_table

    opt.refuse_wrong_build(baseline, no_worse, junit, summary, *answers)
    given = [read(one) if one == "-" else one for one in answers]  # standard input can be read but once
    names: dict[str, Any] = {"columns": opt.answer_columns(field), "labels": opt.pairs(label, "--label")}
    names["logs"] = opt.log_options(bucket_from, scorer, graded, *answers, baseline)
    rejected = (Path(out).parent / "rejected.jsonl") if skip_bad else None
    scores = measure(
        given,
        metric,
        by=by,
        task=task,
        **names,
        seed=seed,
        replicates=replicates,
        confidence=confidence,
        interval=interval,
        shrink=shrink,
        anytime=largest,
        require=require,
        rejected=rejected,
        average=average,
        sizes=opt.numbers(size, "--size"),
        pool_templates=pool_templates,
        verdicts=verdicts or None,
        sound=sound,
        judge=judge,
        unsound=unsound,
        out=out or None,
    )
    if json and out != "-":  # which has the same as JSON lines
        print_json(scores)
    elif not quiet and out != "-":
        print_table(score_table(in_study_order(scores, *given), confidence))
        print_one_answer(scores)
        print_verdicts(scores)
    build = {**names, "baseline": baseline, "no_worse": no_worse, "junit": junit, "summary": summary, "task": task}
    build |= {"seed": seed, "replicates": replicates, "confidence": confidence, "interval": interval}
    print_gates(finish_build(scores, check(require, scores), given[0], **build), quiet)
