"""The services of a run: files below the folder, allowed variables only, models built once and watched."""

import pytest

from viva.app.kit import LazyCache, RunKit, WatchedModel
from viva.config.env import Environment
from viva.core.errors import ModelError, SetupError, SuiteError
from viva.core.suite import Roles
from viva.ports.model import ChatMessage, ModelRequest
from viva.registry import Registry
from viva.testing import FakeModel

REQUEST = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))


def kit(folder=None, variables=None, **options):
    environment = Environment(["ALLOWED_*"], variables=variables or {})
    return RunKit(Registry(), environment, folder=folder, **{"roles": Roles(), **options})


def test_files_lie_below_the_suites_folder(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    assert kit(tmp_path).file("a.txt").read_text() == "x"
    for name in ("../a.txt", "/etc/passwd", "nothing.txt"):
        with pytest.raises(SuiteError):
            kit(tmp_path).file(name)
    with pytest.raises(SuiteError):
        kit(None).file("a.txt")


def test_only_allowed_variables_become_secrets():
    mine = kit(variables={"ALLOWED_KEY": "s3cret-value", "OTHER": "no"})
    assert mine.secret("env:ALLOWED_KEY").reveal() == "s3cret-value"
    with pytest.raises(SuiteError, match="not allowed"):
        mine.secret("env:OTHER")


def test_a_role_nobody_plays_is_a_setup_error():
    with pytest.raises(SetupError, match="judge"):
        kit().model("judge")


async def test_a_model_that_fails_for_good_is_told_once_it_happens():
    def refuse(request):
        raise ModelError("no quota left", kind="quota", fatal=True)

    told = []
    with pytest.raises(ModelError):
        await WatchedModel(FakeModel(refuse), told.append).complete(REQUEST)
    assert len(told) == 1 and "no quota left" in told[0]

    def stumble(request):
        raise ModelError("busy", retryable=True)

    with pytest.raises(ModelError):
        await WatchedModel(FakeModel(stumble), told.append).complete(REQUEST)
    assert len(told) == 1


async def test_the_cache_is_opened_when_first_used(tmp_path):
    cache = LazyCache(tmp_path / "cache.db")
    await cache.close()
    assert not (tmp_path / "cache.db").exists()
    await cache.put("k", b"v", "m")
    assert await cache.get_many(["k", "other"]) == {"k": b"v"}
    assert await cache.get("k") == b"v" and (tmp_path / "cache.db").exists()
    await cache.close()


def test_templates_are_the_suites_own():
    assert kit(templates={"each": "text"}).template("each") == "text" and kit().template("each") == ""
