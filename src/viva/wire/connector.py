"""Kept connections that are checked before they are used again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp
from aiohttp.connector import Connection

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace


class CleanConnector(aiohttp.TCPConnector):
    """Drops a kept connection on which bytes arrived that nobody asked for.

    A server that sends more than its content-length would otherwise answer the next call, of another trial, with
    the surplus of this one.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._used: WeakSet[ResponseHandler] = WeakSet()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """A connection without leftovers: a kept one, or a new one."""
        used = self._used
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            # A new connection is taken as it is: a server that speaks first is named by the parser.
            if protocol is None or protocol not in used or not protocol.should_close:
                if protocol is not None:
                    used.add(protocol)
                return connection
            connection.close()
