"""Everything at once, in whatever order the seed says."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.actors import Actor
from tests.chaos.catalogue import fault
from tests.chaos.faults.network import begin_behind_proxies
from tests.chaos.places import PostgresPlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.postgres.proxy import Proxy


class Storm:
    """Each method does one kind of harm, and none waits for its end."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.dice = stage.dice
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._clients_left = stage.size.rounds
        """A client that is killed begins again: if that went on, it would never come to an end."""

    def blow(self) -> None:
        """End what was to end by now, and do some more harm."""
        now = time.monotonic()
        due = [end for at, end in self._later if at <= now]
        self._later = [(at, end) for at, end in self._later if at > now]
        for end in due:
            end()
        self.dice.choice(self.harms())()

    def harms(self) -> list[Callable[[], None]]:
        return [self.kill, self.stop, self.freeze, self.kill_client]

    def after(self, low: float, high: float, end: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + self.dice.uniform(low, high), end))

    def kill(self) -> None:
        victim = self.stage.victim()
        if victim is not None:
            self.stage.kill(victim)
            self.stage.again(victim)

    def stop(self) -> None:
        victim = self.stage.victim()
        if victim is not None:
            victim.ending = True
            victim.send(signal.SIGTERM)
            self.after(0.0, 0.5, lambda: self._stop_now(victim))

    def _stop_now(self, victim: Actor) -> None:
        self.stage.kill(victim)
        self.stage.again(victim)

    def freeze(self) -> None:
        victim = self.stage.victim()
        if victim is not None:
            self.stage.pause(victim, anywhere=True)
            self.after(0.0, 2 * self.stage.size.lease, lambda: self._thaw(victim))

    def _thaw(self, victim: Actor) -> None:
        if victim.paused:
            self.stage.resume(victim)

    def kill_client(self) -> None:
        victims = [client for client in self.stage.clients.values() if client.lives]
        if victims and self._clients_left:
            self._clients_left -= 1
            victim = self.dice.choice(victims)
            self.stage.kill(victim)
            self.stage.again(victim)


class PostgresStorm(Storm):
    def __init__(self, stage: Stage, place: PostgresPlace, proxies: list[Proxy]) -> None:
        super().__init__(stage)
        self._place = place
        self._proxies = proxies

    def harms(self) -> list[Callable[[], None]]:
        return [*super().harms(), self.drop, self.drop, self.silence, self.cut, self.end_backends, self.crash]

    def drop(self) -> None:
        proxy = self.dice.choice(self._proxies)
        proxy.drop_answers()
        self.after(0.0, 0.5, proxy.heal)

    def silence(self) -> None:
        proxy = self.dice.choice(self._proxies)
        proxy.black_hole()
        self.after(0.0, 2 * self.stage.size.lease, proxy.heal)

    def cut(self) -> None:
        self.dice.choice(self._proxies).cut()

    def end_backends(self) -> None:
        mine = "pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock'"
        self._place.rows(f"SELECT {mine} AND random() < %s", self.dice.random())

    def crash(self) -> None:
        if self.dice.random() < 0.3:
            self._place.server.kill()
            self._place.server.start()


@fault(row=23)
def storm(stage: Stage) -> None:
    """Workers and clients are killed, stopped and frozen, the network fails and the server crashes, all at once."""
    stage.bounds = replace(stage.bounds, pickup_us=None, claims_undone=stage.place.engine == "postgresql")
    if isinstance(stage.place, PostgresPlace):
        blowing: Storm = PostgresStorm(stage, stage.place, begin_behind_proxies(stage))
    else:
        stage.begin()
        blowing = Storm(stage)
    stage.while_loading(0.05, 0.4, blowing.blow)
    settle(stage)
