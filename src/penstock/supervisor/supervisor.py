"""The supervisor's loop: sleeps until a signal, a death, a change of the code or a moment that was set, and acts."""

from __future__ import annotations

import logging
import random
import signal
import sys
import time
from collections.abc import Callable

from penstock.domain.duration import format_duration
from penstock.observe.logs import fields
from penstock.program.codes import FAILED, RECYCLED, WRONG_USE
from penstock.supervisor.launch import Launcher
from penstock.supervisor.pace import Pace
from penstock.supervisor.process_slot import ProcessSlot
from penstock.supervisor.wakeup import Wakeup
from penstock.worker.processes.exits import describe_exit

RELOAD_SECONDS = 5.0
RENEW_SECONDS = 3.0
"""In a rolling restart, how long a new process must have lived before the next old one is stopped."""
ORDERLY = (0, RECYCLED, -signal.SIGTERM)
"""How a process ends that was asked to stop; by SIGTERM itself when it was still starting."""

log = logging.getLogger("penstock.supervisor")


class Supervisor:
    """Keeps every place filled until it is told to stop, or, in burst mode, until every place is done."""

    def __init__(
        self,
        launcher: Launcher,
        wakeup: Wakeup,
        *,
        processes: int,
        shutdown_timeout: float,
        burst: bool,
        reload: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._launcher = launcher
        self._wakeup = wakeup
        self._shutdown_timeout = shutdown_timeout
        self._burst = burst
        self._reload = reload
        self._places = [ProcessSlot(number, Pace(random.random)) for number in range(1, processes + 1)]
        self._stopping = False
        self._code = 0
        self._proven = False
        """Whether a process ever lived long enough to show that the command works."""
        self._renew_before = 0.0
        """Processes older than this are replaced, one after another."""
        self._in_terminal = sys.stdin is not None and sys.stdin.isatty()
        """When the terminal that it was started in goes away (and with it the answer), that is the end."""
        self._clock = clock
        self._now = clock()

    def run(self) -> int:
        while True:
            self._now = self._clock()
            self._heed_signals()
            self._heed_changes()
            for child, code in self._launcher.ended():
                self._end(next(place for place in self._places if place.child is child), child.pid, code)
            self._start_due()
            if self._finished():
                return self._code
            self._press()
            self._renew()
            self._wakeup.sleep(self._until_next_moment())

    def _finished(self) -> bool:
        if self._filled():
            return False
        return self._stopping or (not self._reload and all(place.start_at is None for place in self._places))

    def _filled(self) -> list[ProcessSlot]:
        return [place for place in self._places if place.child is not None]

    # Starting

    def _start_due(self) -> None:
        for place in self._places:
            if place.start_at is not None and place.start_at <= self._now:
                self._start(place)

    def _start(self, place: ProcessSlot) -> None:
        try:
            child = self._launcher.start(place.number)
        except OSError as error:
            log.error("worker process %d could not be started: %s", place.number, error)
            place.started_at = self._now
            self._replace(place, FAILED)
            return
        place.fill(child, self._now)
        log.info(
            "worker process %d started (pid %d)",
            place.number,
            child.pid,
            extra=fields("process.started", number=place.number, pid=child.pid),
        )

    # Ending

    def _end(self, place: ProcessSlot, pid: int, code: int) -> None:
        self._proven = self._proven or place.steady(self._now)
        expected = place.asked or code == RECYCLED or (self._burst and code == 0)
        log.log(
            logging.INFO if expected and code in ORDERLY else logging.ERROR,
            "worker process %d (pid %d) ended after %s: %s",
            place.number,
            pid,
            format_duration(round(place.lived(self._now), 1)),
            describe_exit(code),
            extra=fields("process.ended", number=place.number, pid=pid, exit_code=code),
        )
        place.clear()
        if self._stopping:
            self._code = self._code or (0 if code in ORDERLY else FAILED)
        elif place.asked or code == RECYCLED:
            place.start_at = self._now
        elif not (self._burst and code == 0):
            self._replace(place, code)

    def _replace(self, place: ProcessSlot, code: int) -> None:
        """After a death that nobody asked for: start again, soon or later, or see that there is no point in it."""
        delay = place.pace.note_death(code, place.lived(self._now))
        if (code == WRONG_USE or place.pace.cannot_start) and (self._reload or not self._works()):
            self._give_up(place, code)
            return
        place.start_at = self._now + delay
        log.info(
            "worker process %d starts again %s",
            place.number,
            f"in {format_duration(round(delay, 1))}" if delay else "at once",
            extra=fields("process.restarting", number=place.number, delay=round(delay, 1)),
        )

    def _works(self) -> bool:
        return self._proven or any(place.steady(self._now) for place in self._places)

    def _give_up(self, place: ProcessSlot, code: int) -> None:
        place.start_at = None
        if self._reload:
            log.error("worker process %d cannot start; waiting for a change of the code", place.number)
        elif not self._stopping:
            log.error("worker process %d cannot start; stopping all", place.number)
            self._code = code
            self._stop()

    # Stopping

    def _heed_signals(self) -> None:
        while self._wakeup.signals:
            number = self._wakeup.signals.popleft()
            if number == signal.SIGHUP and not self._in_terminal:
                log.info("%s: replacing the worker processes one after another", number.name)
                self._renew_before = self._now
            elif not self._stopping:
                log.info("%s: stopping", number.name)
                self._stop()
            else:
                log.warning("%s again: stopping at once", number.name)
                for place in self._places:
                    place.hurry(self._now)

    def _stop(self) -> None:
        self._stopping = True
        for place in self._places:
            place.start_at = None
            place.ask_to_stop(self._now, self._shutdown_timeout)

    def _press(self) -> None:
        for place in self._places:
            if place.hurry_at is not None and place.hurry_at <= self._now:
                place.hurry(self._now)
            if place.kill_at is not None and place.kill_at <= self._now:
                log.error("worker process %d did not stop in time; killing it", place.number)
                place.kill()

    # Replacing on purpose

    def _heed_changes(self) -> None:
        if not self._wakeup.news:
            return
        changed = sorted(set(self._wakeup.news))
        self._wakeup.news.clear()
        log.info("%s changed: restarting", ", ".join(changed[:3]) + (" and more" if len(changed) > 3 else ""))
        for place in self._places if not self._stopping else ():
            place.pace = Pace(random.random)
            if place.child is None:
                place.start_at = self._now
            elif not place.asked:
                place.ask_to_stop(self._now, RELOAD_SECONDS, hurry=True)

    def _renew(self) -> None:
        """Stop the next old process once every other place is filled by one that is settled."""
        if self._stopping or any(place.asked or place.child is None for place in self._places):
            return
        old = [place for place in self._places if place.started_at < self._renew_before]
        if old and all(place in old or self._settled(place) for place in self._places):
            old[0].ask_to_stop(self._now, self._shutdown_timeout)

    def _settled(self, place: ProcessSlot) -> bool:
        return place.lived(self._now) >= RENEW_SECONDS

    def _settles_at(self, place: ProcessSlot) -> float | None:
        return None if self._settled(place) else place.started_at + RENEW_SECONDS

    def _until_next_moment(self) -> float | None:
        moments = [
            moment
            for place in self._places
            for moment in (place.start_at, place.hurry_at, place.kill_at, self._settles_at(place))
            if moment is not None
        ]
        return max(0.0, min(moments) - self._clock()) if moments else None
