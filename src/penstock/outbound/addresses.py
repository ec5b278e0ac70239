"""Which addresses are public, so that anybody may have a request sent to them. Pure: an address in, a reason out.

It errs on the side of refusing: of IPv6 only what is given out to networks is public at all, and of that not what
carries an IPv4 address to somewhere else.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = [(IPv4Network(network), kind) for network, kind in (
    ("0.0.0.0/8", "an unspecified"), ("10.0.0.0/8", "a private"), ("100.64.0.0/10", "a carrier's private"),
    ("127.0.0.0/8", "a loopback"), ("168.63.129.16/32", "a cloud's own"), ("169.254.0.0/16", "a link-local"),
    ("172.16.0.0/12", "a private"), ("192.0.0.0/24", "a protocol's"), ("192.0.2.0/24", "a documentation"),
    ("192.31.196.0/24", "a protocol's"), ("192.52.193.0/24", "a protocol's"), ("192.88.99.0/24", "a 6to4"),
    ("192.168.0.0/16", "a private"), ("192.175.48.0/24", "a protocol's"), ("198.18.0.0/15", "a benchmark"),
    ("198.51.100.0/24", "a documentation"), ("203.0.113.0/24", "a documentation"), ("224.0.0.0/4", "a multicast"),
    ("255.255.255.255/32", "a broadcast"), ("240.0.0.0/4", "a reserved"),
)]  # fmt: skip
_NOT_PUBLIC_V6 = [(IPv6Network(network), kind) for network, kind in (
    ("::/128", "an unspecified"), ("::1/128", "a loopback"), ("::ffff:0:0/96", "a mapped IPv4"),
    ("::/96", "an IPv4-compatible"), ("::ffff:0:0:0/96", "a translated IPv4"), ("64:ff9b::/96", "a NAT64"),
    ("64:ff9b:1::/48", "a NAT64"), ("100::/64", "a discarding"), ("2001::/32", "a Teredo"),
    ("2001::/23", "a protocol's"), ("2001:db8::/32", "a documentation"), ("2002::/16", "a 6to4"),
    ("2620:4f:8000::/48", "a protocol's"), ("3ffe::/16", "a reserved"), ("3fff::/20", "a documentation"),
    ("fc00::/7", "a private"), ("fe80::/10", "a link-local"), ("fec0::/10", "a site-local"),
    ("ff00::/8", "a multicast"),
)]  # fmt: skip
_GIVEN_OUT = IPv6Network("2000::/3")
_ISATAP = 0x5EFE
_LOCAL_BIT = 0x02000000


def why_not_public(address: Address) -> str | None:
    """Of which kind it is, such as "a private"; None if it is public."""
    known = _kind_v4(address) if isinstance(address, IPv4Address) else _kind_v6(address)
    return known or (None if address.is_global else "a reserved")


def _kind_v4(address: IPv4Address) -> str | None:
    return next((kind for network, kind in _NOT_PUBLIC_V4 if address in network), None)


def _kind_v6(address: IPv6Address) -> str | None:
    known = next((kind for network, kind in _NOT_PUBLIC_V6 if address in network), None)
    if known is None and (int(address) >> 32) & 0xFFFFFFFF & ~_LOCAL_BIT == _ISATAP:
        return "an ISATAP"
    return known or (None if address in _GIVEN_OUT else "a reserved")
