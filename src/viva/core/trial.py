"""A trial: one case × one variant × one repeat; the unit of work, storage, resume and cost."""

from __future__ import annotations

import hashlib

from viva.core.case import Case
from viva.core.data import Data
from viva.core.ref import Ref
from viva.core.suite import Roles
from viva.core.variant import Variant


class Trial(Data, frozen=True):
    """Everything needed to execute it, anywhere: another process can work from this alone."""

    run: str
    case: Case
    variant: Variant
    repeat: int
    subject: Ref
    """With the variant's changes already merged in."""
    driver: Ref
    roles: Roles = Roles()
    seed: int = 0
    folder: str = ""

    @property
    def key(self) -> str:
        """The trial's name within its run."""
        return trial_key(self.case.id, self.variant.name, self.repeat)


def trial_key(case: str, variant: str, repeat: int) -> str:
    """Name a trial: `france`, `france@withheld`, `france@withheld#2`, shortest form that is unambiguous."""
    name = case.replace("%", "%25").replace("@", "%40").replace("#", "%23")
    if variant != "default":
        name += "@" + variant.replace("%", "%25").replace("#", "%23")
    return name if repeat == 1 else f"{name}#{repeat}"


def trial_seed(suite_seed: int, case: str, repeat: int) -> int:
    """A seed that is the same for every variant of a case, so that variants are paired."""
    digest = hashlib.sha256(f"{suite_seed}|{case}|{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
