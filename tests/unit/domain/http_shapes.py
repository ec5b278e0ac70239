"""Errors in the shape of those of HTTP clients."""

from __future__ import annotations

from typing import Any


class Response:
    def __init__(self, status_code: int, headers: Any = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}

    def __bool__(self) -> bool:
        """As that of requests: an answer that tells of an error is false."""
        return self.status_code < 400


class HttpError(Exception):
    """As httpx and requests raise it: the response is an attribute."""

    def __init__(self, status: int, headers: Any = None) -> None:
        super().__init__(f"HTTP {status}")
        self.response = Response(status, headers)


class FlatHttpError(Exception):
    """As aiohttp raises it: all is in the error itself."""

    def __init__(self, status: int, headers: Any = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers


def _refuse(name: str) -> None:
    if not name.startswith("__"):
        raise SystemExit(f"no {name}")


class Hostile:
    """Whatever is asked of it raises, and it cannot say what it is."""

    def __getattribute__(self, name: str) -> Any:
        _refuse(name)
        return super().__getattribute__(name)

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class HostileError(Exception):
    """An exception whose attributes are nobody's friend."""

    def __getattribute__(self, name: str) -> Any:
        _refuse(name)
        return super().__getattribute__(name)

    def __str__(self) -> str:
        raise KeyboardInterrupt

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]
