"""What is known of an endpoint: whether anybody ever answered there, and whether it was a model.

One that answered before gets patience when it fails: it will come back. One that never did is more likely an address
with a mistake in it, and waiting for it only hides that.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from viva.core.clock import Clock
from viva.core.errors import ModelError

UNREACHED = {
    "connection": "cannot connect",
    "dns": "its host has no address",
    "tls": "no secure connection",
    "reset": "the connection is broken off",
}
"""Kinds of errors after which it is not known whether anybody is there, in words."""
NO_MODEL = {
    "unreadable": "the answer is no completion",
    "malformed": "the answer is not HTTP",
    "redirect": "the answer sends elsewhere",
}
"""Kinds of errors after which somebody is there, but perhaps no model."""
OTHERS = {"timed_out": "no answer in time", "rate_limited": "over the provider's limit"}


class Standing:
    """What one endpoint has shown so far."""

    __slots__ = ("answered", "readable", "told")

    def __init__(self) -> None:
        self.answered = False
        """Somebody is there, even if all that came was an error."""
        self.readable = False
        """A model is there."""
        self.told = False
        """The user knows that it is being tried again."""

    def succeeded(self) -> None:
        """A reply came and could be read."""
        self.answered = self.readable = True

    def failed(self, error: ModelError) -> None:
        """Learn from an error: one with a status came from somebody."""
        self.answered = self.answered or error.status is not None

    def is_hopeless(self, error: ModelError) -> bool:
        """Whether an error fits to an address at which no model is: nothing better ever came from there."""
        return (error.kind in UNREACHED and not self.answered) or (error.kind in NO_MODEL and not self.readable)


_standings: WeakKeyDictionary[Clock, dict[str, Standing]] = WeakKeyDictionary()


def standing_of(endpoint: str, clock: Clock) -> Standing:
    """The one standing of an endpoint: what one model learns there, all others know."""
    return _standings.setdefault(clock, {}).setdefault(endpoint, Standing())


def trouble(error: ModelError) -> str:
    """What is wrong, in a few words."""
    known = UNREACHED.get(error.kind) or NO_MODEL.get(error.kind) or OTHERS.get(error.kind)
    return known or (f"status {error.status}" if error.status else error.kind)


def no_model_at(endpoint: str, error: ModelError) -> ModelError:
    """The error that stops a run, because no other call to this address can succeed."""
    said = error.message.rpartition(endpoint)[2]
    told = f"{trouble(error)}{said}" if error.kind in UNREACHED and said.startswith(":") else error.message
    return ModelError(
        f"no model answers at {endpoint}: {told}",
        kind=error.kind,
        hint="start it, or mend the address",
        fatal=True,
        status=error.status,
        body=error.body,
    )
