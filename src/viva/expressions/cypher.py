"""Cypher as text: splitting scripts into statements, and letting only reading queries through.

The filter is an allow-list. A bare word that Cypher reserves for a clause must be a reading clause, a called function
must be on the list of plain functions, and nothing may be chained or hidden behind a unicode escape. It runs before a
query is sent; the driver's read mode and the server's roles come on top, because neither is enough on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from viva.core.errors import SuiteError

LONGEST_QUERY = 20_000

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<parameter>\$[^\W\d]\w*)
      | (?P<word>[^\W\d]\w*)
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

READING = frozenset(
    (
        "MATCH OPTIONAL WHERE WITH UNWIND RETURN ORDER BY SKIP LIMIT DISTINCT AS ASC ASCENDING DESC DESCENDING AND "
        "OR XOR NOT IN IS NULL TRUE FALSE STARTS ENDS CONTAINS CASE WHEN THEN ELSE END EXISTS COUNT COLLECT UNION "
        "ALL"
    ).split()
)

FORBIDDEN = frozenset(
    (
        "CREATE MERGE DELETE DETACH NODETACH SET REMOVE FOREACH CALL YIELD LOAD CSV USE USING DROP ALTER GRANT "
        "DENY REVOKE START STOP SHOW TERMINATE PROFILE EXPLAIN CYPHER INSERT FINISH LET FILTER PERIODIC COMMIT "
        "TRANSACTIONS CONSTRAINT INDEX DATABASE DATABASES DBMS ENABLE DEALLOCATE REALLOCATE RENAME IMPORT EXPORT "
        "BACKUP TRUNCATE REBUILD CONSOLE EXEC EXECUTE"
    ).split()
)

FUNCTIONS = frozenset(
    (
        "count collect sum avg min max stdev stdevp percentilecont percentiledisc size length type id elementid "
        "labels keys properties nodes relationships startnode endnode head last tail reverse range reduce coalesce "
        "exists all any none single isempty tostring tostringornull tointeger tointegerornull tofloat "
        "tofloatornull toboolean tobooleanornull tolower toupper lower upper trim ltrim rtrim btrim left right "
        "substring replace split abs ceil floor round sign sqrt exp log log10 rand date datetime time localtime "
        "localdatetime duration timestamp point distance not in where and or xor when then else case is as return "
        "with unwind match limit skip by distinct null isnan pi e degrees radians sin cos tan char_length "
        "character_length normalize valuetype nullif"
    ).split()
)

NAMESPACED = frozenset(
    (
        "point.distance point.withinbbox duration.between duration.inseconds duration.indays duration.inmonths "
        "date.truncate datetime.truncate time.truncate localdatetime.truncate localtime.truncate "
        "datetime.fromepoch datetime.fromepochmillis date.realtime datetime.realtime"
    ).split()
)


class Token(NamedTuple):
    """A piece of a query that means something."""

    kind: str
    text: str
    at: int


def tokens(query: str) -> Iterator[Token]:
    """The meaningful pieces of a query; comments and white space are left out."""
    for found in _TOKEN.finditer(query):
        kind = found.lastgroup or "other"
        if kind not in ("comment", "space"):
            yield Token(kind, found.group(), found.start())


def split_script(script: str) -> list[str]:
    """Split a script at semicolons that are neither in strings, names nor comments."""
    parts: list[str] = []
    begin = 0
    for found in _TOKEN.finditer(script):
        if found.lastgroup == "other" and found.group() == ";":
            parts.append(script[begin : found.start()])
            begin = found.end()
    parts.append(script[begin:])
    return [part.strip() for part in parts if any(True for _ in tokens(part))]


def check_reading(query: str, where: str = "") -> None:
    """Refuse a query that could do anything but read the graph."""
    if len(query) > LONGEST_QUERY:
        raise _refused("it is too long", where, f"at most {LONGEST_QUERY} characters")
    if "\\u" in query.lower():
        raise _refused("unicode escapes could hide a clause", where, "write the character itself")
    pieces = list(tokens(query))
    if not pieces:
        raise _refused("it is empty", where)
    if pieces[0].text.upper() not in ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN"):
        raise _refused(f"it begins with {pieces[0].text!r}", where, "begin with MATCH, UNWIND, WITH or RETURN")
    for place, piece in enumerate(pieces):
        _check_piece(pieces, place, piece, where)


def _check_piece(pieces: list[Token], place: int, piece: Token, where: str) -> None:
    if piece.kind == "other":
        if piece.text in ";\\'\"`":
            reason = "statements cannot be chained" if piece.text == ";" else f"stray {piece.text!r}"
            raise _refused(f"{reason} (character {piece.at + 1})", where)
        return
    if piece.kind not in ("word", "quoted"):
        return
    before = pieces[place - 1].text if place else ""
    after = pieces[place + 1].text if place + 1 < len(pieces) else ""
    if after == "(":
        _check_call(pieces, place, where)
    named = before in (".", ":", "|", "&", "!") or (after == ":" and before in ("{", ","))
    if piece.kind == "word" and not named and piece.text.upper() in FORBIDDEN:
        raise _refused(
            f"{piece.text.upper()} is not a reading clause (character {piece.at + 1})",
            where,
            "a variable of that name must be written in backticks",
        )


def _check_call(pieces: list[Token], place: int, where: str) -> None:
    """A word before a parenthesis is a function call, or a keyword before a bracketed expression."""
    name = [pieces[place].text.strip("`")]
    while place >= 2 and pieces[place - 1].text == "." and pieces[place - 2].kind in ("word", "quoted"):
        place -= 2
        name.insert(0, pieces[place].text.strip("`"))
    full = ".".join(name).lower()
    if len(name) == 1 and (full.upper() in READING or full in FUNCTIONS):
        return
    if full in NAMESPACED:
        return
    raise _refused(
        f"the function {'.'.join(name)}() is not on the list of plain functions",
        where,
        "procedures and plug-ins may write, read files or reach hosts",
    )


def _refused(why: str, where: str, hint: str = "") -> SuiteError:
    return SuiteError(f"this Cypher query is not read-only: {why}", kind="cypher_not_reading", hint=hint, where=where)
