"""Which jobs a command is about, as it is said on a command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict

import typer

from penstock.cli.input.tenants import parse_tenant


class Matching(TypedDict):
    """The fields that all filters of the store have. A tenant is two of them."""

    type: str | None
    queue: str | None
    tenant: str | None
    workspace: str | None
    tag: str | None


@dataclass(frozen=True, kw_only=True)
class FilterFlags:
    """Which jobs, by what was said of them at their enqueue."""

    type: Annotated[str | None, typer.Option("--type", metavar="NAME", help="Only jobs of this type.")] = None
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Only jobs in this queue.")] = None
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="ORG[/WORKSPACE]", help="Only jobs of this tenant.")
    ] = None
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only jobs with this tag.")] = None

    def matching(self) -> Matching:
        tenant = None if self.tenant is None else parse_tenant(self.tenant)
        org, workspace = (None, None) if tenant is None else (tenant.org, tenant.workspace)
        return {"type": self.type, "queue": self.queue, "tenant": org, "workspace": workspace, "tag": self.tag}
