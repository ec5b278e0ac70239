"""A random walk over a real store, with answers that get lost: what it writes down must pass every rule."""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random
from typing import Any

from penstock.domain.errors import CommitUncertain, PenstockError, StoreUnavailable
from penstock.domain.job import FINAL, Event
from penstock.domain.options import Backoff, Unique, decode_policy
from penstock.domain.workflows import is_workflow
from penstock.store import contract as p
from penstock.store.call import Call
from penstock.store.contract import SqlStore
from tests.checker.conftest import Recorded
from tests.contract.clock import FakeClock
from tests.contract.world import STALE_AFTER, policy_text

FLAKY = 0.1
WORKERS = ("ann", "bob", "cy")
ROUNDS_MAX = 200
WRITES = ("_jobs", "_dead", "_job", "_worker", "_store", "_once", "_workflow", "_workflows")
Held = tuple[str, p.Claim]
"""A worker's name, and what it holds or once held."""


class FlakyStore:
    """Some writes fail before they reach the store, and some answers are lost after them."""

    def __init__(self, store: SqlStore, dice: Random) -> None:
        self._store = store
        self._dice = dice
        self.flaky = True

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not name.endswith(WRITES) or name.startswith(("list", "read")):
            return found
        return lambda params: FlakyCall(found(params), self)

    def draw(self) -> str:
        share = self._dice.random()
        if not self.flaky or share > FLAKY:
            return "well"
        return "lost" if share < FLAKY / 2 else "refused"


class FlakyCall:
    def __init__(self, call: Call[Any], store: FlakyStore) -> None:
        self._call = call
        self._store = store

    def wait(self) -> Any:
        fate = self._store.draw()
        if fate == "refused":
            raise StoreUnavailable("did not reach the store")
        answer = self._call.wait()
        if fate == "lost":
            raise CommitUncertain("the answer was lost")
        return answer

    def __await__(self) -> Generator[Any, None, Any]:
        raise NotImplementedError


class Walk:
    """One store, three workers, and steps that are drawn from a seed."""

    def __init__(self, bare: SqlStore, clock: FakeClock, seed: int) -> None:
        self.dice = Random(seed)
        self._flaky = FlakyStore(bare, self.dice)
        self.world = Recorded(self._flaky, clock)
        self._workers = {name: self.world.other(name) for name in WORKERS}
        self._sessions: dict[str, int] = {}
        self._held: list[Held] = []
        self._old: list[Held] = []
        self._sent: list[p.NewJob] = []

    def acts(self) -> list[Callable[[], None]]:
        return [self._enqueue, self._enqueue, self._claim, self._claim, self._start, self._finish, self._finish,
                self._finish, self._use_old_token, self._advance, self._recover, self._give_back, self._cancel,
                self._retry_dead, self._send_again, self._die, self._once, self._lead]  # fmt: skip

    def run(self, steps: int) -> None:
        acts = self.acts()
        for _ in range(steps):
            self._try(self.dice.choice(acts))
        self._flaky.flaky = False
        self._drain()

    def _try(self, act: Any) -> None:
        try:
            act()
        except PenstockError:
            pass  # Whoever asked goes on with something else, as workers do.

    # Steps

    def _enqueue(self) -> None:
        dice = self.dice
        policy = policy_text(
            attempts=dice.randint(1, 3), backoff=Backoff(2.0, 1.0), remove_on_complete=dice.random() < 0.2,
            remove_on_fail=dice.random() < 0.2,
        )  # fmt: skip
        unique = Unique(dice.choice("ab"), dice.choice([None, 5.0])) if dice.random() < 0.2 else None
        ttl = dice.choice([None, None, None, 5.0])
        jobs = [self.world.new_job(policy=policy, unique=unique, ttl=ttl) for _ in range(dice.randint(1, 3))]
        self._sent += jobs
        self.world.enqueue(*jobs)

    def _send_again(self) -> None:
        if self._sent:
            self.world.enqueue(self.dice.choice(self._sent))

    def _session(self, name: str) -> int:
        if name not in self._sessions:
            self._sessions[name] = self._workers[name].register(name)
        return self._sessions[name]

    def _claim(self) -> None:
        name = self.dice.choice(WORKERS)
        self._beat(name)
        try:
            claims = self._workers[name].claim(self._session(name), self.dice.randint(1, 3))
        except PenstockError:
            self._sessions.pop(name, None)
            raise
        self._held += [(name, claim) for claim in claims]

    def _beat(self, name: str) -> None:
        if name in self._sessions and not self._workers[name].heartbeat(self._sessions[name]):
            del self._sessions[name]

    def _start(self) -> None:
        if self._held:
            name, claim = self.dice.choice(self._held)
            self._workers[name].start(claim)
            self._workers[name].progress(claim, "{}")
            self.world.log.run(claim.id, claim.token, claim.attempt)

    def _once(self) -> None:
        if self._held:
            name, claim = self.dice.choice(self._held)
            store = self._workers[name].store
            if store.begin_once(p.BeginOnce(claim.token, "key")).wait().status == "run":
                store.end_once(p.EndOnce(claim.token, "key", undone=self.dice.random() < 0.5)).wait()

    def _finish(self) -> None:
        if self._held:
            held = self._held.pop(self.dice.randrange(len(self._held)))
            self._old.append(held)
            self._end(*held)

    def _use_old_token(self) -> None:
        if self._old:
            self._end(*self.dice.choice(self._old))

    def _end(self, name: str, claim: p.Claim) -> None:
        world, policy = self._workers[name], decode_policy(claim.policy)
        event = self.dice.choice([None, None, Event.BACK_OFF, Event.FAIL, Event.RELEASE, Event.SNOOZE, Event.CANCEL])
        if event is Event.BACK_OFF and claim.attempt >= policy.attempts:
            event = Event.FAIL
        member = self.member(claim)
        if event is None:
            world.complete(claim, keep=not policy.remove_on_complete, member=member)
        else:
            crash = event in (Event.BACK_OFF, Event.FAIL) and self.dice.random() < 0.3
            keep = event is not Event.FAIL or not policy.remove_on_fail
            world.end(
                claim,
                event,
                delay=1.0 if event in (Event.BACK_OFF, Event.SNOOZE) else 0.0,
                crash=crash,
                keep=keep,
                member=member,
            )

    def member(self, claim: p.Claim) -> str | None:
        """Its id, if it belongs to a workflow that is to hear of its end."""
        return claim.id if is_workflow(claim.parent) else None

    def _advance(self) -> None:
        self.world.clock.advance(self.dice.choice([0.1, 1.0, 3.0, STALE_AFTER + 1]))

    def _recover(self) -> None:
        self._beat_some()
        self._workers[self.dice.choice(WORKERS)].recover()

    def _beat_some(self) -> None:
        for name in list(self._sessions):
            if self.dice.random() < 0.7:
                self._beat(name)

    def _give_back(self) -> None:
        self._beat_some()
        self._workers[self.dice.choice(WORKERS)].store.give_back_jobs(p.GiveBackJobs(2.0)).wait()

    def _die(self) -> None:
        """A worker forgets everything, and comes back under the same name when it is stale."""
        name = self.dice.choice(WORKERS)
        self._sessions.pop(name, None)
        self._old += [held for held in self._held if held[0] == name]
        self._held = [held for held in self._held if held[0] != name]

    def _cancel(self) -> None:
        if self._sent:
            self.world.cancel(self.dice.choice(self._sent).id)

    def _retry_dead(self) -> None:
        new_ids = [self.world.new_id()]
        self.world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(), new_ids=new_ids)).wait()

    def _lead(self) -> None:
        name = self.dice.choice(WORKERS)
        lease = self.dice.choice([2.0, 2.0, None])
        store = self._workers[name].store
        lead = store.lead_store(p.LeadStore(self._session(name), lease)).wait()
        store.expire_jobs(p.ExpireJobs(lead.term if lead.acting else lead.term - 1)).wait()

    # The end

    def is_over(self) -> bool:
        return all(job.state in FINAL for job in self.world.store.list_jobs(p.ListJobs(limit=10_000)).wait())

    def _drain(self) -> None:
        """Everything ends: the jobs in dead hands are recovered, the others claimed and completed."""
        for _ in range(ROUNDS_MAX):
            if self.is_over():
                return
            self.world.clock.advance(STALE_AFTER + 60)
            self._sessions.clear()
            self.world.recover()
            for claim in self.world.claim(self.world.register(f"last-{self.dice.random()}"), 100):
                keep = not decode_policy(claim.policy).remove_on_complete
                self.world.complete(claim, keep=keep, member=self.member(claim))
        raise AssertionError("the walk does not end; look at which jobs are never claimed")
