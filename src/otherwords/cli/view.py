"""otherwords view"""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import MissingExtra
from . import options as opt
from .display import print_line


def view(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Run folders, or folders that contain runs, such as runs/.")
    ],
    port: opt.Port = 8001,
) -> None:
    """Show runs in a browser, even while they are running.

    Shows runs side by side: progress, preliminary scores with intervals, all problems with their rewordings, and
    comparisons of models. The pages are read-only and only this machine can open them. Stop with Ctrl-C.
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
        print_line("Stop with Ctrl-C.")
        serve_runs(found, bound)
    finally:
        bound.close()
