"""Where health is served, as a person writes it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.domain.errors import ConfigError
from penstock.worker.liveness.health_address import OFF, check_health, joined, of_process, split


@pytest.mark.parametrize(
    ("written", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        (" 0.0.0.0:8080 ", "0.0.0.0", 8080),
        ("localhost:65535", "localhost", 65535),
        ("my-host.example.org:1", "my-host.example.org", 1),
        ("[::1]:8080", "::1", 8080),
        ("[::]:0", "::", 0),
    ],
)
def test_addresses(written: str, host: str, port: int) -> None:
    checked = check_health(written, "worker.health")
    assert checked == written.strip()
    assert split(checked) == (host, port)
    assert joined(host, port) == checked


@pytest.mark.parametrize("written", ["off", "OFF", " none "])
def test_off(written: str) -> None:
    assert check_health(written, "worker.health") == OFF


@pytest.mark.parametrize(
    "written",
    ["", "8080", 8080, ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "a b:1",
     "http://x:1", "::1:8080", "[::1]", "[x]:1", None, True, ["127.0.0.1:0"], "127.0.0.1:8080/live"],
    ids=str,
)  # fmt: skip
def test_what_is_no_address_is_refused_with_examples(written: Any) -> None:
    with pytest.raises(ConfigError, match=r"worker\.health=.* is not possible: write HOST:PORT, such as 127\.0\.0\.1"):
        check_health(written, "worker.health")


def test_each_of_several_processes_takes_the_next_port() -> None:
    assert [of_process("127.0.0.1:8080", number) for number in (1, 2, 4)] == [
        "127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8083",
    ]  # fmt: skip
    assert of_process("[::1]:8080", 2) == "[::1]:8081"


@pytest.mark.parametrize("place", ["127.0.0.1:0", OFF])
def test_a_free_port_or_none_needs_no_next_one(place: str) -> None:
    assert of_process(place, 200) == place


def test_a_port_beyond_the_last_is_an_error_that_names_the_first_possible() -> None:
    assert of_process("127.0.0.1:65532", 4) == "127.0.0.1:65535"
    with pytest.raises(ConfigError, match="begin at most at 65532"):
        of_process("127.0.0.1:65533", 4)
