"""The recorder: what attempts count as, pages that are sent until they are stored, bounds on what is named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.domain.figures.grid import place_of
from penstock.domain.figures.series import OTHER, OTHERS, Count, Figures, Route, Tally
from penstock.domain.job import ErrorInfo, Event
from penstock.domain.options import Tenant
from penstock.observe.events import Ended, EndedBatch, Events, Quiet
from penstock.observe.figures import recorder as module
from penstock.observe.figures.recorder import Recorder
from penstock.store import contract as p
from tests.worker.fakes import claim

WORKER = "w"
SECOND = 1_000_000


def make(token: int = 1, **fields: Any) -> p.Claim:
    return msgspec.structs.replace(claim(token), type="send", queue="mail", due_at=0, **fields)


MAIL = Route("send", "mail", make().capability)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(WORKER, lambda: "book")


def quiet(*claims: p.Claim, seconds: float = 0.5) -> Quiet:
    done = [p.Completed(one.token, 2 * SECOND) for one in claims]
    return Quiet(list(claims), done, [seconds] * len(claims))


def tell(recorder: Recorder, *ended: Ended, answer: p.Finished = p.ALL_STORED, quiet: Quiet | None = None) -> None:
    recorder.ended(EndedBatch(WORKER, ended, answer, quiet))


def figures(recorder: Recorder) -> Figures:
    return recorder.total().routes.get(MAIL, Figures())


def failed(token: int, event: Event = Event.BACK_OFF, **fields: Any) -> Ended:
    end = p.Unfinished(token=token, event=event, started_at=SECOND)
    return Ended(make(token), end, 0.25, ErrorInfo("ValueError", "no"), **fields)


def test_successes_that_nobody_is_told_of_are_counted(recorder: Recorder) -> None:
    tell(recorder, quiet=quiet(make(1), make(2, attempt=3)))
    found = figures(recorder)
    assert found.counts == {Count.STARTED: 2, Count.COMPLETED: 2}
    assert (found.ran, found.running, found.waiting) == (1.0, {place_of(0.5): 2}, {place_of(2.0): 2})
    assert found.attempts == {1: 1, 3: 1}


def test_failures_count_with_what_follows(recorder: Recorder) -> None:
    tell(recorder, failed(1), failed(2, Event.FAIL, timed_out=True))
    assert figures(recorder).counts == {
        Count.STARTED: 2, Count.FAILED: 2, Count.RETRIED: 1, Count.DEAD: 1, Count.TIMEOUT: 1,
    }  # fmt: skip
    assert figures(recorder).ran == 0.5


def test_one_that_never_began_has_not_started(recorder: Recorder) -> None:
    tell(recorder, Ended(make(1), p.Unfinished(token=1, event=Event.RELEASE)))
    assert figures(recorder).counts == {Count.RELEASED: 1}
    assert figures(recorder).runs == 0


def test_what_the_store_refused_is_not_counted_and_what_was_cancelled_counts_as_that(recorder: Recorder) -> None:
    answer = p.Finished(lost=[1, 4], cancelled=[2, 5])
    tell(recorder, failed(4), failed(5), answer=answer, quiet=quiet(make(1), make(2), make(3)))
    counts = figures(recorder).counts
    assert (counts[Count.COMPLETED], counts[Count.CANCELLED]) == (1, 2)
    assert Count.FAILED not in counts


def test_what_another_worker_of_this_process_did_is_its_own_to_count(recorder: Recorder) -> None:
    recorder.ended(EndedBatch("another", [failed(1)]))
    recorder.claimed("another", [make(1)], SECOND)
    assert recorder.page() is None


def test_how_long_jobs_waited_for_their_claim(recorder: Recorder) -> None:
    for jobs in (1, 8, 9, 50):
        before = sum(figures(recorder).claiming.values())
        recorder.claimed(WORKER, [make(number) for number in range(jobs)], 3 * SECOND)
        assert figures(recorder).claiming == {place_of(3.0): before + jobs}


def test_claims_are_counted_when_their_attempts_have_ended(recorder: Recorder) -> None:
    tell(recorder, failed(4), failed(5), Ended(make(6), p.Unfinished(token=6, event=Event.RELEASE)),
         answer=p.Finished(lost=[5]), quiet=quiet(make(1), make(2)))  # fmt: skip
    assert figures(recorder).claimed == 5


def test_of_which_none_was_timed_the_next_stand_for_all(recorder: Recorder) -> None:
    rare, other = make(2), msgspec.structs.replace(make(1), type="other")
    done = [p.Completed(1, 2 * SECOND), p.Completed(2, 2 * SECOND)]
    tell(recorder, quiet=Quiet([other, rare], done, [0.5]))
    assert figures(recorder).counts == {Count.STARTED: 1, Count.COMPLETED: 1}
    assert figures(recorder).runs == 0
    tell(recorder, quiet=quiet(make(3)))
    assert figures(recorder).runs == 2
    assert figures(recorder).ran == 1.0


def test_what_others_did_is_told_by_this_process_and_not_stored_again(recorder: Recorder) -> None:
    recorder.happened([p.Happened(Event.EXPIRE, "id", *MAIL), p.Happened(Event.ENQUEUE, "id", *MAIL)])
    assert figures(recorder).counts == {Count.EXPIRED: 1}
    assert recorder.page() is None


def test_of_many_successes_some_stand_for_all(recorder: Recorder) -> None:
    for jobs in (16, 17, 31, 33, 1000):
        before = figures(recorder)
        claims = [make(number) for number in range(jobs)]
        tell(recorder, quiet=Quiet(claims, [p.Completed(one.token, 2 * SECOND) for one in claims], [0.01] * 16))
        found = figures(recorder)
        assert found.counts[Count.COMPLETED] - before.counts.get(Count.COMPLETED, 0) == jobs
        assert found.runs - before.runs == jobs
        assert found.ran - before.ran == pytest.approx(jobs * 0.01)
        assert sum(found.waiting.values()) == sum(found.attempts.values()) == found.runs


def test_a_page_is_the_same_until_it_is_stored(recorder: Recorder) -> None:
    tell(recorder, failed(1))
    first = recorder.page()
    tell(recorder, failed(2))
    assert recorder.page() is first
    assert first is not None
    recorder.stored(first)
    recorder.stored(first)  # An answer that came late.
    second = recorder.page()
    assert second is not None
    assert (first.book, first.number, second.book, second.number) == ("book", 1, "book", 2)
    assert second.tally.routes[MAIL].counts[Count.FAILED] == 1
    recorder.stored(second)
    assert recorder.page() is None
    assert not recorder.unstored
    assert figures(recorder).counts[Count.FAILED] == 2


def test_tenants_are_counted(recorder: Recorder) -> None:
    acme = Tenant("acme")
    tell(recorder, quiet=quiet(make(1, tenant=acme), make(2), make(3, tenant=acme)))
    tell(recorder, msgspec.structs.replace(failed(4), claim=make(4, tenant=acme)))
    page = recorder.page()
    assert page is not None
    assert {org: (one.completed, one.failed, one.ran) for org, one in page.tally.tenants.items()} == {
        "acme": (2, 1, 1.25)
    }


def test_too_many_tenants_are_counted_as_others(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TENANTS_MAX", 3)
    tell(recorder, quiet=quiet(*(make(number, tenant=Tenant(f"t{number}")) for number in range(10))))
    page = recorder.page()
    assert page is not None
    assert len(page.tally.tenants) == 4
    assert page.tally.tenants[OTHER].completed == 7


def test_too_many_types_are_counted_as_others(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUTES_MAX", 3)
    for page_number in range(2):
        claims = [msgspec.structs.replace(make(n), type=f"t{page_number}{n}") for n in range(5)]
        tell(recorder, quiet=quiet(*claims))
        page = recorder.page()
        assert page is not None
        assert len(page.tally.routes) == 4
        assert page.tally.routes[OTHERS].counts[Count.COMPLETED] == 2
        recorder.stored(page)
    found = recorder.total()
    assert len(found.routes) == 4
    assert sum(one.counts[Count.COMPLETED] for one in found.routes.values()) == 10


def test_it_is_told_of_batches_with_nothing_but_quiet_successes() -> None:
    recorder = Recorder(WORKER, lambda: "book")
    events = Events()
    events.ended(EndedBatch(WORKER, (), quiet=quiet(make(1))))
    events.add(recorder)
    events.ended(EndedBatch(WORKER, (), quiet=quiet(make(2))))
    events.claimed(WORKER, [make(3)], SECOND)
    events.remove(recorder)
    events.ended(EndedBatch(WORKER, (), quiet=quiet(make(4))))
    assert figures(recorder).counts[Count.COMPLETED] == 1
    assert figures(recorder).claimed == 1


def test_two_recorders_never_share_a_book() -> None:
    from penstock.system.clock import SystemClock
    from penstock.system.ids import IdSource

    books = set()
    for _ in range(3):
        recorder = Recorder(WORKER, IdSource(SystemClock()).next_id)
        tell(recorder, failed(1))
        page = recorder.page()
        assert page is not None
        books.add(page.book)
    assert len(books) == 3


def test_the_sum_shares_nothing_with_what_is_still_counted(recorder: Recorder) -> None:
    tell(recorder, failed(1))
    found = recorder.total()
    found.routes.clear()
    assert recorder.total() != Tally()
