"""otherwords compare"""

from typing import Annotated, Any

import typer

from . import options as opt
from .display import bars, print_json, print_one_answer, print_table


def compare(
    answers: Annotated[
        str,
        typer.Argument(
            metavar="ANSWERS",
            help="An answers table: a file, a run folder, a harness log, or - for JSONL on standard input.",
        ),
    ],
    other: Annotated[
        str,
        typer.Argument(
            metavar="[ANSWERS]", help="The other model's table; omit it if the first table has both models."
        ),
    ] = "",
    model: Annotated[
        list[str],
        typer.Option("--model", "-m", metavar="NAME", help="The models to compare; give it twice, in order."),
    ] = [],  # noqa: B006
    metric: opt.Metrics = [],  # noqa: B006
    by: opt.By = [],  # noqa: B006
    between: Annotated[
        str,
        typer.Option(
            "--between",
            metavar="COLUMN",
            help="Compare the groups of this column instead of two models. With family:FILE.toml: compare each model "
            "with its teacher and with the next larger model of its family.",
        ),
    ] = "",
    matched: Annotated[
        bool,
        typer.Option("--matched", help="With --between: use only problems that have variants in both groups, paired."),
    ] = False,
    task: opt.AnswersTask = "",
    field: opt.AnswerFields = [],  # noqa: B006
    label: opt.Labels = [],  # noqa: B006
    bucket_from: opt.BucketFrom = "",
    scorer: opt.Scorer = "",
    graded: opt.Graded = False,
    replicates: opt.Replicates = 10_000,
    confidence: opt.Confidence = 0.95,
    interval: opt.Interval = "auto",
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="X",
            help="Also test non-inferiority (both ways) and equivalence with this margin: 0.02 for two points.",
        ),
    ] = None,
    test: Annotated[
        list[str],
        typer.Option(
            "--test",
            metavar="NAME",
            help="A textbook test instead of metrics: mcnemar, cochran, tost (with --margin) or ie. Assumes "
            "independent rows.",
        ),
    ] = [],  # noqa: B006
    out: Annotated[str, opt.out_file("Also write the differences")] = "",
    plugin: opt.Plugins = [],  # noqa: B006
    safe_csv: opt.SafeCsv = False,
    seed: opt.Seed = 1,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Compare two models, or groups, by paired differences.

    Gives differences with intervals and p-values. Only variants that both models answered count; the rest are reported.
    p is the larger of two values: that of a permutation test that swaps whole clusters between the models, and the
    level at which the interval excludes 0. It is adjusted for all differences in the table (maxT and Holm; also
    Bonferroni and Benjamini-Hochberg in the JSON). Closely related metrics are listed together. --metric all compares
    all metrics. --test applies textbook tests to the counts of right answers, which assume independent rows.
    """
    from ..answers.looked_up import FAMILY
    from ..errors import BadInput
    from ..scoring.compare import compare as compare_models
    from ..scoring.compare import compare_groups, compare_relatives
    from ..scoring.count_tests import count_tests
    from .tables import count_table, difference_table, margin_table

    settings: dict[str, Any] = {
        "task": task, "confidence": confidence, "margin": margin, "out": out or None,
        "columns": opt.answer_columns(field), "labels": opt.pairs(label, "--label"),
        "logs": opt.log_options(bucket_from, scorer, graded, answers, other),
    }  # fmt: skip
    if test:
        if between or metric or matched:
            raise BadInput("--test counts right answers of models", fix="leave out --metric, --between and --matched")
        counted = count_tests(answers, other or None, test, models=model, by=by, **settings)
        if json and out != "-":
            print_json(counted)
        elif not quiet and out != "-":
            print_table(count_table(counted))
        return
    settings |= {"seed": seed, "replicates": replicates, "interval": interval}
    if between and (other or model or by):
        raise BadInput("--between compares groups of one table", fix="leave out the second table, --model and --by")
    if matched and not between:
        raise BadInput("--matched belongs to --between COLUMN")
    with bars(quiet or json):
        if between.startswith(FAMILY) and not matched:
            differences = compare_relatives(answers, between, metric, **settings)
        elif between:
            differences = compare_groups(answers, between, metric, matched=matched, **settings)
        else:
            differences = compare_models(answers, other or None, metric, models=model, by=by, **settings)
    if json and out != "-":  # which has the same as JSON lines
        print_json(differences)
    elif not quiet and out != "-":
        print_table(difference_table(differences, confidence))
        if margin is not None:
            print_table(margin_table(differences))
        print_one_answer(differences)
