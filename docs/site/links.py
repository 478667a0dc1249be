# SPDX-License-Identifier: Apache-2.0
"""Fails where a page of the site links to a file or to a place in a page that is not there: ./quickstart docs.

links.py SITE
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name"):
                self.places.add(value or "")
            elif name in ("href", "src"):
                self.links.add(value or "")


def dead_links(site: Path) -> list[str]:
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    dead = []
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            there = target.exists() and (
                not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].places
            )
            if not there:
                dead.append(f"{file.relative_to(site)}: {link}")
    return dead


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    dead = dead_links(site)
    print(*dead, sep="\n", file=sys.stderr, end="\n" if dead else "")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
