"""An agent that says again what was recorded: a stored run, or a file of transcripts. No agent is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from viva.core.data import Data, to_plain
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.transcript import Message, Reply
from viva.core.trial import trial_key
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.recording import Recording, read_recordings, recording_of

Loader = Callable[[str], Any]
"""Gives what was recorded under a trial's key (or a case's id): anything `recording_of` reads, or None."""


class ReplaySettings(Data, frozen=True, forbid_unknown_fields=True):
    """Where the recordings are: a file, or a run in the store."""

    file: str = ""
    """Below the suite's folder: JSON, JSON lines (an exported run, say) or YAML."""
    run: str = ""
    """The id of a stored run, or the beginning of one."""


class ReplaySubject:
    """Recorded replies, in the order they were given."""

    Settings = ReplaySettings
    name = "replay"
    version = "1"

    def __init__(self, settings: ReplaySettings, kit: Kit) -> None:
        if bool(settings.file) == bool(settings.run):
            raise SuiteError("replay needs either a file or a run")
        self._label = settings.file or settings.run
        if settings.run:
            self._load: Loader = kit.recorded(settings.run)
            return
        path = kit.file(settings.file)
        self._load = read_recordings(path.read_bytes(), path.name).get

    @classmethod
    def of(cls, source: Mapping[str, Any] | Loader) -> ReplaySubject:
        """A subject from recordings by trial key or case id, or from a function (plain or async) that loads them."""
        subject = cls.__new__(cls)
        subject._load = source if callable(source) else source.get
        subject._label = "recordings"
        return subject

    @property
    def endpoint(self) -> str:
        """The recording's name."""
        return f"replay:{self._label}"

    async def open(self, opening: Opening) -> ReplaySession:
        """Find the recording of this trial; that of the case, or the only one of the file, will do."""
        for key in _keys(opening):
            found = self._load(key)
            found = await found if inspect.isawaitable(found) else found
            if found is not None:
                return ReplaySession(recording_of(found), opening.trial)
        raise SubjectError(
            f"nothing is recorded for {opening.trial!r}",
            kind="replay_missing",
            hint=f"the recording has no entry for the case {opening.case.id!r}",
        )

    async def close(self) -> None:
        """Nothing is held."""


class ReplaySession:
    """One recorded conversation."""

    def __init__(self, recording: Recording, trial: str) -> None:
        self._recording = recording
        self._trial = trial
        self._next = 0

    @property
    def id(self) -> str:
        """The session's name in the recording."""
        return self._recording.session

    async def send(self, message: Message) -> Reply:
        """The next recorded reply."""
        replies = self._recording.replies
        if self._next >= len(replies):
            text = f"the recording of {self._trial!r} holds {len(replies)} replies, and one more was asked for"
            raise SubjectError(text, kind="replay_exhausted")
        self._next += 1
        return replies[self._next - 1]

    async def observe(self, observation: Observation) -> Any:
        """What was observed then, or the failure to observe it."""
        seen = self._recording.state.get(observation.key)
        if seen is None:
            text = f"the recording of {self._trial!r} holds no observation {observation.key!r}"
            raise SubjectError(text, kind="replay_missing")
        if seen.error:
            raise SubjectError(seen.detail or "the recorded look failed", kind=seen.error)
        # A copy: one recording may serve many trials.
        return to_plain(seen.value)

    async def close(self) -> None:
        """Nothing is held."""


def _keys(opening: Opening) -> tuple[str, ...]:
    case, variant = opening.case.id, opening.variant.name
    return tuple(dict.fromkeys((opening.trial, trial_key(case, variant, 1), case, "*")))
