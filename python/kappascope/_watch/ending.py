# SPDX-License-Identifier: Apache-2.0
"""How the program ends, as far as it can be seen from within: what a run that was left open says."""

import builtins
import dis
import sys
import threading
from types import FrameType
from typing import Any, Literal

State = Literal["finished", "interrupted", "failed"]

_RETURNS = {dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap}
_UNKNOWN = object()


class Ending:
    """Seen from when it is made on.

    The first frame of the main thread tells whether the program ran to its end; of sys.exit() the
    status is noted, as Python tells nobody. A SystemExit that was raised by hand has none.
    """

    def __init__(self) -> None:
        self._status: object = _UNKNOWN
        self._frame = _first_frame()
        leave = sys.exit

        def noted(status: Any = None, /) -> Any:
            self._status = status
            return leave(status)

        sys.exit = noted

    def state(self) -> State:
        """To be asked when Python ends."""
        raised = getattr(sys, "last_value", None)
        if raised is not None and not _is_interactive():
            return "interrupted" if isinstance(raised, KeyboardInterrupt) else "failed"
        if _is_interactive() or self._returned():
            return "finished"
        if self._status is _UNKNOWN:
            return "interrupted"
        return "finished" if self._status is None or self._status == 0 else "failed"

    def _returned(self) -> bool:
        frame = self._frame
        return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _RETURNS


def _first_frame() -> FrameType:
    main = threading.main_thread().ident
    frame = sys._current_frames().get(main if main is not None else -1, sys._getframe())
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_interactive() -> bool:
    """An error ends no session of a notebook or a prompt."""
    return hasattr(sys, "ps1") or hasattr(builtins, "get_ipython")


_seen: Ending | None = None


def watch_ending() -> Ending:
    """One for the whole process."""
    global _seen
    if _seen is None:
        _seen = Ending()
    return _seen
