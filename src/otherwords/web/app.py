"""The web application: routes, who may use them, and the pages of annotators."""

import contextlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from . import assignment, desk, people
from .forms import LONGEST, plain_text
from .pages import REASONS, Asking, Site, about_task, distance, read_answers, render, view_page
from .people import ROLES
from .security import BodyTooLarge, Guard, Hosts

_ANYBODY = ("",)
#: Who sees what others said does not judge.
_ANNOTATORS = ("annotator",)
_STATIC = {
    "annotate.css": ("web", "static", "annotate.css", "text/css"),
    "annotate.js": ("web", "static", "annotate.js", "text/javascript"),
    "icon.svg": ("web", "static", "icon.svg", "image/svg+xml"),
    "htmx.min.js": ("assets", "htmx", "htmx.min.js", "text/javascript"),
}


_NO_SESSION = (
    "Please open your invitation link. If you have used it in this browser, type the address of this page, or use a "
    "bookmark, instead of a link in a message. In another browser, ask for a new link: you will go on where you were."
)
Handler = Callable[[Asking], Response]


def make_app(site: Site, hosts: Hosts) -> ASGIApp:
    """The application behind its guard."""
    routes = [
        _route("/", home, ROLES),
        _route("/join/{token}", invitation, _ANYBODY),
        _route("/join/{token}", join, _ANYBODY, "POST"),
        _route("/next", go_on, _ANNOTATORS),
        _route("/item/{item:int}", show_item, _ANNOTATORS),
        _route("/item/{item:int}", save_item, _ANNOTATORS, "POST"),
        _route("/item/{item:int}/skip", skip_item, _ANNOTATORS, "POST"),
        _route("/item/{item:int}/distance", show_distance, _ANNOTATORS, "POST"),
        _route("/undo", undo, _ANNOTATORS, "POST"),
        _route("/me", about_me, ROLES),
        _route("/me/leave", leave, ROLES, "POST"),
        _route("/me/delete", delete_me, ROLES, "POST"),
        *(_route(path, handler, roles, method) for path, handler, roles, method in desk.ROUTES),
        Route("/static/{name}", _static),
    ]
    handlers: dict[Any, Any] = {HTTPException: _not_found, BodyTooLarge: _too_large, Exception: _failed}
    handlers[ClientDisconnect] = _not_heard
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False  # no redirect is made of what somebody else wrote
    app.state.site = site
    return Guard(app, hosts, site.behind_tls)


def _route(path: str, handler: Handler, roles: tuple[str, ...], method: str = "GET") -> Route:
    async def respond(request: Request) -> Response:
        fields = await _fields(request)
        return await run_in_threadpool(_answer, handler, roles, request, fields)

    return Route(path, respond, methods=[method], name=f"{method} {path}")


async def _fields(request: Request) -> dict[str, str]:
    """What a form sent, of every name the last; files are ignored."""
    if request.method != "POST":
        return dict(request.query_params)
    async with request.form(max_files=0, max_fields=500) as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _answer(handler: Handler, roles: tuple[str, ...], request: Request, fields: Mapping[str, str]) -> Response:
    site: Site = request.app.state.site
    secret = request.cookies.get(site.cookie, "")
    person = people.person_of(site.store, secret) if secret else None
    client = request.client.host if request.client else ""
    asking = Asking(site, person, dict(request.path_params), fields, secret, client)
    if roles != _ANYBODY and person is None:
        return asking.refused(401, _NO_SESSION)
    if roles != _ANYBODY and person is not None and person.role not in roles:
        return asking.refused(403, f"This page is not for the role {person.role}.")
    return handler(asking)


# Coming and going


def home(asking: Asking) -> Response:
    """Where somebody who joined begins."""
    return _to("/overview" if asking.who.role == "owner" else "/decide" if asking.who.decides else "/next")


def invitation(asking: Asking) -> Response:
    """What an invited person agrees to. Looking at a link does not use it up: programs do that to show previews."""
    token = asking.path["token"]
    if refused := _too_eager(asking):
        return refused
    invited = people.invited(asking.site.store, token)
    if not invited:
        return _dead_link(asking)
    return asking.page("join.html", token=token, invited=invited, about_task=about_task(asking.site.task))


def join(asking: Asking) -> Response:
    """Use the link up and begin."""
    if refused := _too_eager(asking):
        return refused
    if asking.fields.get("consent") != "yes":
        return asking.refused(422, "To take part, agree to the text on the page before: go back, and tick the box.")
    secret = people.join(asking.site.store, asking.path["token"])
    if not secret:
        return _dead_link(asking)
    response = _to("/")
    seconds = int(people.SESSION_DAYS * people.DAY)
    response.set_cookie(asking.site.cookie, secret, max_age=seconds, **_cookie(asking.site))
    return response


def _cookie(site: Site) -> dict[str, Any]:
    return {"path": "/", "httponly": True, "samesite": "strict", "secure": site.behind_tls}


def _too_eager(asking: Asking) -> Response | None:
    if not asking.site.tokens.is_over(asking.client):
        return None
    response = asking.refused(429, "Too many links were tried. Wait a minute, then try again.")
    response.headers["retry-after"] = "60"
    return response


def _dead_link(asking: Asking) -> Response:
    asking.site.tokens.count(asking.client)
    return asking.refused(404, "This link was used, has expired, or was withdrawn. Ask for a new one.")


def about_me(asking: Asking) -> Response:
    """What is stored of a person, and how to leave."""
    progress = assignment.progress(asking.site.store, asking.who, asking.site.about)
    return asking.page("me.html", progress=progress)


def leave(asking: Asking) -> Response:
    """End the session in this browser."""
    people.leave(asking.site.store, asking.secret)
    response = asking.page(
        "message.html", title="Good-bye", message="You have left. Your answers are kept.", person=None
    )
    response.delete_cookie(asking.site.cookie, **_cookie(asking.site))
    return response


def delete_me(asking: Asking) -> Response:
    """Delete all that is stored of a person."""
    if asking.who.role == "owner":
        return asking.refused(403, "An owner's data are deleted on the command line: otherwords verdicts delete.")
    if asking.fields.get("confirm") != asking.who.pseudonym:
        return asking.refused(422, f"Nothing was deleted: type {asking.who.pseudonym} to confirm.")
    count = people.delete_person(asking.site.store, asking.who.pseudonym)
    message = f"All your data were deleted, {count} answered pages among them."
    response = asking.page("message.html", title="Deleted", message=message, person=None)
    response.delete_cookie(asking.site.cookie, **_cookie(asking.site))
    return response


# Items


def go_on(asking: Asking) -> Response:
    """The next page of a person."""
    item = assignment.next_page(asking.site.store, asking.who, asking.site.about)
    if item is not None:
        return _to(f"/item/{item}")
    progress = assignment.progress(asking.site.store, asking.who, asking.site.about)
    return asking.page("done.html", progress=progress)


def show_item(asking: Asking) -> Response:
    """A page to answer."""
    page = assignment.page_of(asking.site.store, asking.who, asking.item)
    return _show(asking, page) if page else _no_item(asking)


def _show(asking: Asking, page: assignment.Page, status: int = 200, **given: Any) -> Response:
    site = asking.site
    view = view_page(page, site.form, site.task, asking.who, site.about["seed"], **given)
    progress = assignment.progress(site.store, asking.who, site.about)
    return asking.page("item.html", status, view=view, progress=progress, is_done=page.is_done)


def _no_item(asking: Asking) -> Response:
    return asking.refused(404, "This page is not one of yours.")


def save_item(asking: Asking) -> Response:
    """Store the answers of a page, and go on; or show it again with what is missing."""
    site, item = asking.site, asking.item
    page = assignment.page_of(site.store, asking.who, item)
    if not page:
        return _no_item(asking)
    answers, errors = read_answers(asking.fields, page, site.form, site.task)
    if "look" in asking.fields:  # the button for browsers without JavaScript: distances, and nothing is stored
        return _show(asking, page, answers=answers)
    if errors:
        return _show(asking, page, 422, answers=answers, errors=errors)
    if not assignment.save(site.store, asking.who, item, answers):
        return _no_item(asking)
    following = assignment.next_page(site.store, asking.who, site.about)
    return _to("/next" if following is None else f"/item/{following}")


def skip_item(asking: Asking) -> Response:
    """Give a page back, with a reason."""
    chosen = asking.fields.get("reason", "")
    words = plain_text(asking.fields.get("words", ""))[:LONGEST]
    if chosen not in REASONS or (chosen == REASONS[-1] and not words):
        return asking.refused(422, "Nothing was skipped: choose a reason; for another reason, say which.")
    reason = f"{chosen}: {words}" if words else chosen
    if not assignment.skip(asking.site.store, asking.who, asking.item, reason):
        return _no_item(asking)
    return _to("/next")


def undo(asking: Asking) -> Response:
    """Open the page again that was answered last."""
    item = assignment.undo(asking.site.store, asking.who)
    return _to(f"/item/{item}" if item is not None else "/next")


def show_distance(asking: Asking) -> Response:
    """How far a rewording is from its original, while it is written; nothing is stored."""
    page = assignment.page_of(asking.site.store, asking.who, asking.item)
    named = {f"0.{name}": target for name, _, target in asking.site.form.asked(asking.site.task) if target}
    key = next((name for name in asking.fields if name in named), "")
    if not page or not key:
        return _no_item(asking)
    near = distance(page.original[named[key]], asking.fields[key][:LONGEST])
    return HTMLResponse(render("distance.html", near=near))


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303)


# What is not a page


async def _static(request: Request) -> Response:
    found = _STATIC.get(request.path_params["name"])  # never a path
    if not found:
        raise HTTPException(404)
    *place, kind = found
    return Response(_read_static(tuple(place)), media_type=kind)


@cache
def _read_static(place: tuple[str, ...]) -> bytes:
    return resources.files("otherwords").joinpath(*place).read_bytes()


def _message(request: Request, status: int, message: str) -> Response:
    site: Site = request.app.state.site
    asking = Asking(site, None, {}, {})
    return asking.refused(status, message)


def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    texts = {404: "There is no such page.", 405: "This page cannot be used that way."}
    return _message(request, status, texts.get(status, "This request cannot be answered."))


def _too_large(request: Request, error: Exception) -> Response:
    return _message(request, 413, "This is too large.")


def _not_heard(request: Request, error: Exception) -> Response:
    """The connection broke off before all was sent: no error of the server."""
    return Response(None, 400)


def _failed(request: Request, error: Exception) -> Response:
    """What went wrong goes to the log of the server; the page says only that nothing was stored."""
    with contextlib.suppress(Exception):
        return _message(request, 500, "Something went wrong, and nothing was stored. Please try again.")
    return Response("Something went wrong.", 500)
