"""The jobs of the curves, declared alike by who enqueues them and by the worker processes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import cycle, islice
from typing import Any

from penstock import App, Tenant
from penstock.bench.jobs import ARGUMENTS, BenchApp
from penstock.client.client import JobCall
from penstock.declare.jobtype import JobType

NOOP = "penstock.bench.noop"
AnyJob = JobType[Any, Any, Any, Any]
Calls = list[JobCall[Any]]


def names(types: int) -> list[str]:
    """Of so many types; 0 is the one type of the benchmark's app."""
    return [f"penstock.bench.type{number}" for number in range(types)] or [NOOP]


def declare(app: App, types: int, handler: Callable[[str, str, str], Coroutine[Any, Any, None]]) -> list[AnyJob]:
    return [app.job(name=name)(handler) for name in names(types)]


def in_turn(calls: Calls, count: int) -> Calls:
    return list(islice(cycle(calls), count))


def plain(bench: BenchApp, count: int) -> Calls:
    return in_turn([bench.noop.bind(*ARGUMENTS)], count)


def of_tenants(bench: BenchApp, tenants: int, count: int) -> Calls:
    orgs = [Tenant(org=f"org-{number}") for number in range(tenants)]
    return in_turn([bench.noop.using(tenant=org).bind(*ARGUMENTS) for org in orgs], count)


def of_types(bench: BenchApp, types: int, count: int) -> Calls:
    """By name: only the workers declare these types."""
    payload = dict(zip(("to", "subject", "body"), ARGUMENTS, strict=True))
    return in_turn([bench.app.client.call_by_name(name, payload, {}, {}) for name in names(types)], count)
