"""Power fails while the log is written: whatever the disk has of it by then, the store opens and holds what it must.

The file and its log are copied, and the log is cut at and inside every frame. A commit that was synced lies before the
cut; what comes after it may be there in part, and is ignored.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.domain.job import FINAL
from penstock.store.contract import ClaimJobs, Completed, EnqueueJobs, FinishJobs, ListJobs, RegisterWorker
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, integrity, new_job

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
INSIDE = (1, FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + 1000)
"""Where in a frame the power fails: in its head, after its head, and in its page."""


class Cut:
    """Copies of a store as the disk had it, with a log of any length."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._file = path.read_bytes()
        self._log = path.with_name(path.name + "-wal").read_bytes()
        self._folder = folder
        self.frame = FRAME_HEADER_BYTES + int.from_bytes(self._log[8:12], "big")

    @property
    def frames(self) -> int:
        return (len(self._log) - HEADER_BYTES) // self.frame

    def at(self, frames: int, more: int = 0) -> Path:
        """The store with this many whole frames in its log, and some bytes of the next."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        path = self._folder / "jobs.db"
        path.write_bytes(self._file)
        path.with_name("jobs.db-wal").write_bytes(self._log[: HEADER_BYTES + frames * self.frame + more])
        return path


def frames_of(path: Path) -> int:
    log = path.with_name(path.name + "-wal").read_bytes()
    return (len(log) - HEADER_BYTES) // (FRAME_HEADER_BYTES + int.from_bytes(log[8:12], "big"))


def live_through(store: SqliteStore, path: Path) -> dict[int, tuple[set[str], set[str]]]:
    """Enqueue and finish jobs one by one. Answers, for the frames at each commit: what was stored, and what had ended.

    Claims are not synced, and so are not among the promises.
    """
    known: dict[int, tuple[set[str], set[str]]] = {}
    stored: set[str] = set()
    ended: set[str] = set()
    session = (
        store.register_worker(RegisterWorker(worker_id="w", host="h", pid=1, version="1", slots=1, stale_after=30.0))
        .wait()
        .session
    )
    for _ in range(6):
        job = new_job()
        store.enqueue_jobs(EnqueueJobs([job])).wait()
        stored.add(job.id)
        known[frames_of(path)] = set(stored), set(ended)
        for claim in store.claim_jobs(ClaimJobs(session, 1)).wait().jobs:
            store.finish_jobs(FinishJobs([Completed(claim.token, claim.due_at)])).wait()
            ended.add(claim.id)
        known[frames_of(path)] = set(stored), set(ended)
    return known


@pytest.fixture
def cut(make_store: MakeStore, path: Path, tmp_path: Path) -> tuple[Cut, dict[int, tuple[set[str], set[str]]]]:
    store = make_store()
    known = live_through(store, path)
    return Cut(path, tmp_path / "after"), known


@pytest.mark.turns
def test_every_cut_of_the_log_leaves_a_sound_store_with_all_that_was_synced(
    cut: tuple[Cut, dict[int, tuple[set[str], set[str]]]],
) -> None:
    places, known = cut
    assert places.frames == max(known), "the log was not taken into the file meanwhile"
    for frames in range(min(known), places.frames + 1):
        for more in (0, *INSIDE) if frames < places.frames else (0,):
            path = places.at(frames, more)
            check(path, known[max(seen for seen in known if seen <= frames)], f"{frames} frames and {more} bytes")


def check(path: Path, promised: tuple[set[str], set[str]], where: str) -> None:
    assert integrity(path) == "ok", where
    store = SqliteStore(str(path))
    try:
        jobs = store.list_jobs(ListJobs(limit=1000)).wait()
        assert promised[0] <= {job.id for job in jobs}, where
        assert promised[1] <= {job.id for job in jobs if job.state in FINAL}, where
        store.enqueue_jobs(EnqueueJobs([new_job()])).wait()
    finally:
        store.close()


def test_a_frame_with_a_flipped_bit_is_not_believed(
    cut: tuple[Cut, dict[int, tuple[set[str], set[str]]]],
) -> None:
    places, known = cut
    path = places.at(places.frames)
    log = path.with_name("jobs.db-wal")
    data = bytearray(log.read_bytes())
    last = HEADER_BYTES + (places.frames - 1) * places.frame
    data[last + FRAME_HEADER_BYTES + 100] ^= 1
    log.write_bytes(data)
    before = max(seen for seen in known if seen < places.frames)
    check(path, known[before], "a flipped bit in the last frame")
