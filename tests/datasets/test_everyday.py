from collections import Counter

from refusals import refuses

from otherwords.errors import BadInput
from otherwords.registry import datasets


def test_splits_are_disjoint_and_make_the_whole(take):
    train, test, whole = (take(f"everyday(split={split})")[0] for split in ("train", "test", "all"))
    assert {row["split"] for row in train} == {"train"}
    assert {row["split"] for row in test} == {"test"}
    assert sorted(row["id"] for row in train + test) == sorted(row["id"] for row in whole)
    assert take("everyday")[0] == test


def test_every_split_is_balanced(take):
    for split in ("train", "test"):
        counts = Counter(row["label"] for row in take(f"everyday(split={split})")[0])
        assert len(counts) == 3
        assert len(set(counts.values())) == 1
        assert min(counts.values()) > 10


def test_rows_carry_a_topic(take):
    assert all(row["topic"] for row in take("everyday(split=all)")[0])


def test_the_file_is_named(take):
    (file,) = datasets.make("everyday").function.files
    assert file.is_file()


def test_unknown_split():
    with refuses(BadInput):
        datasets.make("everyday(split=dev)")
