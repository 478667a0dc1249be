# SPDX-License-Identifier: Apache-2.0
"""Watching a training loop: what is found, hooks that feed the C++ session, runs read back."""
