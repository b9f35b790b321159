"""Searching with a regular expression in linear time: a machine of states built as it is needed.

Python's own `re` backtracks, and a pattern from a stranger can make it run for years. Here every character of the
text is looked at once, the work of building states is counted, and a search that would cost too much is stopped with
an error. See docs/design/expressions.md.
"""

from __future__ import annotations

from functools import lru_cache

from viva.expressions.pattern_syntax import (
    WORD,
    Accepts,
    Choice,
    One,
    PatternError,
    PatternReader,
    Place,
    Repeat,
    Sequence,
    Tree,
)

LONGEST_TEXT = 1_000_000
MOST_INSTRUCTIONS = 2_000
MOST_WORK = 300_000
"""Looks at single instructions, in one search; each takes a fraction of a microsecond."""
MOST_KEPT = 20_000
"""Instruction numbers kept in remembered states; past it they are forgotten and built anew."""

START, END, NEWLINE, LETTER, OTHER = range(5)


class _State:
    """A set of places in the program, and what each next character leads to."""

    __slots__ = ("before", "next", "places")

    def __init__(self, places: tuple[int, ...], before: int) -> None:
        self.places = places
        self.before = before
        self.next: dict[str, _State] = {}


_FOUND = _State((), OTHER)


class Pattern:
    """A compiled pattern; `search` says whether it occurs in a text."""

    def __init__(self, source: str, *, ignore_case: bool = False, whole: bool = False) -> None:
        self.source = source
        tree = PatternReader(source, ignore_case).read()
        if whole:
            tree = Sequence((Place("A"), tree, Place("z")))
        self._code = _Code(tree)
        self._start = _State((), START)
        self._states: dict[tuple[tuple[int, ...], int], _State] = {}
        self._kept = 0
        self._work = 0

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in the text. Raises PatternError when that would cost too much to say."""
        return self.search_counted(text)[0]

    def search_counted(self, text: str) -> tuple[bool, int]:
        """The same, with the work it took."""
        if len(text) > LONGEST_TEXT:
            raise PatternError(
                f"a text of {len(text)} characters is too long to search (at most {LONGEST_TEXT})", kind="too_large"
            )
        self._work = 0
        state = self._start
        for char in text:
            following = state.next.get(char)
            state = self._step(state, char) if following is None else following
            if state is _FOUND:
                return True, self._work
        return self._code.match in self._closure(state, END), self._work

    def _forget(self) -> None:
        # Emptied, not only dropped: the search that is going on still holds one of these states.
        for state in self._states.values():
            state.next.clear()
        self._start.next.clear()
        self._states.clear()
        self._kept = 0

    def _step(self, state: _State, char: str) -> _State:
        if self._kept > MOST_KEPT:
            self._forget()
        kind = _kind(char)
        reached = self._closure(state, kind)
        if self._code.match in reached:
            following = _FOUND
        else:
            accepts = self._code.accepts
            self._count(len(reached))
            places = tuple(sorted(at + 1 for at in reached if at in accepts and accepts[at](char)))
            following = self._remember(places, kind)
        state.next[char] = following
        self._kept += 1
        return following

    def _remember(self, places: tuple[int, ...], before: int) -> _State:
        key = (places, before)
        if key not in self._states:
            self._kept += len(places)
            self._states[key] = _State(places, before)
        return self._states[key]

    def _closure(self, state: _State, after: int) -> set[int]:
        """Every instruction reached without reading a character; a search may also begin here."""
        reached: set[int] = set()
        waiting = [0, *state.places]
        code = self._code
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            if at in code.jumps:
                waiting.extend(code.jumps[at])
            elif at in code.places and _holds(code.places[at], state.before, after):
                waiting.append(at + 1)
        self._count(len(reached))
        return reached

    def _count(self, looks: int) -> None:
        self._work += looks
        if self._work > MOST_WORK:
            raise PatternError(f"the pattern {self.source[:80]!r} costs too much on this text", kind="too_costly")


class _Code:
    """A pattern as numbered instructions: accept a character, jump, be at a place, match."""

    def __init__(self, tree: Tree) -> None:
        self.accepts: dict[int, Accepts] = {}
        self.jumps: dict[int, list[int]] = {}
        self.places: dict[int, str] = {}
        self._next = 0
        self._effort = 0
        self._emit(tree)
        self.match = self._reserve()

    def _reserve(self) -> int:
        self._next += 1
        if self._next > MOST_INSTRUCTIONS:
            raise PatternError("the pattern is too large once its repeats are written out", kind="too_costly")
        return self._next - 1

    def _emit(self, tree: Tree) -> None:
        # Counts effort as well as instructions: repeats of something empty write nothing down.
        self._effort += 1
        if self._effort > 20 * MOST_INSTRUCTIONS:
            raise PatternError("the pattern is too large once its repeats are written out", kind="too_costly")
        match tree:
            case One():
                self.accepts[self._reserve()] = tree.accepts
            case Place():
                self.places[self._reserve()] = tree.kind
            case Sequence():
                for item in tree.items:
                    self._emit(item)
            case Choice():
                self._emit_choice(tree)
            case Repeat():
                self._emit_repeat(tree)

    def _emit_choice(self, tree: Choice) -> None:
        fork = self._reserve()
        begins, ends = [], []
        for item in tree.items:
            begins.append(self._next)
            self._emit(item)
            ends.append(self._reserve())
        self.jumps[fork] = begins
        for end in ends:
            self.jumps[end] = [self._next]

    def _emit_repeat(self, tree: Repeat) -> None:
        for _ in range(tree.least):
            self._emit(tree.item)
        if tree.most is None:
            fork = self._reserve()
            self._emit(tree.item)
            back = self._reserve()
            self.jumps[back] = [fork]
            self.jumps[fork] = [fork + 1, self._next]
            return
        forks = []
        for _ in range(tree.most - tree.least):
            forks.append(self._reserve())
            self._emit(tree.item)
        for fork in forks:
            self.jumps[fork] = [fork + 1, self._next]


def _kind(char: str) -> int:
    if char == "\n":
        return NEWLINE
    return LETTER if char in WORD else OTHER


def _holds(place: str, before: int, after: int) -> bool:
    match place:
        case "A":
            return before == START
        case "z":
            return after == END
        case "^":
            return before in (START, NEWLINE)
        case "$":
            return after in (END, NEWLINE)
        case _:
            return ((before == LETTER) != (after == LETTER)) == (place == "b")


@lru_cache(maxsize=64)
def compile_pattern(source: str, ignore_case: bool = False, whole: bool = False) -> Pattern:
    """Compile a pattern once. Raises PatternError with the column of what is wrong."""
    return Pattern(source, ignore_case=ignore_case, whole=whole)
