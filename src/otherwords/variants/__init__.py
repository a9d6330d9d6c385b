"""Generators of variants: how problems are put in other words.

`generating` says what a generator is and runs it; every other module is one generator, or what generators share.
"""

from .generating import Generator, as_generator, chosen_fields, notes_table, read_notes, with_changes

__all__ = ["Generator", "as_generator", "chosen_fields", "notes_table", "read_notes", "with_changes"]
