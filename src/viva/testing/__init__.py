"""Public fakes and contract tests for plug-in authors.

Owns: FakeSubject, FakeModel, FakeClock, FaultyStore, faults, contracts.
Never: is imported by the product.
Start reading at: fakes.py, then contracts.py.
"""

from viva.testing.clock import FakeClock
from viva.testing.contracts import ContractError, check_driver, check_scorer, check_store, check_subject
from viva.testing.fakes import FakeModel, FakeSubject
from viva.testing.faults import Drip, Fault, Hang, Kill, Raise, Status
from viva.testing.store import FaultyStore

__all__ = [
    "ContractError",
    "Drip",
    "FakeClock",
    "FakeModel",
    "FakeSubject",
    "Fault",
    "FaultyStore",
    "Hang",
    "Kill",
    "Raise",
    "Status",
    "check_driver",
    "check_scorer",
    "check_store",
    "check_subject",
]
