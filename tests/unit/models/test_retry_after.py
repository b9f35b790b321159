from datetime import UTC, datetime

import pytest

from viva.wire.retry_after import duration_s, retry_after_s

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
EPOCH = NOW.timestamp()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"RETRY-AFTER": "Sun, 15 Nov 2026 12:00:09 GMT"}, 9.0),
        ({"retry-after": "2026-11-15T12:00:30Z"}, 30.0),
        ({"retry-after": "2026-11-15T14:00:30+02:00"}, 30.0),
        ({"retry-after": "10800"}, 10800.0),
        ({"retry-after": "30s"}, 30.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "650", "retry-after": "1"}, 0.65),
        ({"x-ratelimit-reset-requests": "1m30s"}, 90.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-reset-requests": "12ms"}, 360.0),
        (
            {
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-remaining-tokens": "900",
            },
            2.0,
        ),
        ({"anthropic-ratelimit-requests-reset": "2026-11-15T12:01:00Z"}, 60.0),
        ({"x-ratelimit-reset": str(int(EPOCH) + 45)}, 45.0),
        ({"x-ratelimit-reset": str((int(EPOCH) + 45) * 1000)}, 45.0),
        ({"ratelimit-reset": "12"}, 12.0),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon", "x-ratelimit-reset-requests": "3s"}, 3.0),
    ],
)
def test_every_form_of_the_wait_is_understood(headers: dict[str, str], seconds: float) -> None:
    assert retry_after_s(headers, NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value",
    ["", "soon", "nan", "inf", "1e300", "7 apples", "1m30", "s", "9" * 400, "-", "\x00", "99999-99-99T00:00:00Z"],
)
def test_what_is_no_time_is_no_wait(value: str) -> None:
    assert retry_after_s({"retry-after": value}, NOW) is None


def test_no_header_is_no_wait() -> None:
    assert retry_after_s({"content-type": "text/html"}, NOW) is None


def test_durations_add_up_and_anything_else_is_none() -> None:
    assert duration_s("1h2m3.5s") == pytest.approx(3723.5)
    assert duration_s("1m 30s") is None
