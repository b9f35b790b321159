"""What a suite needs, found out as a run would find out: by building its parts, and trying where they lead."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from viva.app.kit import ROLES, RunKit
from viva.app.project import Project
from viva.cli.finding import Finding
from viva.config.settings import choose_roles
from viva.core.check import Check, Measure
from viva.core.data import content_hash
from viva.core.errors import VivaError
from viva.core.ref import Ref
from viva.core.suite import Roles, Suite
from viva.ports.model import Model

PATIENCE_S = 5.0
GRAPH_PATIENCE_S = 30.0
MOST_CASES = 1000
"""Cases whose parts are looked at; those of a large suite are alike."""


class Needs:
    """A suite's parts, built but not used."""

    def __init__(self, suite: Suite, project: Project, flags: Roles) -> None:
        self._suite = suite
        self._registry = project.registry
        roles = choose_roles(flags, suite.roles, project.environment, project.settings)
        trusted = {role for role in ROLES if getattr(flags, role) or not getattr(suite.roles, role)}
        self._kit = WatchingKit(
            project.registry,
            project.environment,
            folder=Path(suite.folder) if suite.folder else None,
            roles=roles,
            trusted_roles=frozenset(trusted),
            templates=suite.templates,
        )
        self._problems = [*self._build_parts()]

    @property
    def roles(self) -> dict[str, str]:
        """The roles that are asked for, each with what is wrong with its model, or ''."""
        return self._kit.asked

    def problems(self) -> list[Finding]:
        """Parts that cannot be built here, models aside."""
        return self._problems

    async def places(self) -> list[Finding]:
        """Whether agents and graphs answer at all."""
        cases = self._suite.cases[:MOST_CASES]
        subjects = [self._suite.subject, *(variant.subject for case in cases for variant in case.variants)]
        found = [await self._look_at_subject(ref) for ref in _distinct(subjects)]
        found += [await self._look_at_graph(ref) for ref in _distinct([case.stage.graph for case in cases])]
        return list({one.what: one for one in found if one is not None}.values())

    async def close(self) -> None:
        """Release what was built."""
        await self._kit.close()

    def _build_parts(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for kind, ref in islice(_parts(self._suite), 10 * MOST_CASES):
            key = content_hash([kind, ref.name, ref.settings])
            if key in seen:
                continue
            seen.add(key)
            try:
                self._registry.build(kind, ref.name, ref.settings, self._kit, ref.where)
            except VivaError as error:
                if error.message not in self._kit.complaints:
                    yield Finding(f"{kind.removesuffix('s')} {ref.name}", "broken", str(error))

    async def _look_at_subject(self, ref: Ref) -> Finding | None:
        try:
            subject = self._registry.build("subjects", ref.name, ref.settings, self._kit, ref.where)
        except VivaError as error:
            return Finding(f"subject {ref.name}", "broken", str(error))
        try:
            if subject.endpoint.startswith(("http://", "https://")):
                return await _reach(_place(subject.endpoint))
            return _program(ref) if ref.name == "command" else None
        finally:
            await subject.close()

    async def _look_at_graph(self, ref: Ref) -> Finding:
        what = f"graph {ref.name}"
        try:
            graph: Any = self._registry.build("graphs", ref.name, ref.settings, self._kit, ref.where)
            try:
                async with asyncio.timeout(GRAPH_PATIENCE_S):
                    await graph.read("RETURN 1 AS one")
            finally:
                await graph.close()
        except VivaError as error:
            return Finding(what, "broken", str(error))
        except TimeoutError:
            return Finding(what, "broken", f"no answer within {GRAPH_PATIENCE_S:g} s", "start it, or mend its address")
        return Finding(what, "ok", "answers")


class WatchingKit(RunKit):
    """Notes which roles are asked for, and what is wrong with their models."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.asked: dict[str, str] = {}
        self.complaints: set[str] = set()

    def model(self, role: str) -> Model:
        """The model, with a note that it was asked for."""
        if role in ROLES:
            self.asked.setdefault(role, "")
        try:
            return super().model(role)
        except VivaError as error:
            self.complaints.add(error.message)
            if role in ROLES:
                self.asked[role] = str(error)
            raise


def _parts(suite: Suite) -> Iterator[tuple[str, Ref]]:
    for case in suite.cases[:MOST_CASES]:
        yield "drivers", case.driver
        for variant in case.variants:
            if variant.driver is not None:
                yield "drivers", variant.driver
        if case.criteria:
            yield "scorers", case.judging
        specs: tuple[Check | Measure, ...] = (*case.checks, *case.measures)
        for spec in specs:
            yield "scorers", Ref(name=spec.scorer, settings=spec.settings, where=spec.where)
        yield "formulas", case.formula


def _distinct(refs: list[Ref | None]) -> list[Ref]:
    return list({content_hash([ref.name, ref.settings]): ref for ref in refs if ref is not None}.values())


async def _reach(place: str) -> Finding:
    from viva.wire.client import Wire, WireError, WireRequest

    wire = Wire()
    try:
        response = await wire.call(WireRequest("GET", place, timeout_s=PATIENCE_S, max_bytes=1_000_000))
    except WireError as error:
        # An answer too strange to read is an answer all the same.
        if error.kind in ("too_large", "malformed", "redirect"):
            return Finding(f"reach {place}", "ok", f"answers ({error.kind})")
        return Finding(
            f"reach {place}", "broken", f"{error.kind}: {error.detail}", "start the agent, or mend its address"
        )
    finally:
        await wire.close()
    return Finding(f"reach {place}", "ok", f"answers (status {response.status}, {response.took_ms:,.0f} ms)")


def _program(subject: Ref) -> Finding:
    name = str(subject.settings["argv"][0])
    found = shutil.which(name)
    if found:
        return Finding(f"program {name}", "ok", found)
    return Finding(f"program {name}", "broken", "not found", "install it, or give its full path")


def _place(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}/"
