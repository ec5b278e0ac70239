from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from penstock import App, Tenant
from penstock.cli.dead import filter as dead_filter
from tests.cli.conftest import Call, Shell, run_all

Dead = Callable[[int], list[str]]
UNKNOWN = "01980000-0000-7000-8000-000000000000"
STORE = ("--store", "sqlite:///jobs.db")


def letters(call: Call, *options: str) -> list[str]:
    return [job["id"] for job in call("dead", "list", *options, "--json").json["jobs"]]


def test_twenty_a_page_and_the_total(call: Call, app: App, dead: Dead) -> None:
    ids = set(dead(23))
    first, second = (call("dead", "list", "--page", page, "--json").json for page in "12")
    assert (len(first["jobs"]), len(second["jobs"]), first["total"], first["pages"]) == (20, 3, 23, 2)
    assert {job["id"] for page in (first, second) for job in page["jobs"]} == ids
    ended = [job["finished_at"] for page in (first, second) for job in page["jobs"]]
    assert ended == sorted(ended, reverse=True)
    shown = call("dead", "list").out
    assert f"page 1 of 2, 23 dead letters in {app.store.info.address}" in shown
    assert "boom 22" in shown


def test_filters_narrow_the_list(call: Call, app: App) -> None:
    wanted = app.enqueue("boom", {"what": "odd one"}, tenant=Tenant("acme", "eu"), queue="q", tags=["red"]).id
    other = app.enqueue("hopeless", {"what": "plain"}).id
    run_all(app)
    for option in (["--type", "boom"], ["--queue", "q"], ["--tenant", "acme"], ["--tenant", "acme/eu"],
                   ["--tag", "red"], ["--error", "odd"]):  # fmt: skip
        assert letters(call, *option) == [wanted], option
    for option in (["--tenant", "acme/us"], ["--tag", "re"]):
        assert letters(call, *option) == [], option
    assert set(letters(call, "--before", (datetime.now(UTC) + timedelta(hours=1)).isoformat())) == {wanted, other}
    assert letters(call, "--before", "2001-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["list", "--page", "0"], "--page"),
        (["list", "--before", "noon"], "not a time"),
        (["list", "--before", "2030-01-01T00:00:00"], "no time zone"),
        (["show", "7"], "not a job id"),
        (["retry", "7"], "not a job id"),
        (["purge", "7", "--yes"], "not a job id"),
        (["retry"], "--all"),
        (["list", "--tenant", ""], "write acme, or acme/eu"),
        (["retry", "--tenant", "/eu"], "write acme, or acme/eu"),
        (["purge", "--tenant", "acme/"], "write acme, or acme/eu"),
        (["purge", "--yes"], "--all"),
        (["retry", UNKNOWN, "--type", "boom"], "exclude each other"),
        (["purge", "--all", "--type", "boom"], "exclude each other"),
    ],
    ids=str,
)
def test_wrong_words_are_usage_errors(call: Call, app: App, args: list[str], words: str) -> None:
    outcome = call("dead", *args)
    assert outcome.code == 2
    assert words in outcome.err


@pytest.mark.parametrize("args", [["show", UNKNOWN], ["retry", UNKNOWN], ["purge", UNKNOWN, "--yes"]], ids=str)
def test_an_unknown_id_is_a_failure(call: Call, app: App, args: list[str]) -> None:
    outcome = call("dead", *args)
    assert outcome.code == 1
    assert UNKNOWN in outcome.err


def test_show_is_for_dead_letters_only(call: Call, app: App, dead: Dead) -> None:
    (job_id,) = dead(1)
    assert "ValueError: boom 0" in call("dead", "show", job_id).out
    assert call("dead", "show", job_id, "--json").json["state"] == "dead"
    waiting = app.enqueue("greet", {}, delay="1h").id
    outcome = call("dead", "show", waiting)
    assert outcome.code == 1
    assert "not a dead letter" in outcome.err


def test_one_is_retried_without_a_question(call: Call, app: App, dead: Dead) -> None:
    (job_id,) = dead(1)
    outcome = call("dead", "retry", job_id)
    assert outcome.code == 0
    assert "1 dead letter retried" in outcome.out
    assert letters(call) == []
    assert letters(call, "--retried") == [job_id]


@pytest.mark.parametrize("act", ["retry", "purge"])
def test_many_need_a_confirmation_and_without_a_terminal_only_yes_will_do(
    shell: Shell, app: App, dead: Dead, act: str
) -> None:
    dead(2)
    refused = shell.run("dead", act, "--type", "boom", *STORE)
    assert refused.code == 2
    assert "2 dead letters" in refused.err
    assert "--yes" in refused.err
    declined = shell.run_on_terminal("dead", act, "--type", "boom", *STORE, answer="n\n")
    assert declined.code == 1
    assert "nothing was changed" in declined.out
    assert shell.run("dead", "list", "--json", *STORE).json["total"] == 2
    agreed = shell.run_on_terminal("dead", act, "--type", "boom", *STORE, answer="y\n")
    assert agreed.code == 0
    assert "2 dead letters re" in agreed.out
    assert shell.run("dead", "list", "--json", *STORE).json["total"] == 0


def test_bulk_acts_go_page_by_page_to_the_end(
    call: Call, app: App, dead: Dead, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.cli.dead import purge, retry

    for module in (dead_filter, purge, retry):
        monkeypatch.setattr(module, "PAGE", 2)
    ids = dead(5)
    told = call("dead", "retry", "--all", "--yes", "--json").json
    assert {pair["id"] for pair in told["retried"]} == set(ids)
    assert told["count"] == 5
    assert call("dead", "retry", "--all", "--yes", "--json").json["count"] == 0
    assert call("dead", "retry", "--all", "--yes", "--force", "--json").json["count"] == 5
    run_all(app)
    assert call("dead", "retry", *letters(call), "--yes", "--json").json["count"] == 10
    assert call("dead", "purge", "--all", "--yes", "--json").json == {"purged": 0}
    assert call("dead", "purge", "--all", "--retried", "--yes", "--json").json == {"purged": 15}


def test_named_ones_are_purged_also_when_they_were_retried(call: Call, app: App, dead: Dead) -> None:
    first, second, third = dead(3)
    call("dead", "retry", first)
    assert "2 dead letters removed" in call("dead", "purge", first, second, first, "--yes").out
    assert letters(call, "--retried") == [third]


def test_retried_before_needs_force(call: Call, app: App, dead: Dead) -> None:
    first, second = dead(2)
    call("dead", "retry", first)
    refused = call("dead", "retry", first, second, "--yes")
    assert refused.code == 1
    assert first in refused.err
    assert letters(call) == [second], "all or nothing"
    assert call("dead", "retry", first, second, "--yes", "--force", "--json").json["count"] == 2


def test_what_dies_after_the_question_was_not_agreed_to(app: App, dead: Dead) -> None:
    from penstock.store.contract import DeadFilter, PurgeDead

    dead(2)
    frozen, total = dead_filter.freeze(app.store, DeadFilter())
    (late,) = dead(1)
    assert total == 2
    assert app.store.purge_dead(PurgeDead(filter=frozen)).wait().jobs == 2
    assert app.get(late).read().id == late


def test_nothing_to_do_is_not_an_error_and_asks_nothing(call: Call, app: App) -> None:
    assert call("dead", "retry", "--all").out == "0 dead letters retried\n"
    assert call("dead", "purge", "--type", "boom").out == "0 dead letters removed\n"
