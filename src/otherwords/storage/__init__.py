"""Files on disk: atomic writes, locks and hashes (`files`), tables in the usual formats (`tables`), the run folder.

Names are loaded when first used: `files` must work where Polars is not installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .files import atomic, digest, fingerprint, lock_folder, seed_for, write_json, write_text
    from .run_folder import RunFolder, key_of, read_part

__all__ = [
    "RunFolder",
    "atomic",
    "digest",
    "fingerprint",
    "key_of",
    "lock_folder",
    "read_part",
    "seed_for",
    "write_json",
    "write_text",
]
_RUN_FOLDER = ("RunFolder", "key_of", "read_part")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".run_folder" if name in _RUN_FOLDER else ".files", __name__), name)
