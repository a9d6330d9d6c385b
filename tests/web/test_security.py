"""What strangers, other sites and hostile texts can do: nothing. Every route, a list of payloads, the headers."""

from __future__ import annotations

import asyncio
import http.client
import re
import time
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from annotating import NLI, Visitor, invited, serving, texts, write_rows

from otherwords import web
from otherwords.web import people
from otherwords.web.app import make_app
from otherwords.web.desk import ROUTES as DESK
from otherwords.web.security import CONTENT_POLICY, HEADERS, LARGEST_BODY, Hosts
from otherwords.web.store import INVITATIONS

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"
#: What scanners try: other files, code of templates and databases, headers in values, odd numbers and encodings.
PAYLOADS = [
    *("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/verdicts.db", "....//etc/passwd", "/etc/passwd"),
    *("C:\\Windows\\win.ini", "verdicts.db", "file:///etc/passwd", "%00", "\x00", "a%00.csv", "%c0%ae%c0%ae/"),
    *("' OR '1'='1", "1; DROP TABLE people;--", '" OR ""="', "1 UNION SELECT * FROM sessions", "%27%20OR%201=1"),
    *("{{7*7}}", "${7*7}", "<%= 7*7 %>", "#{7*7}", "{% include 'base.html' %}", MARKUP, "javascript:alert(1)"),
    *("-1", "0", "99999999999999999999", "1e9", "NaN", "true", "null", "[]", "1/../2", "١", "1 ", "0x1"),
    *("a\r\nSet-Cookie: x=1", "%0d%0aSet-Cookie:%20x=1", "x" * 5000, "9" * 5000, "\ud83d", "‮txt", "𝟙"),
]  # fmt: skip


@pytest.fixture
def sound(site):
    return site("sound")


def routes(sound):
    """Every route, as a method and a path in which `{}` stands for what varies."""
    found = []
    for route in make_app(sound, Hosts()).app.routes:
        for method in sorted(route.methods - {"HEAD"}):
            found.append((method, re.sub(r"{[^}]*}", "{}", route.path)))
    return found


def test_every_route_needs_a_session_except_joining(sound):
    stranger = Visitor(sound.address)
    for method, path in routes(sound):
        if path.startswith(("/join", "/static")):
            continue
        for cookie in ("", f"{sound.cookie}=nonsense", f"{sound.cookie}=" + "a" * 43):
            stranger.cookie = cookie
            reply = stranger.ask(method, path.format(1), {} if method == "POST" else None)
            assert reply.status == 401, (method, path)


@pytest.mark.parametrize("role", ["annotator", "adjudicator"])
def test_pages_of_other_roles_are_refused(sound, role):
    person = invited(sound, role)
    for path, _, roles, method in DESK:
        reply = person.ask(method, re.sub(r"{[^}]*}", "1", path), {} if method == "POST" else None)
        assert (reply.status == 403) == (role not in roles), path


def test_pages_of_other_people_are_refused(sound):
    one, two = invited(sound), invited(sound)
    item, _ = one.next()
    others = [number for number in range(9) if number != two.next()[0]]
    assert item in others or two.next()[0] == item
    for number in others:
        assert two.get(f"/item/{number}").status == 404
        assert two.post(f"/item/{number}", {"0.sound": "sound"}).status == 404
        assert two.post(f"/item/{number}/skip", {"reason": "I cannot decide"}).status == 404
        assert two.post(f"/item/{number}/distance", {"0.hypothesis:1": "x"}).status == 404
    assert web.verdict_table(sound.store).height == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "HERE"},
        {"Sec-Fetch-Site": None, "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": None, "Origin": "null"},
        {"Sec-Fetch-Site": None, "Origin": "HERE.evil.example"},
        {"Sec-Fetch-Site": None},
    ],
    ids=str,
)
def test_writes_from_other_sites_are_refused(sound, headers):
    person = invited(sound)
    item, _ = person.next()
    given = {name: value and value.replace("HERE", sound.address) for name, value in headers.items()}
    for method, path in routes(sound):
        if method == "POST":
            assert person.ask("POST", path.format(item), {"0.sound": "sound"}, given).status == 403, path
    assert web.verdict_table(sound.store).height == 0


def test_a_browser_without_fetch_metadata_is_known_by_its_origin(sound):
    person = invited(sound)
    item, _ = person.next()
    headers = {"Sec-Fetch-Site": None, "Origin": sound.address}
    assert person.ask("POST", f"/item/{item}", {"0.sound": "sound"}, headers).status == 303


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "evil.example#127.0.0.1", "", "[::1",
             "localhost, evil.example", "127.0.0.1:http", "192.168.0.1"]
)  # fmt: skip
def test_foreign_hosts_are_refused(sound, host):
    reply = Visitor(sound.address).get("/", Host=host)
    assert reply.status in (400, 421)
    assert "Is the new wording" not in reply.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:80", "annotate.example.org"])
def test_own_hosts_are_served(sound, host):
    assert Visitor(sound.address).get("/", Host=host).status == 401


def test_two_hosts_in_one_request_are_refused(sound):
    connection = http.client.HTTPConnection(urlsplit(sound.address).netloc)
    connection.putrequest("GET", "/", skip_host=True)
    connection.putheader("Host", "localhost")
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


def test_every_reply_has_the_headers(sound):
    person = invited(sound)
    replies = [person.get(path) for path in ("/next", "/me", "/nowhere", "/static/annotate.css", "/item/77")]
    replies += [person.get("/", Host="evil.example"), person.ask("POST", "/undo", {}, {"Sec-Fetch-Site": "none"})]
    for reply in replies:
        for name, value in HEADERS.items():
            assert name == "cache-control" or reply.headers[name] == value
        assert "server" not in reply.headers
    assert "'unsafe" not in CONTENT_POLICY
    assert "default-src 'none'" in CONTENT_POLICY


def test_no_page_has_script_or_style_inline(sound):
    person, owner = invited(sound), invited(sound, "owner")
    pages = [person.next()[1], owner.get("/overview").text, owner.get("/decide").text, owner.get("/me").text]
    (one,) = web.invite(sound.store)
    pages.append(Visitor(sound.address).get(f"/join/{one.token}").text)
    for page in pages:
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", page)
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|hx-on", page)


@pytest.mark.parametrize("behind_tls", [False, True])
def test_cookies_are_for_this_site_alone(site, behind_tls):
    flags = {"httponly", "samesite=strict", "path=/"} | ({"secure"} if behind_tls else set())
    pages = site("sound", served={"behind_tls": behind_tls})
    (one,) = web.invite(pages.store)
    reply = Visitor(pages.address).post(urlsplit(pages.link(one.token)).path, {"consent": "yes"})
    name, _, rest = reply.headers["set-cookie"].partition("=")
    found = {part.strip().lower() for part in rest.split(";")[1:]}
    assert found - {one for one in found if one.startswith("max-age")} == flags
    assert re.fullmatch("(__Host-)?otherwords-[0-9a-f]{12}", name)
    assert name.startswith("__Host-") == behind_tls
    assert ("strict-transport-security" in reply.headers) == behind_tls


def test_secrets_are_not_in_the_database(sound):
    (one,) = web.invite(sound.store)
    person = Visitor(sound.address).join(sound.link(one.token))
    sound.store.forget()
    with open(sound.store.name, "rb") as file:  # noqa: PTH123
        stored = file.read()
    assert one.token.encode() not in stored
    assert person.cookie.partition("=")[2].encode() not in stored


def test_an_invitation_works_once(sound):
    (one,) = web.invite(sound.store)
    path = urlsplit(sound.link(one.token)).path
    assert [Visitor(sound.address).get(path).status for _ in range(3)] == [200] * 3  # a preview does not use it up
    assert Visitor(sound.address).post(path, {}).status == 422
    assert Visitor(sound.address).post(path, {"consent": "yes"}).status == 303
    assert Visitor(sound.address).post(path, {"consent": "yes"}).status == 404
    assert Visitor(sound.address).get(path).status == 404


def test_a_link_for_somebody_else_tells_whose_session_it_would_end(sound):
    person = invited(sound, pseudonym="kim")
    for (one,) in (web.invite(sound.store, pseudonym="lee"), web.invite(sound.store, pseudonym="kim")):
        page = person.get(urlsplit(sound.link(one.token)).path).text
        assert ("In this browser you are kim" in page) == (one.person.pseudonym == "lee")


def test_two_projects_on_one_machine_keep_their_sessions(sound, tmp_path):
    person = invited(sound)
    with (
        closing(
            web.open_project([write_rows(tmp_path / "b.jsonl", NLI[:2])], "sound", str(tmp_path / "b.db"))
        ) as store,
        serving(store) as other,
    ):
        stranger = invited(other)
        person.cookie += f"; {stranger.cookie}"  # browsers send cookies to all ports
        assert person.get("/me").status == 200
        assert other.cookie != sound.cookie


def test_expired_and_revoked_invitations_do_not_work(sound):
    old, closed = web.invite(sound.store, count=2)
    with sound.store.writing() as connection:
        connection.execute(sa.update(INVITATIONS).where(INVITATIONS.c.digest == people.hashed(old.token))
                           .values(expires_at=time.time() - 1))  # fmt: skip
    web.revoke(sound.store, closed.person.pseudonym)
    for one in (old, closed):
        path = urlsplit(sound.link(one.token)).path
        assert Visitor(sound.address).get(path).status == 404
        assert Visitor(sound.address).post(path, {"consent": "yes"}).status == 404


def test_revoking_ends_sessions_and_keeps_verdicts(sound):
    person = invited(sound, pseudonym="kim")
    item, _ = person.next()
    person.answer(item, sound="sound")
    web.revoke(sound.store, "kim")
    assert person.get("/next").status == 401
    assert web.verdict_table(sound.store).height == 1


def test_guessing_links_is_slowed_down(sound):
    (one,) = web.invite(sound.store)
    stranger = Visitor(sound.address)
    found = [stranger.get(f"/join/{'guess' * 8}{n}").status for n in range(25)]
    assert found == [404] * 20 + [429] * 5
    assert stranger.get(f"/join/{one.token}").status == 429
    assert stranger.get(f"/join/{one.token}").headers["retry-after"] == "60"


@pytest.mark.parametrize("size", [LARGEST_BODY + 1, 50_000_000])
def test_large_bodies_are_refused(sound, size):
    person = invited(sound)
    item, _ = person.next()
    connection = http.client.HTTPConnection(urlsplit(sound.address).netloc)
    connection.putrequest("POST", f"/item/{item}")
    for name, value in {"Cookie": person.cookie, "Sec-Fetch-Site": "same-origin", "Content-Length": str(size)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_does_not_say_its_size_is_cut_off(sound):
    person = invited(sound)
    item, _ = person.next()
    chunks = (b"0.sound=" + b"x" * 60_000 for _ in range(8))
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Transfer-Encoding": "chunked"}
    with suppress(BrokenPipeError, ConnectionResetError):  # where the server has hung up, because nobody reads on
        assert person.ask("POST", f"/item/{item}", chunks, headers).status == 413
    assert web.verdict_table(sound.store).height == 0


def test_texts_are_shown_as_texts(site):
    rows = [{**row, "hypothesis": MARKUP + row["id"], "premise": MARKUP} for row in NLI]
    pages = site("label-preserved", rows=rows)
    person = invited(pages)
    item, page = person.next()
    assert MARKUP in texts(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    reply = person.answer(item, label_preserved=MARKUP)
    assert reply.status == 422
    assert "<img" not in reply.text


def test_rewordings_with_markup_stay_text(site):
    pages = site("paraphrase")
    person = invited(pages)
    item, page = person.next()
    names = re.findall(r'<textarea id="([^"]+)"', page)
    reply = person.post(f"/item/{item}", {names[0]: MARKUP, "look": "yes"})
    assert "<img" not in reply.text
    assert "&lt;script&gt;" in reply.text


def test_a_connection_that_breaks_off_is_no_error_of_the_server(sound):
    headers = {"host": "localhost", "sec-fetch-site": "same-origin", "content-length": "99",
               "content-type": "application/x-www-form-urlencoded"}  # fmt: skip
    scope = {"type": "http", "method": "POST", "path": "/undo", "query_string": b"",
             "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(make_app(sound, Hosts())(scope, receive, send))
    assert sent[0]["status"] == 400


@pytest.mark.slow
@pytest.mark.parametrize("role", ["", "annotator", "owner"])
def test_a_list_of_payloads_finds_nothing(sound, role):
    scan(sound, role, PAYLOADS)


def test_some_payloads_find_nothing(sound):
    scan(sound, "annotator", [MARKUP, "99999999999999999999", "9" * 5000])  # more digits than Python reads


def scan(sound, role, payloads):
    """Every route with every payload, in path, query and fields: no error of the server, nothing reflected."""
    sound.tokens.each = sound.tokens.together = 10**9
    sound.tokens._failed = type(sound.tokens._failed)(maxlen=10)
    person = invited(sound, role) if role else Visitor(sound.address)
    before = web.verdict_table(sound.store).height, len(people_of(sound))
    for method, path in routes(sound):
        if path in ("/people/invite", "/me/leave", "/me/delete"):
            continue
        for payload in payloads:
            reply = attack(person, method, path, payload)
            refused = (400, 401, 403, 404, 405, 413, 414, 421, 422)
            assert reply is None or reply.status in (200, 303, *refused), (path, payload, reply.status)
            if reply is not None:
                assert "<script>alert" not in reply.text
                assert "root:x:" not in reply.text
                assert "SQLite format" not in reply.text
                assert "x=1" not in reply.headers.get("set-cookie", "")
                assert not reply.location or re.fullmatch(r"/(next|overview|decide|item/\d+)?", reply.location)
    assert (web.verdict_table(sound.store).height, len(people_of(sound))) == before


def people_of(sound):
    from otherwords.web.desk import rows_of_people

    return rows_of_people(sound.store)


def attack(person, method, path, payload):
    """One request with the payload in all places; None where the client itself refuses to send it."""
    from urllib.parse import quote

    placed = payload if "%" in payload and payload.isascii() else quote(payload, safe="/.", errors="surrogatepass")
    names = ("0.sound", "reason", "words", "pseudonym", "confirm", "consent", "role", "count", "look")
    fields = {name: payload.encode("utf-8", "surrogatepass") for name in names}
    try:
        return person.ask(method, f"{path.format(placed)}?q={placed}", fields if method == "POST" else None)
    except (http.client.InvalidURL, ValueError):
        return None


def test_no_path_leads_to_a_file(sound):
    person = invited(sound, "owner")
    for name in ("../store.py", "..%2fstore.py", "%2e%2e%2fstore.py", "annotate.css/../../store.py", "forms.py", ""):
        assert person.get(f"/static/{name}").status == 404
        assert person.get(f"/export/{name}").status == 404


def test_other_methods_are_refused(sound):
    person = invited(sound)
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        assert person.ask(method, "/next").status in (403, 405)
    assert person.ask("GET", "/undo").status == 405
