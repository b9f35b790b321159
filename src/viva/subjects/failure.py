"""What an agent's HTTP failure means: whose fault, whether sending again is safe, and whether others would fail too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from viva.core.errors import SubjectError
from viva.subjects.json_body import readable
from viva.wire.message import WireError
from viva.wire.retry_after import retry_after_s

BODY_SHOWN = 2048


def wire_failure(error: WireError, doing: str, *, idempotent: bool = False) -> SubjectError:
    """The agent could not be reached, or broke off."""
    if not error.delivered:
        # Nothing was sent, so sending is safe; and who cannot be reached now cannot be reached by other trials.
        retryable = error.kind != "malformed"
        return SubjectError(f"{doing}: {error.detail}", kind=error.kind, retryable=retryable, fatal=True)
    if error.kind == "reset" and not idempotent:
        return SubjectError(
            f"{doing}: {error.detail}; it may have acted on the message, so it is not sent again",
            kind="uncertain_delivery",
        )
    return SubjectError(f"{doing}: {error.detail}", kind=error.kind, retryable=error.kind == "reset")


def status_failure(status: int, headers: Mapping[str, str], body: bytes, doing: str, now: datetime) -> SubjectError:
    """The agent answered with a status that is no success."""
    message = f"{doing}: the agent answered {status}{_phrase(status)}"
    shown = readable(body, BODY_SHOWN)
    wait_s = retry_after_s(headers, now) if status in (429, 503) else None
    if status >= 500:
        return SubjectError(message, kind="server_error", status=status, body=shown, retryable=True, wait_s=wait_s)
    if status == 429:
        return SubjectError(message, kind="rate_limited", status=status, body=shown, retryable=True, wait_s=wait_s)
    hint = "check the key: api_key, or the headers" if status in (401, 403) else ""
    return SubjectError(message, status=status, body=shown, fatal=status in (401, 403), hint=hint)


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""
