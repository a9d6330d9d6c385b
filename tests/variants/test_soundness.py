"""Which kinds are used by default, by what was read of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otherwords.variants.soundness import DOMAINS, KindRate, describe_kinds, rates, sound_kinds, summary
from otherwords.variants.structural import KINDS_V2


@pytest.mark.parametrize(
    ("found", "domain", "kinds"),
    [
        ([("voice", "news", 93, 100)], "news", ["voice"]),
        ([("voice", "news", 92, 100)], "news", []),  # found unsound there
        ([("voice", "news", 59, 59)], "news", []),  # too few were read
        ([("voice", "news", 60, 60)], "captions", []),  # nothing was read there
        ([("voice", "news", 60, 60), ("voice", "captions", 9, 9)], "", ["voice"]),
        ([("voice", "news", 60, 60), ("voice", "captions", 1, 60)], "", []),  # unsound somewhere
        ([("voice", "news", 9, 9)], "", []),  # measured nowhere
    ],
)
def test_kinds_by_domain(found, domain, kinds):
    assert sound_kinds(domain, tuple(KindRate(*one) for one in found)) == kinds


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(sorted(DOMAINS)), st.integers(0, 120))))
def test_what_is_on_for_all_texts_is_unsound_nowhere(rows):
    found = tuple(KindRate(kind, domain, sound, 120) for kind, domain, sound in rows)
    bad = {rate.kind for rate in found if rate.is_good is False}
    everywhere = set(sound_kinds("", found))
    assert not everywhere & bad
    assert everywhere <= {kind for domain in DOMAINS for kind in sound_kinds(domain, found)}


def test_the_file_can_be_read():
    assert len({(rate.kind, rate.domain) for rate in rates()}) == len(rates())
    assert {rate.domain for rate in rates()} <= set(DOMAINS)
    assert all(0 <= rate.sound <= rate.read for rate in rates())
    assert all(f"{len(sound_kinds(domain))} on {domain} ({source})" in summary() for domain, source in DOMAINS.items())


def test_every_kind_is_described_with_its_rates_and_whether_it_is_on():
    rows = describe_kinds()
    assert tuple(row.kind for row in rows) == KINDS_V2
    read = {(rate.kind, rate.domain): f"{rate.sound}/{rate.read} " for rate in rates()}
    for row in rows:
        assert row.example
        assert row.left_alone
        for domain in DOMAINS:
            state = "on" if row.kind in sound_kinds(domain) else "off"
            assert row.domains[domain] == f"{read.get((row.kind, domain), '')}{state}"
        assert row.domains["no domain"] == ("on" if row.kind in sound_kinds("") else "off")


def test_the_page_has_the_examples_of_the_list():
    page = (Path(__file__).parents[2] / "docs" / "rewording.md").read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for row in describe_kinds():
        plain = re.sub(r"\[`([^`]*)`\]\([^)]*\)", r"\1", lines[row.kind]).replace("`", "")
        assert plain.endswith(f"| {row.example} | {row.left_alone} |"), row.kind


def test_the_page_has_the_rates_of_the_file():
    page = (Path(__file__).parents[2] / "docs" / "rewording.md").read_text(encoding="utf-8")
    shown = {(rate.kind, rate.domain): f"{rate.sound} of {rate.read}" for rate in rates()}
    for kind in KINDS_V2:
        cells = [shown.get((kind, domain), "–") for domain in DOMAINS]
        assert f"| `{kind}` | {' | '.join(cells)} | " in page, kind
