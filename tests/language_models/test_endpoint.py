"""Addresses and keys: what is refused, what is warned of, and that a key is in no message."""

import warnings
from typing import Any

import pytest

from otherwords.errors import BadInput
from otherwords.language_models.endpoint import HIDDEN, Endpoint, endpoint_of

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("", "https://api.openai.com/v1"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("https://Gateway.example/openai/v1/chat/completions", "https://gateway.example/openai/v1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address_has_one_spelling(given: str, used: str) -> None:
    assert Endpoint("m", given).url == used
    assert Endpoint("m", given).identity == f"m@{used.partition('://')[2]}"


def test_the_variable_of_the_vendor_is_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert Endpoint("m").url == "http://127.0.0.1:9/v1"
    assert Endpoint("m", "http://127.0.0.1:8/v1").url == "http://127.0.0.1:8/v1"
    assert Endpoint("m", dialect="anthropic").url == "https://api.anthropic.com/v1"


@pytest.mark.parametrize(
    "url",
    [
        f"https://me:{KEY}@host/v1",
        f"https://{KEY}@host/v1",
        f"https://host/v1?api-key={KEY}",
        f"https://host/v1#{KEY}",
        f"ftp://host/{KEY}",
        f"{KEY}",
        f"http://[{KEY}/v1",
        f"http://host:{KEY}/v1",
    ],
)
def test_an_address_with_a_secret_and_one_that_is_none_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        Endpoint("m", url)
    assert KEY not in str(caught.value)


def test_the_key_is_read_when_it_is_needed_and_scrubbed_from_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint("m", key_env="MY_KEY")
    assert endpoint.headers() == {}
    monkeypatch.setenv("MY_KEY", KEY)
    assert endpoint.headers() == {"authorization": f"Bearer {KEY}"}
    assert endpoint.scrub(f"wrong key {KEY}!") == f"wrong key {HIDDEN}!"
    assert KEY not in repr(endpoint) + endpoint.identity
    claude = Endpoint("m", dialect="anthropic", key_env="MY_KEY").headers()
    assert claude == {"x-api-key": KEY, "anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    "spelled",
    [
        "a/b+c==d&ef",
        "a%2Fb%2bc%3D%3Dd%26ef",
        r"a\/b\u002bc\u003d\u003Dd\u0026ef",
        "a&#47;b&#x2B;c==d&amp;ef",
        "a/b+c%3d=d&ef",
    ],
)
def test_a_key_is_scrubbed_however_its_marks_are_written(spelled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "a/b+c==d&ef")
    assert Endpoint("m", key_env="MY_KEY").scrub(f"found {spelled}, a/b") == f"found {HIDDEN}, a/b"


def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\nx: y")
    with pytest.raises(BadInput, match=r"\$MY_KEY") as caught:
        Endpoint("m", key_env="MY_KEY").headers()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://models.example/v1", True),
        ("http://10.0.0.3:8000/v1", True),
        ("https://models.example/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://[::1]/v1", False),
    ],
)
def test_an_address_on_another_machine_that_is_not_encrypted_is_warned_of(url: str, warned: bool) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Endpoint("m", url).warn_unencrypted()
    assert ["not encrypted" in str(one.message) for one in found] == [True] * warned


def test_whatever_decides_the_answers_is_part_of_the_identity() -> None:
    given: list[dict[str, Any]] = [
        {},
        {"extra": {"top_k": 1}},
        {"extra": {"top_k": 2}},
        {"served_as": "m-2024"},
        {"served_as": "m-2025"},
        {"dialect": "anthropic"},
        {"url": "http://other/v1"},
    ]
    names = {Endpoint("m", **{"url": "http://host/v1", **one}).identity for one in given}
    assert len(names) == len(given)
    assert Endpoint("m", "http://host/v1", key_env="OTHER").identity in names


def test_a_dialect_that_nobody_speaks_is_refused() -> None:
    with pytest.raises(BadInput, match="openai, anthropic"):
        Endpoint("m", dialect="latin")


@pytest.mark.parametrize("url", ["http://127.0.0.1:0/v1", f"http://{'a' * 3000}/v1", "http://\u202e.com/v1"])
def test_an_address_that_nobody_can_have_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="is not a valid address"):
        Endpoint("m", url)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        *(
            "gsk_" + "Qm4x" * 13,
            "hf_" + "aBcDeFgHiJ" * 3,
            "xai-" + "a8" * 40,
            "AIza" + "SyD3" * 9,
            "sk_live_" + "z9" * 12,
        ),
        *("deadbeef01" * 4, "abcdefghijklmnopqrstuvwxyzabcdef", "A" * 12 + "7" * 20, "pplx_" + "k" * 48),
    ],
)
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(BadInput, match="is not a valid variable name") as caught:
        Endpoint("m", key_env=key)
    assert key not in str(caught.value)


def test_names_of_variables_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "mycompanykeyofthelanguagemodels2026"
    monkeypatch.setenv(long, "x")
    for name in ("GROQ_API_KEY", "hf_token", "OPENAI_API_KEY_2026", "_k", "MY_ORGANISATIONWIDEKEY", "key2", long):
        assert Endpoint("m", key_env=name).key_env == name


def test_options_without_an_end_do_not_go_to_another_server() -> None:
    with pytest.raises(BadInput, match="the options have no end"):
        endpoint_of("tiny(url=http://127.0.0.1:8080/v1")
    for wrong in (
        "(http://host/v1)",
        "(sk-a1B2c3)",
        " url=http://host/v1",
        ", url = host",
        "@http://host/v1",
        "http://host",
    ):
        with pytest.raises(BadInput, match=r"^api:(tiny)?: its name holds an address or options, and no url"):
            endpoint_of(wrong if wrong.startswith("http:") else f"tiny{wrong}")
    for unset in ("", 8080):  # as of a variable of the shell that is not set
        with pytest.raises(BadInput, match="api:tiny: url: is not a valid address"):
            endpoint_of("tiny", url=unset)
    assert endpoint_of("org/a model (1).gguf", url="http://127.0.0.1:8080/v1").model == "org/a model (1).gguf"
    with pytest.raises(BadInput, match="has what JSON has not"):
        endpoint_of("tiny", extra={"top_k": float("inf")})


def test_a_key_that_comes_back_is_in_nothing_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    for sent in (KEY, escaped):
        content = f'{{"a": ["x{sent}y", 1, null], "{sent}": {{"b": "{sent}"}}}}'.encode()
        assert Endpoint("m").read_json(content) == {"a": [f"x{HIDDEN}y", 1, None], HIDDEN: {"b": HIDDEN}}


def test_half_a_character_is_replaced_and_a_whole_one_stays() -> None:
    content = rb'{"a \ud800": ["b \uDE00 c", "\ud83d\ude00"]}'
    assert Endpoint("m").read_json(content) == {"a \ufffd": ["b \ufffd c", "\U0001f600"]}
