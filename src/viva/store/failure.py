"""Giving a failure of the disk or of SQLite a name, a place and a remedy."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

from viva.core.errors import StoreError

_FEW_BYTES = 65_536

_BY_CODE = {
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_IOERR: "io_error",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_CANTOPEN: "cannot_open",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
}

_BY_ERRNO = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EFBIG: "disk_full",
    errno.EIO: "io_error",
    errno.EROFS: "read_only",
    errno.EACCES: "read_only",
    errno.EPERM: "read_only",
    errno.ENOENT: "vanished",
    errno.ENOTDIR: "cannot_open",
}

_WORDS = {
    "disk_full": ("the disk is full", "free some space, then resume: everything acknowledged before is kept"),
    "io_error": ("the disk reports an input/output error", "check the disk, then resume"),
    "read_only": ("the store may only be read", "make the folder and its files writable, or choose another store"),
    "vanished": ("the store's file or folder is gone", "put it back or choose another store; nothing more is written"),
    "cannot_open": ("the file cannot be opened", "check that the folder exists and that you may write in it"),
    "corrupt": ("the file is damaged, or is no SQLite file", "restore a copy, or choose another store"),
    "busy": ("another process keeps the store locked", "wait for it, or stop it, then resume"),
}

DISK_KINDS = frozenset(("disk_full", "io_error", "read_only", "vanished", "cannot_open", "corrupt"))
"""After one of these the writer stops for good: what the disk refuses once is not tried again behind one's back."""


def kind_of(cause: BaseException, path: Path) -> str:
    """The stable word for a failure; '' when it is none of the disk's."""
    kind = ""
    if isinstance(cause, StoreError):
        return cause.kind
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        kind = "" if code is None else _BY_CODE.get(code & 0xFF, "")
    elif isinstance(cause, OSError):
        kind = _BY_ERRNO.get(cause.errno or 0, "io_error")
    if kind in ("io_error", "cannot_open"):
        return _look_closer(kind, path)
    return kind


def explain(cause: BaseException, path: Path, doing: str, needed_bytes: int = 0) -> StoreError:
    """Turn a failure into a StoreError that names the path, the bytes that were to be written, and a remedy."""
    if isinstance(cause, StoreError):
        return cause
    kind = kind_of(cause, path)
    what, hint = _WORDS.get(kind, (f"{type(cause).__name__}: {cause}", ""))
    size = f", {needed_bytes:,} bytes needed" if needed_bytes else ""
    room = f", {_free_bytes(path):,} bytes free" if kind == "disk_full" else ""
    told = f" [{cause}]" if kind else ""
    return StoreError(f"{doing}: {what}{size}{room}{told}", kind=kind or "store_error", hint=hint, where=str(path))


def _look_closer(kind: str, path: Path) -> str:
    """SQLite says "I/O error" of a full disk, and "cannot open" of a missing or read-only folder."""
    if not path.parent.is_dir():
        return "vanished"
    if kind == "cannot_open" and not may_write(path.parent):
        return "read_only"
    return "disk_full" if kind == "io_error" and _free_bytes(path) < _FEW_BYTES else kind


def may_write(folder: Path) -> bool:
    """Whether files can be made in a folder, as far as can be told without trying."""
    if not os.access(folder, os.W_OK):
        return False
    return not (hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY)


def _free_bytes(path: Path) -> int:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return 0
