"""AFLite on given and computed embeddings; files of embeddings; what is refused. The partitions: tests/independent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import tiny_models
from refusals import refuses

from otherwords.errors import BadInput
from otherwords.selection import AFLite, aflite
from otherwords.selection.embedding import read_embeddings

LABELS = ("entailment", "neutral", "contradiction")
SETTINGS = AFLite(n=8, m=30, k=10)


def problems(count: int = 90) -> list[dict[str, Any]]:
    return [
        {"id": f"p{n}", "premise": f"Premise {n // 2}.", "hypothesis": f"Hypothesis {n}.", "label": LABELS[n % 3]}
        for n in range(count)
    ]


def vectors(count: int = 90, easy: int = 40) -> np.ndarray:
    """Noise, and of the first `easy` problems a strong sign of their label."""
    found = np.random.default_rng(3).normal(size=(count, 6))
    found[np.arange(easy), np.arange(easy) % 3] += 6
    return found


def test_problems_that_give_their_label_away_are_easy():
    table, found = aflite(problems(), vectors(), settings=SETTINGS)
    easy = (table["aflite"] == "easy").to_numpy()
    assert easy[:40].mean() > 0.8
    assert easy[40:].mean() < 0.4
    assert (easy == (found.score > 0.75)).all()
    assert table["aflite_left"].to_list() == [one or None for one in found.left.tolist()]
    assert [int((found.left == n).sum()) for n in range(1, len(found.leaving) + 1)] == list(found.leaving)
    assert all(count == 10 for count in found.leaving[:-1])  # it ends after a round in which fewer leave


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(90)
    rows = problems()
    first = aflite(rows, vectors(), settings=SETTINGS)[0]
    other = aflite([rows[place] for place in order], vectors()[order], settings=SETTINGS)[0]
    assert other.sort("id").select("aflite", "aflite_score").equals(first.sort("id").select("aflite", "aflite_score"))


def test_it_ends_when_fewer_than_m_remain():
    _, found = aflite(problems(), vectors(easy=90), settings=AFLite(n=8, m=60, k=20, tau=0))
    assert found.leaving == (20, 20)


def test_files_of_embeddings(tmp_path):
    ids, given = [f"p{n}" for n in range(90)], vectors()
    np.save(tmp_path / "e.npy", given)
    np.savez(tmp_path / "e.npz", id=np.array(ids[::-1]), embedding=given[::-1])
    backwards = pl.DataFrame({"id": ids, "embedding": given.tolist()}).reverse()
    backwards.write_parquet(tmp_path / "e.parquet")
    backwards.write_ndjson(tmp_path / "e.jsonl")
    backwards.cast({"embedding": pl.Array(pl.Float64, 6)}).write_parquet(tmp_path / "array.parquet")
    for name in ("e.npy", "e.npz", "e.parquet", "e.jsonl", "array.parquet"):
        assert np.array_equal(read_embeddings(tmp_path / name, ids), given), name


@pytest.mark.parametrize(
    "saved",
    [
        lambda path: np.save(path / "e.npy", vectors(80)),
        lambda path: np.save(path / "e.npy", np.zeros(90)),
        lambda path: np.save(path / "e.npy", np.array([["a"]] * 90)),
        lambda path: np.save(path / "e.npy", np.array([{}] * 90), allow_pickle=True),
        lambda path: (path / "e.npy").write_bytes(b"nothing"),
        lambda path: np.savez(path / "e.npz", embedding=vectors()),
        lambda path: np.savez(path / "e.npz", id=np.array(["p0"] * 90), embedding=vectors()),
        lambda path: np.savez(path / "e.npz", id=np.arange(90), embedding=vectors()),
        lambda path: (path / "e.csv").write_text("id,embedding\np0,1\n"),
        lambda path: pl.DataFrame({"id": ["p0", "p1"], "embedding": [[1.0], [1.0, 2.0]]}).write_parquet(
            path / "e.parquet"
        ),
        lambda path: pl.DataFrame({"name": ["p0"], "embedding": [[1.0]]}).write_parquet(path / "e.parquet"),
        lambda path: np.save(path / "e.npy", np.where(vectors() > 3, np.nan, vectors())),
        lambda path: None,
    ],
)
def test_wrong_files_are_refused(tmp_path, saved):
    saved(tmp_path)
    path = next(iter(tmp_path.glob("e.*")), tmp_path / "none.npy")
    with refuses(BadInput):
        aflite(problems(), path, settings=SETTINGS)


@pytest.mark.parametrize(
    "wrong", [AFLite(n=0), AFLite(m=0), AFLite(k=0), AFLite(tau=1), AFLite(tau=float("nan")), AFLite()]
)
def test_wrong_settings_are_refused(wrong):
    """The last are the paper's: 90 problems are too few for them."""
    with refuses(BadInput):
        aflite(problems(), vectors(), settings=wrong)


@pytest.mark.parametrize(
    "given", [{}, {"embeddings": vectors(), "encoder": "hf:none"}, {"model": "scripted"}, {"model": "bag_of_words"}]
)
def test_embeddings_come_from_one_place(given):
    with refuses(BadInput):
        aflite(problems(), settings=SETTINGS, **given)


def test_labels_are_needed_and_rewordings_are_refused():
    rows = problems()
    with refuses(BadInput, field="label"), pytest.warns(UserWarning, match="no column `label`"):
        aflite([{name: row[name] for name in ("id", "premise", "hypothesis")} for row in rows], vectors())
    with refuses(BadInput, field="of"):
        aflite([*rows, {**rows[0], "id": "v", "of": "p0"}], vectors(91))


@pytest.mark.parametrize(
    ("family", "task"), [("bert", "nli"), ("distilbert", "nli"), ("xlnet", "nli"), ("bert", "a-nli")]
)
def test_a_classifier_embeds_by_the_first_token_of_its_last_layer(tmp_path, family, task):
    import torch

    from otherwords.problem import TASKS
    from otherwords.selection.embedding import first_tokens
    from otherwords.selection.rows import read_rows

    choice, types = task == "a-nli", family != "distilbert"
    model = tiny_models.build(family, "ForMultipleChoice" if choice else "ForSequenceClassification")
    tokenizer = tiny_models.word_tokenizer(("input_ids", *(["token_type_ids"] if types else []), "attention_mask"))
    folder = tiny_models.save(model, tmp_path / "model", tokenizer)
    texts = ["a dog runs", "it rains in the park while a cat sleeps", "no dog"]
    values = [dict(zip(TASKS[task].fields, [*texts[n:], *texts], strict=False)) for n in range(3)]
    rows, known = read_rows([{**one, "label": TASKS[task].labels[0]} for one in values], task)
    found = first_tokens(rows, known, f"hf:{folder}")
    assert found.shape == (3, 32 if choice else 16)
    for row, vector in zip(values, found, strict=True):
        pairs = (
            [(row["obs1"], f"{row[name]} {row['obs2']}") for name in ("hyp1", "hyp2")] if choice else [(*row.values(),)]
        )
        wanted = [
            model.base_model(**{name: torch.tensor([ids]) for name, ids in tokenizer(*pair).items()})[0][0, 0]
            for pair in pairs
        ]
        assert np.allclose(vector, torch.cat(wanted).detach().numpy(), atol=1e-4)
