"""What a test expects of an enqueue, and where a job differs from it.

An expected value is a plain value, a dict of which only the given keys count, a list of expected values, a type,
a function that says yes or no, or anything with an `==` of its own, such as unittest.mock.ANY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from penstock.domain.clock import from_us
from penstock.domain.errors import PayloadError
from penstock.domain.options import Backoff, Policy, Resources, Tenant, Unique, make_options
from penstock.domain.payload import decode_json, encode_json
from penstock.domain.registry import Declaration
from penstock.testing.record import EnqueuedJob

ROUGHLY_SECONDS = 1.0
ROUGHLY_SHARE = 0.01

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()


def payload_differences(expected: Mapping[str, Any], job: EnqueuedJob, declaration: Declaration | None) -> list[str]:
    """Where the job's payload is not as expected; nothing if it is. Defaults of the handler count as given."""
    return list(_dict_differences(expected, job.payload, _typed(job, declaration), ""))


def _typed(job: EnqueuedJob, declaration: Declaration | None) -> Any:
    """The payload as the handler would get it, by name."""
    if declaration is None:
        return MISSING
    try:
        return declaration.signature.decode(job.text)
    except PayloadError:  # Enqueued by name, for another version of the handler.
        return MISSING


def _differences(expected: Any, plain: Any, typed: Any, path: str) -> Iterator[str]:
    actual = plain if typed is MISSING else typed
    if actual is MISSING:
        yield f"{path} is missing"
    elif isinstance(expected, Mapping):
        yield from _dict_differences(expected, plain, typed, path)
    elif isinstance(expected, (list, tuple)) and isinstance(plain, list):
        yield from _list_differences(expected, plain, typed, path)
    else:
        refusal = _refusal(expected, actual)
        if refusal is not None and not _same_as_plain(expected, plain):
            yield f"{path} is {_shown(actual)}, {refusal}"


def _dict_differences(expected: Mapping[str, Any], plain: Any, typed: Any, path: str) -> Iterator[str]:
    if plain is not MISSING and not isinstance(plain, dict):
        yield f"{path} is {_shown(plain)}, not a dict"
        return
    for key, value in expected.items():
        inner = f"{path}.{key}" if path else str(key)
        yield from _differences(value, _child(plain, key), _child(typed, key), inner)


def _list_differences(expected: list[Any] | tuple[Any, ...], plain: list[Any], typed: Any, path: str) -> Iterator[str]:
    if len(expected) != len(plain):
        yield f"{path} has {len(plain)} items, not {len(expected)}: {_shown(plain)}"
        return
    same_order = isinstance(typed, (list, tuple)) and len(typed) == len(plain)
    for index, value in enumerate(expected):
        yield from _differences(value, plain[index], typed[index] if same_order else MISSING, f"{path}[{index}]")


def _child(value: Any, key: Any) -> Any:
    if value is MISSING:
        return MISSING
    return value.get(key, MISSING) if isinstance(value, dict) else getattr(value, str(key), MISSING)


def _same_as_plain(expected: Any, plain: Any) -> bool:
    """Whether the expected value, stored, would be what is stored: a datetime where only its text is known."""
    if isinstance(expected, type) or callable(expected) or plain is MISSING:
        return False
    try:
        return bool(expected == plain) or bool(decode_json(encode_json(expected, "the expected value")) == plain)
    except PayloadError:
        return False


def _refusal(expected: Any, actual: Any) -> str | None:
    """Why the value is not the expected one, or None if it is."""
    if isinstance(expected, type):
        return None if isinstance(actual, expected) else f"not a value of type {expected.__name__}"
    if callable(expected):
        return _predicate_refusal(expected, actual)
    return None if expected == actual else f"not {_shown(expected)}"


def _predicate_refusal(predicate: Callable[[Any], Any], actual: Any) -> str | None:
    name = getattr(predicate, "__name__", None) or repr(predicate)
    try:
        return None if predicate(actual) else f"which {name} refuses"
    except Exception as error:  # Written for the job that is expected, and asked about all others too.
        return f"for which {name} raised {type(error).__name__}: {error}"


def _shown(value: Any, length: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= length else f"{text[: length - 1]}…"


# Options


def option_differences(expected: Mapping[str, Any], job: EnqueuedJob) -> list[str]:
    """Which options are not as expected. Times are compared roughly; tags may be more."""
    return [text for name, value in expected.items() for text in _option_difference(name, value, job.options[name])]


def checked_option(name: str, value: Any) -> Any:
    """The expected value of an option in plain units, checked as using() would; matchers as they are."""
    if not isinstance(value, _PLAIN) or (name in ("unique", "tenant") and isinstance(value, str)):
        return value
    options = make_options(**{name: value})
    if name == "at":
        return value if options.at_us is None else from_us(options.at_us)
    if name == "id":
        return options.job_id
    return getattr(options.policy if name in Policy.__struct_fields__ else options, name)


_PLAIN = (str, int, float, type(None), timedelta, datetime, list, tuple, set, frozenset,
          Backoff, Resources, Tenant, Unique)  # fmt: skip


def _option_difference(name: str, expected: Any, actual: Any) -> Iterator[str]:
    if name == "tags" and isinstance(expected, tuple):
        missing = [tag for tag in expected if tag not in actual]
        if missing:
            yield f"tags are {_shown(actual)}, without {', '.join(missing)}"
    elif not _roughly(name, expected, actual) and not _partly(name, expected, actual):
        refusal = _refusal(expected, actual)
        if refusal is not None:
            yield f"{name} is {_shown(actual)}, {refusal}"


def _roughly(name: str, expected: Any, actual: Any) -> bool:
    if name == "delay" and isinstance(expected, (int, float)):
        return bool(abs(expected - actual) <= max(ROUGHLY_SECONDS, ROUGHLY_SHARE * expected))
    if name == "at" and isinstance(expected, datetime):
        return bool(abs((expected - actual).total_seconds()) <= ROUGHLY_SECONDS)
    return False


def _partly(name: str, expected: Any, actual: Any) -> bool:
    """A unique key without its period and scope, a tenant without its workspace."""
    if actual is None or name not in ("unique", "tenant"):
        return False
    whole, detail = (actual.key, actual.per) if name == "unique" else (actual.org, actual.workspace)
    if isinstance(expected, Unique):
        return expected.key == whole and expected.per in (None, detail) and expected.scope in ("all", actual.scope)
    if isinstance(expected, Tenant):
        return expected.org == whole and expected.workspace in (None, detail)
    return bool(expected == whole)
