#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the simulated disk may lose, and what it may not."""
import random
import unittest

import disk

ROOT = "/r"
OLD, NEW = b"o" * 1500, b"n" * 1700


def event(kind, path="", data=b"", inode=0, at=0):
    return disk.Event(kind, inode, at, ROOT + path, data)


def left(events, cuts=300):
    """Every content that /r/file has after a cut at the end; None: it is not there."""
    state, chance = disk.Disk(ROOT), random.Random(1)
    for one in events:
        state.apply(one)
    return {state.cut(chance).get(ROOT + "/file") for _ in range(cuts)}


THERE = [event("O", "/file", inode=1), event("W", "/file", OLD, 1), event("S", "/file", inode=1)]
THERE.append(event("D"))
FILLED = [event("O", "/new", inode=2), event("W", "/new", NEW, 2)]
RENAMED = [event("R", "/new", (ROOT + "/file").encode())]


class Disk(unittest.TestCase):
    def test_what_was_flushed_with_its_name_stays(self):
        self.assertEqual(left(THERE), {OLD})

    def test_a_name_is_lost_until_its_folder_is_flushed(self):
        self.assertEqual(left(THERE[:3]), {None, OLD})
        self.assertEqual(left(THERE + [event("U", "/file")]), {None, OLD})

    def test_an_unflushed_write_may_be_torn_at_any_sector(self):
        found = left(THERE + [event("W", "/file", b"x" * 1500, 1)], 2000)
        self.assertEqual(len(found), 2 ** 3)  # three sectors, each old or new
        self.assertTrue(all(content[:512] in (b"o" * 512, b"x" * 512) for content in found))

    def test_a_rename_without_a_flush_of_the_file_leaves_part_of_it(self):
        found = left(THERE + FILLED + RENAMED)
        self.assertIn(OLD, found)
        self.assertTrue(found - {OLD, NEW})

    def test_a_rename_after_the_flush_leaves_the_old_or_the_new_one(self):
        safe = THERE + FILLED + [event("S", "/new", inode=2)] + RENAMED
        self.assertEqual(left(safe), {OLD, NEW})
        self.assertEqual(left(safe + [event("D")]), {NEW})

    def test_what_is_below_a_folder_is_lost_with_it(self):
        state = disk.Disk(ROOT)
        for one in (event("M", "/a"), event("O", "/a/f", inode=3), event("D", "/a")):
            state.apply(one)
        chance = random.Random(1)
        found = {tuple(sorted(state.cut(chance))) for _ in range(100)}
        self.assertEqual(found, {(), (ROOT + "/a", ROOT + "/a/f")})


if __name__ == "__main__":
    unittest.main()
