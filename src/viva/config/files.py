"""Files named by a suite: below its folder, ordinary, and not too large."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path, PureWindowsPath

from viva.core.errors import SuiteError

MOST_BYTES = 1_000_000_000
"""Of a file a suite names. Data sets are read line by line, so this bounds time, not memory."""


def resolve(folder: Path | None, name: str, *, most_bytes: int = MOST_BYTES, where: str = "") -> Path:
    """Find a file below a folder, links resolved. Raises SuiteError for anything else."""
    if folder is None:
        hint = "give the suite a folder"
        raise SuiteError(f"{name!r}: a suite without a folder cannot name files", hint=hint, where=where)
    if not name or "\0" in name or Path(name).is_absolute() or PureWindowsPath(name).drive or name[0] in "~/\\":
        raise _outside(name, where)
    home = folder.resolve()
    try:
        found = (home / name).resolve(strict=True)
        if not found.is_relative_to(home):
            raise _outside(name, where)
        about = found.stat()
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SuiteError(f"{name!r} cannot be read: {reason}", hint=f"looked in {folder}", where=where) from error
    if not stat.S_ISREG(about.st_mode):
        raise SuiteError(f"{name!r} is no ordinary file", where=where)
    if about.st_size > most_bytes:
        raise SuiteError(f"{name!r} has {about.st_size:,} bytes; the limit is {most_bytes:,}", where=where)
    return found


def read_bytes(path: Path, *, most_bytes: int, shown: str = "") -> bytes:
    """Read an ordinary file whole, up to a limit; a device or a pipe is refused and not waited for."""
    shown = shown or str(path)
    try:
        # Without O_NONBLOCK, opening a pipe nobody writes to would hang before it could be refused.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SuiteError(f"cannot be read: {reason}", where=shown) from error
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise SuiteError(f"this is {'a folder' if stat.S_ISDIR(mode) else 'no ordinary file'}", where=shown)
        raw = _read(handle, most_bytes + 1)
    finally:
        os.close(handle)
    if len(raw) > most_bytes:
        raise SuiteError(f"more than {most_bytes:,} bytes", hint="put the cases in a data set file", where=shown)
    return raw


def _read(handle: int, most_bytes: int) -> bytes:
    pieces: list[bytes] = []
    while most_bytes > 0 and (piece := os.read(handle, min(most_bytes, 1_000_000))):
        pieces.append(piece)
        most_bytes -= len(piece)
    return b"".join(pieces)


def hash_bytes(raw: bytes) -> str:
    """The hash of a file's content, as kept in `Source`."""
    return hashlib.sha256(raw).hexdigest()


def hash_file(path: Path) -> str:
    """The same, without holding the file in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _outside(name: str, where: str) -> SuiteError:
    return SuiteError(
        f"{name!r} is not below the suite's folder",
        kind="not_allowed",
        hint="a suite may only name files in its own folder, by a relative path",
        where=where,
    )
