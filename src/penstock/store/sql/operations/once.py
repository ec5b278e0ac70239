"""Effects that a job runs at most once, over all its attempts."""

from __future__ import annotations

from penstock.store import contract as p
from penstock.store.sql.steps import Steps, run, value


def begin_once(begin: p.BeginOnce) -> Steps[p.Once]:
    if (yield from value("begin_once", token=begin.token, key=begin.key)):
        return p.Once("run")
    found = yield from run("read_once", token=begin.token, key=begin.key)
    if not found:
        return p.Once("lost")
    [(token, done, stored)] = found
    if done:
        return p.Once("done", stored)
    return p.Once("run" if token == begin.token else "uncertain")


def end_once(end: p.EndOnce) -> Steps[bool]:
    if end.undone:
        return bool((yield from value("forget_once", token=end.token, key=end.key)))
    return bool((yield from value("end_once", token=end.token, key=end.key, value=end.value)))
