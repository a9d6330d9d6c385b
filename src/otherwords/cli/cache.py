"""otherwords cache"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as opt
from .display import console, print_json

app = typer.Typer(help="Show or delete stored answers.", no_args_is_help=True)


@app.command()
def info(cache: opt.CachePath = "", json: opt.Json = False) -> None:
    """Show how many answers are stored for each model."""
    from rich.table import Table
    from rich.text import Text

    from ..language_models.replies import ReplyStore, replies_path
    from ..models.cache import Cache, default_path

    path = Path(cache or default_path())
    rows: list[dict[str, Any]] = []
    if _exists(path, bool(cache)):
        with Cache(path, writing=False) as store:
            rows = store.info()
    beside, kept = replies_path(path), list[dict[str, Any]]()
    if beside.is_file():
        with ReplyStore(beside) as replies:
            kept = replies.info()
    size, more = (one.stat().st_size if one.is_file() else 0 for one in (path, beside))
    if json:
        about = {"path": str(beside), "bytes": more, "models": kept}
        print_json({"path": str(path), "bytes": size, "models": rows, **({"replies": about} if kept else {})})
        return
    screen = console()
    screen.print(
        f"{path}: {sum(row['answers'] for row in rows):,} answers, {size / 1e6:,.1f} MB",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    table = Table("model", "task", "answers", "newest", header_style="bold")
    for row in rows:
        newest = datetime.fromtimestamp(row["newest"], UTC).strftime("%Y-%m-%d")
        table.add_row(Text(row["signature"]), Text(row["task"]), f"{row['answers']:,}", newest)
    if rows:
        screen.print(table)
    if kept:
        count = sum(row["replies"] for row in kept)
        line = f"{beside}: {count:,} replies of servers, {more / 1e6:,.1f} MB"
        screen.print(line, highlight=False, markup=False, soft_wrap=True)


@app.command()
def prune(
    model: Annotated[
        str, typer.Option("--model", metavar="TEXT", help="Only models whose signature contains this.")
    ] = "",
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="Only answers older than this."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete every answer.")] = False,
    cache: opt.CachePath = "",
) -> None:
    """Delete stored answers and server replies: of a model, older than some days, or all."""
    from ..errors import BadInput
    from ..language_models.replies import ReplyStore, replies_path
    from ..models.cache import Cache, default_path

    if everything == bool(model or older_than is not None):
        raise BadInput("no answers selected", fix="use --model and/or --older-than, or --all")
    path, deleted = Path(cache or default_path()), 0
    if _exists(path, bool(cache)):
        with Cache(path) as store:
            deleted = store.prune(model=model, older_than_days=older_than)
    line = f"{deleted:,} answers deleted"
    if (beside := replies_path(path)).is_file():
        with ReplyStore(beside) as replies:
            gone = replies.prune(model=model, older_than_days=older_than)
        line += f", {gone:,} replies of servers"
        if deleted and model and not gone:
            line += ": these are kept by model and server, and not by template (otherwords cache info names them)"
    typer.echo(line)


def _exists(path: Path, chosen: bool) -> bool:
    """Whether there is a cache to open. None is created here; a cache that the user names must exist."""
    from ..errors import BadInput

    if chosen and not path.is_file():
        raise BadInput("no such file", where=str(path), fix="leave --cache out for the shared one")
    return path.is_file()
