from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.cli.commands import COMMANDS
from tests.cli.conftest import Call, Shell

GROUPS = {
    "jobs": ["list", "show", "cancel", "retry", "watch"], "dead": ["list", "show", "retry", "purge"],
    "metrics": ["list", "rules", "dashboard"],
    "queues": ["pause", "resume", "drain"], "workers": ["drain", "resize"],
    "alerts": ["list", "test", "silence", "unsilence"],
    "schedules": ["list", "add", "show", "pause", "resume", "reschedule", "remove", "run"],
}  # fmt: skip
LEAVES = [[name] for name in COMMANDS if name not in ("jobs", "dead", "metrics", "schedules", "alerts")] + [
    [g, leaf] for g, leaves in GROUPS.items() for leaf in leaves
]


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_every_command_has_help_with_examples(call: Call, command: list[str]) -> None:
    outcome = call(*command, "--help")
    assert outcome.code == 0
    example = f"penstock {' '.join(command)}"
    assert outcome.out.count(example) >= 2, "the usage line and at least one example"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_what_the_command_itself_says(call: Call, name: str) -> None:
    overview = COMMANDS[name][2].rstrip(".").split(" that ")[0]
    assert overview in " ".join(call(name, "--help").out.split())


def test_help_names_every_command_and_loads_none_of_them(shell: Shell) -> None:
    script = (
        "import sys\nfrom penstock.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as leaving:\n    code = leaving.code\n"
        "heavy = {'asyncio', 'rich', 'apsw', 'penstock.worker.worker', 'penstock.cli.worker'}\n"
        "print('loaded', sorted(heavy & set(sys.modules)), code)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=shell.env, check=True
    ).stdout
    assert "loaded [] 0" in out
    for name, (_, _, overview) in COMMANDS.items():
        assert name in out
        assert overview in out


@pytest.mark.parametrize("args", [[], ["jobs"], ["dead"], ["schedules"], ["alerts"]], ids=str)
def test_without_a_command_the_help_is_shown_as_a_usage_error(call: Call, args: list[str]) -> None:
    outcome = call(*args)
    assert outcome.code == 2
    assert "Commands:" in outcome.out + outcome.err


@pytest.mark.parametrize(
    "args", [["nope"], ["jobs", "nope"], ["counts", "--nope"], ["jobs", "show"], ["worker"]], ids=str
)
def test_wrong_words_are_usage_errors(call: Call, args: list[str]) -> None:
    outcome = call(*args)
    assert outcome.code == 2
    assert "Error:" in outcome.err


def test_the_version_is_printed(shell: Shell) -> None:
    from importlib.metadata import version

    assert shell.run("--version").out == f"penstock {version('penstock')}\n"


def test_a_misspelt_command_is_answered_with_the_nearest(call: Call) -> None:
    outcome = call("wroker")
    assert outcome.code == 2
    assert "there is no command 'wroker'; did you mean 'worker'?" in outcome.err
