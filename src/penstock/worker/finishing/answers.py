"""What the store has made of outcomes: asked where a commit was uncertain, and put together where they went apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.domain.job import Event
from penstock.store.contract import Claim, Completed, EndedAttempts, Finished, FinishJobs, History, Store, Unfinished


def together(answers: Sequence[Finished]) -> Finished:
    return Finished(
        [token for one in answers for token in one.lost], [token for one in answers for token in one.cancelled]
    )


async def what_is_true(
    store: Store, session: int, sent: FinishJobs, claims: Iterable[Claim], answer: Finished
) -> Finished:
    """Outcomes that were sent before, without word of their commit, look lost if that has stored them: which were, and
    how, the store knows. Where it keeps nothing that tells, they are taken for stored: so too where the job is gone,
    since what had put it back may have been stored, and others have ended it.
    """
    ends = {end.token: end for end in sent.ends}
    doubtful = [claim for claim in claims if claim.token in answer.lost]
    asked = EndedAttempts(session, [(claim.id, claim.attempt) for claim in doubtful])
    found = dict(zip([claim.token for claim in doubtful], await store.ended_attempts(asked), strict=True))
    untold = [claim for claim in doubtful if found[claim.token] is None and tells(ends[claim.token], sent.history)]
    lost = [claim.token for claim in untold if await store.read_job(claim.id) is not None]
    cancelled = [
        token for token, event in found.items() if event is Event.CANCEL and ends[token].event is not Event.CANCEL
    ]
    return Finished(lost, [*answer.cancelled, *cancelled], answer.happened)


def tells(end: Completed | Unfinished, history: History) -> bool:
    """Whether the store would know of it, had it been stored."""
    if end.event is Event.COMPLETE:
        return end.keep is True and history in ("default", "all")
    if end.event is Event.FAIL:
        return end.keep is True
    return end.event is Event.CANCEL or history != "none"
