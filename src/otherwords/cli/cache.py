"""otherwords cache"""

from __future__ import annotations

import json as json_library
from datetime import UTC, datetime
from typing import Annotated

import typer

from . import options as opt
from .display import console

app = typer.Typer(help="Look at the stored answers, or delete some.", no_args_is_help=True)


@app.command()
def info(cache: opt.CachePath = "", json: opt.Json = False) -> None:
    """Show how many answers are kept, of which models."""
    from rich.table import Table

    from ..models.cache import Cache, default_path

    with Cache(cache or default_path()) as store:
        rows, path, size = store.info(), store.path, store.path.stat().st_size
    if json:
        typer.echo(json_library.dumps({"path": str(path), "bytes": size, "models": rows}, indent=2))
        return
    screen = console()
    screen.print(
        f"{path}: {sum(row['answers'] for row in rows):,} answers, {size / 1e6:,.1f} MB",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("model", "task", "answers", "newest", header_style="bold")
    for row in rows:
        newest = datetime.fromtimestamp(row["newest"], UTC).strftime("%Y-%m-%d")
        table.add_row(row["signature"], row["task"], f"{row['answers']:,}", newest)
    if rows:
        screen.print(table)


@app.command()
def prune(
    model: Annotated[str, typer.Option("--model", help="Only models whose signature contains this.")] = "",
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="Only answers older than this."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete every answer.")] = False,
    cache: opt.CachePath = "",
) -> None:
    """Delete stored answers: those of a model, those older than some days, or all."""
    from ..errors import BadInput
    from ..models.cache import Cache, default_path

    if everything == bool(model or older_than is not None):
        raise BadInput("say what to delete", fix="use --model and/or --older-than, or --all")
    with Cache(cache or default_path()) as store:
        typer.echo(f"{store.prune(model=model, older_than_days=older_than):,} answers deleted")
