"""The files in which the figures of a run are kept, to be compared with those of another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from penstock.bench.figures import ROWS, Figures
from penstock.domain.errors import ConfigError, PenstockError

MAKE_ONE = "penstock bench --raw --out FILE makes one"


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a run, or of one of its rounds. `raw` is empty where the bare driver was not measured."""

    ours: Figures
    raw: Figures


@dataclass(frozen=True, slots=True)
class BenchRun:
    """A file, read. `rounds` is empty in files of versions that kept only the medians."""

    path: str
    total: Measured
    rounds: list[Measured]
    settings: dict[str, Any]


def refuse_unwritable(path: str) -> None:
    """Rather now than after minutes of measuring."""
    if not _is_writable(path):
        raise ConfigError(f"{path} cannot be written: name a file in a folder that exists and that you may write to")


def _is_writable(path: str) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)
    except OSError:  # Such as a name that is too long.
        return False
    return not os.path.isdir(path) and os.access(path, os.W_OK)


def write(path: str, document: dict[str, Any]) -> None:
    text = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        Path(path).write_bytes(text)
    except OSError as error:
        raise PenstockError(
            f"{path} could not be written ({error.strerror}): the figures are only those that are printed here; "
            "name another file next time"
        ) from None


def read(path: str) -> BenchRun:
    """What a file says, or an error that tells what it is instead."""
    document = _parsed(path)
    try:
        run = BenchRun(
            path,
            _measured(document),
            [_measured(found) for found in msgspec.convert(document.get("rounds", []), list[Any])],
            msgspec.convert(document["settings"], dict[str, Any]),
        )
    except (KeyError, msgspec.ValidationError):
        run = None
    if run is None or not run.total.ours:
        raise ConfigError(f"{path} is not a file of penstock bench: {MAKE_ONE}")
    return run


def _parsed(path: str) -> Any:
    try:
        return msgspec.json.decode(Path(path).read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}: correct the name; {MAKE_ONE}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): name a file; {MAKE_ONE}") from None
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} is not JSON ({error}): {MAKE_ONE}") from None


def _measured(document: Any) -> Measured:
    whole = msgspec.convert(document, dict[str, Any])
    return Measured(_figures(whole), _figures(msgspec.convert(whole.get("raw", {}), dict[str, Any])))


def _figures(found: dict[str, Any]) -> Figures:
    """The figures that are known by name. One that is zero says nothing, and nothing can be compared with it."""
    known = {row.name: found[row.name] for row in ROWS if row.name in found}
    return {name: value for name, value in msgspec.convert(known, dict[str, int | float]).items() if value > 0}
