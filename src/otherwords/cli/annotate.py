"""otherwords annotate, and what is done with its verdicts: otherwords verdicts"""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput, MissingExtra
from . import options as opt
from .display import print_json, print_line

app = typer.Typer(help="Manage annotators and their verdicts.", no_args_is_help=True)

Database = Annotated[
    str,
    typer.Argument(
        metavar="DATABASE", help="The database that annotate made: a file, or postgresql://USER@HOST/DATABASE."
    ),
]
Pseudonym = Annotated[
    str, typer.Argument(metavar="PSEUDONYM", help="The person's pseudonym, as it appears in the verdicts.")
]


def annotate(
    suite: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE",
            help="Originals and variants: a run folder, files or data sets. The modes flips_first and most_useful_next "
            "need a run with answers.",
        ),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--form",
            metavar="FORM",
            help="The questions to ask: equivalent, fluency, grammar, label, label-preserved, paraphrase, "
            "paraphrase-alone, similarity, sound, or a .toml file.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="DATABASE",
            help="A new file, the file of an earlier session to continue, or postgresql://USER@HOST/DATABASE.",
        ),
    ],
    annotators: Annotated[
        int,
        typer.Option(
            "--annotators",
            metavar="N",
            help="How many annotators there should be; missing ones are invited.",
            min=0,
            max=1000,
        ),
    ] = 2,
    overlap: Annotated[
        int | None,
        typer.Option(
            "--overlap", metavar="N", help="How many people answer each item. Default: 2, or what the form says.", min=1
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="Which items come first: sample (random order), flips_first, or most_useful_next (those that most "
            "narrow the interval of the flip rate among sound variants).",
        ),
    ] = "sample",
    number: Annotated[int, typer.Option("--number", metavar="N", help="Number of items per batch.", min=1)] = 100,
    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="COLUMN",
            help="A judge's scores from 0 to 1, used by most_useful_next: a column of the suite, or a check.",
        ),
    ] = "",
    tests: Annotated[
        str,
        typer.Option(
            "--tests", metavar="FILE", help="Test items with known answers: a suite with columns answer:QUESTION."
        ),
    ] = "",
    consent: Annotated[
        str,
        typer.Option(
            "--consent",
            metavar="FILE",
            help="A text file with the consent form that annotators agree to. Default: a general one.",
        ),
    ] = "",
    port: opt.Port = 8000,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="The address to listen on. Default: this machine only.")
    ] = "127.0.0.1",
    behind_tls: Annotated[
        str,
        typer.Option(
            "--behind-tls", metavar="NAME", help="The public host name, if a proxy with TLS serves the pages."
        ),
    ] = "",
    task: opt.TaskName = "",
    seed: opt.Seed = 1,
    json: opt.Json = False,
) -> None:
    """Let people judge or reword a suite on web pages.

    Stores verdicts in a database. Prints an invitation link for the owner and for each annotator. Stop with Ctrl-C; run
    the same command to continue.
    """
    web = _web()
    web.refuse_name(behind_tls)
    text = {"consent": _consent(consent)} if consent else {}
    settings = web.Settings(mode=mode, number=number, overlap=overlap, seed=seed, judge=judge, **text)
    bound = web.bind(host, port)  # before anything is written
    web.warn_unprotected(host, behind_tls)
    try:
        store = web.open_project(suite, form, out, settings, task=task, tests=tests)
        try:
            web.serve(store, bound, host=host, behind_tls=behind_tls, ready=lambda site: _ready(site, annotators, json))
        finally:
            store.close()
    finally:
        bound.close()


def _consent(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read: {error}", where=name, field="--consent", fix="name a text file") from error


def _ready(site: Any, annotators: int, json: bool) -> None:
    """Print the links of those who are not invited yet."""
    web = _web()
    invited = web.invite_missing(site.store, annotators)
    if json:
        links = [_invitation(one, site.link(one.token)) for one in invited]
        print_json({"address": site.address, "invitations": links})
        return
    typer.echo(f"{site.form.title}: {site.address}")
    for one in invited:
        typer.echo(f"{one.person.role} {one.person.pseudonym}: {site.link(one.token)}")
    print_line("Each link works once and expires after 7 days; for more: otherwords verdicts invite. Stop with Ctrl-C.")


def _invitation(one: Any, link: str) -> dict[str, str]:
    return {"role": one.person.role, "pseudonym": one.person.pseudonym, "link": link}


@app.command()
def invite(
    database: Database,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="The role: annotator, adjudicator or owner.")
    ] = "annotator",
    number: Annotated[int, typer.Option("-n", "--number", metavar="N", help="How many people.", min=1)] = 1,
    pseudonym: Annotated[
        str,
        typer.Option(
            "--pseudonym",
            metavar="NAME",
            help="The person's pseudonym; an existing one continues where they stopped. Default: a new one.",
        ),
    ] = "",
    days: Annotated[float, typer.Option("--days", metavar="N", help="Days until the links expire.")] = 7.0,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="URL", help="The address that annotate printed. Default: the last one."),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Create invitation links. Each works once."""
    web = _web()
    if address is not None and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", address):
        fix = "give it as annotate printed it: http://127.0.0.1:8000, or https://NAME"
        raise BadInput(f"found {address!r}", field="--address", fix=fix)
    with _opened(web, database) as store:
        made = web.invite(store, role, number, pseudonym=pseudonym, days=days)
        address = address or store.about().get("address", "http://127.0.0.1:8000")
    rows = [_invitation(one, f"{address.rstrip('/')}/join/{one.token}") for one in made]
    if json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['role']} {row['pseudonym']}: {row['link']}")


@app.command()
def revoke(database: Database, pseudonym: Pseudonym) -> None:
    """Revoke a person's links and sessions; their verdicts are kept."""
    web = _web()
    with _opened(web, database) as store:
        web.revoke(store, pseudonym)
    print_line(f"{pseudonym} no longer has access; their verdicts are kept")


@app.command()
def export(
    database: Database,
    out: opt.Out,
    what: Annotated[
        str,
        typer.Option(
            "--what", metavar="WHAT", help="What to export: verdicts, rewordings or card (a data card in Markdown)."
        ),
    ] = "verdicts",
    safe_csv: opt.SafeCsv = False,
) -> None:
    """Export the verdicts, the rewordings that people wrote or accepted, or a data card."""
    web = _web()
    with _opened(web, database) as store:
        count = web.export(store, what, out)
    if out != "-":
        print_line(f"{out}: {count:,} rows" if what != "card" else out)


@app.command()
def delete(
    database: Database,
    pseudonym: Pseudonym,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking for confirmation.")] = False,
) -> None:
    """Delete a person and all their verdicts."""
    web = _web()
    with _opened(web, database) as store:
        web.find_person(store, pseudonym)
        if not yes:
            _confirm(f"Delete {pseudonym} and all their verdicts?")
        count = web.delete_person(store, pseudonym)
    print_line(f"{pseudonym} and {count:,} answered pages were deleted")


def _confirm(question: str) -> None:
    """Ask; anything but a yes ends the command with nothing done."""
    try:
        agreed = typer.confirm(question)
    except typer.Abort:  # nobody there to answer
        agreed = False
        typer.echo(err=True)
    if not agreed:
        print_line("error: nothing was deleted; answer y, or give --yes")
        raise typer.Exit(1)


def _opened(web: Any, database: str) -> Any:
    from contextlib import closing

    return closing(web.open_store(database))


def _web() -> Any:
    try:
        from .. import web
    except ModuleNotFoundError as error:
        raise MissingExtra("annotate", "web") from error
    return web
