"""Every kind of address that a stranger must not have a request sent to, and every way to write one."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given, strategies as st

from penstock.domain.errors import OutboundRefused
from penstock.outbound.addresses import why_not_public
from penstock.outbound.door import Door
from tests.outbound.receiver import Names, rows

KINDS = {
    "an unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "a private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
                  "fc00::1", "fd00:ec2::254", "fdff:ffff::1"],
    "a carrier's private": ["100.64.0.1", "100.127.255.255", "100.100.100.200"],
    "a loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "a cloud's own": ["168.63.129.16"],
    "a link-local": ["169.254.0.1", "169.254.169.254", "169.254.170.2", "fe80::1", "febf::1"],
    "a protocol's": ["192.0.0.1", "192.0.0.192", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2001:2::1",
                     "2001:10::1", "2001:20::1", "2620:4f:8000::1"],
    "a documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "a benchmark": ["198.18.0.1", "198.19.255.255"],
    "a multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "a broadcast": ["255.255.255.255"],
    "a reserved": ["240.0.0.1", "255.255.255.254", "4000::1", "5f00::1", "200::1", "64:ff9a::1", "3ffe::1", "e000::1"],
    "a site-local": ["fec0::1", "feff::1"],
    "a mapped IPv4": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
    "an IPv4-compatible": ["::127.0.0.1", "::8.8.8.8", "::2"],
    "a translated IPv4": ["::ffff:0:127.0.0.1"],
    "a NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::127.0.0.1", "64:ff9b:1:ffff::1"],
    "a 6to4": ["2002:7f00:1::1", "2002:808:808::1", "192.88.99.1"],
    "a Teredo": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "an ISATAP": ["2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1"],
    "a discarding": ["100::1"],
}  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1",
          "169.253.255.255", "192.167.1.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "9.255.255.255",
          "2606:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:81b::200e"]  # fmt: skip
SPELLINGS = [
    "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0", "017700000001",
    "localhost", "LOCALHOST", "127.0.0.1", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]", "[::ffff:7f00:1]", "0xA9FEA9FE", "2852039166", "[64:ff9b::a9fe:a9fe]", "[::127.0.0.1]",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "address"), [(kind, one) for kind, found in KINDS.items() for one in found])
def test_an_address_that_is_not_public_is_known_by_its_kind(kind: str, address: str) -> None:
    assert why_not_public(ip_address(address)) == kind


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_passes(address: str) -> None:
    assert why_not_public(ip_address(address)) is None


@given(st.ip_addresses(v=4))
@example(IPv4Address("192.0.0.9"))
def test_no_ipv4_passes_that_python_knows_as_not_public(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert why_not_public(address)


@given(st.ip_addresses(v=4))
def test_no_ipv4_passes_inside_of_an_ipv6(address: IPv4Address) -> None:
    number = int(address)
    carried = [
        number, 0xFFFF << 32 | number, 0xFFFF << 48 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80,
        0x20010000 << 96 | number << 64 | ~number & 0xFFFFFFFF, 0xFE80 << 112 | 0x5EFE << 32 | number,
    ]  # fmt: skip
    assert all(why_not_public(IPv6Address(one)) for one in carried)


@given(st.ip_addresses(v=6))
def test_no_ipv6_passes_that_is_not_given_out(address: IPv6Address) -> None:
    if address.exploded[0] not in "23":
        assert why_not_public(address)


@pytest.mark.parametrize("host", SPELLINGS)
def test_however_an_inside_address_is_written_it_is_refused_or_leads_nowhere(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the resolver of this machine. Not all read the odd forms: what none reads is connected to by none."""
    connected: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: connected.append(address))

    def resolve(host: str, port: int, *, type: int) -> Sequence[tuple[object, ...]]:
        try:
            return socket.getaddrinfo(host, port, type=type)
        except socket.gaierror:
            return rows("127.0.0.1")

    with pytest.raises(OutboundRefused, match="public ones only"):
        Door(resolve=resolve).post(f"http://{host}/", b"", {})
    assert connected == []


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.1.2.3", "::1", "fe80::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
@pytest.mark.parametrize("first", [True, False])
def test_one_address_that_is_inside_is_enough(inside: str, first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: connected.append(address))
    found = rows(inside, "8.8.8.8", "2606:4700::1111") if first else rows("8.8.8.8", "2606:4700::1111", inside)
    with pytest.raises(OutboundRefused):
        Door(resolve=Names(found)).post("https://both.example/", b"", {})
    assert connected == []
