"""Which URLs can be sent to, and that no more is told of one than scheme and host."""

from __future__ import annotations

import pytest

from penstock.domain.errors import OutboundRefused
from penstock.outbound.target import Target, check_port, parse


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://a.example.com/services/T/B?x=1#part", Target("https", "a.example.com", 443, "/services/T/B?x=1")),
        ("HTTP://Example.COM", Target("http", "example.com", 80, "/")),
        ("http://example.com:8080?x", Target("http", "example.com", 8080, "/?x")),
        ("http://[2606:4700:0:0::1111]:81/a;b", Target("http", "2606:4700::1111", 81, "/a;b")),
        ("http://alert_manager:9093/", Target("http", "alert_manager", 9093, "/")),
        ("http://example.com.:/", Target("http", "example.com.", 80, "/")),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(url: str, target: Target) -> None:
    assert parse(url) == target


@pytest.mark.parametrize(
    ("url", "told"),
    [("https://Example.com/s3cret", "https://example.com"), ("https://h:80/s3cret", "https://h:80"),
     ("http://[2606:4700::1]:81/?s3cret", "http://[2606:4700::1]:81")],
)  # fmt: skip
def test_no_more_is_told_than_scheme_and_host(url: str, told: str) -> None:
    assert repr(parse(url)) == str(parse(url)) == told


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "printable ASCII"), ("https://h/ s3cret", "printable ASCII"),
        ("https://h/\r\nX: s3cret", "printable ASCII"),
        ("https://h\\@s3cret/", "printable ASCII"), ("https://h/\0s3cret", "printable ASCII"),
        ("https://①②⑦.s3cret/", "printable ASCII"), (f"https://h/{'s3cret' * 700}", "at most 4000 characters"),
        ("ftp://h/s3cret", "http:// or https://"), ("file:///etc/s3cret", "http:// or https://"),
        ("//h/s3cret", "http:// or https://"), ("h/s3cret", "http:// or https://"), ("gopher://h:6379/_s3cret", "http://"),
        ("https://user:s3cret@h/", "a user or a password"), ("https://s3cret@h/", "a user or a password"),
        ("https://@h/s3cret", "a user or a password"), ("https:///s3cret", "neither a name nor an address"),
        ("https://:80/s3cret", "neither a name nor an address"), ("https://a..s3cret/", "neither a name"),
        ("https://-s3cret-/", "neither a name nor an address"), ("https://%31s3cret/", "neither a name nor an address"),
        (f"https://{'a' * 64}.s3cret/", "neither a name nor an address"),
        (f"https://{'s3cret.' * 40}h/", "neither a name nor an address"), ("https://a,s3cret/", "neither a name"),
        ("https://[::1]s3cret/", "neither a name nor an address"), ("https://[fe80::1%25s3cret]/", "an interface"),
        ("https://[v1.s3cret]/", "no IPv6 address"), ("https://[1.2.3.4]/s3cret", "IPv6 address|cannot be read"),
        ("https://[::s3cret]/", "no IPv6 address|cannot be read"), ("https://[::1/s3cret", "cannot be read"),
        ("https://h:0/s3cret", "1 to 65535"), ("https://h:65536/s3cret", "1 to 65535"),
        ("https://h:-1/s3cret", "1 to 65535"), ("https://h:s3cret/", "1 to 65535"),
        ("https://h:80:80/s3cret", "1 to 65535"),
    ],
)  # fmt: skip
def test_a_url_that_is_wrong_is_refused_and_not_quoted(url: str, why: str) -> None:
    with pytest.raises(OutboundRefused, match=why) as caught:
        parse(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 110, 389, 1023])
def test_a_port_of_another_protocol_is_refused(port: int) -> None:
    with pytest.raises(OutboundRefused, match="use 80, 443, or one from 1024 on"):
        check_port(parse(f"https://h:{port}/"))


@pytest.mark.parametrize("url", ["http://h/", "https://h/", "http://h:443/", "http://h:1024/", "http://h:65535/"])
def test_others_pass(url: str) -> None:
    check_port(parse(url))
