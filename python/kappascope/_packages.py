# SPDX-License-Identifier: Apache-2.0
"""What a run was made with."""

import platform
import sys


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
