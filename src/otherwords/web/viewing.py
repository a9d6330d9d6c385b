"""`otherwords view`: run folders side by side in a browser on this machine, read-only."""

import contextlib
import socket
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from .._version import __version__
from ..errors import BadInput
from ..report import numbers, plot
from ..report.drawing import STYLE
from ..report.page import asset, make_environment
from ..report.run_exhibits import comparison_table, score_tables
from .run_state import CHANGING, QUIET, ViewedRun
from .security import Guard, Hosts
from .serving import serve_app

#: What the overview shows of each model, where it was scored.
_SHOWN = ("flip_rate", "accuracy_original", "accuracy_drop", "p_c", "pa")
#: Seconds between two looks at runs that go on.
EVERY = 2

Show = Callable[["Viewer", Request], Response]


class Viewer:
    """The runs that are shown."""

    def __init__(self, runs: Sequence[ViewedRun]):
        self.runs = list(runs)

    def run(self, number: int) -> ViewedRun:
        """The run of that number."""
        if not 0 <= number < len(self.runs):
            raise HTTPException(404)
        return self.runs[number]

    def stamp(self) -> str:
        """What changes whenever anything does that is shown of any run."""
        return "-".join(one.stamp() for one in self.runs)


def serve_runs(runs: Sequence[ViewedRun], bound: socket.socket) -> None:
    """Serve pages about runs at a bound socket, on this machine alone, until the process is stopped."""
    serve_app(make_viewer(runs), bound)


def make_viewer(runs: Sequence[ViewedRun]) -> ASGIApp:
    """The application behind its guard; all that it can be asked is to show something."""
    pages: dict[str, Show] = {
        "/": overview,
        "/live": live,
        "/run/{run:int}": show_run,
        "/run/{run:int}/live": live_run,
        "/run/{run:int}/problems": problems,
        "/compare": show_comparison,
        "/static/{name}": static,
    }
    handlers: dict[Any, Any] = {HTTPException: _not_there, Exception: _failed}
    app = Starlette(routes=[_route(*one) for one in pages.items()], exception_handlers=handlers)
    app.router.redirect_slashes = False
    app.state.viewer = Viewer(runs)
    return Guard(app, Hosts(), behind_tls=False)


def _route(path: str, show: Show) -> Route:
    async def respond(request: Request) -> Response:
        return await run_in_threadpool(_shown, show, request)

    return Route(path, respond, methods=["GET"])


def _shown(show: Show, request: Request) -> Response:
    try:
        return show(request.app.state.viewer, request)
    except BadInput as error:
        return _page("view_message.html", 422, title="Not possible", message=str(error))
    except CHANGING as error:
        message = f"The run is just being written, or a file of it is damaged: {error}. Try again."
        return _page("view_message.html", 503, title="Not now", message=message)


# Pages


def overview(viewer: Viewer, request: Request) -> Response:
    """All runs, side by side."""
    return _page("view_runs.html", runs=_rows(viewer), stamp=viewer.stamp(), every=EVERY)


def live(viewer: Viewer, request: Request) -> Response:
    """The part of it that changes, where it has: what somebody reads is not replaced by the same."""
    if request.query_params.get("seen") == viewer.stamp():
        return Response(status_code=204)
    return _page("view_table.html", runs=_rows(viewer), stamp=viewer.stamp(), every=EVERY)


def show_run(viewer: Viewer, request: Request) -> Response:
    """One run: what it says, its scores, and the list of all problems."""
    run = viewer.run(request.path_params["run"])
    return _page("view_run.html", browse=run.problems(), every=EVERY, **_about(run))


def live_run(viewer: Viewer, request: Request) -> Response:
    """The part of that page that changes, where it has."""
    run = viewer.run(request.path_params["run"])
    if request.query_params.get("seen") == run.stamp():
        return Response(status_code=204)
    return _page("view_state.html", every=EVERY, **_about(run))


def problems(viewer: Viewer, request: Request) -> Response:
    """The data of the list, compressed: `browse.js` reads them."""
    found = viewer.run(request.path_params["run"]).problems()
    if found is None:
        raise HTTPException(404)
    return Response(found.data, media_type="application/octet-stream")


def show_comparison(viewer: Viewer, request: Request) -> Response:
    """Two models, of one run or of two: differences with paired intervals."""
    choices = [(f"{run.number}~{model}", run, model) for run in viewer.runs for model in run.models()]
    chosen = [request.query_params.get(name, "") for name in ("first", "second")]
    table, message = None, ""
    if all(chosen):
        (run, model), (other, rival) = (_chosen(viewer, one) for one in chosen)
        try:
            table = comparison_table(run.compared(model, other, rival))
        except BadInput as error:
            message = f"These cannot be compared: {error}"
    several = len(viewer.runs) > 1
    return _page("view_compare.html", choices=choices, chosen=chosen, several=several, table=table, message=message)


def _chosen(viewer: Viewer, choice: str) -> tuple[ViewedRun, str]:
    number, _, model = choice.partition("~")
    if not (number.isascii() and number.isdigit() and len(number) < 6 and model):
        raise HTTPException(404)
    return viewer.run(int(number)), model


def _rows(viewer: Viewer) -> list[dict[str, Any]]:
    """A row for each run, with the scores of its models."""
    found = []
    for run in viewer.runs:
        about = _about(run)
        by_model: dict[str, dict[str, Any]] = {model: {} for model in run.models()}
        for one in about["scores"]:
            if one.group is None and one.metric in _SHOWN and one.model in by_model:
                by_model[one.model].setdefault(one.metric, one)
        shown = [name for name in _SHOWN if any(name in own for own in by_model.values())]
        found.append({**about, "by_model": by_model, "shown": [(name, numbers.meaning(name)[0]) for name in shown]})
    return found


def _about(run: ViewedRun) -> dict[str, Any]:
    now = run.live()
    quiet = run.quiet_for
    scores = [one for one in now.scores if one.value is not None]
    models = list(dict.fromkeys(one.model for one in scores))
    tables = list(score_tables([one for one in scores if one.group is None], models, [])) if scores else []
    return {
        "run": run,
        "stamp": run.stamp(),
        "done": now.is_done,
        "stopped": not now.is_done and quiet > QUIET,
        "quiet": quiet,
        "bars": [] if now.is_done else run.bars(),
        "scores": scores,
        "tables": tables,
        "sentence": plot.sentence(scores, [], now.constant) if scores else "",
    }


# Templates, and what pages load


def _page(template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_environment().get_template(template).render(version=__version__, **values), status)


@cache
def _environment() -> jinja2.Environment:
    own = jinja2.PackageLoader("otherwords.web", "templates")
    return make_environment(jinja2.ChoiceLoader([own, jinja2.FunctionLoader(_report_template)]))


def _report_template(name: str) -> str | None:
    return asset(name) if name == "browse.html.jinja" else None


def static(viewer: Viewer, request: Request) -> Response:
    """A style sheet, a script or the icon; never a path."""
    found = _static_files().get(request.path_params["name"])
    if not found:
        raise HTTPException(404)
    return Response(found[0], media_type=found[1])


@cache
def _static_files() -> dict[str, tuple[bytes, str]]:
    own = resources.files("otherwords")
    style = STYLE + asset("page.css") + own.joinpath("web", "static", "view.css").read_text(encoding="utf-8")
    return {
        "view.css": (style.encode(), "text/css"),
        "browse.js": (asset("browse.js").encode(), "text/javascript"),
        "htmx.min.js": (own.joinpath("assets", "htmx", "htmx.min.js").read_bytes(), "text/javascript"),
        "icon.svg": (own.joinpath("web", "static", "icon.svg").read_bytes(), "image/svg+xml"),
    }


def _not_there(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    texts = {404: "There is no such page.", 405: "These pages only show something."}
    return _page("view_message.html", status, title="Not here", message=texts.get(status, "This cannot be answered."))


def _failed(request: Request, error: Exception) -> Response:
    """What went wrong goes to the log of the server."""
    with contextlib.suppress(Exception):
        return _page("view_message.html", 500, title="Not possible", message="Something went wrong.")
    return Response("Something went wrong.", 500)
