"""The options of a job on a command line, for every command that makes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from penstock.cli.input.tenants import parse_tenant
from penstock.domain.errors import ConfigError

Delay = Annotated[str | None, typer.Option("--delay", metavar="D", help="Run it this much later: 90s, 5m.")]
TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="The name of the job type.", show_default=False)]


def given(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class JobFlags:
    """The options that any job can have."""

    priority: Annotated[int | None, typer.Option("--priority", metavar="N", help="-100 to 100; higher first.")] = None
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME")] = None
    capability: Annotated[str | None, typer.Option("--capability", metavar="NAME")] = None
    attempts: Annotated[int | None, typer.Option("--attempts", metavar="N", help="Runs, the first included.")] = None
    timeout: Annotated[str | None, typer.Option("--timeout", metavar="D", help="Limit for one attempt.")] = None
    ttl: Annotated[str | None, typer.Option("--ttl", metavar="D", help="Expire if not begun by then.")] = None
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="ORG[/WORKSPACE]")] = None
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be given several times.")] = None

    def options(self) -> dict[str, Any]:
        """What was given, as an enqueue takes it."""
        return given(
            priority=self.priority,
            queue=self.queue,
            capability=self.capability,
            attempts=self.attempts,
            timeout=self.timeout,
            ttl=self.ttl,
            tenant=None if self.tenant is None else parse_tenant(self.tenant),
            tags=self.tag or None,
        )


@dataclass(frozen=True, kw_only=True)
class OneJobFlags(JobFlags):
    """And those that are of no use to many jobs at once."""

    unique: Annotated[
        str | None, typer.Option("--unique", metavar="KEY", help="Nothing new while a job with this key has not ended.")
    ] = None
    unique_per: Annotated[
        str | None, typer.Option("--unique-per", metavar="D", help="Instead: for this long after an enqueue.")
    ] = None
    unique_scope: Annotated[
        str | None,
        typer.Option("--unique-scope", metavar="WORD", help="Unique among all (default), its type, queue or tenant."),
    ] = None

    def options(self) -> dict[str, Any]:
        return super().options() | self._unique()

    def _unique(self) -> dict[str, Any]:
        from penstock.domain.options import Unique

        scope: Any = self.unique_scope or "all"
        if self.unique is not None:
            return {"unique": Unique(self.unique, self.unique_per, scope)}
        if self.unique_per is not None or self.unique_scope is not None:
            raise ConfigError("--unique-per and --unique-scope say more of --unique KEY: give that too")
        return {}
