"""What people do to work: pausing and resuming."""

from __future__ import annotations

from penstock.app.core import Core
from penstock.client.client import refuse_in_loop


class Operating(Core):
    """The side of people who look after it."""

    def pause_queue(self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False) -> bool:
        """Give out no more jobs of this queue, to no worker anywhere, until it is resumed. What runs goes on.

        False when it was paused before. A queue that the store has never seen is an error, unless `force`.
        """
        refuse_in_loop("pause_queue", "apause_queue")
        return self.client.pause("queue", name, reason, by, force).wait()[0].changed

    async def apause_queue(
        self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False
    ) -> bool:
        return (await self.client.pause("queue", name, reason, by, force))[0].changed

    def resume_queue(self, name: str, *, by: str = "client") -> bool:
        """Let the jobs of a paused queue run again, at once. False when it was not paused."""
        refuse_in_loop("resume_queue", "aresume_queue")
        return self.client.resume("queue", name, by).wait()[0].changed

    async def aresume_queue(self, name: str, *, by: str = "client") -> bool:
        return (await self.client.resume("queue", name, by))[0].changed

    def pause_type(self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False) -> bool:
        """The same as pause_queue, for all jobs of one type, whatever queue they are in."""
        refuse_in_loop("pause_type", "apause_type")
        return self.client.pause("type", name, reason, by, force).wait()[0].changed

    async def apause_type(
        self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False
    ) -> bool:
        return (await self.client.pause("type", name, reason, by, force))[0].changed

    def resume_type(self, name: str, *, by: str = "client") -> bool:
        """Let the jobs of a paused type run again, at once. False when it was not paused."""
        refuse_in_loop("resume_type", "aresume_type")
        return self.client.resume("type", name, by).wait()[0].changed

    async def aresume_type(self, name: str, *, by: str = "client") -> bool:
        return (await self.client.resume("type", name, by))[0].changed
