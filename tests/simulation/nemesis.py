"""What happens to processes while there is chaos: killed, paused, stopped, cut off from the store, clocks set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, Protocol

from tests.simulation.clients import ClientProcess
from tests.simulation.process import Process, WorkerProcess
from tests.simulation.weather import STALE_SECONDS, Weather


class Victims(Protocol):
    """Who lives at the moment."""

    def living(self) -> list[Process]: ...


class Nemesis:
    """Each kind of trouble comes at random moments, on average every so many seconds."""

    def __init__(self, weather: Weather, random: Random, victims: Victims) -> None:
        self._random = random
        self._victims = victims
        self._troubles: list[tuple[float | None, Callable[[], None]]] = [
            (weather.kill_seconds, self._kill),
            (weather.pause_seconds, self._pause),
            (weather.sleep_seconds, self._sleep),
            (weather.stop_seconds, self._stop),
            (weather.cut_seconds, self._cut),
            (weather.outage_seconds, self._outage),
            (weather.step_seconds, self._step),
        ]

    def reigns(self) -> list[Coroutine[Any, Any, None]]:
        """One endless story for each kind of trouble."""
        return [self._reign(mean, strike) for mean, strike in self._troubles if mean is not None]

    async def _reign(self, mean: float, strike: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / mean))
            strike()

    def _workers(self) -> list[WorkerProcess]:
        return [one for one in self._victims.living() if isinstance(one, WorkerProcess)]

    def _kill(self) -> None:
        clients = [one for one in self._victims.living() if isinstance(one, ClientProcess)]
        victims: list[Process] = [*self._workers(), *(clients if self._random.random() < 0.3 else ())]
        if victims:
            self._random.choice(victims).kill()

    def _pause(self) -> None:
        """Most come back as zombies, whose jobs were given to others."""
        self._stop_for_a_while(self._victims.living(), lambda victim: victim.pause())

    def _sleep(self) -> None:
        """Only workers: one that led wakes up and believes that it still does."""
        wall_stops = self._random.random() < 0.5
        self._stop_for_a_while(self._workers(), lambda victim: victim.sleep(wall_stops))

    def _stop_for_a_while(self, victims: Sequence[Process], stop: Callable[[Process], None]) -> None:
        awake = [one for one in victims if not one.loop.frozen]
        if awake:
            victim = self._random.choice(awake)
            stop(victim)
            seconds = STALE_SECONDS * self._random.choice([0.3, 0.9, 1.5, 3.0])
            asyncio.get_running_loop().call_later(seconds, victim.resume)

    def _stop(self) -> None:
        if workers := self._workers():
            victim = self._random.choice(workers)
            victim.stop()
            if self._random.random() < 0.4:
                asyncio.get_running_loop().call_later(self._random.uniform(0.0, 1.0), victim.stop)

    def _cut(self) -> None:
        if living := self._victims.living():
            self._random.choice(living).line.cut(self._seconds(), self._random.random() < 0.5)

    def _outage(self) -> None:
        seconds, refusing = self._seconds(), self._random.random() < 0.5
        for one in self._victims.living():
            one.line.cut(seconds, refusing)

    def _seconds(self) -> float:
        return STALE_SECONDS * self._random.choice([0.2, 0.5, 1.2, 2.5])

    def _step(self) -> None:
        if living := self._victims.living():
            self._random.choice(living).clock.step(self._random.choice([-3600.0, -5.0, -0.5, 0.5, 5.0, 3600.0]))
