"""The options of a job on a command line, for every command that makes one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.domain.errors import ConfigError

Payload = Annotated[
    str, typer.Argument(metavar="JSON", help="The handler's parameters as a JSON object; - reads stdin.")
]
Delay = Annotated[str | None, typer.Option("--delay", metavar="D", help="Run it this much later: 90s, 5m.")]
Priority = Annotated[int | None, typer.Option("--priority", metavar="N", help="-100 to 100; higher first.")]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME")]
Capability = Annotated[str | None, typer.Option("--capability", metavar="NAME")]
Attempts = Annotated[int | None, typer.Option("--attempts", metavar="N", help="Runs, the first included.")]
Timeout = Annotated[str | None, typer.Option("--timeout", metavar="D", help="Limit for one attempt.")]
Ttl = Annotated[str | None, typer.Option("--ttl", metavar="D", help="Expire if not begun by then.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="ORG[/WORKSPACE]")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May be given several times.")]
UniqueKey = Annotated[
    str | None, typer.Option("--unique", metavar="KEY", help="Nothing new while a job with this key has not ended.")
]
UniquePer = Annotated[
    str | None, typer.Option("--unique-per", metavar="D", help="Instead: for this long after an enqueue.")
]
UniqueScope = Annotated[
    str | None,
    typer.Option("--unique-scope", metavar="WORD", help="Unique among all (default), its type, queue or tenant."),
]


def given_options(
    tenant: str | None, tags: list[str] | None, unique: str | None, per: str | None, scope: Any, **plain: Any
) -> dict[str, Any]:
    """What was given, as an enqueue takes it."""
    from penstock.cli.tenants import parse_tenant

    options = {name: value for name, value in plain.items() if value is not None}
    if tenant is not None:
        options["tenant"] = parse_tenant(tenant)
    if tags:
        options["tags"] = tags
    return options | unique_option(unique, per, scope)


def unique_option(key: str | None, per: str | None, scope: Any) -> dict[str, Any]:
    from penstock.domain.options import Unique

    if key is not None:
        return {"unique": Unique(key, per, scope or "all")}
    if per is not None or scope is not None:
        raise ConfigError("--unique-per and --unique-scope say more of --unique KEY: give that too")
    return {}
