"""A history in which everything goes as promised, however rough: no rule may complain."""

from __future__ import annotations

from tests.checker.events import FollowingWorkflow, FollowUp, JobAsked, Success, UniqueAsked
from tests.checker.rules import Rate
from tests.checker.story import Story, flow, step


def good_story() -> Story:
    story = Story(
        pickup_us=3_000_000,
        once=frozenset({"exact"}),
        at_least_once=frozenset({"plain"}),
        waiting=frozenset({"nobody's"}),
        key_limits={"shop": 1},
        rates={"api": Rate(2, 1_000_000)},
        ordered_keys=frozenset({"shop"}),
        turns=frozenset({"shared"}),
    )
    for chapter in (_enqueue, _leaders, _ordinary_work, _a_worker_dies, _a_zombie, _given_back, _operators, _limits,
                    _turns, _workflows, _workflows_in_trouble, _uncertainty, _schedules):  # fmt: skip
        chapter(story)
    return story


def _enqueue(story: Story) -> None:
    story.enqueue("plain-1", "plain-2", type="plain", max_attempts=2)
    story.enqueue("exact-1", type="exact")
    story.enqueue("lonely", type="nobody's")
    story.stored("lonely", "pending", attempt=0, type="nobody's")
    story.enqueue("refused", phase="fail")
    story.enqueue("unique-1", unique=UniqueAsked("welcome"))
    story.enqueue("unique-2", unique=UniqueAsked("welcome"), holder="unique-1")
    story.enqueue("daily-1", unique=UniqueAsked("daily", per=0.001))
    story.enqueue("daily-2", unique=UniqueAsked("daily", per=0.001))


def _leaders(story: Story) -> None:
    story.lead("w1", 1, lease=1.0)
    story.duty("w1", 1)
    story.lead("w2", 1, acting=False)
    story.lead("w1", 1, lease=1.0)
    story.wait(1.0)
    story.lead("w2", 2, lease=1.0)
    story.duty("w1", 1, phase="fail")
    story.duty("w2", 2)


def _ordinary_work(story: Story) -> None:
    story.claim("w1", ("plain-1", 1, 1), ("exact-1", 2, 1), ("unique-1", 3, 1), ("daily-1", 4, 1), ("daily-2", 5, 1))
    story.start("w1", 1)
    story.run("w1", "plain-1", 1)
    story.once("w1", 1, "charge", "run")
    story.undo_once("w1", 1, "charge")
    story.end("w1", "plain-1", 1, "back_off")
    story.claim("w2", ("plain-1", 6, 2))
    story.once("w2", 6, "charge", "run")
    story.note("effect", "w2", id="plain-1", token=6)
    story.complete("w2", "plain-1", 6)
    for id, token in (("exact-1", 2), ("unique-1", 3), ("daily-1", 4), ("daily-2", 5)):
        story.complete("w1", id, token)
    story.effect("plain-1", 1)
    story.effect("plain-1", 6)
    story.effect("exact-1", 2)
    story.stored("plain-1", attempt=2, type="plain", max_attempts=2, steps="back_off")
    story.stored("exact-1", type="exact")
    for id in ("unique-1", "daily-1", "daily-2"):
        story.stored(id)
    story.enqueue("unique-3", unique=UniqueAsked("welcome"))
    story.claim("w1", ("unique-3", 7, 1))
    story.complete("w1", "unique-3", 7)
    story.stored("unique-3")


def _a_worker_dies(story: Story) -> None:
    story.claim("w3", ("plain-2", 10, 1))
    story.note("killed", "w3")
    story.wait(2.0)
    story.recover("w2", "plain-2")
    story.claim("w2", ("plain-2", 11, 2, 1))
    story.note("killed", "w2")
    story.recover("w1", "plain-2")
    story.stored(
        "plain-2",
        "dead",
        attempt=2,
        crashes=2,
        type="plain",
        max_attempts=2,
        steps="recover fail",
        decided_by="recovery",
    )


def _a_zombie(story: Story) -> None:
    """It wakes up when its job is another's, and everything that it says is refused."""
    story.enqueue("haunted", type="exact")
    story.claim("w4", ("haunted", 20, 1))
    story.note("paused", "w4")
    story.recover("w1", "haunted")
    story.claim("w1", ("haunted", 21, 2, 1))
    story.note("resumed", "w4")
    story.start("w4", 20, lost=True)
    story.once("w4", 20, "charge", "lost")
    story.complete("w1", "haunted", 21)
    story.complete("w4", "haunted", 20, lost=True)
    story.effect("haunted", 21)
    story.stored("haunted", attempt=2, crashes=1, type="exact", steps="recover")


def _given_back(story: Story) -> None:
    story.enqueue("slow")
    story.claim("w1", ("slow", 30, 1))
    story.end("w1", "slow", 30, "release")
    story.claim("w4", ("slow", 31, 1))
    story.give_back("w1", "slow")
    story.claim("w1", ("slow", 32, 1))
    story.end("w1", "slow", 32, "fail")
    story.stored("slow", "dead", steps="release give_back fail", decided_by="worker")


def _operators(story: Story) -> None:
    story.enqueue("held", type="mail", queue="slow")
    story.pause("type", "mail")
    story.pause("queue", "slow")
    story.claim("w1")
    story.resume("queue", "slow")
    call = story.ask("operator", "resume_work", kind="type", names=("mail",))
    story.claim("w1", ("held", 39, 1))
    story.tell("operator", "resume_work", call)
    story.complete("w1", "held", 39)
    story.stored("held", type="mail")
    story.retry_dead("slow", "slow-again")
    story.claim("w1", ("slow-again", 40, 1))
    follow_up = FollowUp(40, JobAsked(id="afterwards"))
    call = story.ask("w1", "finish", completed=(Success("slow-again", 40),), follow_ups=(follow_up,))
    story.tell("w1", "finish", call)
    story.stored("slow-again", retried_from="slow")
    story.cancel("afterwards", "pending", "cancelled")
    story.stored("afterwards", "cancelled", attempt=0, parent="slow-again", steps="cancel")
    story.enqueue("stopped")
    story.claim("w1", ("stopped", 41, 1))
    story.cancel("stopped", "running", "running")
    story.end("w1", "stopped", 41, "back_off")
    story.stored("stopped", "cancelled", steps="cancel")
    story.enqueue("fleeting", remove_on_complete=True)
    story.claim("w1", ("fleeting", 42, 1))
    story.complete("w1", "fleeting", 42)


def _limits(story: Story) -> None:
    story.enqueue("shop-1", "shop-2", key="shop", rate="api")
    story.enqueue("shop-3", key="shop", rate="api")
    story.claim("w1", ("shop-1", 50, 1), claimed_at=0)
    story.complete("w1", "shop-1", 50)
    story.claim("w4", ("shop-2", 51, 1), claimed_at=900_000)
    story.complete("w4", "shop-2", 51)
    story.claim("w1", ("shop-3", 52, 1), claimed_at=999_999)
    story.end("w1", "shop-3", 52, "release")
    story.claim("w1", ("shop-3", 53, 1), claimed_at=1_000_000)
    story.complete("w1", "shop-3", 53)
    for id in ("shop-1", "shop-2", "shop-3"):
        story.stored(id, steps="release" if id == "shop-3" else "")


def _turns(story: Story) -> None:
    """Two turns in a row where the other's job came later, is of another kind, was another worker's or not due."""
    story.enqueue("t-a1", "t-a2", "t-a3", tenant="a", queue="shared")
    story.enqueue("t-b1", tenant="b", queue="shared", delay=0.001)
    story.enqueue("t-b2", tenant="b", queue="shared", priority=-1)
    story.claim("w1", ("t-a1", 54, 1))
    story.enqueue("t-b3", tenant="b", queue="shared")
    story.claim("w1", ("t-a2", 55, 1), session=1)
    story.claim("w1", ("t-b3", 56, 1), ("t-a3", 57, 1), session=1)
    story.claim("w1", ("t-b1", 58, 1), ("t-b2", 59, 1), session=1)
    for token, id in enumerate(("t-a1", "t-a2", "t-b3", "t-a3", "t-b1", "t-b2"), start=54):
        story.complete("w1", id, token)
        story.stored(id)


def _ran(story: Story, id: str, token: int, event: str = "complete") -> None:
    """A job that a worker was given and that ended so."""
    story.claim("w1", (id, token, 1))
    if event == "complete":
        story.complete("w1", id, token)
    else:
        story.end("w1", id, token, event)
    story.stored(id, {"complete": "completed", "fail": "dead", "cancel": "cancelled"}[event])


def _workflows(story: Story) -> None:
    """A fan-out and a fan-in around a step of no jobs; and one that a handler makes, of which a part may fail."""
    steps = step("f-a"), step("f-b1", "f-b2", after=(0,)), step(after=(1,)), step("f-c", after=(2,))
    story.workflow("f", *steps, phase="unknown")
    story.workflow("f", *steps, created=False)
    for token, id in enumerate(("f-a", "f-b1", "f-b2", "f-c"), start=70):
        _ran(story, id, token)
    story.workflow_stored("f")
    story.workflow("refused", step("r-a"), phase="fail")
    story.enqueue("maker")
    story.claim("w1", ("maker", 74, 1))
    made = flow("m", step("m-a", on_failure="continue"), step("m-b", after=(0,)), undo="m-undo")
    call = story.ask("w1", "finish", completed=(Success("maker", 74),), workflows=(FollowingWorkflow(74, made),))
    story.tell("w1", "finish", call)
    story.stored("maker")
    story.claim("w5", ("m-a", 75, 1))
    story.recover("w1", "m-a")
    story.stored("m-a", "dead", crashes=1, steps="recover", decided_by="recovery")
    story.settle("w1", 1)
    _ran(story, "m-b", 76)
    story.workflow_stored("m")


def _workflows_in_trouble(story: Story) -> None:
    """It fails and is compensated; is retried and cancelled; and is retried once more, with success."""
    story.workflow("g", step("g-a1", "g-a2"), step("g-b", after=(0,)), undo="g-undo")
    _ran(story, "g-a1", 77)
    _ran(story, "g-a2", 78, "fail")
    _ran(story, "g-undo", 79)
    story.retry_workflow("g", "g-a3", "g-undo2")
    story.claim("w1", ("g-a3", 80, 1))
    story.cancel_workflow("g")
    story.complete("w1", "g-a3", 80)
    story.stored("g-a3", "cancelled")
    story.retry_workflow("g", "g-a4", "g-undo3")
    _ran(story, "g-a4", 81)
    _ran(story, "g-b", 82)
    story.workflow_stored("g")
    story.cancel_workflow("g", before="completed")
    story.workflow("h", step("h-a"), undo="h-undo")
    _ran(story, "h-a", 83, "fail")
    _ran(story, "h-undo", 84)
    story.workflow_stored("h", "failed")


def _uncertainty(story: Story) -> None:
    """Answers that never came: of an enqueue that was stored and one that was not, of a claim, and of a finish."""
    story.enqueue("maybe-1", phase="unknown")
    story.enqueue("maybe-1", created=False)
    story.enqueue("maybe-2", phase="unknown")
    story.ask("w5", "claim")
    story.note("killed", "w5")
    story.recover("w1", "maybe-1")
    story.claim("w1", ("maybe-1", 90, 2, 1))
    story.complete("w1", "maybe-1", 90, phase="unknown")
    story.complete("w1", "maybe-1", 90, lost=True)
    story.stored("maybe-1", attempt=2, crashes=1, steps="recover")


def _schedules(story: Story) -> None:
    """A tick that a leader of the past wanted too, one whose answer was lost, and a job that a person made."""
    story.fire("w1", 1, "nightly", "tick-1", 5_000, phase="fail")
    story.fire("w4", 2, "nightly", "tick-1", 5_000)
    story.fire("w4", 2, "nightly", "tick-1", 5_000, stored=False)
    story.fire("w4", 2, "nightly", "tick-2", 6_000, phase="unknown")
    story.fire("w4", 2, "nightly", "tick-2", 6_000)
    story.fire("w4", 2, "hourly", "tick-3", 6_000)
    story.fire("operator", None, "nightly", "by-hand-1", 6_000)
    story.fire("operator", None, "nightly", "by-hand-2", 6_000)
    for token, id in enumerate(("tick-1", "tick-2", "tick-3", "by-hand-1", "by-hand-2"), start=100):
        story.claim("w1", (id, token, 1))
        story.complete("w1", id, token)
        story.stored(id, schedule="hourly" if id == "tick-3" else "nightly")
