"""docs/sqlite.md: what it says of backups, typed as it is shown, while the store is in use."""

from __future__ import annotations

import shlex
from pathlib import Path

from penstock import App
from tests.docs.pages import ROOT, commands, run_python


def jobs(app: App) -> int:
    return sum(count.jobs for count in app.store.count_jobs().wait())


def test_a_backup_is_made_and_restored_by_the_commands_of_the_page(tmp_path: Path) -> None:
    shell = [words[1:] for line in commands(ROOT / "docs" / "sqlite.md") if (words := shlex.split(line))[0] == "python"]
    backup, restore = shell
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    try:
        app.enqueue("first", {})
        for words, expected in ((backup, 1), (restore, 1)):
            done = run_python(*words, cwd=tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert jobs(app) == expected
            app.enqueue("second", {})
            assert jobs(app) == expected + 1
        copied = App(f"sqlite:///{tmp_path}/backup.db")
        assert jobs(copied) == 1
        copied.close()
    finally:
        app.close()
