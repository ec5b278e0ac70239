"""Which peers can be chosen, and what is said of a name that is none."""

from __future__ import annotations

import pytest

from benchmarks.peer_bench.catalogue import PEERS, Peer, UnknownPeer, chosen
from benchmarks.peer_bench.contestant import SCRIPTS


def test_without_names_all_are_chosen() -> None:
    assert chosen("") == list(PEERS.values())


def test_names_choose_in_the_order_of_the_catalogue() -> None:
    assert [peer.name for peer in chosen(" huey, pgqueuer ,graphile-worker,")] == [
        "graphile-worker",
        "pgqueuer",
        "huey",
    ]


def test_an_unknown_name_is_refused_with_the_one_that_was_meant_and_all_that_exist() -> None:
    with pytest.raises(
        UnknownPeer, match=r"no peer 'graphile' \(did you mean graphile-worker\?\); choose from: .*huey"
    ):
        chosen("huey,graphile")


def test_a_name_like_no_other_is_refused_without_a_guess() -> None:
    with pytest.raises(UnknownPeer, match="no peer 'zzz'; choose from"):
        chosen("zzz")


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_every_peer_has_a_script_and_a_pinned_package(peer: Peer) -> None:
    assert (SCRIPTS / peer.script).exists()
    assert peer.packages[0] not in (peer.package, "")
    assert "@" in peer.packages[0] if peer.is_node else "==" in peer.packages[0]


@pytest.mark.parametrize(
    ("name", "package"), [("pgqueuer", "pgqueuer"), ("saq-redis", "saq"), ("graphile-worker", "graphile-worker")]
)
def test_the_package_is_named_without_version_and_extras(name: str, package: str) -> None:
    assert PEERS[name].package == package


def test_two_processes_are_measured_of_the_fast_peers() -> None:
    assert [peer.name for peer in PEERS.values() if "drain2" in peer.parts] == [
        "graphile-worker",
        "pg-boss",
        "pgqueuer",
    ]
