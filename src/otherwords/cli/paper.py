"""otherwords paper"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as opt
from .display import bars, print_json, print_line

if TYPE_CHECKING:
    from ..papers.dry_run import PaperEstimate
    from ..papers.ie_experiment import IEOutcome
    from ..papers.protocol import PaperOutcome

Experiment = Annotated[
    str,
    typer.Argument(
        metavar="FILE.toml",
        help="The experiment file. Default: the experiment in the folder of -o, else a small one on bundled data.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "-o", "--out", metavar="FOLDER", help="The experiment's folder; run the same command again to continue."
    ),
]
Init = Annotated[bool, typer.Option("--init", help="Write a commented FILE.toml to start from, and exit.")]

app = typer.Typer(help="Run a paper's whole protocol on your own data and models.", no_args_is_help=True)


@app.callback()
def _papers() -> None:
    pass


@app.command("ie-test")
def ie_test(
    experiment: Experiment = "",
    out: Out = "",
    init: Init = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Try it out: three values of rho, two runs, at most 2,000 rows."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Make the rewordings and train each model once (both are kept); estimate the time for the rest.",
        ),
    ] = False,
    scan: Annotated[
        bool,
        typer.Option("--scan", help="Train the baseline at 101 values of rho and propose values for the other models."),
    ] = False,
    rho: Annotated[
        list[float], typer.Option("--rho", metavar="SHARE", help="Instead of the experiment's; may be repeated.")
    ] = [],  # noqa: B006
    runs: Annotated[int | None, typer.Option("--runs", metavar="M", help="Instead of the experiment's.")] = None,
    seed: opt.StudySeed = None,
    engine: opt.EngineName = "in-process",
    workers: opt.Workers = 0,
    gpus: opt.Gpus = "",
    gpu_share: opt.GpuShare = None,
    plugin: opt.Plugins = [],  # noqa: B006
    max_requests: opt.MaxRequests = None,
    max_cost: opt.MaxCost = None,
    prices: opt.PriceTable = "",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """The IE test: is a model as often right after a rewording as before?

    Data sets x models x rho x runs: each training and validation row is replaced by its rewording with probability rho,
    a model is trained and asked both versions of the test set (Salvatore et al. 2023, Algorithm 1). Finished cells are
    not repeated. Tests, tables and figures go to FOLDER/results, pairs for human judges to FOLDER/to-judge.
    """
    from ..errors import BadInput
    from ..papers.ie_experiment import run_ie_test
    from ..registry import load_plugins
    from ..running.engines import make_engine

    if init:
        from ..papers.ie_settings import template

        _init("ie-test", experiment, template())
        return
    if not out:
        raise BadInput("no folder named", fix="name one with -o FOLDER")
    load_plugins(plugin)
    given: dict[str, Any] = {"rho": rho, "runs": runs, "seed": seed}
    chosen = {name: value for name, value in given.items() if value or type(value) in (int, float)}  # 0 is a value
    with bars(quiet or json):
        outcome = run_ie_test(
            experiment or None,
            out=out,
            engine=make_engine(engine, workers, opt.gpu_numbers(gpus), gpu_share),
            quick=quick,
            dry_run=dry_run,
            scan=scan,
            max_requests=max_requests,
            max_cost=max_cost,
            prices=prices,
            **chosen,
        )
    if json:
        print_json(_as_json(outcome))
    elif dry_run or not quiet:
        _print(outcome)


def _init(name: str, path: str, template: str) -> None:
    from pathlib import Path

    from ..papers.experiment import write_template

    path = path or f"{name}.toml"
    write_template(Path(path), template)
    print_line(f"wrote {path}: edit it, then run otherwords paper {name} {path} -o FOLDER (first with --quick)")


def _print(outcome: IEOutcome) -> None:
    for name, one in outcome.data.items():
        parts = (f"{part} {one.rows[part]:,} rows ({one.changed[part]:,} can change)" for part in one.rows)
        print_line(f"{name}: {', '.join(parts)}")
        if any(one.left_out):
            counts = "{:,} rows without a majority label, {:,} with an empty text".format(*one.left_out)
            print_line(f"  left out of its files: {counts}")
    estimate = outcome.estimate
    if outcome.results is None and not outcome.scans:
        left = f"{estimate.trainings - estimate.done:,} left"
        print_line(
            f"{estimate.trainings:,} trainings, {estimate.done:,} done, {left}: about {duration(estimate.seconds)}"
        )
        for model, seconds in estimate.by_model.items():
            print_line(f"  {model}: about {duration(seconds)} of one worker")
    for scan in outcome.scans:
        found = "nowhere" if scan.accepted is None else f"from {scan.accepted[0]:g} to {scan.accepted[1]:g}"
        proposed = ", ".join(f"{rho:g}" for rho in scan.proposed)
        rejected = int(scan.table["rejected"].sum())
        counts = f"at {rejected} of {scan.table.height} values of rho the baseline is rejected"
        typer.echo(f"{scan.dataset}: {counts}; mostly not {found}; proposed: rho = [{proposed}]")
    if outcome.results is not None:
        from ..papers.ie_figures import text

        typer.echo(text(outcome.results))
    place = outcome.folder / "results"
    if outcome.results is not None or outcome.scans:
        typer.echo(str(place / "scan.csv" if outcome.scans else place))


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(3), duration(150), duration(9000)
    ('3 s', '2.5 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _as_json(outcome: IEOutcome) -> dict[str, Any]:
    from dataclasses import asdict

    about: dict[str, Any] = {"folder": str(outcome.folder), "trainings": asdict(outcome.estimate)}
    about["data"] = {
        name: {"rows": one.rows, "changed": one.changed, "left_out": one.left_out} for name, one in outcome.data.items()
    }
    if outcome.scans:
        about["scan"] = {one.dataset: {"accepted": one.accepted, "proposed": one.proposed} for one in outcome.scans}
    if outcome.results is not None:
        about["decisions"] = outcome.results.decisions.to_dicts()
    return about


# The papers that measure


def _command(name: str, summary: str) -> None:
    """Add the command of a paper whose protocol asks models: all have the same options."""

    def command(
        experiment: Experiment = "",
        out: Out = "",
        init: Init = False,
        quick: Annotated[
            bool, typer.Option("--quick", help="Use few problems; takes about ten minutes with the bundled models.")
        ] = False,
        dry_run: Annotated[
            bool,
            typer.Option("--dry-run", help="Try a few problems, and estimate variants, answers, requests and time."),
        ] = False,
        seed: opt.StudySeed = None,
        engine: opt.EngineName = "in-process",
        workers: opt.Workers = 0,
        gpus: opt.Gpus = "",
        gpu_share: opt.GpuShare = None,
        plugin: opt.Plugins = [],  # noqa: B006
        max_requests: opt.MaxRequests = None,
        max_cost: opt.MaxCost = None,
        prices: opt.PriceTable = "",
        json: opt.Json = False,
        quiet: opt.Quiet = False,
    ) -> None:
        from ..errors import BadInput
        from ..papers.protocol import find_protocol, run_paper
        from ..registry import load_plugins

        protocol = find_protocol(name)
        if init:
            _init(name, experiment, protocol.template())
            return
        if not out:
            raise BadInput("no folder named", fix="name one with -o FOLDER")
        load_plugins(plugin)
        by_whom = {"engine": engine, "workers": workers, "gpus": opt.gpu_numbers(gpus), "gpu_share": gpu_share}
        chosen = {} if seed is None else {"seed": seed}
        with bars(quiet or json):
            outcome = run_paper(
                protocol, experiment or None, out=out, quick=quick, dry_run=dry_run, engine=by_whom,
                max_requests=max_requests, max_cost=max_cost, prices=prices, **chosen,
            )  # fmt: skip
        if json:
            print_json(_paper_as_json(outcome))
        elif dry_run or not quiet:
            _print_paper(outcome)

    command.__doc__ = (
        f"{summary}\n\n    Tables, figures and report.html go to FOLDER; finished cells are never repeated.\n"
    )
    app.command(name)(command)


def _print_paper(outcome: PaperOutcome) -> None:
    if outcome.estimate is not None:
        _print_estimate(outcome.estimate)
    if (results := outcome.results) is not None:
        for tables in results.tables.values():
            for table in tables:
                typer.echo(table.markdown())
        for name, reason in results.missing.items():
            print_line(f"not here: {name}: {reason}")
        if results.summary:
            print_line(results.summary)
        typer.echo(str(outcome.folder / "report.html"))


def _print_estimate(found: PaperEstimate) -> None:
    cost = "" if found.cost is None else f", cost about {found.cost:,.2f}"
    server = ", and what the server takes" if found.requests else ""
    print_line(
        f"{found.problems:,} problems; about {found.variants:,} variants and {found.answers:,} answers; "
        f"{found.trainings:,} trainings; {found.requests:,} requests{cost}; about {duration(found.seconds)}{server}"
    )


def _paper_as_json(outcome: PaperOutcome) -> dict[str, Any]:
    from dataclasses import asdict

    about: dict[str, Any] = {"folder": str(outcome.folder)}
    if outcome.estimate is not None:
        about["estimate"] = asdict(outcome.estimate)
    if (results := outcome.results) is not None:
        about |= {"summary": results.summary, "missing": results.missing, "deviations": list(results.deviations)}
        about["tables"] = {name: [one.name for one in some] for name, some in results.tables.items()}
        about["figures"] = {name: [one.name for one in some] for name, some in results.figures.items()}
    return about


_command("merge", "MERGE: is a model right in enough variants of a problem, with shared words replaced?")
_command("paranlu", "ParaNLU: how often is a model right, or wrong, on both of two phrasings of a problem?")
_command("parte", "PaRTE: how often does a model change its answer where premise, hypothesis or both are paraphrased?")
_command(
    "sensitivity",
    "Semantic sensitivity: which problems that a model answers right can be reworded so that it changes its mind?",
)
