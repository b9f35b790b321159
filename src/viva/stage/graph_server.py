"""A graph database with a Bolt door, as a program of its own: `python -m viva.stage.graph_server`.

A JVM cannot be restarted inside one Python process, so the database lives in a child. It reads the password of its
user `root` from the first line of standard input, prints one line of JSON with its address when it is ready, and ends
when standard input closes, so that it never outlives its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from viva.registry import need


def main(arguments: list[str] | None = None) -> int:
    """Serve until standard input closes."""
    options = _options(arguments)
    bolt_port = options.port or _free_port()
    # The database logs to stdout; only our own line may go there.
    own_stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)  # The database writes its own log into the working directory.
    password = sys.stdin.readline().strip()
    server = _start(folder, bolt_port, password, options.database)
    own_stdout.write(json.dumps({"uri": f"bolt://127.0.0.1:{bolt_port}", "database": options.database}) + "\n")
    own_stdout.flush()
    sys.stdin.read()
    server.stop()
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m viva.stage.graph_server")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database", default="neo4j")
    return parser.parse_args(arguments)


def _start(folder: Path, bolt_port: int, password: str, database: str) -> Any:
    need("arcadedb_embedded")
    server_module = need("arcadedb_embedded.server")
    server = server_module.ArcadeDBServer(
        str(folder),
        root_password=password,
        jvm_kwargs={"heap_size": "256m"},
        config={
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": bolt_port,
            "http_port": _free_port(),
            "host": "127.0.0.1",
        },
    )
    server.start()
    if not (folder / "databases" / database).exists():
        server.create_database(database)
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
