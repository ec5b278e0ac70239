"""No secret of an error's text is stored or logged, in whatever way the error comes; payloads and results stay."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from typing import Any

import pytest

from penstock import App, ConfigError, Context, Fixed, Handler, JobHandle
from penstock.observe.formats import JsonFormat, TextFormat
from penstock.observe.redaction import WITHHELD, redact
from tests.worker import process_jobs
from tests.worker.running import burst

CANARY = "hunter2"
SAID = f"cannot reach postgresql://u:{CANARY}@h/db?password={CANARY} with Authorization: Bearer {CANARY}"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """All that was logged, as every formatter would write it."""
    caplog.set_level(logging.DEBUG)

    def lines() -> str:
        forms = (logging.Formatter(), TextFormat(), JsonFormat())
        return "\n".join(form.format(record) for record in caplog.records for form in forms)

    return lines


def stored(path: Path) -> str:
    """Every byte of the store's files."""
    return "".join(file.read_bytes().decode("latin-1") for file in path.glob("jobs.db*"))


def test_an_error_is_stored_and_logged_without_its_secrets(app: App, tmp_path: Path, logged: Any) -> None:
    @app.job(attempts=2, backoff=Fixed("1ms"))
    async def fails() -> None:
        raise ValueError(f"cannot reach postgresql://u:{CANARY}@h/db?password=hunter2") from KeyError(SAID)

    @app.job(attempts=1)
    def fails_in_thread() -> None:
        raise ExceptionGroup(SAID, [ValueError(SAID), KeyError(SAID)])

    jobs = [fails.enqueue(), fails_in_thread.enqueue()]
    burst(app)
    for job in jobs:
        error = job.read().error
        assert error is not None
        assert "***" in error.message
        assert "fails" in error.stack
    assert CANARY not in stored(tmp_path)
    assert CANARY not in logged()


def test_hooks_that_raise(app: App, tmp_path: Path, logged: Any) -> None:
    class Told(Handler[str, str]):
        async def process(self, ctx: Context, data: str) -> str:
            raise ValueError(SAID)

        def on_start(self, ctx: Context) -> None:
            raise ValueError(SAID)

        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            assert CANARY in str(error)  # The handler's own code is told what it has raised.
            raise KeyError(SAID)

        def is_retryable(self, error: BaseException) -> bool:
            raise ValueError(SAID)

    app.register(Told(), attempts=1).enqueue("x")
    burst(app)
    written = logged()
    assert "on_start" in written
    assert "on_failed" in written
    assert "is_retryable" in written
    assert CANARY not in written
    assert CANARY not in stored(tmp_path)


def test_an_error_of_a_child_process(process_app: App, tmp_path: Path, logged: Any) -> None:
    job = process_jobs.fail_with_text.enqueue(f"{SAID} of orion")
    burst(process_app)
    error = job.read().error
    assert error is not None
    assert "of [a project]" in error.message
    assert "***" in error.message
    assert CANARY not in error.message + error.stack + logged()


def test_a_payload_that_does_not_fit(app: App, tmp_path: Path, logged: Any) -> None:
    job = app.enqueue("other", {"number": f"password={CANARY}"})

    @app.job(name="other")
    async def other(number: int) -> None: ...

    burst(app)
    found = job.read()
    assert found.error is not None
    assert found.reason is not None
    assert CANARY not in found.error.message + found.reason + logged()


def test_payloads_and_results_are_not_changed(app: App) -> None:
    @app.job
    async def echo(text: str) -> str:
        return text

    job = echo.enqueue(SAID)
    burst(app)
    assert job.result(timeout=0) == SAID
    assert job.read().payload == {"text": SAID}


# The app's own say


def failing(app: App) -> JobHandle[Any]:
    @app.job(attempts=1)
    async def fails() -> None:
        raise ValueError("patient 4711 is not there")

    job = fails.enqueue()
    burst(app)
    return job


def test_the_app_takes_out_what_only_it_knows(app: App, tmp_path: Path, logged: Any) -> None:
    @app.redact
    def hide_patients(text: str) -> str:
        return text.replace("4711", "[patient]")

    assert hide_patients("4711") == "[patient]"  # It is the function that it was.
    error = failing(app).read().error
    assert error is not None
    assert error.message == "patient [patient] is not there"
    assert "4711" not in stored(tmp_path)
    assert "4711" not in logged().replace(__file__, "")


@pytest.mark.parametrize("answer", [None, 7, b"4711"])
def test_an_answer_that_is_no_text_withholds_it(app: App, answer: Any, logged: Any) -> None:
    app.redact(lambda text: answer)
    error = failing(app).read().error
    assert error is not None
    assert error.message == error.stack == WITHHELD
    assert "4711" not in logged()
    assert "app.redact answered a" in logged()


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_one_that_raises_withholds_it(app: App, kind: type[BaseException], logged: Any) -> None:
    def raising(text: str) -> str:
        raise kind(text)

    app.redact(raising)
    error = failing(app).read().error
    assert error is not None
    assert error.message == error.stack == WITHHELD
    assert "4711" not in logged()
    assert f"app.redact raised {kind.__name__}" in logged()


def test_what_is_no_plain_function_is_refused(app: App) -> None:
    async def later(text: str) -> str:
        return text

    for wrong in (later, "text"):
        with pytest.raises(ConfigError, match="a plain function from text to text"):
            app.redact(wrong)  # type: ignore[type-var]


def test_the_say_of_an_app_ends_with_it(tmp_path: Path) -> None:
    other = App(f"sqlite:///{tmp_path}/other.db")
    other.redact(lambda text: "nothing")
    assert redact("fine") == "nothing"
    other.close()
    del other
    gc.collect()
    assert redact("fine") == "fine"
