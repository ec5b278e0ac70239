"""A worker's ear: notifications where they can be heard, and a look at the tables as the floor under them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random

import psycopg

from penstock.domain.errors import StoreError
from penstock.domain.failure.secrets import hide_secrets
from penstock.store.postgres.connection.database import Database
from penstock.store.postgres.connection.link import Link, Role
from penstock.store.postgres.connection.loop_pool import connect, heeding_cancellation, hung_up_after
from penstock.store.postgres.connection.statements import quoted
from penstock.store.sql.steps import Statement

ALIVE_POLL_SECONDS = 1.0
ANSWER_SECONDS = 5.0
RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 0.2, 5.0

log = logging.getLogger("penstock.store")


class PostgresListener:
    """Waits for a notification, and looks whether something was put into waiting.

    A look goes over the listening connection itself, so that it also proves that notifications can be heard: then
    one look a second is enough. Where they cannot be heard, the look is every `poll_interval`.
    """

    bell: int | None = None
    turn: int | None = None

    def __init__(self, database: Database, poll_interval: float) -> None:
        database.refuse()
        self._database = database
        self._poll_interval = poll_interval
        self._loop = asyncio.get_running_loop()
        self._link: Link | None = None
        self._hears = False
        self._upto, self._open = "0", list[str]()
        self._orders: int | None = None
        self._look_at = 0.0
        self._retry_at = 0.0
        self._retry_pause = RETRY_SECONDS_MIN

    async def wait(self, timeout: float) -> bool:
        end = self._loop.time() + timeout
        while True:
            rest = end - self._loop.time()
            if rest <= 0:
                return False
            try:
                with heeding_cancellation():
                    if await self._news(rest):
                        return True
            except (psycopg.Error, StoreError) as error:
                self._lose(error)
                return True  # Unknown counts as news: the claim that follows reports what is wrong.

    async def _news(self, rest: float) -> bool:
        self.turn = None
        if self._link is None:
            if self._loop.time() < self._retry_at:
                await asyncio.sleep(min(rest, self._poll_interval, self._retry_at - self._loop.time()))
                return True  # Nobody looks meanwhile but the claims.
            self._link = await self._connect()
            return await self._look(self._link)
        pause = self._look_at + self._interval - self._loop.time()
        if pause > 0 and await self._heard(self._link, min(rest, pause)):
            return True
        return self._loop.time() >= self._look_at + self._interval and await self._look(self._link)

    @property
    def _interval(self) -> float:
        return max(ALIVE_POLL_SECONDS, self._poll_interval) if self._hears else self._poll_interval

    async def _connect(self) -> Link:
        if not self._database.looked:
            await asyncio.to_thread(self._database.open)
        link = await connect(self._database, Role.READ)
        try:
            if self._database.address.notify and not link.pooled:
                with hung_up_after(ANSWER_SECONDS, link):
                    await link.conn.execute(f"LISTEN {quoted(self._database.channel)}")
                self._hears = True
        except BaseException:
            link.close()
            raise
        self._retry_pause = RETRY_SECONDS_MIN
        return link

    async def _heard(self, link: Link, seconds: float) -> bool:
        if not self._hears:
            await asyncio.sleep(seconds)
            return False
        async for notice in link.conn.notifies(timeout=seconds, stop_after=1):
            self.turn = int(notice.payload) if notice.payload.isdecimal() else None
            return True
        return False

    async def _look(self, link: Link) -> bool:
        """Whether there is anything new by the tables. The first look knows of nothing before it, so it is news."""
        self._look_at = self._loop.time()
        statement = Statement("look", {"upto": self._upto, "open": self._open})
        with hung_up_after(ANSWER_SECONDS, link):
            [(snapshot, news, orders)] = await link.conn.wait(link.prepared.ask(*self._database.query(statement)))
        _, self._upto, open_ = snapshot.split(":")
        self._open = open_.split(",") if open_ else []
        before, self._orders = self._orders, orders
        return bool(news) or before != orders

    def _lose(self, error: Exception) -> None:
        """The next connection is tried after a pause that grows."""
        if self._link is not None:
            log.warning("notifications are lost, trying again: %s", hide_secrets(str(error)))
            self._link.close()
            self._link = None
        self._hears = False
        self._retry_at = self._loop.time() + self._retry_pause * (0.5 + random.random())
        self._retry_pause = min(self._retry_pause * 2, RETRY_SECONDS_MAX)

    def close(self) -> None:
        if self._link is not None:
            with contextlib.suppress(psycopg.Error):
                self._link.close()
            self._link = None
