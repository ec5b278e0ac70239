"""The table of keys: name, what it takes, default, meaning. Parsing, help, `penstock config` and docs follow it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.config import kinds
from penstock.config.kinds import Kind
from penstock.coordinator.settings import Retention
from penstock.domain.errors import ConfigError
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.health import Limits
from penstock.observe.logs import FORMATS, LEVELS
from penstock.worker.settings import CHECKS, WorkerSettings, whole

PREFIX = "PENSTOCK_"
CONFIG_VARIABLE = "PENSTOCK_CONFIG"
NOT_KEYS = frozenset({CONFIG_VARIABLE, "PENSTOCK_NO_SKIPS"})
PROCESSES_MAX = 256
MANY = 10**6

# Kubernetes sets such variables in every container for a service that is named penstock or penstock-worker.
_SERVICE_LINK = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")

ALL, AUTO, FOREVER, OFF = ("all",), ("auto",), ("forever",), ("off", "none")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `none` are the words that mean None: off, all, auto."""

    name: str
    kind: Kind
    default: Any
    help: str
    none: tuple[str, ...] = ()
    flag: str = ""

    @property
    def variable(self) -> str:
        return variable(self.name)

    @property
    def form(self) -> str:
        return f"{self.kind.form} or {self.none[0]}" if self.none else self.kind.form

    def read(self, value: object) -> Any:
        """The value that a person means, or an error that names the key."""
        alone = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(alone, str) and alone.strip().lower() in self.none:
            return None
        try:
            return self.kind.read(value.strip() if isinstance(value, str) else value, self.name)
        except ConfigError as error:
            if not self.none or self.kind.parts:
                raise
            raise ConfigError(f"{error}; or {self.none[0]!r}") from None

    def show(self, value: Any) -> str:
        """The value as a person would write it; passwords are masked."""
        if value is None:
            return self.none[0] if self.none else "not set"
        return self.kind.show(value)


def variable(name: str) -> str:
    """The environment variable of a key: worker.poll_interval → PENSTOCK_WORKER_POLL_INTERVAL."""
    return PREFIX + name.upper().replace(".", "_")


def is_foreign(name: str) -> bool:
    """Whether a variable with our prefix is not meant as a key."""
    return name in NOT_KEYS or _SERVICE_LINK.fullmatch(name) is not None


_worker, _retention, _limits, _alerts = WorkerSettings(), Retention(), Limits(), AlertSettings()

KEYS = (
    Key("store", kinds.STORE, None, "Where the jobs are, such as sqlite:///jobs.db or postgresql://user@host/database."),
    Key("app.version", kinds.Kind("version", "1.4.2", CHECKS["app_version"]), None,
        "Of the program, as it is stored with its workers and with each attempt.", ("none",)),
    Key("history", kinds.one_of("all", "default", "failures", "none"), _worker.history,
        "Which steps of a job are stored."),
    Key("retention.completed", kinds.DURATION, _retention.completed, "How long completed jobs are kept."),
    Key("retention.cancelled", kinds.DURATION, _retention.cancelled, "How long cancelled jobs are kept."),
    Key("retention.dead", kinds.DURATION, _retention.dead, "How long dead letters are kept.", FOREVER),
    Key("queue.ttl", kinds.duration(CHECKS["job_timeout"]), None,
        "A job that has not begun this long after it was due expires, if its type does not say otherwise.", OFF),
    Key("queue.ageing", kinds.duration(CHECKS["ageing"]), _worker.ageing,
        "A job that was due for n times this long has at least priority n: urgent ones cannot starve it.", OFF),
    Key("queue.fail_without_worker", kinds.names(CHECKS["failing_queues"]), _worker.failing_queues or None,
        "Jobs of these queues fail while no live worker can run them; those of others wait.", OFF),
    Key("rate_limits", kinds.RATES, None,
        "Starts per time of all jobs with a key, whatever the code says; or of a queue or a type.", OFF),
    Key("concurrency_limits", kinds.CONCURRENCY, None,
        "Jobs at once with a key, whatever the code says; or of a queue or a type.", OFF),
    Key("tenant_weights", kinds.WEIGHTS, None,
        "How many turns in a row a tenant has in each queue, if not one.", OFF),
    Key("schedules", kinds.SCHEDULES, None,
        "Jobs that are enqueued by the clock, beside those that the code declares.", OFF),
    Key("worker.types", kinds.names(CHECKS["types"]), _worker.types, "Only these job types.", ALL, "--types"),
    Key("worker.queues", kinds.names(CHECKS["queues"]), _worker.queues, "Only these queues.", ALL, "--queues"),
    Key("worker.capabilities", kinds.names(CHECKS["capabilities"]), _worker.capabilities,
        "What it can do.", (), "--capabilities"),
    Key("worker.id", kinds.NAME, None, "A name of its own; auto is host-pid-random.", AUTO, "--id"),
    Key("worker.concurrency", kinds.whole(CHECKS["concurrency"]), _worker.concurrency,
        "Jobs at once in one process.", (), "--concurrency"),
    Key("worker.processes", kinds.whole(whole(1, PROCESSES_MAX)), 1,
        "Worker processes under one supervisor.", (), "--processes"),
    Key("worker.process_slots", kinds.whole(CHECKS["process_slots"]), None,
        "Jobs of process handlers at once; auto shares the cores among the processes.", AUTO, "--process-slots"),
    Key("worker.resources.cpu", kinds.NUMBER, None,
        "Cores it has for jobs that ask for some; they are counted while those run.", OFF, "--cpu"),
    Key("worker.resources.memory", kinds.SIZE, None, "Memory it has, in the same way.", OFF, "--memory"),
    Key("worker.resources.gpu", kinds.NUMBER, None, "GPUs it has, in the same way.", OFF, "--gpu"),
    Key("worker.job_timeout", kinds.duration(CHECKS["job_timeout"]), _worker.job_timeout,
        "A ceiling on every attempt; the smaller limit wins.", OFF, "--job-timeout"),
    Key("worker.max_jobs", kinds.whole(CHECKS["max_jobs"]), _worker.max_jobs,
        "A process is replaced after this many jobs.", OFF, "--max-jobs"),
    Key("worker.max_memory", kinds.size(CHECKS["max_memory"]), _worker.max_memory,
        "A process is replaced when it holds more than this.", OFF, "--max-memory"),
    Key("worker.poll_interval", kinds.duration(CHECKS["poll_interval"]), _worker.poll_interval,
        "Look for work this often, even if nobody calls.", (), "--poll-interval"),
    Key("worker.heartbeat_interval", kinds.duration(CHECKS["heartbeat_interval"]), _worker.heartbeat_interval,
        "Sign of life; a worker is lost after three missed ones.", (), "--heartbeat-interval"),
    Key("worker.shutdown_timeout", kinds.duration(CHECKS["shutdown_timeout"]), _worker.shutdown_timeout,
        "How long running jobs may finish at a stop.", (), "--shutdown-timeout"),
    Key("worker.health", kinds.PLACE, _worker.health,
        "Where it serves its health over HTTP; port 0 is any that is free.", OFF, "--health"),
    Key("worker.log_payloads", kinds.SWITCH, _worker.log_payloads, "Whether payloads and results are logged."),
    Key("coordinator.recovery_interval", kinds.duration(CHECKS["recovery_interval"]), _worker.recovery_interval,
        "How often jobs of lost workers are looked for, at least."),
    Key("coordinator.start_timeout", kinds.duration(CHECKS["start_timeout"]), _worker.start_timeout,
        "A job that was claimed this long ago and has not begun is given back."),
    Key("coordinator.start_check_interval", kinds.duration(CHECKS["start_check_interval"]),
        _worker.start_check_interval, "How often such jobs are looked for."),
    Key("coordinator.probe_interval", kinds.duration(CHECKS["probe_interval"]), _worker.probe_interval,
        "How often workers are asked over HTTP whether they are alive."),
    Key("coordinator.lease", kinds.duration(CHECKS["leader_lease"]), _worker.leader_lease,
        "How long nobody leads after the leader has died, at most."),
    Key("health.min_workers", kinds.whole(whole(0, MANY)), _limits.min_workers,
        "With fewer active workers the health is degraded, with none unhealthy."),
    Key("health.dead_letter_threshold", kinds.whole(whole(1, MANY)), _limits.dead_letter_threshold,
        "With this many dead letters the health is unhealthy, with fewer degraded."),
    Key("alerts.sinks", kinds.SINKS, _alerts.sinks, "Who is told of alerts.", OFF),
    Key("alerts.rules", kinds.ALERT_RULES, _alerts.rules, "Rules that are off, or take more or less."),
    Key("alerts.interval", kinds.duration(CHECKS["recovery_interval"]), _alerts.interval,
        "How often it is looked for what is wrong."),
    Key("alerts.cap_per_hour", kinds.whole(whole(1, MANY)), _alerts.cap_per_hour,
        "No more alerts than this are told in an hour, but for critical ones.", OFF),
    Key("alerts.heartbeat_url", kinds.URL, None,
        "Is sent a request each time that it was looked, so that an outside watcher notices silence.", OFF),
    Key("critical_types", kinds.names(CHECKS["failing_queues"]), _alerts.critical_types,
        "Job types whose final failure is told as high.", OFF),
    Key("metrics.address", kinds.PLACE, None,
        "Where metrics are served: one address for all worker processes of a supervisor.", OFF, "--metrics"),
    Key("metrics.prefix", kinds.METRICS_PREFIX, _worker.metrics_prefix, "What the name of every metric begins with."),
    Key("log.format", kinds.one_of(*FORMATS), "text", "How a worker logs: a text or a JSON object a line.", (),
        "--log-format"),
    Key("log.level", kinds.one_of(*LEVELS), "info", "The least severe that is logged.", (), "--log-level"),
)  # fmt: skip
BY_NAME = {key.name: key for key in KEYS}
BY_VARIABLE = {key.variable: key for key in KEYS}
GROUPS = {name.rpartition(".")[0] for name in BY_NAME} - {""}


def place_of(table: str) -> str | None:
    """Where a table belongs that was found under a wrong one, or at the top, if there is one of its name."""
    plain = _plain(table)
    tables = [*sorted(GROUPS), *(key.name for key in KEYS if key.kind.table)]
    ends = (one for one in tables if one.rpartition(".")[2] == plain.rpartition(".")[2])
    found = next(ends, None)
    return None if found == plain else found


def unknown(name: str, candidates: Iterable[str]) -> str:
    """What to say of a name that is no key: the nearest that is one."""
    from difflib import get_close_matches

    wanted = _plain(name)
    known = {_plain(candidate): candidate for candidate in candidates}
    same_end = [candidate for candidate in known if candidate.rpartition(".")[2] == wanted.rpartition(".")[2]]
    near = [known[plain] for plain in same_end or get_close_matches(wanted, known, n=1)]
    fix = f"did you mean {near[0]}?" if near else f"the keys are: {', '.join(known.values())}"
    return f"{name} is not a key of penstock; {fix}"


def _plain(name: str) -> str:
    return name.lower().removeprefix(PREFIX.lower()).replace("-", "_")
