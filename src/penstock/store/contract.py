"""The contract that every engine satisfies, and that the contract suite checks on every engine.

The docstring of each method states its guarantee. The contract says nothing about tables. How routing,
limits, tenants, schedules and chains fit into it is written in docs/decisions/0002-store-contract.md.

Rules for all methods:
- a method returns a Call: `await` it or `wait()` for it; it is one transaction, all or nothing;
- when it returns, its effect is committed at the durability that `info` states. Claims, starts, progress and
  heartbeats survive a crash of the process; a power failure may undo the newest of them, which offers the job again;
- an error means that nothing was stored, with one exception that says so: EnqueueUncertain;
- time is the store's own; what a job may do next is decided by domain.job.TRANSITIONS.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from penstock.domain.gates import Limit
from penstock.domain.job import Job, Transition
from penstock.domain.options import Options
from penstock.domain.pauses import Pause
from penstock.domain.workflows import WorkflowInfo
from penstock.store import params as p
from penstock.store.call import Call


class Transaction(Protocol):
    """The caller's own transaction, on a connection that the engine hands out or accepts."""

    def execute(self, sql: str, bindings: Sequence[object] | dict[str, object] = ()) -> list[tuple[object, ...]]:
        """Run one statement of the caller's and return its rows."""
        ...


class Listener(Protocol):
    """A waiting worker's ear. Hints may be lost or spurious; a lost one costs one poll interval."""

    bell: int | None
    turn: int | None
    """A number that came with the last hint, the same for all who heard it; None if it came without one."""

    async def wait(self, timeout: float) -> bool:
        """True when there may be something new, False after `timeout` seconds. Costs nearly nothing while idle."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """A durable store of jobs."""

    # Enqueue

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        """Store all jobs or none, and answer in their order.

        A job whose id is already stored is not stored again (created is False): a retry of an uncertain
        enqueue makes one job. A unique key that holds a job answers that job's id with created False.
        While the key for the `whole` is held, none is stored: each is answered with created False.
        With a `transaction` the jobs exist if and only if that transaction commits.
        A job whose moment has not come is scheduled; otherwise it is pending and waiting workers are woken.
        """
        ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction of the caller's on this store: committed at the end of the block, rolled back on an error."""
        ...

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        """The same for async code; beginning and committing do not block the event loop."""
        ...

    # Claim, run, finish

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        """Lease up to `limit` jobs to a worker, in the order (priority, due time, id) among what it may run.

        No two leases hold one job. Every lease has a larger token than all before it. The attempt is counted
        now, so that a job which kills its worker uses its attempts up. Jobs whose time-to-live has passed
        expire instead. A worker that is not registered, or was declared lost, gets WorkerRefused; one that does not
        answer probes gets WorkerInactive; one that was told to drain gets nothing more. Jobs of a paused queue or
        type are left alone: once the pause is committed, no claim that ends later gives one out. For a short while
        after its due time, a job whose last attempt asked for it is not given to the worker of that attempt.

        A job passes all of its gates or is not given: never more jobs are held than a gate's number; never more are
        given in any span of its period, by the store's clock, than its number. Whatever would be too many is blocked
        until there is room, and does not slow down the claims of others. A gate that had no room lets the first of
        those that wait before it through as soon as it has. Of a gate that is ordered, only the first is given: by its
        due time as it was enqueued, then by the enqueue. It stays first until it has ended for good.

        What is claimed fits together into what the worker has free. A job that does not is passed over and holds up
        nobody, until it was due for longer than domain.room.PASSED_OVER_SECONDS_MAX: then what the first such job
        needs is set aside, and those after it share the rest.
        """
        ...

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        """Mark leased jobs as running. Answers the tokens that are no longer current; those change nothing."""
        ...

    def finish_jobs(self, params: p.FinishJobs) -> Call[list[int]]:
        """End attempts. Answers the tokens that are no longer current; those change nothing, nor do their follow-ups.

        Every other job in the call is unaffected by a lost one. After COMPLETE, FAIL or CANCEL the job is final
        and no claim will ever return it. RELEASE gives back the attempt; BACK_OFF keeps it spent.
        A job that a person asked to cancel ends cancelled, whatever its attempt says; its follow-ups are dropped.
        With a `transaction` the attempts end if and only if that transaction commits; until then their tokens are
        current for everybody else, and whoever would end them too waits for its end.
        """
        ...

    def save_progress(self, params: p.SaveProgress) -> Call[list[int]]:
        """Store the newest progress of running attempts. Answers the tokens that are no longer current."""
        ...

    def begin_once(self, params: p.BeginOnce) -> Call[p.Once]:
        """Ask whether an effect of a job may be run: only the first attempt that asks is told so, until it says that
        the effect raised. Asking again with the same token gives the same answer.
        """
        ...

    def end_once(self, params: p.EndOnce) -> Call[bool]:
        """Store the value of an effect, or that it raised. False when the token is no longer current."""
        ...

    # Workers

    def register_worker(self, params: p.RegisterWorker) -> Call[int]:
        """Make a worker known and answer its session. A live worker with the same id means WorkerRefused.

        A stale one with the same id, silent for longer than either of the two allows, is declared lost and its jobs
        are recovered first. So is the one that this one replaces, and one whose last heartbeat is as far in the future.
        """
        ...

    def heartbeat_worker(self, params: p.HeartbeatWorker) -> Call[p.Heartbeat]:
        """Say that the worker is alive, and its status. A lost worker stays lost (known is False).

        One that was told to drain stays draining until it ends.
        """
        ...

    def read_signals(self, params: p.ReadSignals) -> Call[p.Signals]:
        """Which of these attempts were asked to stop, which have lost their lease, and what the worker was told."""
        ...

    def lead_store(self, params: p.LeadStore) -> Call[p.Leadership]:
        """Take the lead if it is free, keep it if it is this worker's, or give it up.

        One worker leads at a time, by the store's clock. Every new holder has a larger term than all before it; every
        call that carries an older term means NotLeader, and changes nothing, from the moment the next has taken over.
        A worker that is not registered, was declared lost or does not answer probes cannot lead.
        """
        ...

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        """Declare stale workers lost and put their jobs through the retry policy: attempt spent, crash counted.

        By the store's clock a worker is never judged by less patience than it registered with. Whoever names those that
        were not heard of has judged them; a heartbeat since saves its worker.
        A job with attempts left is scheduled again by its backoff; one without is dead, decided_by recovery.
        Jobs whose worker has no row any more are taken back as those of a lost one, which is told as `session N`.
        Old tokens are no longer current. A page that is full answers more=True and never starves the rest.
        """
        ...

    def give_back_jobs(self, params: p.GiveBackJobs) -> Call[p.GivenBack]:
        """Take back what was claimed too long ago and has not begun: no attempt is spent, old tokens are not current.

        A worker that was not heard of since the time was over is left to recover_jobs().
        A job to which this has happened too often is dead, decided_by start-timeout.
        """
        ...

    def expire_jobs(self, params: p.ExpireJobs) -> Call[None]:
        """End pending jobs whose time-to-live has passed, also while nobody claims; expired, decided_by ttl."""
        ...

    def age_jobs(self, params: p.AgeJobs) -> Call[int]:
        """Raise the priority of pending jobs that have waited for long, the oldest first; answers of how many.

        Never lowers one. Touches only jobs that are raised, and each once for every time `ageing`, so that a store
        in which much waits is not written anew. After a failed attempt a job waits anew from when it is due again,
        with the priority that it had reached.
        """
        ...

    def fail_unroutable(self, params: p.FailUnroutable) -> Call[list[str]]:
        """End pending jobs for which there is no worker; dead, decided_by routing. Answers their ids, a page at most.

        Whoever asks has judged that there is none. A job that was claimed meanwhile is left alone, and so is one whose
        queue or type is paused.
        """
        ...

    def tend_gates(self, params: p.TendGates) -> Call[None]:
        """Look after gates that have room and that nobody looks at, and forget those that nobody needs."""
        ...

    def mark_workers(self, params: p.MarkWorkers) -> Call[None]:
        """Workers that do not answer probes: their claims mean WorkerInactive until they are marked as well again, or
        the mark is over.

        Their heartbeats go on, and so do their running jobs.
        """
        ...

    def list_workers(self) -> Call[list[p.WorkerInfo]]:
        """All workers that have not ended, and the latest thousand of all, the newest first, in one consistent view.

        Each says what it takes, and how long it has been silent by the store's clock.
        """
        ...

    def read_types(self) -> Call[dict[str, Options]]:
        """The job types that workers have declared in this store, with their options."""
        ...

    def read_limits(self) -> Call[list[Limit]]:
        """The limits that the config of the workers has set, sorted by origin."""
        ...

    def listen(self, poll_interval: float) -> Listener:
        """An ear for new work, opened in a running event loop. Polls as the floor under lost hints."""
        ...

    # Seeing

    def read_job(self, job_id: str) -> Call[Job | None]:
        """The job as it is now, or None if no such job is stored."""
        ...

    def list_jobs(self, params: p.ListJobs) -> Call[list[Job]]:
        """A page of jobs, newest first by id, without gaps or repeats while others are added; or those that have
        ended, the last to end first. By key, or by end and something else, it looks at no more than LOOKED_AT_MAX of
        the newest.

        What workflows have planned and may still begin is among the blocked ones, here and in counts.
        """
        ...

    def count_jobs(self, params: p.CountJobs = p.ALL_JOBS) -> Call[list[p.Count]]:
        """How many jobs there are by type, queue and state (and tenant if asked), in one consistent view."""
        ...

    def count_queues(self) -> Call[int]:
        """How many queues there are: all that ever had a job, or are paused."""
        ...

    def count_waiting(self, params: p.CountWaiting) -> Call[list[p.Waiting]]:
        """The pending jobs by what they ask for, in one consistent view: every such lane, with its oldest due time.

        Counting a lane stops at the limit; the oldest is always the true one. Costs what the lanes cost, not what
        the jobs cost, except for scheduled jobs that became due while nobody claimed.
        """
        ...

    def read_history(self, job_id: str) -> Call[list[Transition]]:
        """The stored transitions of a job, oldest first."""
        ...

    def version(self) -> int | None:
        """A number that changes when something was committed by anyone. Free to ask; for waiting without load.

        None where an engine has nothing like it that is free.
        """
        ...

    # Operating

    def cancel_job(self, params: p.CancelJob) -> Call[p.Cancelled]:
        """Cancel a waiting job at once, or ask a claimed or running one to stop.

        After it commits no new attempt starts. A final job stays as it is. An unknown id means UnknownJob.
        """
        ...

    def pause_work(self, params: p.PauseWork) -> Call[list[p.Switched]]:
        """Give out no more jobs of these queues or types, to nobody, from the moment this is committed.

        What runs goes on. What waits stays where it is: it counts as pending, expires and can be cancelled. Pausing
        again changes nothing and says so. A name that the store has never seen means UnknownQueue or UnknownType,
        and nothing is paused, unless forced. Audited.
        """
        ...

    def resume_work(self, params: p.ResumeWork) -> Call[list[p.Switched]]:
        """End pauses, and wake the workers that wait. What is not paused stays so. Audited."""
        ...

    def list_pauses(self) -> Call[list[Pause]]:
        """All that is paused: queues, then types, by name."""
        ...

    def count_open(self) -> Call[list[p.OpenJobs]]:
        """The jobs that have not ended by queue and type, in one consistent view; also types that have none now."""
        ...

    def drain_worker(self, params: p.DrainWorker) -> Call[bool]:
        """Tell a worker to claim no more, finish what it has, and stop. False when it was draining before.

        From the moment this is committed its claims give nothing. It is woken to hear of it. One that is not alive
        means UnknownWorker. Audited.
        """
        ...

    def resize_worker(self, params: p.ResizeWorker) -> Call[int]:
        """Tell a worker to run at most so many jobs at once; answers how many it was before. Audited.

        It is woken to hear of it. One that is not alive means UnknownWorker.
        """
        ...

    def list_dead(self, params: p.ListDead) -> Call[p.DeadPage]:
        """A page of dead letters (dead and expired), newest first, and how many match."""
        ...

    def retry_dead(self, params: p.RetryDead) -> Call[list[tuple[str, str]]]:
        """Make a new job of each matching dead letter, at most one per given new id; answers (old id, new id).

        Old and new are linked both ways; the old one leaves the depth. Retried before means AlreadyRetried
        unless forced; a named id that is not a dead letter means UnknownJob. Audited.
        """
        ...

    def purge_dead(self, params: p.PurgeDead) -> Call[int]:
        """Remove matching dead letters for good, at most `limit` a call; answers how many. Audited."""
        ...

    def prune_jobs(self, params: p.PruneJobs) -> Call[int]:
        """Remove ended jobs that retention no longer keeps; answers how many. Never touches one that has not ended."""
        ...

    # Workflows

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[bool]:
        """Store a workflow and enqueue the jobs of the steps that come after none. False if its id is stored already.

        The jobs of a step are enqueued in the transaction that ends the last job of those that it comes after: what
        they wait for counts from then. Until then they are planned: they read as blocked, and are in no queue.
        """
        ...

    def read_workflow(self, workflow_id: str) -> Call[WorkflowInfo | None]:
        """The workflow as it is now, or None if no such workflow is stored."""
        ...

    def list_workflows(self, params: p.ListWorkflows) -> Call[list[WorkflowInfo]]:
        """A page of workflows, newest first by id, without their steps."""
        ...

    def read_results(self, params: p.ReadResults) -> Call[list[p.StepResult]]:
        """What became of a step's jobs, in their order. More than the limit means PayloadTooLarge."""
        ...

    def cancel_workflow(self, params: p.CancelWorkflow) -> Call[p.WorkflowCancelled]:
        """Begin no more steps, cancel what waits and ask what runs to stop, a page of jobs a call.

        After the first call no step begins. An unknown id means UnknownWorkflow. Audited.
        """
        ...

    def retry_workflow(self, params: p.RetryWorkflow) -> Call[int]:
        """Run again what did not complete of a failed or cancelled workflow; answers how many jobs.

        What completed stays. Jobs that had been enqueued are replaced by new ones, linked to the old. Audited.
        """
        ...

    def settle_workflows(self, params: p.SettleWorkflows) -> Call[int]:
        """Tell workflows of jobs that ended without them: expired, cancelled by a person, lost with their worker.

        Answers how many jobs; a full page means that there may be more.
        """
        ...

    # Schedules

    def read_schedules(self, params: p.ReadSchedules) -> Call[p.Schedules]:
        """Schedules by name, and the store's moment, in one consistent view."""
        ...

    def due_schedules(self, params: p.DueSchedules) -> Call[p.Schedules]:
        """A page of those whose tick has come by the store's clock, and when the next of the others comes."""
        ...

    def change_schedules(self, params: p.ChangeSchedules) -> Call[dict[str, str | None]]:
        """Store changes of schedules, each together with its jobs. Answers the names of those that were stored, each
        with the id of the last of its jobs, or of the job that holds its unique key; None without jobs.

        One whose schedule does not have the revision that the change was made from is left out, with its jobs: of
        several who do the same, at the same time or long after, one succeeds. The term of a leader that was replaced
        means NotLeader, and changes nothing. What a person does is audited.
        """
        ...

    # The store itself

    @property
    def address(self) -> str:
        """Where the store is, in full and without a password. Opens nothing."""
        ...

    @property
    def info(self) -> p.StoreInfo:
        """What this store is: engine, address, library, durability, schema version. Opens the store."""
        ...

    def read_clock(self) -> Call[int]:
        """The moment by the store's clock, from the store itself: also the cheapest proof that it answers."""
        ...

    def check_store(self, params: p.CheckStore) -> Call[list[p.Finding]]:
        """What this engine knows to threaten a store: versions, durability, space, rights, damage. Changes nothing.

        A store that is missing, damaged, of another version or out of reach is a finding, never an error, and none
        is made. What is not `ok` comes with the fix.
        """
        ...

    def migration_status(self) -> p.MigrationStatus:
        """The schema version of the store and what `migrate` would do. Changes nothing."""
        ...

    def migration_sql(self) -> str:
        """What `migrate` would run, as a script for the engine's own shell; empty when nothing is pending.

        Run by hand it leaves the same schema at the same version. Changes nothing.
        """
        ...

    def migrate(self) -> p.MigrationStatus:
        """Bring the schema to this version; answers the status from before. Safe to run by many at once."""
        ...

    def close(self) -> None:
        """Finish what was handed in, then close. Later use means StoreClosed."""
        ...
