"""otherwords probe: a table for people, JSON for programs, and no second time unless it is asked for."""

from __future__ import annotations

import json

import llama_cpp
import pytest
from typer.testing import CliRunner

from otherwords.cli.app import app
from otherwords.cli.probe import _rows
from otherwords.language_models.completion import Capabilities
from otherwords.language_models.probe import ProbeResult

RUN = CliRunner()


@pytest.fixture
def model() -> str:
    pytest.importorskip("xllamacpp")
    return f"api:tiny(url={json.dumps(llama_cpp.serve_tiny())})"


def test_it_prints_what_a_server_does(model):
    done = RUN.invoke(app, ["probe", model])
    assert done.exit_code == 0
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line.strip())
    found = {name.strip(): value.strip() for name, value in rows.items()}
    assert found["log-probabilities"] == "top 100 per token"
    assert found["constrained decoding"] == "grammar"
    assert found["silently ignored fields"] == "echo"


def test_json_is_what_was_found_the_first_time(model):
    first, again = (json.loads(RUN.invoke(app, ["probe", model, "--json"]).stdout) for _ in range(2))
    assert first == again
    assert first["capabilities"]["context"] == llama_cpp.CONTEXT


def test_what_is_no_server_is_one_line(model):
    done = RUN.invoke(app, ["probe", "nli-small"])
    assert done.exit_code == 2
    assert "nli-small: is not on a server; give a model on one, as in api:NAME(url=...)" in done.stderr


def test_what_was_not_tried_is_not_said_to_fail():
    rows = dict(_rows(ProbeResult("m", "http://m", Capabilities(seed=False, reasons=True))))
    assert [rows["seed"], rows["several completions at once"]] == ["not tried", "not tried"]
