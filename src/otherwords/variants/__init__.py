"""Generators of variants: plug-ins that put problems in other words.

`generating` defines `Generator` and runs generators; every other module is a generator, or shared by several.
"""

from .generating import Generator, as_generator, chosen_fields, notes_table, read_notes, with_changes

__all__ = ["Generator", "as_generator", "chosen_fields", "notes_table", "read_notes", "with_changes"]
