"""Effects that a job runs at most once, whatever number of attempts it takes (F5)."""

from __future__ import annotations

from typing import Any

from penstock.domain.errors import LeaseLost, OnceUncertain, UsageError
from penstock.domain.payload import decode_json, encode_json
from penstock.domain.texts import UNSTORABLE, brief, is_text
from penstock.store.contract import BeginOnce, EndOnce, Once
from penstock.worker.running.run import Run

KEY_CHARS_MAX = 200


class Effect:
    """One effect of one attempt: what to ask the store before it, and what to tell it afterwards."""

    def __init__(self, run: Run, key: str) -> None:
        if not is_text(key, KEY_CHARS_MAX):
            raise UsageError(
                f"once({brief(key)}) is not possible: the key is a text of 1 to {KEY_CHARS_MAX} characters, "
                f"{UNSTORABLE}"
            )
        if run.over:
            raise UsageError("once() is too late: this attempt has ended")
        self._run = run
        self._key = key
        self.store = run.plan.store
        self.begin = BeginOnce(run.claim.token, key)

    def decide(self, found: Once) -> bool:
        """Whether to run it now; False when it is done."""
        if found.status == "lost":
            raise self._lost()
        if found.status == "uncertain":
            raise OnceUncertain(
                f"an earlier attempt of job {self._run.claim.id} began {self._key!r} and was cut off: whether it "
                "happened is not known, and it is not run again; find out and go on, or raise DoNotRetry"
            )
        if found.status == "run" and self._key in self._run.effects:
            raise UsageError(f"once({self._key!r}) is called while the same effect is under way; give each its own key")
        return found.status == "run"

    def begun(self) -> None:
        self._run.effects = (*self._run.effects, self._key)

    def done(self, value: Any) -> EndOnce:
        text = None if value is None else encode_json(value, f"the value of once({self._key!r})")
        return EndOnce(self.begin.token, self._key, text)

    def undone(self) -> EndOnce:
        self._run.effects = tuple(key for key in self._run.effects if key != self._key)
        return EndOnce(self.begin.token, self._key, undone=True)

    def value_of(self, text: str | None) -> Any:
        """The same for the attempt that ran it and for those after it."""
        return None if text is None else decode_json(text)

    def refuse_lost(self, stored: bool) -> None:
        if not stored:
            raise self._lost()

    def _lost(self) -> LeaseLost:
        claim = self._run.claim
        return LeaseLost(f"job {claim.id} is no longer attempt {claim.attempt}'s: it was recovered or ended elsewhere")
