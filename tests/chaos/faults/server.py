"""A PostgreSQL server that crashes, and connections that are killed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.chaos.catalogue import fault
from tests.chaos.places import PostgresPlace, prepare
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.postgres.server import Server


def on_postgres(stage: Stage) -> PostgresPlace:
    assert isinstance(stage.place, PostgresPlace)
    return stage.place


def move_to(stage: Stage, server: Server) -> None:
    """The store is made anew on a server of this run alone."""
    place = on_postgres(stage)
    stage.at_end(partial(setattr, place, "server", place.server))
    place.server = server
    stage.store.close()
    stage.look_at(prepare(place))


@fault(row=6, engines=("postgresql",))
def postgres_crash(stage: Stage) -> None:
    """All processes of the server are killed, and it is started again after a while."""
    server = on_postgres(stage).server

    def revive() -> None:
        if not server.runs:
            server.start()

    stage.healing.append(revive)
    stage.at_end(revive)
    stage.bounds = replace(stage.bounds, claims_undone=True, pickup_us=None)
    stage.begin()
    for _ in range(max(1, stage.size.rounds // 2)):
        stage.wait(stage.dice.uniform(0.5, 1.5))
        server.kill()
        stage.wait(stage.dice.uniform(0.0, 1.5 * stage.size.lease))
        server.start()
    settle(stage)


@fault(row=7, engines=("postgresql",))
def connections_killed(stage: Stage) -> None:
    """Backends of the server are ended at random, as an administrator would."""
    place = on_postgres(stage)

    def harm() -> None:
        found = place.rows("SELECT pid FROM pg_stat_activity WHERE application_name = 'penstock' ORDER BY pid")
        for (pid,) in stage.dice.sample(found, min(2, len(found))):
            place.rows("SELECT pg_terminate_backend(%s)", pid)

    stage.begin()
    stage.while_loading(0.02, 0.1, harm)
    settle(stage)
