"""Places that workers share with the driver, a folder or an object store: Parquet files by name."""

import io
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from ..errors import BadInput, MissingExtra
from .files import atomic
from .run_folder import DAMAGED

_FIX = "give a folder that the driver and all workers see, or the URL of one, such as s3://bucket/folder"


class Place:
    """A folder, or a URL that fsspec knows (s3://, gs://, az://, ftp://...). Files are whole or absent."""

    def __init__(self, where: str | Path):
        self.where = str(where)
        parts = urlsplit(self.where)
        self._remote = "://" in self.where and parts.scheme != "file"
        #: The name without a password, for messages.
        self.name = without_password(self.where)
        if self._remote:
            self._own = threading.local()
            self._own.files, self._root = _open(self.where, self.name)
        else:
            self._folder = Path(parts.path if parts.scheme == "file" else self.where)

    @property
    def _files(self) -> Any:
        """The file system; each thread has its own, because a connection, of FTP for one, cannot be shared."""
        if not hasattr(self._own, "files"):
            self._own.files, _ = _open(self.where, self.name)
        return self._own.files

    def read(self, name: str) -> pl.DataFrame | None:
        """A table; None where there is none, or a damaged one."""
        data = self.fetch(name)
        with suppress(*DAMAGED):
            return None if data is None else pl.read_parquet(io.BytesIO(data))
        return None

    def write(self, name: str, frame: pl.DataFrame) -> None:
        """Store a table."""
        buffer = io.BytesIO()
        frame.write_parquet(buffer, statistics=False, compression="lz4")
        self.store(name, buffer.getvalue())

    def fetch(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""
        try:
            return (
                bytes(self._files.cat_file(self._path(name))) if self._remote else Path(self._path(name)).read_bytes()
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:
            raise self._failed("be read", error) from error

    def store(self, name: str, data: bytes) -> None:
        """Write a file, whole."""
        try:
            if self._remote:
                self._send(name, data)
            else:
                with atomic(Path(self._path(name))) as draft:
                    draft.write_bytes(data)
        except Exception as error:
            raise self._failed("be written to", error) from error

    def _send(self, name: str, data: bytes) -> None:
        try:
            self._files.pipe_file(self._path(name), data)
        except Exception:  # an object store needs no folder, others do; another worker may be making it now
            with suppress(Exception):
                self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(self._path(name), data)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            return bool(self._files.exists(self._path(name))) if self._remote else Path(self._path(name)).exists()
        except Exception as error:
            raise self._failed("be read", error) from error

    def remove(self, name: str) -> None:
        """Delete a file, if it is there and may be deleted: one that stays does no harm."""
        with suppress(Exception):
            self._files.rm_file(self._path(name)) if self._remote else Path(self._path(name)).unlink()

    def clear(self) -> None:
        """Delete the place with all that is in it, if it may be deleted."""
        with suppress(Exception):
            self._files.rm(self._root, recursive=True) if self._remote else shutil.rmtree(self._folder)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}.parquet" if self._remote else str(self._folder / f"{name}.parquet")

    def _failed(self, what: str, error: Exception) -> BadInput:
        return BadInput(f"cannot {what}: {_said(error, self.where)}", where=self.name, field="shared", fix=_FIX)


def without_password(where: str) -> str:
    """A folder as it is, or a URL without user and password.

    >>> without_password("ftp://me:secret@host:21/folder"), without_password("data/at@home")
    ('ftp://host:21/folder', 'data/at@home')
    """
    parts = urlsplit(where)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else where


def _said(error: Exception, url: str) -> str:
    """What an error says, without the password that the URL has."""
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    secrets = [user + at, user.partition(":")[2]] if at else []
    text = f"{type(error).__name__}: {error}"
    for one in filter(None, secrets):
        text = text.replace(one, "")
    return text


def _open(url: str, name: str) -> tuple[Any, str]:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra(f"a shared place such as {name}", "ray") from error
    try:
        files, root = fsspec.core.url_to_fs(url)
    except ImportError as error:  # s3fs, gcsfs and others are packages of their own
        raise BadInput(
            str(error), where=name, field="shared", fix="install it on this machine and on the workers"
        ) from error
    except Exception as error:
        raise BadInput(f"cannot be opened: {_said(error, url)}", where=name, field="shared", fix=_FIX) from error
    return files, root.rstrip("/")
