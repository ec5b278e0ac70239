"""The options of a job: defaults on its type, overrides at enqueue, and what is stored of them (J2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from penstock.domain.clock import to_us
from penstock.domain.duration import Duration, parse_duration, parse_size
from penstock.domain.errors import ConfigError
from penstock.domain.texts import UNSTORABLE, brief, is_text

PRIORITY_MIN, PRIORITY_MAX = -100, 100
WORKER_CONCURRENCY_MAX = 10_000
ATTEMPTS_MAX = 1000
SNOOZES_MAX = 1_000_000
NAME_LENGTH_MAX = 200
REASON_LENGTH_MAX = 1000
TAGS_MAX = 50
DEFAULT_QUEUE = "default"
DEFAULT_CAPABILITY = "general"

_NAME_EXTRA = frozenset("_-.:/@")


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True):
    """After the n-th failure wait min(cap, base × factor^(n−1)), ± 10 % jitter, never above the cap."""

    base: float = 5.0
    factor: float = 2.0
    cap: float | None = 3600.0


def Exponential(base: Duration = 5.0, cap: Duration = 3600.0) -> Backoff:  # noqa: N802 — reads as a value in declarations
    """Wait base, 2 × base, 4 × base, … after each failure, at most cap."""
    return Backoff(parse_duration(base, "backoff base"), 2.0, parse_duration(cap, "backoff cap"))


def Fixed(base: Duration = 5.0) -> Backoff:  # noqa: N802 — reads as a value in declarations
    """Wait the same time after every failure."""
    return Backoff(parse_duration(base, "backoff"), 1.0, None)


class Tenant(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whose job it is: an organisation, and optionally one of its workspaces."""

    org: str
    workspace: str | None = None


def _fill(value: object, **fields: object) -> None:
    """In the __init__ of a frozen one, which checks what it is given and puts it into plain units."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


@dataclass(frozen=True, slots=True, init=False)
class Resources:
    """What a job needs while it runs, or what a worker has."""

    cpu: float = 0.0
    memory: int = 0
    gpu: float = 0.0

    def __init__(self, cpu: float = 0.0, memory: str | int = 0, gpu: float = 0.0) -> None:
        for name, value in (("cpu", cpu), ("gpu", gpu)):
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
                raise ConfigError(f"{name}={brief(value)} is not possible: a number of zero or more")
        _fill(self, cpu=float(cpu), memory=parse_size(memory, "memory"), gpu=float(gpu))


NO_RESOURCES = Resources()


PERIODS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}


def _period(per: Duration, name: str) -> float:
    """A word for one of it, or a duration."""
    return PERIODS[per] if isinstance(per, str) and per in PERIODS else parse_duration(per, name)


UniqueScope = Literal["all", "type", "queue", "tenant"]
UNIQUE_SCOPES = ("all", "type", "queue", "tenant")


@dataclass(frozen=True, slots=True, init=False)
class Unique:
    """At most one job per key: within `per` of its enqueue if that is given, else until it has ended.

    `scope` is what the key is unique among: all jobs of the store, or those of the same type, queue or tenant.
    """

    key: str
    per: float | None = None
    scope: UniqueScope = "all"

    def __init__(self, key: str, per: Duration | None = None, scope: UniqueScope = "all") -> None:
        if not is_text(key, NAME_LENGTH_MAX):
            raise ConfigError(
                f"unique key {brief(key)} is not possible: a text of 1 to {NAME_LENGTH_MAX} characters, {UNSTORABLE}"
            )
        seconds = None if per is None else _period(per, "unique per")
        if seconds == 0:
            raise ConfigError(
                f"unique per {brief(per)} is not possible: more than zero, or None for until the job has ended"
            )
        if scope not in UNIQUE_SCOPES:
            raise ConfigError(f"unique scope {brief(scope)} does not exist; use one of: {', '.join(UNIQUE_SCOPES)}")
        _fill(self, key=key, per=seconds, scope=scope)


def _check_limit_key(key: object) -> None:
    if not is_text(key, NAME_LENGTH_MAX):
        raise ConfigError(
            f"the key {brief(key)} of a limit is not possible: a text of 1 to {NAME_LENGTH_MAX} characters, "
            f"such as 'store:{{store_id}}', {UNSTORABLE}"
        )


@dataclass(frozen=True, slots=True, init=False)
class RateLimit:
    """At most `requests` starts per `per`, over all workers, shared by everything with this key."""

    key: str
    requests: int
    per: float

    def __init__(self, key: str, requests: int, per: Duration = "second") -> None:
        _check_limit_key(key)
        seconds = _period(per, "rate limit per")
        if not isinstance(requests, int) or isinstance(requests, bool) or requests < 1 or seconds <= 0:
            raise ConfigError(
                f"rate limit {brief(key)} of {brief(requests)} per {brief(per)} is not possible: both must be "
                "above zero"
            )
        _fill(self, key=key, requests=requests, per=seconds)


@dataclass(frozen=True, slots=True, init=False)
class Concurrency:
    """At most `limit` active jobs per key, over all workers.

    `ordered` (with a limit of 1): they run in the order of their due times, then of their enqueues, each when the one
    before it has ended for good. One that waits for its next attempt keeps those behind it waiting.
    """

    key: str
    limit: int
    ordered: bool = False

    def __init__(self, key: str, limit: int, *, ordered: bool = False) -> None:
        _check_limit_key(key)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise ConfigError(
                f"concurrency limit {brief(limit)} for {brief(key)} is not possible: a whole number of 1 or more"
            )
        if not isinstance(ordered, bool):
            raise ConfigError(f"ordered={brief(ordered)} for {brief(key)} is not possible: True or False")
        if ordered and limit != 1:
            raise ConfigError(
                f"an ordered key runs one job at a time: write Concurrency({brief(key)}, 1, ordered=True), or leave "
                f"ordered out if {limit} may run at once"
            )
        _fill(self, key=key, limit=limit, ordered=ordered)


class Policy(msgspec.Struct, frozen=True, omit_defaults=True, rename={
    "attempts": "a", "backoff": "b", "timeout": "t", "ttl": "l", "remove_on_complete": "rc", "remove_on_fail": "rf",
    "snoozes": "s",
}):  # fmt: skip
    """How a job is run and kept. Fixed at enqueue and stored with it, defaults left out."""

    attempts: int = 3
    backoff: Backoff = Backoff()
    timeout: float | None = 300.0
    ttl: float | None = None
    remove_on_complete: bool | int = False
    remove_on_fail: bool | int = False
    snoozes: int = 100


def decode_policy(text: str | None) -> Policy:
    """The stored policy of a job. Few distinct texts exist, so they are remembered. A broken one is the default."""
    if text is None:
        return DEFAULT_POLICY
    policy = _policies.get(text)
    if policy is None:
        if len(_policies) >= POLICIES_REMEMBERED_MAX:
            _policies.clear()
        try:
            policy = msgspec.json.decode(text, type=Policy)
        except msgspec.MsgspecError:
            policy = DEFAULT_POLICY
        _policies[text] = policy
    return policy


DEFAULT_POLICY = Policy()
POLICIES_REMEMBERED_MAX = 1000
_policies: dict[str, Policy] = {}


NoWorker = Literal["wait", "fail"]


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All options of a job, checked and in plain units. What a type declares and what an enqueue overrides."""

    queue: str = DEFAULT_QUEUE
    priority: int = 0
    capability: str = DEFAULT_CAPABILITY
    resources: Resources = NO_RESOURCES
    policy: Policy = DEFAULT_POLICY
    tenant: Tenant | None = None
    tags: tuple[str, ...] = ()
    unique: Unique | None = None
    rate_limit: RateLimit | None = None
    limit: Concurrency | None = None
    delay: float | None = None
    at_us: int | None = None
    job_id: str | None = None
    no_worker: NoWorker = "wait"
    """What becomes of a job that no live worker can run. Of the type, not of single jobs."""
    worker_concurrency: int | None = None
    """How many jobs of the type one worker process runs at once. Of the type, not of single jobs."""


_POLICY_FIELDS = frozenset(Policy.__struct_fields__)
DEFAULTS = Options()


def make_options(base: Options = DEFAULTS, /, **given: Any) -> Options:
    """`base` with the given overrides, each checked. Unknown names are errors that list the known ones."""
    if not given:
        return base
    changes: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    for name, value in given.items():
        check = _CHECKS.get(name)
        if check is None:
            known = ", ".join(sorted(_CHECKS))
            raise ConfigError(f"option {brief(name)} does not exist; the options of a job are: {known}")
        target = policy if name in _POLICY_FIELDS else changes
        target[_FIELD.get(name, name)] = check(value, name)
    if changes.get("delay") is not None and changes.get("at_us") is not None:
        raise ConfigError("delay= and at= exclude each other: give one of them")
    if policy:
        changes["policy"] = msgspec.structs.replace(base.policy, **policy)
    return msgspec.structs.replace(base, **changes)


def check_name(value: object, name: str) -> str:
    """A queue, type or capability name: printable, without spaces, bounded."""
    if (
        isinstance(value, str)
        and 0 < len(value) <= NAME_LENGTH_MAX
        and all(c.isalnum() or c in _NAME_EXTRA for c in value)
    ):
        return value
    raise ConfigError(
        f"{name}={brief(value)} is not a usable name: 1 to {NAME_LENGTH_MAX} letters, digits or any of _ - . : / @"
    )


def check_by(by: object) -> str:
    """Who does something, for the audit."""
    if isinstance(by, str) and 0 < len(by) <= NAME_LENGTH_MAX and by.isprintable():
        return by
    raise ConfigError(
        f"by={brief(by)} is not who did it: a text of 1 to {NAME_LENGTH_MAX} characters, such as 'ann@example.org'"
    )


def check_reason(reason: object) -> None:
    """Why somebody does something; it need not be said."""
    if reason is None or reason == "" or is_text(reason, REASON_LENGTH_MAX):
        return
    raise ConfigError(
        f"reason={brief(reason)} is not possible: a text of up to {REASON_LENGTH_MAX} characters, {UNSTORABLE}"
    )


def _whole(low: int, high: int) -> Any:
    def check(value: object, name: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise ConfigError(f"{name}={brief(value)} is not possible: a whole number from {low} to {high}")

    return check


def _worker_concurrency(value: object, name: str) -> int | None:
    if value is None:
        return None
    found: int = _whole(1, WORKER_CONCURRENCY_MAX)(value, name)
    return found


def _optional_duration(value: Duration | None, name: str) -> float | None:
    if value is None:
        return None
    seconds = parse_duration(value, name)
    if seconds <= 0:
        raise ConfigError(f"{name}={brief(value)} is not possible: more than zero, or None for no limit")
    return seconds


def _delay(value: Duration | None, name: str) -> float | None:
    return None if value is None else parse_duration(value, name)


def _moment(value: datetime | None, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ConfigError(f"{name}={brief(value)} is not a time: use an aware datetime, or delay= for a duration")
    return to_us(value, name)


def _backoff(value: object, name: str) -> Backoff:
    if isinstance(value, Backoff):
        return value
    raise ConfigError(f"{name}={brief(value)} is not a backoff: use Exponential('5s', cap='1h') or Fixed('30s')")


def _keep(value: object, name: str) -> bool | int:
    if isinstance(value, bool) or (isinstance(value, int) and value >= 1):
        return value
    raise ConfigError(f"{name}={brief(value)} is not possible: True, False, or how many of the type to keep")


def _no_worker(value: object, name: str) -> NoWorker:
    if value == "wait" or value == "fail":
        return value
    raise ConfigError(f"{name}={brief(value)} is not possible: 'wait' for a worker, or 'fail' while there is none")


def _tags(value: Iterable[str], name: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ConfigError(f"{name}={brief(value)} is one text: give a list of tags, such as [{brief(value)}]")
    tags = tuple(value)
    if len(tags) > TAGS_MAX:
        raise ConfigError(f"{name} holds {len(tags)} tags: at most {TAGS_MAX}")
    return tuple(check_name(tag, name) for tag in tags)


def _one_of(kind: type, example: str) -> Any:
    def check(value: object, name: str) -> Any:
        if value is None or isinstance(value, kind):
            return value
        raise ConfigError(f"{name}={brief(value)} is not a {kind.__name__}: write {example}")

    return check


def _tenant(value: object, name: str) -> Tenant | None:
    tenant: Tenant | None = _one_of(Tenant, "Tenant('acme', 'eu')")(value, name)
    for part in () if tenant is None else (tenant.org, tenant.workspace or tenant.org):
        if not is_text(part, NAME_LENGTH_MAX):
            raise ConfigError(
                f"{name}={brief(value)} is not possible: texts of 1 to {NAME_LENGTH_MAX} characters, {UNSTORABLE}"
            )
    return tenant


def _job_id(value: object, name: str) -> str | None:
    from penstock.domain.ids import check_id

    return None if value is None else check_id(str(value), "make one of your own with uuid.uuid5(namespace, name)")


_CHECKS: dict[str, Any] = {
    "queue": check_name,
    "capability": check_name,
    "priority": _whole(PRIORITY_MIN, PRIORITY_MAX),
    "attempts": _whole(1, ATTEMPTS_MAX),
    "snoozes": _whole(0, SNOOZES_MAX),
    "backoff": _backoff,
    "timeout": _optional_duration,
    "ttl": _optional_duration,
    "remove_on_complete": _keep,
    "remove_on_fail": _keep,
    "no_worker": _no_worker,
    "worker_concurrency": _worker_concurrency,
    "resources": _one_of(Resources, "Resources(cpu=4, memory='8Gi')"),
    "tenant": _tenant,
    "tags": _tags,
    "unique": _one_of(Unique, "Unique('welcome:7', per='1h')"),
    "rate_limit": _one_of(RateLimit, "RateLimit('stripe_api', 100, per='second')"),
    "limit": _one_of(Concurrency, "Concurrency('store:{store_id}', 1)"),
    "delay": _delay,
    "at": _moment,
    "id": _job_id,
}
_FIELD = {"at": "at_us", "id": "job_id"}
