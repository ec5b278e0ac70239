"""Finds what a test expects among what it enqueued, and says what was there instead, the nearest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from penstock.declare.jobtype import EnqueueOptions, JobType
from penstock.domain.errors import UsageError
from penstock.domain.registry import Declaration, Registry
from penstock.testing.expect import checked_option, option_differences, payload_differences
from penstock.testing.record import EnqueuedJob

SHOWN_MAX = 10
MISSPELT = 0.9
WORD_CHARS_MAX = 120
OPTIONS = frozenset(EnqueueOptions.__annotations__) - {"rate_limit", "limit"}
RESERVED = OPTIONS | {"count"}
_WORTH_SHOWING = ("queue", "priority", "delay", "unique", "tenant", "tags")


@dataclass(frozen=True)
class Search:
    """What is looked for: a type, part of its payload, some of its options."""

    name: str | None
    declaration: Declaration | None
    payload: Mapping[str, Any]
    options: Mapping[str, Any]

    def differences(self, job: EnqueuedJob) -> list[str]:
        """Where this job is not what is looked for."""
        if self.name is not None and job.type != self.name:
            return [f"it is a {job.type}"]
        return [*payload_differences(self.payload, job, self.declaration), *option_differences(self.options, job)]

    def __str__(self) -> str:
        wanted = ", ".join(f"{key}={_word(value)}" for key, value in {**self.payload, **self.options}.items())
        return (self.name or "any job") + (f" with {wanted}" if wanted else "")


def make_search(
    registry: Registry,
    known: set[str],
    what: JobType[Any, Any, Any, Any] | str | None,
    payload: Mapping[str, Any] | None,
    fields: Mapping[str, Any],
) -> Search:
    """A checked search: a misspelt name would never be found, and "not enqueued" would always be true."""
    if payload is not None and not isinstance(payload, Mapping):
        raise UsageError(f"the payload is a {type(payload).__name__}: give its fields by name, or as a dict")
    name = what.name if isinstance(what, JobType) else what
    if name is not None and not isinstance(name, str):
        raise UsageError(f"{name!r} is not a job: give what @app.job made, or its name")
    declaration = registry.find(name) if name is not None else None
    if declaration is None and name is not None and name not in known:
        _refuse_misspelt(name, [*registry.names(), *known])
    parameters = getattr(declaration.signature, "names", None) if declaration is not None else None
    if parameters is not None:
        _refuse_unclear(declaration, parameters, fields, payload)
    return Search(
        declaration.name if declaration else name,
        declaration,
        {**(payload or {}), **{key: value for key, value in fields.items() if key not in RESERVED}},
        {key: checked_option(key, value) for key, value in fields.items() if key in OPTIONS},
    )


def _refuse_misspelt(name: str, known: Sequence[str]) -> None:
    near = get_close_matches(name, known, n=1, cutoff=MISSPELT)
    if near:
        raise UsageError(
            f"no job is called {name!r}; did you mean {near[0]!r}? For a job of another program, look at jobs.enqueued"
        )


def _refuse_unclear(
    declared: Any, parameters: tuple[str, ...], fields: Mapping[str, Any], payload: Mapping[str, Any] | None
) -> None:
    for key in fields:
        if payload is None and key in RESERVED and key in parameters:
            raise UsageError(
                f"{key}= may mean the parameter of {declared.name} or the enqueue itself: give the payload as a dict, "
                f"such as assert_enqueued({declared.name}, {{{key!r}: …}})"
            )
    for key in [*(payload or {}), *(key for key in fields if key not in RESERVED)]:
        if key not in parameters:
            raise UsageError(
                f"{declared.name} has no parameter {key!r}; its parameters are: {', '.join(parameters) or 'none'}; "
                f"the options are: {', '.join(sorted(RESERVED))}"
            )


# Messages


def missing_text(search: Search, jobs: Sequence[EnqueuedJob]) -> str:
    return f"{search} was not enqueued.\n\n{_instead(search, jobs)}"


def wrong_count_text(search: Search, count: int, found: int, jobs: Sequence[EnqueuedJob]) -> str:
    return f"{search} was enqueued {_times(found)}; expected: {count}.\n\n{_instead(search, jobs)}"


def unexpected_text(search: Search, found: Sequence[EnqueuedJob]) -> str:
    lines = [f"  {_described(job)}" for job in found[:SHOWN_MAX]]
    return "\n".join([f"{search} was enqueued {_times(len(found))}:", *lines, *_rest(len(found))])


def _instead(search: Search, jobs: Sequence[EnqueuedJob]) -> str:
    if not jobs:
        return "Nothing was enqueued in this sandbox."
    ranked = sorted(((search.differences(job), job) for job in jobs), key=lambda pair: _distance(search, *pair))
    lines = [f"Enqueued were {len(jobs)}, the nearest first:" if len(jobs) > 1 else "Enqueued was only:"]
    for differences, job in ranked[:SHOWN_MAX]:
        lines.append(f"  {_described(job)}")
        same_type = search.name is None or job.type == search.name
        lines += [f"      {text}" for text in differences] if same_type else []
    return "\n".join([*lines, *_rest(len(jobs))])


def _distance(search: Search, differences: list[str], job: EnqueuedJob) -> tuple[bool, int, float]:
    """First the same type, then the fewest differences, then the most alike."""
    wanted = f"{search.name} {dict(search.payload)}"
    alike = SequenceMatcher(None, wanted[:500], f"{job.type} {job.payload}"[:500]).ratio()
    return search.name is not None and job.type != search.name, len(differences), -alike


def _described(job: EnqueuedJob) -> str:
    payload = job.payload if isinstance(job.payload, dict) else {"payload": job.payload}
    arguments = ", ".join(f"{key}={_word(value)}" for key, value in payload.items())
    return " ".join([f"{job.type}({arguments})", *_unusual_options(job)])


def _unusual_options(job: EnqueuedJob) -> list[str]:
    """The options that a person would want to see: those that are not the usual ones."""
    return [
        f"{name}={_word(job.options[name])}"
        for name in _WORTH_SHOWING
        if job.options[name] and job.options[name] != "default"
    ]


def _word(value: Any) -> str:
    named = callable(value) and getattr(value, "__name__", None)
    text = str(named) if named else repr(value)
    return text if len(text) <= WORD_CHARS_MAX else f"{text[: WORD_CHARS_MAX - 1]}…"


def _rest(count: int) -> list[str]:
    return [f"  … and {count - SHOWN_MAX} more"] if count > SHOWN_MAX else []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
