# SPDX-License-Identifier: Apache-2.0
"""Processes that train together agree before each collective of theirs, so that none waits for one
that does not come."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import torch.distributed as dist

from .._library import Error

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds that a process waits for the others at the end of a window. Training that is in step
brings them there within a step."""
_POLL = 0.002
_GO = "go"


def all_agree(
    own: Any, work: Callable[[], T], settings: Callable[[T], Any]
) -> tuple[T, list[Any]]:
    """Does `work` in every process of the group; where it raises in one, all raise. What it gives
    here, and what `settings` makes of it in each process."""
    if own is None:
        done = work()
        return done, [settings(done)]
    told: list[Any] = [None] * dist.get_world_size(own)
    try:
        done = work()
    except Exception as error:  # the others are not to wait for what comes after
        dist.all_gather_object(told, (None, str(error)), group=own)
        raise
    dist.all_gather_object(told, (settings(done), None), group=own)
    for rank, (_, why) in enumerate(told):
        if why is not None:
            raise Error(f"process {rank}: {why}")
    return done, [one for one, _ in told]


class Meeting:
    """Where the processes of a group find out, window by window, whether all of them are there and
    at the same step. What decides is written once, so that all read the same."""

    def __init__(self, own: Any) -> None:
        store = dist.distributed_c10d._get_default_store()
        self._store = dist.PrefixStore(f"kappascope/{own.group_name}", store)
        self._rank = dist.get_rank(own)
        self._others = [r for r in range(dist.get_world_size(own)) if r != self._rank]
        self._count = 0

    def hold(self, at: str) -> str:
        """Comes to the next meeting; "" where all others are there, `at` the same, else why not."""
        number = self._count
        self._count += 1
        try:
            decided = self._decide(number, at)
            if number > 0:
                # Who is here has read what was said at the last one.
                self._store.delete_key(self._place(number - 1, self._rank))
                if self._rank == 0:
                    self._store.delete_key(self._verdict(number - 1))
            return "" if decided == _GO else decided
        except RuntimeError as error:  # the process that keeps the store is gone
            return f"the processes cannot reach each other any more ({error})".partition("\n")[0]

    def leave(self, at: str) -> None:
        """The others are not to wait for this process."""
        try:
            self._store.set(f"left/{self._rank}", at)
        except RuntimeError:
            pass  # nobody is left to be told

    def _place(self, number: int, rank: int) -> str:
        return f"{number}/{rank}"

    def _verdict(self, number: int) -> str:
        return f"{number}/decided"

    def _decide(self, number: int, at: str) -> str:
        self._store.set(self._place(number, self._rank), at)
        verdict = self._verdict(number)
        began = time.monotonic()
        missing = list(self._others)
        while True:
            if self._store.check([verdict]):
                return str(self._store.get(verdict).decode())
            # Who left came before, or never comes.
            gone = [r for r in missing if self._store.check([f"left/{r}"])]
            missing = [r for r in missing if not self._store.check([self._place(number, r)])]
            reason = ""
            if not missing:
                reason = self._compare(number, at) or _GO
            elif lost := [r for r in missing if r in gone]:
                where = self._store.get(f"left/{lost[0]}").decode()
                reason = f"process {lost[0]} ended its run {where} and process {self._rank} is {at}"
            elif time.monotonic() - began > PATIENCE:
                reason = (
                    f"process {missing[0]} did not come in {PATIENCE:g} s to the end of the window "
                    f"where process {self._rank} is {at}: it makes other updates, or none"
                )
            if reason:
                return str(self._store.compare_set(verdict, "", reason).decode())
            time.sleep(_POLL)

    def _compare(self, number: int, at: str) -> str:
        for rank in self._others:
            theirs = self._store.get(self._place(number, rank)).decode()
            if theirs != at:
                return f"process {rank} is {theirs} and process {self._rank} is {at}"
        return ""
