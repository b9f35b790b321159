"""What a provider's error reply means: whose fault, worth another try or not, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from viva.core.errors import ModelError
from viva.core.secret import redactor
from viva.core.text import shorten
from viva.wire.client import WireError
from viva.wire.retry_after import duration_s, retry_after_s

THROTTLED = frozenset({429, 503, 529})
RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
BODY_CHARS = 2000

QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "insufficient_credits",
        "insufficient_balance",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_too_low",
        "exceeded_current_quota_error",
        "payment_required",
        "account_deactivated",
    }
)
QUOTA_PHRASES = (
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient credits",
    "billing hard limit",
)
LENGTH_CODES = frozenset({"context_length_exceeded", "string_above_max_length"})
FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})


class Complaint(msgspec.Struct, frozen=True):
    """The parts of an error body that providers agree on."""

    message: str = ""
    code: str = ""
    param: str = ""
    retry_s: float | None = None

    @property
    def filtered(self) -> bool:
        """Whether a content filter refused the prompt itself."""
        return self.code in FILTER_CODES


def read_complaint(body: bytes) -> Complaint:
    """Find message, code and parameter in an error body of any provider; plain text is the message."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Complaint(message=body[:BODY_CHARS].decode("utf-8", "backslashreplace"))
    if isinstance(data, list) and data:
        data = data[0]
    inner = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(inner, dict):
        return Complaint(message=str(inner))
    return _complaint_of(inner)


def _complaint_of(error: dict[str, Any]) -> Complaint:
    named = [str(error[key]).lower() for key in ("code", "type", "status") if isinstance(error.get(key), str)]
    told = next((code for code in named if code in QUOTA_CODES | LENGTH_CODES | FILTER_CODES), "")
    return Complaint(
        message=str(error.get("message") or error),
        code=told or next(iter(named), ""),
        param=str(error.get("param") or ""),
        retry_s=_google_retry_s(error.get("details")),
    )


def _google_retry_s(details: Any) -> float | None:
    if not isinstance(details, list):
        return None
    delays = [item["retryDelay"] for item in details if isinstance(item, dict) and "retryDelay" in item]
    return duration_s(str(delays[0])) if delays else None


def failure(status: int, headers: Mapping[str, str], body: bytes, where: str, now: datetime) -> ModelError:
    """Turn an error reply into the error that says what to do; secrets in it are masked here, at the source."""
    complaint = read_complaint(body)
    wait_s = complaint.retry_s if complaint.retry_s is not None else retry_after_s(headers, now)
    kind, hint = _kind(status, complaint, wait_s)
    retryable = status in RETRYABLE and kind != "quota" and headers.get("x-should-retry") != "false"
    said = shorten(redactor.text(complaint.message), 300)
    return ModelError(
        f"{where} answered {status}: {said}" if said else f"{where} answered {status}",
        kind=kind,
        hint=hint,
        retryable=retryable,
        fatal=kind in ("quota", "auth", "no_such_model"),
        status=status,
        body=shorten(redactor.text(body[: 2 * BODY_CHARS].decode("utf-8", "backslashreplace")), BODY_CHARS),
        wait_s=wait_s if retryable else None,
    )


def _kind(status: int, complaint: Complaint, wait_s: float | None) -> tuple[str, str]:
    if _is_quota(status, complaint, wait_s):
        return "quota", "the account has no quota left, and trying again cannot help: check its plan and billing"
    if status in (401, 403):
        return "auth", "check the key and what it may do"
    if status == 404:
        return "no_such_model", "check the model's name and the address"
    if status == 429:
        return "rate_limited", ""
    if complaint.code in LENGTH_CODES or status == 413:
        return "too_long", "the prompt is longer than the model reads"
    if status >= 500 or status in RETRYABLE:
        return "provider_error", ""
    return "bad_request", ""


def _is_quota(status: int, complaint: Complaint, wait_s: float | None) -> bool:
    """Exhausted money, not exhausted minutes: some providers use the same words for both, but add when to return."""
    if status == 402 or complaint.code in QUOTA_CODES:
        return True
    if status not in (400, 403, 429) or wait_s is not None:
        return False
    message = complaint.message.lower()
    return any(phrase in message for phrase in QUOTA_PHRASES)


def unreachable(error: WireError, where: str) -> ModelError:
    """Turn a failure of the connection into a ModelError; a model call has no effects, so sending again is safe."""
    return ModelError(
        f"{where}: {redactor.text(error.detail)}",
        kind=error.kind,
        hint="is the server running?" if error.kind in ("connection", "dns") else "",
        retryable=error.kind in ("timed_out", "connection", "reset", "dns"),
    )


def unreadable(body: bytes, where: str, why: str) -> ModelError:
    """A 200 whose body is not a completion (a proxy's page, a cut body): worth another try, never an answer."""
    head = shorten(redactor.text(body[:BODY_CHARS].decode("utf-8", "backslashreplace")), 200)
    return ModelError(
        f"{where} answered 200 with what is no completion ({redactor.text(why)}): {head!r}",
        kind="unreadable",
        retryable=True,
        status=200,
        body=head,
    )
