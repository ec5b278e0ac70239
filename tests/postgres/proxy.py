"""A network between a client and a server that fails on demand.

One fault at a time: each replaces the one before and is in force when its method returns; `heal` ends it. `cut` is not
a state but an event: it ends the connections of the moment.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.postgres.private import HOST, free_port

CHUNK = 65536
BACKLOG = 100
SECONDS = 30.0


@dataclass(frozen=True)
class Fault:
    flowing: bool = True
    dropping: bool = False
    refusing: bool = False
    delay: float = 0.0


@dataclass(eq=False)
class Link:
    """One connection. Torn means that an answer on it was lost: no later one may take its place."""

    task: asyncio.Task[None]
    torn: bool = False


class Proxy:
    """Listens at `host` and `port` within `with`, and carries every connection on to the target."""

    def __init__(self, target_port: int, target_host: str = HOST) -> None:
        self.host = HOST
        self.port = free_port()
        self._target = (target_host, target_port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listener: socket.socket | None = None
        self._taken: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._fault = Fault()
        self._flowing = asyncio.Event()
        self._dropped = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self.heal()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    def black_hole(self) -> None:
        """Nothing passes in either direction, connections stay open and new ones open too; what is sent arrives once
        all is healed."""
        self._do(self._set(Fault(flowing=False)))

    def drop_answers(self) -> None:
        """What clients send arrives, what the server says is lost. A connection that lost something stays silent until
        it is cut; healing cuts it too."""
        self._do(self._set(Fault(dropping=True)))

    def wait_for_dropped_answer(self, seconds: float = SECONDS) -> None:
        """Wait until the server has answered into the void: it did what it was asked, and the client cannot know."""
        if not self._dropped.wait(seconds):
            raise TimeoutError(f"not within {seconds:g} s: an answer of the server to drop")

    def delay(self, seconds: float) -> None:
        """Each piece of data takes so much longer in each direction, one piece after the other."""
        self._do(self._set(Fault(delay=seconds)))

    def refuse(self) -> None:
        """End all connections and refuse new ones, as if nothing listened."""
        self._do(self._set(Fault(refusing=True)))

    def heal(self) -> None:
        self._do(self._set(Fault()))

    def cut(self) -> None:
        """End all connections that are open now."""
        self._do(self._cut(list(self._links)))

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._links)

    # How: all of it on the loop in the proxy's own thread

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(step, self._loop).result(SECONDS)

    async def _set(self, fault: Fault) -> None:
        self._fault = fault
        self._dropped.clear()
        self._set_listening(not fault.refusing)
        if fault == Fault():
            await self._cut([link for link in self._links if link.torn])
        if fault.refusing:
            await self._cut(list(self._links))
        if fault.flowing:
            self._flowing.set()
        else:
            self._flowing.clear()

    async def _end(self) -> None:
        """Refuse, and see off the connections that were just taken too."""
        await self._set(Fault(refusing=True))
        await asyncio.gather(*self._taken)
        await asyncio.sleep(0)  # Sockets close in the next round of the loop.

    def _set_listening(self, listening: bool) -> None:
        """Not by asyncio's own server: one that closes while it takes a connection forgets to close that."""
        if listening and self._listener is None:
            self._listener = socket.create_server((self.host, self.port), backlog=BACKLOG)
            self._listener.setblocking(False)
            self._loop.add_reader(self._listener, self._take, self._listener)
        elif not listening and self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _take(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # The client has gone again.
        task = self._loop.create_task(self._serve(connection))
        self._taken.add(task)
        task.add_done_callback(self._taken.discard)

    async def _cut(self, links: list[Link]) -> None:
        for link in links:
            link.task.cancel()
        await asyncio.gather(*(link.task for link in links), return_exceptions=True)
        await asyncio.sleep(0)  # Sockets close in the next round of the loop.

    async def _serve(self, connection: socket.socket) -> None:
        """One connection of a client, from its beginning to its end."""
        reader, writer = await asyncio.open_connection(sock=connection)
        task = asyncio.current_task()
        assert task
        link = Link(task)
        self._links.add(link)
        try:
            if self._fault.refusing:
                return  # It was being taken when the fault began.
            await self._flowing.wait()
            answers, questions = await asyncio.open_connection(*self._target)
            try:
                await self._carry(self._pump(reader, questions), self._pump(answers, writer, link))
                await _finish(questions, writer)
            finally:
                questions.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # One of the two sides ended it, or a fault did.
        finally:
            writer.transport.abort()
            self._links.discard(link)

    async def _carry(self, *ways: Coroutine[Any, Any, None]) -> None:
        """Both ways, until one of the two sides has said its last word."""
        pumps = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, link: Link | None = None) -> None:
        """One way. The way back names the link, because only answers can be dropped."""
        while True:
            chunk = await source.read(CHUNK)
            await asyncio.sleep(self._fault.delay)
            await self._flowing.wait()
            if link and (self._fault.dropping or link.torn):
                link.torn = True
                self._dropped.set()
                if not chunk:
                    await asyncio.Event().wait()  # The client is not told of the end either.
            elif chunk:
                sink.write(chunk)
                await sink.drain()
            else:
                return


async def _finish(*writers: asyncio.StreamWriter) -> None:
    """Send what is still on its way, and close."""
    for writer in writers:
        writer.close()
    for writer in writers:
        await writer.wait_closed()
