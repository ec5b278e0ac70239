"""Tenants as they are written on a command line: ORG or ORG/WORKSPACE."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from penstock.domain.errors import ConfigError

if TYPE_CHECKING:
    from penstock.domain.options import Tenant


def parse_tenant(text: str) -> Tenant:
    from penstock.domain.options import Tenant

    org, slash, workspace = text.partition("/")
    if not org or (slash and not workspace):
        raise ConfigError(f"--tenant {text!r} is not a tenant: write acme, or acme/eu for one of its workspaces")
    return Tenant(org, workspace or None)


class TenantFields(TypedDict):
    """The two fields of a filter that a tenant is."""

    tenant: str | None
    workspace: str | None


def tenant_filter(text: str | None) -> TenantFields:
    if text is None:
        return {"tenant": None, "workspace": None}
    tenant = parse_tenant(text)
    return {"tenant": tenant.org, "workspace": tenant.workspace}
