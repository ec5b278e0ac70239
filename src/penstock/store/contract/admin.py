"""The store itself: what it is, how it is, and its schema."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from penstock.store.call import Call


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What this store is, in words that a person can check."""

    engine: str
    address: str
    library: str
    durability: str
    schema_version: int


class CheckStore(msgspec.Struct, frozen=True):
    """`deep` also does what takes as long as the store is large."""

    deep: bool = False


Level = Literal["ok", "warning", "error"]


class Finding(msgspec.Struct, frozen=True):
    """What was looked at and how it is. Everything but `ok` says what to do about it."""

    name: str
    level: Level
    message: str
    fix: str | None = None

    @classmethod
    def from_error(cls, name: str, error: Exception) -> Finding:
        """Messages of errors end with what to do, after a semicolon."""
        message, _, fix = str(error).partition("; ")
        return cls(name, "error", message, fix or "see the message")


class MigrationStatus(msgspec.Struct, frozen=True):
    current: int
    latest: int
    pending: list[str]


class Admin(Protocol):
    """The store itself: what it is, how it is, and its schema."""

    @property
    def address(self) -> str:
        """Where the store is, in full and without a password. Opens nothing."""
        ...

    @property
    def info(self) -> StoreInfo:
        """What this store is: engine, address, library, durability, schema version. Opens the store."""
        ...

    def read_clock(self) -> Call[int]:
        """The moment by the store's clock, from the store itself: also the cheapest proof that it answers."""
        ...

    def check_store(self, params: CheckStore) -> Call[list[Finding]]:
        """What this engine knows to threaten a store: versions, durability, space, rights, damage. Changes nothing.

        A store that is missing, damaged, of another version or out of reach is a finding, never an error, and none
        is made. What is not `ok` comes with the fix.
        """
        ...

    def migration_status(self) -> MigrationStatus:
        """The schema version of the store and what `migrate` would do. Changes nothing."""
        ...

    def migration_script(self) -> str:
        """What `migrate` would run, as a script for the engine's own shell; empty when nothing is pending.

        Run by hand it leaves the same schema at the same version. Changes nothing.
        """
        ...

    def migrate(self) -> MigrationStatus:
        """Bring the schema to this version; answers the status from before. Safe to run by many at once."""
        ...

    def close(self) -> None:
        """Finish what was handed in, then close. Later use means StoreClosed."""
        ...
