"""otherwords list"""

from typing import Annotated

import typer

from . import options as opt
from .display import console, print_json


def list_plugins(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="datasets, generators, checks, masked_lms, writers, encoders, models, metrics or papers.",
        ),
    ] = "",
    plugin: opt.Plugins = [],  # noqa: B006
    json: opt.Json = False,
) -> None:
    """Show what models, metrics and so on there are.

    Every data set, generator, check, masked-LM, writer, encoder, model, metric and paper, with its options.
    """
    from rich.table import Table
    from rich.text import Text

    from ..errors import UnknownName
    from ..metrics.metric import needs_of
    from ..registry import KINDS

    kind = kind.replace("-", "_")  # masked-lms, as one writes it elsewhere
    if kind and kind not in KINDS:
        raise UnknownName(f"no kind {kind!r}; there are: {', '.join(KINDS)}")
    rows = [
        {
            "kind": registry.kind,
            "name": plugin.full_name,
            "options": plugin.shown_options(),
            "summary": plugin.summary,
            **({"needs": needs_of(plugin)} if kind == "metrics" else {}),
        }
        for registry in KINDS.values()
        if kind in ("", registry.kind)
        for plugin in registry
    ]
    if json:
        print_json(rows)
        return
    table = Table(header_style="bold")
    for name in rows[0]:
        table.add_column(name, overflow="fold", no_wrap=name in ("kind", "name"))
    for before, row in zip([rows[0], *rows], rows, strict=False):
        if before["kind"] != row["kind"]:
            table.add_section()
        table.add_row(*map(Text, row.values()))  # brackets are brackets here, not markup
    console().print(table)
