# SPDX-License-Identifier: Apache-2.0
"""What a run was made with and by."""

import platform
import re
import sys
from collections.abc import Sequence

_HIDDEN = "***"
# Names of options and of hydra's overrides whose value is nobody else's business.
_SECRET_NAME = re.compile(r"token(?!iz|s)|passw|passphrase|secret|credential|api.?key|auth(?!or)", re.I)
# Values that say themselves what they are: keys of services, and a user's word in an address.
_SECRET_VALUE = re.compile(r"\b(hf_|sk-|ghp_|github_pat_|glpat-|xox[a-z]-|AKIA)[\w-]{8,}")
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def packages() -> str:
    """Python and the packages that are imported and tell their version: "numpy 2.1.0, …"."""
    told = {"python": platform.python_version()}
    for name, module in list(sys.modules.items()):
        if "." in name or name.startswith("_") or name in sys.stdlib_module_names:
            continue
        # What a module computes when it is asked is left alone.
        version = getattr(module, "__dict__", {}).get("__version__")
        if isinstance(version, str):
            told[name] = str(version)
    return ", ".join(f"{name} {told[name]}" for name in sorted(told, key=str.lower))


def command(words: Sequence[str]) -> str:
    """The command line, with *** for what looks like a secret: a run is handed on."""
    told: list[str] = []
    hides_next = False
    for word in words:
        name, equals, _ = word.partition("=")
        is_secret = _SECRET_NAME.search(name) is not None
        if hides_next and not word.startswith("-"):
            word = _HIDDEN
        elif equals and is_secret:
            word = f"{name}={_HIDDEN}"
        hides_next = is_secret and not equals and word.startswith("-")
        told.append(_IN_ADDRESS.sub(_HIDDEN, _SECRET_VALUE.sub(_HIDDEN, word)))
    return " ".join(told)
