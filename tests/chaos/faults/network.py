"""Networks between the processes and the server: answers that are lost, silence, partitions, slowness."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.catalogue import fault
from tests.chaos.faults.server import on_postgres
from tests.chaos.load import standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.postgres.proxy import Proxy

LIMIT = "1s"
"""How long a healthy server may take for a statement: silence must be noticed within a lease."""
SLOW_SECONDS = 0.02


def begin_behind_proxies(stage: Stage) -> list[Proxy]:
    """Every worker has a network of its own, and the clients share one, the last."""
    server = on_postgres(stage).server
    proxies = [Proxy(server.port) for _ in range(stage.size.workers + 1)]
    for proxy in proxies:
        stage.enter(proxy)
        stage.healing.append(proxy.heal)
    stage.bounds = replace(stage.bounds, pickup_us=None)
    addresses = [stage.place.address(proxy.port, timeout=LIMIT) for proxy in proxies]
    for number in range(1, stage.size.workers + 1):
        stage.start_worker(number, wait=False, address=addresses[number - 1])
    for worker in stage.workers.values():
        worker.wait_started()
    stage.enqueue(standard_load(stage.dice, stage.size.jobs), address=addresses[-1])
    return proxies


@fault(row=8, engines=("postgresql",))
def lost_answers(stage: Stage) -> None:
    """The server does what it is asked, and its answer never arrives."""

    def harm() -> None:
        proxy = stage.dice.choice(proxies)
        proxy.drop_answers()
        stage.wait(stage.dice.uniform(0.0, 0.3))
        proxy.heal()

    proxies = begin_behind_proxies(stage)
    stage.while_loading(0.05, 0.2, harm)
    settle(stage)


@fault(row=9, engines=("postgresql",))
def black_hole(stage: Stage) -> None:
    """The network swallows everything for longer than a lease, and keeps all connections open."""

    def harm() -> None:
        silent = stage.dice.sample(proxies, stage.dice.randint(1, len(proxies)))
        for proxy in silent:
            proxy.black_hole()
        stage.wait(stage.dice.uniform(0.5, 1.5) * stage.size.lease)
        for proxy in silent:
            proxy.heal()

    proxies = begin_behind_proxies(stage)
    for _ in range(max(1, stage.size.rounds // 2)):
        stage.wait(stage.dice.uniform(0.3, 1.0))
        harm()
    settle(stage)


@fault(row=10, engines=("postgresql",))
def partitioned_worker(stage: Stage) -> None:
    """One worker cannot reach the server for longer than its lease, and then can again; the others go on."""
    proxies = begin_behind_proxies(stage)
    for _ in range(max(1, stage.size.rounds // 2)):
        cut = stage.dice.choice(proxies[:-1])
        stage.wait(stage.dice.uniform(0.3, 0.6))
        cut.refuse()
        stage.wait(stage.dice.uniform(1.2, 2.0) * stage.size.lease)
        cut.heal()
    settle(stage)


@fault(row=10, engines=("postgresql",))
def slow_network(stage: Stage) -> None:
    """Every piece of data takes a while in each direction, and some connections break."""
    stage.size = replace(stage.size, jobs=stage.size.jobs // 2)
    proxies = begin_behind_proxies(stage)
    for proxy in proxies:
        proxy.delay(SLOW_SECONDS)
    stage.while_loading(0.2, 0.6, lambda: stage.dice.choice(proxies).cut())
    settle(stage)
