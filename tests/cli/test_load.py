from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App, ConfigError, PenstockError
from penstock.cli.input.load import load_app
from tests.cli.conftest import Shell

HEAD = 'from penstock import App\napp = App("sqlite:///jobs.db")\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def refused(target: str, *words: str, error: type[PenstockError] = ConfigError) -> None:
    with pytest.raises(error) as raised:
        load_app(target)
    assert raised.type is error
    for word in words:
        assert word in str(raised.value)


def test_the_current_folder_is_searched_first(folder: Path) -> None:
    (folder / "json.py").write_text("raise SystemExit")  # never shadows what is loaded already
    (folder / "shop_jobs.py").write_text(HEAD + "@app.job\ndef work() -> None: ...\n")
    app = load_app("shop_jobs:app")
    assert isinstance(app, App)
    assert app.registry.names() == ("work",)
    assert sys.path[0] == str(folder)


@pytest.mark.parametrize("target", ["tasks", "tasks:", ":app", "", "2tasks:app", "my-tasks:app"])
def test_a_target_that_is_not_module_and_app_shows_how_to_write_it(folder: Path, target: str) -> None:
    refused(target, "tasks:app")


@pytest.mark.parametrize("target", ["src/tasks.py:app", "./src/tasks:app"])
def test_a_path_is_answered_with_the_name_to_use(folder: Path, target: str) -> None:
    refused(target, "src.tasks:app")


def test_a_missing_module_is_named_together_with_the_folder(folder: Path) -> None:
    refused("nowhere_jobs:app", "'nowhere_jobs'", str(folder))


def test_a_missing_part_of_a_dotted_name_is_named(folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    refused("pack.deep.jobs:app", "'pack.deep'")


def test_a_module_that_raises_is_shown_with_file_and_line(folder: Path) -> None:
    (folder / "raising_jobs.py").write_text("x = 1\n\nprint(1 / 0)\n")
    place = f"{folder / 'raising_jobs.py'}:3"
    refused("raising_jobs:app", "ZeroDivisionError", place, error=PenstockError)


def test_a_module_that_needs_another_one_blames_the_line_that_imports_it(folder: Path) -> None:
    (folder / "needing_jobs.py").write_text("\nimport not_installed_anywhere\n")
    refused("needing_jobs:app", "not_installed_anywhere", "needing_jobs.py:2", error=PenstockError)


def test_a_wrong_declaration_blames_the_users_line_and_not_the_library(folder: Path) -> None:
    (folder / "declaring_jobs.py").write_text(HEAD + "@app.job(attempts=0)\ndef work() -> None: ...\n")
    refused("declaring_jobs:app", "attempts=0", "declaring_jobs.py:3", error=PenstockError)


def test_a_syntax_error_is_shown_with_its_line(folder: Path) -> None:
    (folder / "broken_jobs.py").write_text("x = 1\ndef (:\n")
    refused("broken_jobs:app", "SyntaxError", "broken_jobs.py:2", error=PenstockError)


def test_a_module_that_exits_does_not_end_the_command_silently(folder: Path) -> None:
    (folder / "exiting_jobs.py").write_text("import sys\nsys.exit(0)\n")
    refused("exiting_jobs:app", "SystemExit", "exiting_jobs.py:2", error=PenstockError)


def test_an_exception_that_cannot_be_shown_is_still_reported(folder: Path) -> None:
    text = "class Odd(Exception):\n    def __str__(self) -> str:\n        raise ValueError\nraise Odd()\n"
    (folder / "odd_jobs.py").write_text(text)
    refused("odd_jobs:app", "Odd", "odd_jobs.py:4", error=PenstockError)


def test_a_missing_attribute_lists_the_apps_that_are_there(folder: Path) -> None:
    (folder / "other_jobs.py").write_text(HEAD + "second = App('sqlite:///b.db')\n")
    refused("other_jobs:queue", "'queue'", "other_jobs:app, other_jobs:second")


def test_a_missing_attribute_in_a_module_without_apps(folder: Path) -> None:
    (folder / "empty_jobs.py").write_text("")
    refused("empty_jobs:app", "no App at all")


def test_something_that_is_not_an_app_is_named_by_its_kind(folder: Path) -> None:
    (folder / "factory_jobs.py").write_text("def make(): ...\nvalue = 3\n")
    refused("factory_jobs:value", "int", "not a penstock.App")
    refused("factory_jobs:make", "function", "app = make()")


def test_an_app_without_jobs_is_refused(folder: Path) -> None:
    (folder / "idle_jobs.py").write_text(HEAD)
    refused("idle_jobs:app", "declares no jobs", "@app.job")


def test_a_script_that_runs_its_own_worker_is_not_imported_a_second_time(shell: Shell) -> None:
    script = HEAD + (
        "print('imported as', __name__)\n@app.job\ndef work() -> str:\n    return __name__\n"
        "if __name__ == '__main__':\n    job = work.enqueue()\n"
        "    from penstock.cli.main import main\n"
        "    try:\n        main(['worker', 'own:app', '--burst'])\n"
        "    except SystemExit as leaving:\n        print('exit', leaving.code)\n"
        "    print('ran in', App('sqlite:///jobs.db').get(job.id).result())\n"
    )
    (shell.folder / "own.py").write_text(script)
    out = subprocess.run(
        [sys.executable, "own.py"],
        cwd=shell.folder,
        env=shell.env,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout
    assert out.count("imported as") == 1
    assert "exit 0" in out
    assert "ran in __main__" in out
