"""otherwords view"""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import MissingExtra
from .display import print_line


def view(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or folders that hold some, such as runs/.")
    ],
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", help="Where the pages are; 0 for any port that is free.", min=0, max=65535),
    ] = 8001,
) -> None:
    """Show runs side by side in a browser, also while they go on.

    How far they are, first scores with intervals, all problems with their rewordings, and models compared. The pages
    are for this machine alone, and write nothing. Ends with Ctrl-C.
    """
    try:
        from ..web.run_state import find_runs
        from ..web.serving import bind
        from ..web.viewing import serve_runs
    except ImportError as error:
        raise MissingExtra("view", "web") from error
    found = find_runs(runs)
    bound = bind("127.0.0.1", port)
    try:
        names = f"{len(found)} run{'s' if len(found) > 1 else ''}"
        print_line(f"{names}: http://127.0.0.1:{bound.getsockname()[1]}")
        print_line("Ctrl-C ends it.")
        serve_runs(found, bound)
    finally:
        bound.close()
