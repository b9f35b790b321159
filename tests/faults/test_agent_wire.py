"""What a misbehaving server can do to one HTTP call: end it with a named error, and nothing else."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fault_server import (
    FaultServer,
    answer,
    claims,
    drip,
    drip_headers,
    endless,
    endless_sse,
    hang,
    hang_up,
    late_extra,
    packed,
    packed_bomb,
    raw,
    redirect,
    reset_before_answer,
    reset_mid_body,
    sse,
)

from viva.wire.client import Wire, WireError, WireRequest, WireResponse


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    client = Wire()
    yield client
    await client.close()


async def get(
    wire: Wire, url: str, timeout_s: float = 5.0, max_bytes: int = 10_000_000, **more: object
) -> WireResponse:
    return await wire.call(WireRequest("GET", url, timeout_s=timeout_s, max_bytes=max_bytes, **more))


async def failure(wire: Wire, url: str, **more: Any) -> WireError:
    with pytest.raises(WireError) as caught:
        await get(wire, url, **more)
    return caught.value


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("fault", [hang, drip, drip_headers])
async def test_one_deadline_is_around_everything(wire: Wire, fault: object) -> None:
    async with FaultServer(fault()) as server:  # type: ignore[operator]
        started = time.monotonic()
        error = await failure(wire, server.url, timeout_s=0.4)
        assert error.kind == "timed_out"
        assert error.delivered
        assert time.monotonic() - started < 1.4


async def test_an_endless_body_is_read_to_the_limit_plus_one_chunk(wire: Wire) -> None:
    sent: list[int] = []
    async with FaultServer(endless(sent)) as server:
        error = await failure(wire, server.url, max_bytes=1_000_000)
        assert error.kind == "too_large"
        # Beyond what we read, the kernel's socket buffers on both sides hold some megabytes.
        assert sum(sent) < 12_000_000


async def test_endless_events_stop_at_the_limit(wire: Wire) -> None:
    async with FaultServer(endless_sse()) as server:
        seen = 0
        with pytest.raises(WireError) as caught:
            async with wire.stream(WireRequest("GET", server.url, max_bytes=200_000, timeout_s=5)) as stream:
                async for _ in stream.events():
                    seen += 1
        assert caught.value.kind == "too_large"
        assert 0 < seen <= 200_000 // 20


async def test_a_stream_that_stalls_ends_at_the_deadline(wire: Wire) -> None:
    async with FaultServer(sse('{"delta": "a"}', gap_s=60)) as server:
        with pytest.raises(WireError) as caught:
            async with wire.stream(WireRequest("GET", server.url, timeout_s=0.3)) as stream:
                async for _ in stream.events():
                    pass
        assert caught.value.kind == "timed_out"


async def test_five_claimed_gigabytes_are_refused_before_reading(wire: Wire) -> None:
    before = peak_kb()
    async with FaultServer(claims(5_000_000_000, then_close=False)) as server:
        error = await failure(wire, server.url)
    assert error.kind == "too_large"
    assert peak_kb() - before < 50_000


async def test_a_content_length_larger_than_the_body_is_a_broken_answer(wire: Wire) -> None:
    async with FaultServer(claims(500, b"{}")) as server:
        error = await failure(wire, server.url)
    assert (error.kind, error.delivered) == ("reset", True)


async def test_bytes_beyond_the_content_length_never_reach_another_call(wire: Wire) -> None:
    async with FaultServer(late_extra({"n": 1}, {"n": "stale"}), answer({"n": 2})) as server:
        assert (await get(wire, server.url)).body == b'{"n": 1}'
        await asyncio.sleep(0.2)
        assert (await get(wire, server.url)).body == b'{"n": 2}'


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_stopped_by_its_unpacked_size(wire: Wire, encoding: str) -> None:
    async with FaultServer(packed_bomb(encoding, 300_000_000)) as server:
        before = peak_kb()
        error = await failure(wire, server.url)
        assert error.kind == "too_large"
        assert peak_kb() - before < 100_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate"])
async def test_honest_compression_is_undone(wire: Wire, encoding: str) -> None:
    body = b'{"text": "' + b"hello " * 50_000 + b'"}'
    async with FaultServer(packed(encoding, body)) as server:
        assert (await get(wire, server.url)).body == body


async def test_an_encoding_we_did_not_offer_is_refused(wire: Wire) -> None:
    async with FaultServer(packed("br", b"whatever")) as server:
        error = await failure(wire, server.url)
    assert error.kind == "malformed"
    assert "br" in error.detail


async def test_a_body_that_is_not_gzip_is_named(wire: Wire) -> None:
    async with FaultServer(answer(b"not gzip", headers={"Content-Encoding": "gzip"})) as server:
        assert (await failure(wire, server.url)).kind == "malformed"


async def test_a_truncated_gzip_body_is_a_broken_answer(wire: Wire) -> None:
    whole = gzip.compress(b"x" * 1000 + bytes(range(256)))
    async with FaultServer(answer(whole[:-20], headers={"Content-Encoding": "gzip"})) as server:
        assert (await failure(wire, server.url)).kind == "malformed"


async def test_a_redirect_within_the_same_place_is_followed(wire: Wire) -> None:
    async with FaultServer(redirect("/next"), answer({"ok": True})) as server:
        response = await wire.call(WireRequest("PUT", server.url + "/first", body=b"{}"))
        assert response.status == 200
        assert [(r.method, r.path, r.body) for r in server.requests] == [
            ("PUT", "/first", b"{}"),
            ("PUT", "/next", b"{}"),
        ]


async def test_see_other_becomes_a_get_without_body(wire: Wire) -> None:
    async with FaultServer(redirect("/next", 303), answer({})) as server:
        await wire.call(WireRequest("POST", server.url, body=b"{}"))
        assert (server.requests[1].method, server.requests[1].body) == ("GET", b"")


async def test_a_redirect_loop_ends(wire: Wire) -> None:
    async with FaultServer(redirect("/again")) as server:
        error = await failure(wire, server.url)
        assert error.kind == "redirect"
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    "target",
    [
        "http://other.invalid/",
        "//other.invalid/x",
        "https://127.0.0.1/",
        "http://localhost/",
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "http://0x7f000001/",
        "http://127.0.0.1.evil.invalid/",
        "http://user@evil.invalid/",
        "javascript:alert(1)",
        "http://[broken/",
        "\\\\evil.invalid\\share",
    ],
)
async def test_a_redirect_to_another_place_is_not_followed(wire: Wire, target: str) -> None:
    async with FaultServer(redirect(target)) as server:
        if target.startswith("\\"):
            # A path by the letter of the standard: it may be followed, but only to the same server.
            await failure(wire, server.url)
            return
        error = await failure(wire, server.url)
        assert error.kind == "redirect"
        assert len(server.requests) == 1


async def test_the_same_host_on_another_port_is_another_place(wire: Wire) -> None:
    async with FaultServer(answer({})) as other, FaultServer(redirect(other.url)) as server:
        assert (await failure(wire, server.url)).kind == "redirect"
        assert other.requests == []


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (reset_mid_body, "reset"),
        (reset_before_answer, "reset"),
        (hang_up, "reset"),
        (lambda: raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "malformed"),
        (lambda: raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"), "malformed"),
        (lambda: raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n"), "malformed"),
        (lambda: raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "malformed"),
        (lambda: raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "malformed"),
    ],
)
async def test_a_broken_connection_is_named_and_counts_as_delivered(wire: Wire, fault: object, kind: str) -> None:
    async with FaultServer(fault()) as server:  # type: ignore[operator]
        error = await failure(wire, server.url)
        assert (error.kind, error.delivered) == (kind, True)
        assert len(server.requests) == 1


async def test_a_put_on_a_connection_that_breaks_is_never_sent_twice(wire: Wire) -> None:
    async with FaultServer(answer({}), reset_before_answer(), answer({})) as server:
        await get(wire, server.url)
        with pytest.raises(WireError) as caught:
            await wire.call(WireRequest("PUT", server.url, body=b"{}"))
        assert caught.value.delivered
        assert len(server.requests) == 2
        assert server.connections == 1, "the second request must have used the kept connection"


async def test_what_never_left_this_machine_is_not_delivered(wire: Wire) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        refused = await failure(wire, f"http://127.0.0.1:{port}/")
    unknown = await failure(wire, "http://no-such-host.invalid/")
    unsendable = await failure(wire, "ftp://127.0.0.1/")
    assert [refused.kind, unknown.kind, unsendable.kind] == ["connection", "dns", "malformed"]
    assert not any(error.delivered for error in (refused, unknown, unsendable))


async def test_a_header_cannot_be_smuggled_in_a_value(wire: Wire) -> None:
    async with FaultServer(answer({})) as server:
        error = await failure(wire, server.url, headers={"X-Key": "a\r\nX-Other: b"})
        assert (error.kind, error.delivered) == ("malformed", False)
        assert server.requests == []


async def test_a_server_that_speaks_no_tls_is_named(wire: Wire) -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    error = await failure(wire, f"https://127.0.0.1:{port}/")
    server.close()
    assert (error.kind, error.delivered) == ("tls", False)


async def test_a_half_open_connection_ends_at_the_deadline(wire: Wire) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        error = await failure(wire, f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout_s=0.3)
    assert error.kind == "timed_out"


async def test_an_address_of_version_six_works(wire: Wire) -> None:
    try:
        async with FaultServer(answer({"v": 6}), host="::1") as server:
            assert (await get(wire, server.url)).body == b'{"v": 6}'
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")


async def test_cookies_are_not_shared_between_calls(wire: Wire) -> None:
    async with FaultServer(answer({}, headers={"Set-Cookie": "session=one"}), answer({})) as server:
        await get(wire, server.url)
        await get(wire, server.url)
        assert "cookie" not in server.requests[1].headers


async def test_proxies_of_the_environment_are_ignored(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with FaultServer(answer({})) as server:
        assert (await get(wire, server.url)).status == 200


async def test_header_names_are_found_in_any_case(wire: Wire) -> None:
    async with FaultServer(answer({}, headers={"Retry-After": "3"})) as server:
        assert (await get(wire, server.url)).headers["retry-after"] == "3"


async def test_passwords_in_a_url_stay_out_of_messages(wire: Wire) -> None:
    error = await failure(wire, "http://me:hunter2@127.0.0.1:1/x?key=hunter2")
    assert "hunter2" not in str(error)
    assert "hunter2" not in repr(WireRequest("GET", "http://me:hunter2@h/x?key=hunter2", {"k": "hunter2"}))


async def test_a_deadline_that_fires_leaves_the_client_usable(wire: Wire) -> None:
    async with FaultServer(hang(), answer({"ok": 1})) as server:
        await failure(wire, server.url, timeout_s=0.2)
        assert (await get(wire, server.url)).status == 200
