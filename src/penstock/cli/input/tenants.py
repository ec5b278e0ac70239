"""Tenants as they are written on a command line: ORG or ORG/WORKSPACE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.domain.errors import ConfigError

if TYPE_CHECKING:
    from penstock.domain.options import Tenant


def parse_tenant(text: str) -> Tenant:
    from penstock.domain.options import Tenant

    org, slash, workspace = text.partition("/")
    if not org or (slash and not workspace):
        raise ConfigError(f"--tenant {text!r} is not a tenant: write acme, or acme/eu for one of its workspaces")
    return Tenant(org, workspace or None)
