# SPDX-License-Identifier: Apache-2.0
"""A disk that loses its power: the log of recorder.cpp, replayed up to any event.

A write is safe once its file is flushed, a name (made, renamed, removed) once its folder is. What is
not safe may be there, be missing, or be there in part: writes by sectors of 512 bytes, each name by
itself, all in any order.
"""
import collections
import os
import struct

SECTOR = 512
FOLDER = -1  # the "file" that the name of a folder leads to
Event = collections.namedtuple("Event", "kind inode at path data")
_HEAD = struct.Struct("<cQqIQ")


def events_of(log):
    with open(log, "rb") as file:
        data = memoryview(file.read())
    out, at = [], 0
    while at < len(data):
        kind, inode, offset, path, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = os.path.normpath(bytes(data[at : at + path]).decode()) if path else ""
        at += path
        out.append(Event(kind.decode(), inode, offset, name, data[at : at + size]))
        at += size
    return out


class File:
    def __init__(self):
        self.safe = bytearray()
        self.waiting = []  # (offset, data), or (size, None) where it was cut

    @staticmethod
    def _apply(to, at, data):
        if data is None:
            del to[at:]
            to.extend(bytes(max(0, at - len(to))))
            return
        to.extend(bytes(max(0, at - len(to))))
        to[at : at + len(data)] = data

    def flush(self):
        for at, data in self.waiting:
            self._apply(self.safe, at, data)
        self.waiting = []

    def seen(self):
        """What a program reads that runs on."""
        out = bytearray(self.safe)
        for at, data in self.waiting:
            self._apply(out, at, data)
        return out

    def left(self, random, way):
        """What a cut leaves; `way`: all, none, or torn."""
        if way == "all":
            return self.seen()
        out = bytearray(self.safe)
        if way == "none":
            return out
        keep = random.random()  # the share of the sectors that reached the disk
        for at, data in self.waiting:
            if data is None:
                if random.random() < keep:
                    self._apply(out, at, None)
                continue
            end, start = at + len(data), at
            while start < end:
                stop = min(end, (start // SECTOR + 1) * SECTOR)
                if random.random() < keep:
                    self._apply(out, start, data[start - at : stop - at])
                elif stop > len(out) and random.random() < keep / 2:
                    # The file has grown, and what it has grown by was never written.
                    self._apply(out, start, random.randbytes(stop - start))
                start = stop
        return out


class Disk:
    def __init__(self, root):
        self.root = os.path.normpath(root)
        self.files = []
        self.names = {}  # path -> what it led to since its folder was flushed, oldest first
        self.inodes = {}
        self.versions = {}  # path -> contents that were renamed to it, newest last

    def _now(self, path):
        return self.names.get(path, [None])[-1]

    def _lead(self, path, to):
        self.names.setdefault(path, [None]).append(to)

    def _open(self, event):
        there = self._now(event.path)
        if there is None:
            self.files.append(File())
            there = len(self.files) - 1
            self._lead(event.path, there)
        self.inodes[event.inode] = there
        if event.at and self.files[there].seen():
            self.files[there].waiting.append((0, None))

    def apply(self, event):
        kind = event.kind
        if kind == "O":
            self._open(event)
        elif kind == "W":
            self.files[self.inodes[event.inode]].waiting.append((event.at, event.data))
        elif kind == "T":
            self.files[self.inodes[event.inode]].waiting.append((event.at, None))
        elif kind == "S":
            if event.inode in self.inodes:  # a file that was only read has nothing to flush
                self.files[self.inodes[event.inode]].flush()
        elif kind == "D":
            for path, history in self.names.items():
                if os.path.dirname(path) == event.path:
                    del history[:-1]
        elif kind == "R":
            to = os.path.normpath(bytes(event.data).decode())
            moved = self._now(event.path)
            self._lead(to, moved)
            self._lead(event.path, None)
            if moved != FOLDER:
                self.versions.setdefault(to, []).append(bytes(self.files[moved].seen()))
        elif kind == "U":
            self._lead(event.path, None)
        elif kind == "M":
            self._lead(event.path, FOLDER)

    def now(self):
        """path -> content, as a program sees it that runs on."""
        return {
            path: bytes(self.files[history[-1]].seen())
            for path, history in self.names.items()
            if history[-1] not in (None, FOLDER)
        }

    def cut(self, random):
        """path -> content (None: a folder) after the power was cut now."""
        overall = random.choice(["all", "none", "torn", "torn", "each", "each"])
        ways = {}
        leads = {}
        for path, history in sorted(self.names.items()):
            way = random.choice(["all", "none", "torn"]) if overall == "each" else overall
            leads[path] = {"all": history[-1], "none": history[0], "torn": random.choice(history)}[
                way
            ]
        out = {}
        for path, file in leads.items():
            above = os.path.dirname(path)
            lost = False
            while len(above) > len(self.root):
                lost = lost or leads.get(above, FOLDER) != FOLDER
                above = os.path.dirname(above)
            if file is None or lost:
                continue
            if file == FOLDER:
                out[path] = None
                continue
            way = ways.setdefault(
                file, random.choice(["all", "none", "torn"]) if overall == "each" else overall
            )
            out[path] = bytes(self.files[file].left(random, way))
        return out


def lay_out(image, root, place):
    """Writes an image of the files below `root` into the folder `place`."""
    for path, content in sorted(image.items()):
        target = place + path[len(root) :]
        if content is None:
            os.makedirs(target, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
