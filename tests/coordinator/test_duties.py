"""The duties, each done once on a real store: what they say, and what they do."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from penstock.coordinator.duties import DUTIES
from penstock.coordinator.duties.ageing import Ageing
from penstock.coordinator.duties.expiry import Expiry
from penstock.coordinator.duties.gates import ROUNDS, GateTending
from penstock.coordinator.duties.ownerless import Ownerless
from penstock.coordinator.duties.probes import Probes
from penstock.coordinator.duties.recovery import Recovery
from penstock.coordinator.duties.retention import Pruning
from penstock.coordinator.duties.routing import Routing
from penstock.coordinator.duties.start_timeout import StartTimeout
from penstock.coordinator.duty import Duty
from penstock.coordinator.settings import CoordinatorSettings, Retention
from penstock.domain.flow.gates import Gate
from penstock.domain.flow.pauses import PauseKind
from penstock.domain.job import State
from penstock.domain.options import Options
from penstock.observe.alerts.settings import AlertSettings
from penstock.store import contract as p
from tests.coordinator.conftest import Scene


def do(scene: Scene, duty: Duty, times: int = 1) -> None:
    """By a leader of the first term."""
    done: list[bool] = []

    async def main() -> None:
        for _ in range(times):
            await duty.do(1)
        done.append(True)

    loop = scene.begin("leader", main)
    scene.time.run(lambda: bool(done) or bool(loop.errors))
    assert not loop.errors


@pytest.fixture
def session(scene: Scene) -> int:
    """A worker, who leads."""
    session = scene.register("worker", health="http://10.0.0.1:80")
    scene.sqlite.lead_store(p.LeadStore(session, 1e6)).wait()
    return session


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["penstock_event"] for record in caplog.records if "penstock_event" in record.__dict__]


def test_every_duty_has_its_interval_from_the_settings(scene: Scene) -> None:
    settings = CoordinatorSettings(
        recovery_interval=1, start_check_interval=2, probe_interval=3, prune_interval=4, schedule_interval=5,
        sample_interval=6, fold_interval=7, alerts=AlertSettings(interval=8),
    )  # fmt: skip
    intervals = {type(duty).__name__: duty.interval for duty in (make(scene.store, settings) for make in DUTIES)}
    assert intervals == {
        "Recovery": 1, "Ownerless": 1, "Expiry": 1, "GateTending": 1, "Ageing": 1, "Routing": 1, "StartTimeout": 2,
        "Probes": 3, "Pruning": 4, "Firing": 5, "WorkflowSteps": 1, "Sampling": 6, "Folding": 7, "Alerts": 8,
    }  # fmt: skip


def test_jobs_that_nobody_would_let_through_are_let_through(scene: Scene, session: int) -> None:
    """The one that went ahead expired before anybody took it, and left its place to nobody."""
    gate = Gate("key:a", 1, None, "key:a")
    ahead, behind = (msgspec.structs.replace(scene.world.new_job(ttl=1.0), gates=(gate,)) for _ in range(2))
    scene.world.enqueue(ahead, msgspec.structs.replace(behind, spec=p.JobSpec(type="task")))
    scene.pass_time(2)
    scene.world.store.expire_jobs(p.ExpireJobs()).wait()
    assert (scene.world.state(ahead.id), scene.world.state(behind.id)) == (State.EXPIRED, State.BLOCKED)
    do(scene, GateTending(scene.store, CoordinatorSettings()))
    assert [claim.id for claim in scene.world.claim(session)] == [behind.id]


def test_jobs_before_a_gate_that_is_gone_are_found_by_whoever_leads(scene: Scene, session: int) -> None:
    """At once when somebody begins to lead, and then by every twelfth round."""
    gate = Gate("key:a", 1, None, "key:a")
    jobs = [msgspec.structs.replace(scene.world.new_job(), gates=(gate,)) for _ in range(3)]
    scene.world.enqueue(*jobs)
    (held,) = scene.world.claim(session)
    duty = GateTending(scene.store, CoordinatorSettings())
    for times in (1, ROUNDS):
        lose_gates(scene)
        scene.world.complete(held)
        assert scene.world.claim(session) == []
        do(scene, duty, times)
        (held,) = scene.world.claim(session)
    assert held.id == jobs[2].id


def lose_gates(scene: Scene) -> None:
    with scene.sqlite.transaction() as tx:
        tx.execute("DELETE FROM penstock_gate")


def test_recovery_goes_on_until_all_is_recovered(
    scene: Scene, session: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lost = scene.register("lost")
    jobs = scene.world.add_many(1200)
    for _ in range(2):
        scene.world.claim(lost, 600)
    scene.pass_time(31)
    duty = Recovery(scene.store, CoordinatorSettings())
    do(scene, duty)
    scene.pass_time(15)
    scene.beat(session)
    do(scene, duty)  # It has been watched for half of its patience by now.
    assert all(scene.world.state(job) is State.SCHEDULED for job in jobs)
    assert "lost" in caplog.text


def test_jobs_of_workers_whose_rows_are_gone_are_taken_back_by_whoever_leads(
    scene: Scene, session: int, caplog: pytest.LogCaptureFixture
) -> None:
    """All of them, and nobody is judged: the silent one keeps its job."""
    gone, silent = scene.register("gone"), scene.register("silent")
    jobs = scene.world.add_many(1201)
    for _ in range(2):
        scene.world.claim(gone, 600)
    (kept,) = scene.world.claim(silent)
    with scene.sqlite.transaction() as tx:
        tx.execute("DELETE FROM penstock_worker WHERE id = 'gone'")
    scene.pass_time(100)
    do(scene, Recovery(scene.store, CoordinatorSettings()))
    assert {scene.world.state(job) for job in jobs} == {State.CLAIMED}
    do(scene, Ownerless(scene.store, CoordinatorSettings()))
    assert [job for job in jobs if scene.world.state(job) is not State.SCHEDULED] == [kept.id]
    assert caplog.text.count(" jobs of lost workers: ") == 3
    assert f"session {gone}" in caplog.text


def test_start_timeout_goes_on_until_all_is_given_back(scene: Scene, session: int) -> None:
    jobs = scene.world.add_many(1100)
    scene.world.claim(session, 1100)
    scene.pass_time(300)
    scene.beat(session)
    do(scene, StartTimeout(scene.store, CoordinatorSettings()))
    assert all(scene.world.state(job) is State.PENDING for job in jobs)


def test_a_step_of_the_stores_clock_gives_nothing_back_before_its_time(
    scene: Scene, session: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    duty = StartTimeout(scene.store, CoordinatorSettings())
    job = scene.world.add()
    scene.world.claim(session)
    do(scene, duty)
    true = scene.clock.now_us
    monkeypatch.setattr(scene.clock, "now_us", lambda: true() + 3600 * 1_000_000)
    for _ in range(4):
        scene.pass_time(60)
        scene.beat(session)
        do(scene, duty)
        assert scene.world.state(job) is State.CLAIMED
    assert caplog.text.count("the store's clock was set by +3600 s") == 1
    scene.pass_time(120)
    scene.beat(session)
    do(scene, duty)
    assert scene.world.state(job) is State.PENDING


def test_expiry(scene: Scene, session: int) -> None:
    job = scene.world.add(ttl=5.0)
    scene.pass_time(6)
    do(scene, Expiry(scene.store, CoordinatorSettings()))
    assert scene.world.state(job) is State.EXPIRED


def test_pruning_goes_on_until_nothing_is_left_to_remove(scene: Scene, session: int) -> None:
    scene.world.add_many(2500)
    while claims := scene.world.claim(session, 1000):
        scene.world.complete(*claims)
    scene.pass_time(10)
    do(scene, Pruning(scene.store, CoordinatorSettings(retention=Retention(completed=5.0))))
    assert scene.world.list_ids() == []


# Jobs that nobody can run


def declare(scene: Scene, **types: Options) -> None:
    scene.register("declares", declared=types, types=tuple(types))
    scene.world.heartbeat(scene.sqlite.list_workers().wait()[0].session, "inactive")


def test_jobs_that_nobody_can_run_are_told_once_and_when_that_is_over(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    session = scene.register("mail", types=("mail",))
    scene.sqlite.lead_store(p.LeadStore(session, 1e6)).wait()
    job = scene.world.add(type="film")
    duty = Routing(scene.store, CoordinatorSettings())
    do(scene, duty)
    assert not caplog.records
    do(scene, duty, times=3)
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "film" in warning.getMessage()
    assert "no live worker" in warning.getMessage()
    assert scene.world.state(job) is State.PENDING
    scene.register("film", types=("film",))
    do(scene, duty)
    assert "no longer wait for a worker" in caplog.text


def test_those_whose_type_asks_for_it_fail(scene: Scene, session: int) -> None:
    declare(scene, hasty=Options(no_worker="fail"), patient=Options())
    scene.world.heartbeat(session, "draining")
    hasty, patient = scene.world.add(type="hasty"), scene.world.add(type="patient")
    duty = Routing(scene.store, CoordinatorSettings())
    do(scene, duty)
    assert scene.world.state(hasty) is State.PENDING
    do(scene, duty)
    dead = scene.world.read(hasty)
    assert (dead.state, dead.decided_by) == (State.DEAD, "routing")
    assert dead.reason is not None
    assert dead.reason.startswith("no workers available: ")
    assert scene.world.state(patient) is State.PENDING


def test_those_whose_queue_asks_for_it_fail_also_of_unknown_types(scene: Scene) -> None:
    session = scene.register("mail", types=("mail",))
    scene.sqlite.lead_store(p.LeadStore(session, 1e6)).wait()
    hostile, other = scene.world.add(type="os.system", queue="now"), scene.world.add(type="os.system")
    do(scene, Routing(scene.store, CoordinatorSettings(failing_queues=("now",))), times=2)
    assert scene.world.state(hostile) is State.DEAD
    assert scene.world.state(other) is State.PENDING


def test_a_worker_that_can_run_it_is_enough(scene: Scene, session: int) -> None:
    declare(scene, hasty=Options(no_worker="fail"))
    job = scene.world.add(type="hasty")
    do(scene, Routing(scene.store, CoordinatorSettings()), times=3)
    assert scene.world.state(job) is State.PENDING


@pytest.mark.parametrize("what", [("queue", "now"), ("type", "hasty")])
def test_paused_jobs_wait_for_no_worker(
    scene: Scene, session: int, caplog: pytest.LogCaptureFixture, what: tuple[PauseKind, str]
) -> None:
    declare(scene, hasty=Options(no_worker="fail"))
    scene.world.heartbeat(session, "draining")
    job = scene.world.add(type="hasty", queue="now")
    scene.world.pause(*what)
    duty = Routing(scene.store, CoordinatorSettings(failing_queues=("now",)))
    do(scene, duty, times=3)
    assert (scene.world.state(job), caplog.text) == (State.PENDING, "")
    scene.world.resume(*what)
    do(scene, duty, times=2)
    assert scene.world.state(job) is State.DEAD


# Ageing


@pytest.mark.parametrize(("ageing", "priority"), [(None, -5), (60.0, 2)])
def test_priorities_are_raised_only_if_that_is_wanted(
    scene: Scene, session: int, ageing: float | None, priority: int
) -> None:
    job = scene.world.add(priority=-5)
    scene.pass_time(150)
    do(scene, Ageing(scene.store, CoordinatorSettings(ageing=ageing)))
    assert scene.world.read(job).priority == priority


def test_a_stream_of_urgent_jobs_does_not_starve_a_patient_one(scene: Scene, session: int) -> None:
    """Every second an urgent job comes and one job is taken."""
    patient, taken = scene.world.add(), list[str]()
    duty = Ageing(scene.store, CoordinatorSettings(ageing=10.0))
    for _ in range(100):
        scene.world.add(priority=5)
        taken.append(scene.world.claim_one(session).id)
        if patient in taken:
            break
        scene.pass_time(1)
        do(scene, duty)
    assert taken[-1] == patient
    assert 45 <= len(taken) <= 65, "five times ten seconds, and its due time is then the earliest"


# Probes


class Answers:
    """Workers that answer, or not."""

    def __init__(self, *answers: bool | None) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, address: str) -> bool | None:
        self.asked.append(address)
        return self._answers.pop(0)


def worker(scene: Scene) -> p.WorkerInfo:
    (found,) = scene.sqlite.list_workers().wait()
    return found


def test_two_misses_make_a_worker_inactive_and_the_first_answer_active(scene: Scene, session: int) -> None:
    answers = Answers(False, True, False, False, False, True)
    duty = Probes(scene.store, CoordinatorSettings(), answers)
    seen = []
    for _ in range(6):
        do(scene, duty)
        seen.append(worker(scene).status)
    assert seen == ["active", "active", "active", "inactive", "inactive", "active"]
    assert answers.asked == ["http://10.0.0.1:80"] * 6


@pytest.mark.parametrize("miss", [False, None])
def test_one_that_answers_that_it_is_not_ready_has_answered(scene: Scene, session: int, miss: bool | None) -> None:
    do(scene, Probes(scene.store, CoordinatorSettings(), Answers(False, miss)), times=2)
    assert worker(scene).status == "inactive"


def test_a_worker_that_never_answered_is_not_judged_and_that_is_told_once(
    scene: Scene, session: int, caplog: pytest.LogCaptureFixture
) -> None:
    duty = Probes(scene.store, CoordinatorSettings(), Answers(*[None] * 5, True))
    do(scene, duty, times=5)
    assert (worker(scene).status, worker(scene).unreached) == ("active", True)
    assert [record.getMessage().partition(" at ")[0] for record in caplog.records] == [
        "worker worker cannot be reached"
    ]
    do(scene, duty)
    assert (worker(scene).status, worker(scene).unreached) == ("active", False)


def test_a_mark_does_not_outlive_the_leader_that_made_it(scene: Scene, session: int) -> None:
    """A worker that is well and that nobody probes any more is active again after a few probe intervals."""
    do(scene, Probes(scene.store, CoordinatorSettings(), Answers(True, False, False)), times=3)
    beats = 0
    while worker(scene).status == "inactive":
        scene.beat(session)
        beats += 1
    assert 9 <= beats <= 12, "three probes of 30 s, by heartbeats of 10 s"


def test_each_probe_that_fails_renews_the_mark(scene: Scene, session: int) -> None:
    duty = Probes(scene.store, CoordinatorSettings(), Answers(True, *[False] * 10))
    do(scene, duty, times=3)
    for _ in range(8):
        for _ in range(3):
            scene.beat(session)
            assert worker(scene).status == "inactive"
        do(scene, duty)


def test_the_next_leader_does_not_keep_a_mark_alive_that_it_cannot_judge(scene: Scene, session: int) -> None:
    do(scene, Probes(scene.store, CoordinatorSettings(), Answers(True, False, False)), times=3)
    duty = Probes(scene.store, CoordinatorSettings(), Answers(*[None] * 10))
    for _ in range(5):
        for _ in range(3):
            scene.beat(session)
        do(scene, duty)
    assert (worker(scene).status, worker(scene).unreached) == ("active", True)


def test_only_those_with_a_recent_heartbeat_and_an_address_in_reach_are_asked(scene: Scene, session: int) -> None:
    scene.register("no address")
    scene.register("loopback of another machine", health="http://127.0.0.1:5", host="elsewhere")
    scene.register("ended", health="http://10.0.0.2:80")
    scene.world.heartbeat(session + 3, "inactive")
    answers = Answers(True)
    duty = Probes(scene.store, CoordinatorSettings(), answers)
    do(scene, duty)
    assert answers.asked == ["http://10.0.0.1:80"]
    scene.pass_time(31)
    do(scene, duty)
    assert len(answers.asked) == 1


def test_a_worker_on_this_machine_is_asked_on_its_loopback(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    session = scene.register("here", host="here", health="http://127.0.0.1:5")
    scene.sqlite.lead_store(p.LeadStore(session, 1e6)).wait()
    answers: Any = Answers(True)
    do(scene, Probes(scene.store, CoordinatorSettings(), answers))
    assert answers.asked == ["http://127.0.0.1:5"]
