"""What is owed: every trial the store does not already hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from viva.core.case import Case
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.suite import Roles
from viva.core.trial import Trial, trial_key, trial_seed
from viva.core.variant import Variant

_WORD = re.compile(r"\(|\)|[^\s()]+")


def count_trials(cases: Iterable[Case]) -> int:
    """How many trials a plan has."""
    return sum(len(case.variants) * case.repeats for case in cases)


def trial_keys(cases: Iterable[Case]) -> Iterator[str]:
    """The keys of all trials, in order, without making the trials."""
    for case in cases:
        for variant in case.variants:
            for repeat in range(1, case.repeats + 1):
                yield trial_key(case.id, variant.name, repeat)


def plan(run: Run, cases: Iterable[Case], held: Container[str] = frozenset()) -> Iterator[Trial]:
    """Owe every trial that is not held: cases × variants × repeats, in order, one at a time."""
    merged = _Merger(run)
    for case in cases:
        for variant in case.variants:
            for repeat in range(1, case.repeats + 1):
                if trial_key(case.id, variant.name, repeat) in held:
                    continue
                yield Trial(
                    run=run.id,
                    case=case,
                    variant=variant,
                    repeat=repeat,
                    subject=merged.subject(variant),
                    driver=variant.driver or case.driver,
                    roles=merged.roles(variant),
                    seed=trial_seed(run.seed, case.id, repeat),
                    folder=run.folder,
                )


class _Merger:
    """Merges a variant's changes into subject and roles, once for each variant object, so that trials share them."""

    def __init__(self, run: Run) -> None:
        if run.subject is None:
            raise SuiteError("the suite names no subject", hint="add `subject:` to the suite, or pass one to the run")
        self._subject = run.subject
        self._roles = run.roles
        # The variant is kept with the answer: an id alone could be given to another object later.
        self._made: dict[int, tuple[Variant, Ref, Roles]] = {}

    def subject(self, variant: Variant) -> Ref:
        return self._merge(variant)[1]

    def roles(self, variant: Variant) -> Roles:
        return self._merge(variant)[2]

    def _merge(self, variant: Variant) -> tuple[Variant, Ref, Roles]:
        made = self._made.get(id(variant))
        if made is None:
            subject = variant.subject or self._subject
            if variant.settings:
                subject = replace(subject, settings={**subject.settings, **variant.settings})
            roles = self._roles if variant.model is None else replace(self._roles, model=variant.model)
            made = self._made[id(variant)] = (variant, subject, roles)
        return made


def select(
    cases: Sequence[Case], match: str = "", tags: Sequence[str] = (), limit: int | None = None
) -> tuple[Case, ...]:
    """The part of the cases that was asked for. Raises SuiteError when nothing is left."""
    wanted = matcher(match) if match else None
    chosen = [
        case
        for case in cases
        if (wanted is None or wanted(case.id)) and (not tags or any(tag in case.tags for tag in tags))
    ]
    if cases and not chosen:
        asked = [f"matches {match!r}"] * bool(match) + [f"has the tag {' or '.join(map(repr, tags))}"] * bool(tags)
        hint = f"there are: {', '.join(case.id for case in cases[:5])}{', …' if len(cases) > 5 else ''}"
        raise SuiteError(f"no case {' and '.join(asked)}", hint=hint)
    return tuple(chosen if limit is None else chosen[:limit])


def matcher(expression: str) -> Callable[[str], bool]:
    """Compile `france`, `france or spain`, `not (a and b)`: words match as parts of a case's id, in either case."""
    words = _WORD.findall(expression.lower())
    reader = _Reader(words, expression)
    test = reader.either()
    reader.expect_end()
    return lambda name: test(name.lower())


class _Reader:
    """Reads an expression by descent: `or` binds weakest, then `and`, then `not`."""

    def __init__(self, words: list[str], source: str) -> None:
        self._words = words
        self._at = 0
        self._source = source

    def either(self) -> Callable[[str], bool]:
        tests = [self._both()]
        while self._take("or"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda name: any(test(name) for test in tests)

    def _both(self) -> Callable[[str], bool]:
        tests = [self._one()]
        while self._take("and"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda name: all(test(name) for test in tests)

    def _one(self) -> Callable[[str], bool]:
        if self._take("not"):
            inner = self._one()
            return lambda name: not inner(name)
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise self._wrong("a bracket is not closed")
            return inner
        word = self._next()
        return lambda name: word in name

    def _take(self, word: str) -> bool:
        if self._at < len(self._words) and self._words[self._at] == word:
            self._at += 1
            return True
        return False

    def _next(self) -> str:
        if self._at >= len(self._words) or self._words[self._at] in {"and", "or", ")"}:
            raise self._wrong("a word is missing")
        self._at += 1
        return self._words[self._at - 1]

    def expect_end(self) -> None:
        if self._at < len(self._words):
            raise self._wrong(f"{self._words[self._at]!r} is not expected here")

    def _wrong(self, what: str) -> SuiteError:
        return SuiteError(f"the filter {self._source!r}: {what}", hint="words joined by and, or, not and brackets")
