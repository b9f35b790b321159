"""A run stops early only when every first call fails in the same way."""

import pytest

from viva.core.errors import SubjectError
from viva.engine.early import ENOUGH, ENOUGH_MISWIRED, EarlyStop


def failing(times, owed=100, **error):
    early = EarlyStop(owed)
    return [early.failure(SubjectError("no", **error)) for _ in range(times)]


def test_a_refused_key_needs_no_second_try():
    assert failing(1, kind="subject_error", status=401)[0]


@pytest.mark.parametrize("kind", ["dns", "connection", "tls"])
def test_an_agent_that_cannot_be_reached_three_times_is_not_there(kind):
    said = failing(ENOUGH, kind=kind, fatal=True)
    assert said[:-1] == [""] * (ENOUGH - 1)
    assert said[-1]


@pytest.mark.parametrize(
    "error", [{"kind": "subject_error", "status": 404}, {"kind": "not_json"}, {"kind": "server_error", "status": 503}]
)
def test_the_wrong_service_is_noticed_after_a_few_more(error):
    said = failing(ENOUGH_MISWIRED, **error)
    assert said[:-1] == [""] * (ENOUGH_MISWIRED - 1)
    assert "same way" in said[-1]


def test_a_small_suite_that_fails_throughout_is_a_result_and_not_an_early_stop():
    early = EarlyStop(5)
    assert not early.is_suspect(SubjectError("no", kind="not_json"))


def test_one_success_or_another_failure_ends_the_watch():
    for other in (None, SubjectError("slow", kind="timed_out")):
        early = EarlyStop(100)
        early.failure(SubjectError("no", kind="not_json"))
        if other is None:
            early.success()
        else:
            early.failure(other)
        assert not any(early.failure(SubjectError("no", kind="not_json")) for _ in range(50))


def test_failures_of_two_kinds_are_not_the_same_way():
    early = EarlyStop(100)
    early.failure(SubjectError("no", kind="not_json"))
    early.failure(SubjectError("no", kind="subject_error", status=404))
    assert early.is_over
