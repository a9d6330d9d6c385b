from hypothesis import given
from hypothesis import strategies as st

from otherwords.datasets.intake import Entry, Ledger

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


def test_originals_are_found_and_variants_are_none():
    ledger = Ledger()
    assert ledger.add("o", Entry("neutral", "c"))
    assert ledger.add("v", None)
    assert ledger.original("o") == Entry("neutral", "c")
    assert ledger.original("v") is None
    assert ledger.original("gone") is None


def test_the_first_entry_stands():
    ledger = Ledger()
    ledger.add("o", Entry("neutral", "c"))
    assert not ledger.add("o", Entry("entailment", "d"))
    assert not ledger.add("o", None)
    assert ledger.original("o") == Entry("neutral", "c")


@given(st.lists(st.tuples(NAMES, st.booleans(), NAMES)))
def test_it_is_a_dictionary_that_keeps_the_first(rows):
    ledger, plain = Ledger(), {}
    for name, original, label in rows:
        entry = Entry(label, "c") if original else None
        assert ledger.add(name, entry) is (name not in plain)
        plain.setdefault(name, entry)
        assert ledger.original(name) == plain[name]
    assert {name: ledger.original(name) for name in plain} == plain


def test_names_that_look_alike_are_not_the_same():
    ledger = Ledger()
    assert all(ledger.add(name, None) for name in ("1", "01", "1.0", "a", "A", "a ", "a\0b", "a\0c", "é", "e\u0301"))
