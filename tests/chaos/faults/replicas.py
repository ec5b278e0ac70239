"""A primary that is lost, and a replica that takes over for it."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.catalogue import fault
from tests.chaos.faults.restores import parcels_end
from tests.chaos.faults.server import on_postgres
from tests.chaos.load import standard_load
from tests.chaos.places import prepare
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.chaos.taken_back import RULES, Gap
from tests.postgres.processes import wait_until
from tests.postgres.proxy import Proxy
from tests.postgres.server import Server
from tests.postgres.standby import Standby


class Pair:
    """A primary and a standby of this run alone, and the network between them. The stage's place moves to them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._place = on_postgres(stage)
        shared = self._place.server
        self.primary = stage.enter(Server(shared.version))
        self.between = stage.enter(Proxy(self.primary.port))
        self.standby = stage.enter(Standby(self.primary, self.between.port))
        stage.at_end(lambda: self._move(shared, None))
        self._move(self.primary, self.standby)
        stage.store.close()
        stage.look_at(prepare(self._place))

    def _move(self, server: Server, standby: Server | None) -> None:
        self._place.server, self._place.standby = server, standby

    def synchronous(self) -> None:
        """From now on a commit is answered when the standby has it on its disk too."""
        self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.execute("SELECT pg_reload_conf()")
        said = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        wait_until(lambda: self.primary.execute(said) == [(1,)], "the standby is a synchronous one")

    def fail_over(self) -> None:
        self.primary.kill()
        self.standby.promote()
        self._move(self.standby, self.primary)


@fault(row=25, engines=("postgresql",), rare=True)
def replica_promoted(stage: Stage) -> None:
    """The primary dies, and its synchronous standby is promoted: nothing that was acknowledged is lost."""
    pair = Pair(stage)
    pair.synchronous()
    stage.bounds = replace(stage.bounds, claims_undone=True, pickup_us=None)
    stage.begin()
    stage.wait(stage.dice.uniform(0.3, 0.7) * stage.size.seconds)
    pair.fail_over()
    settle(stage)


@fault(row=25, engines=("postgresql",), rare=True)
def late_replica_promoted(stage: Stage) -> None:
    """The standby had not heard of the last while: what was acknowledged then is gone, and nothing else."""
    pair = Pair(stage)
    stage.bounds = replace(stage.bounds, claims_undone=True, pickup_us=None)
    plans = standard_load(stage.dice, stage.size.jobs)
    middle = parcels_end(plans, len(plans) // 2)
    stage.begin(plans[:middle])
    stage.wait(stage.dice.uniform(0.2, 0.5) * stage.size.seconds)
    begun = stage.log.now_us()
    wait_until(pair.standby.follows, "the standby has all that was acknowledged by then")
    pair.between.refuse()
    ended = stage.log.now_us()
    stage.wait(stage.dice.uniform(0.2, 0.5) * stage.size.seconds)
    back = stage.log.now_us()
    pair.fail_over()
    gap = Gap(begun, ended, back, stage.log.now_us())
    stage.enqueue(plans[middle:])
    settle(stage, gap=gap, rules=RULES)
