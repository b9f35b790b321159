"""A suite cannot start a program the user did not allow."""

import pytest

from viva.core.errors import SuiteError
from viva.registry import Registry


@pytest.mark.parametrize("program", ["sh", "/bin/sh", "./agent", "python", "command:sh", "", "*"])
def test_no_program_is_allowed_unless_the_user_said_so(program):
    with pytest.raises(SuiteError) as refused:
        Registry(allow=("os", "shell", "command:agent")).check_program(program, "suite.yml:3")
    assert refused.value.kind == "not_allowed"
    assert "--allow command:" in str(refused.value)


def test_an_allowed_program_is_allowed_by_exactly_its_name():
    registry = Registry(allow=("command:agent",))
    registry.check_program("agent")
    for other in ("/tmp/agent", "./agent", "agent2"):
        with pytest.raises(SuiteError):
            registry.check_program(other)


def test_a_star_allows_programs_found_on_the_path_only():
    registry = Registry(allow=("command:*",))
    registry.check_program("git")
    with pytest.raises(SuiteError):
        registry.check_program("./evil")


def test_allowing_a_program_allows_no_module_of_that_name():
    assert not Registry(allow=("command:os",)).allows("os")
