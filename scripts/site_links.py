"""Check the links of the built site, and add the files of the checkout that its pages link to: site_links.py SITE.

A page of docs may link to a file that is no page, such as a job in examples. This copies the file to `files` in the site, as
text that a browser shows, and the link leads there. A link to nowhere is an error; Zensical checks those between pages only.
"""

import shutil
import sys
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = Path(__file__).resolve().parents[1]
ABOVE = "/docs/"  # where a server shows the site; the page for what is not there needs whole paths


class Page(HTMLParser):
    """The links of a page, and the places in it that a link may name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def complete(site: Path) -> list[str]:
    """Add the files that pages link to, and return a line for each link to nowhere."""
    texts = {path.relative_to(site).as_posix(): path.read_text() for path in sorted(site.rglob("*.html"))}
    pages = {name: Page(text) for name, text in texts.items()}
    lines = []
    for name, page in pages.items():
        text = texts[name]
        for link in sorted(page.links):
            address, place = urldefrag(link)
            if urlsplit(address).scheme:
                continue
            path = address.removeprefix("/") if address.startswith("/") else str(Path(name).parent / unquote(address))
            target = normpath(path) if address else name
            if target.startswith("../"):
                file = ROOT / target.removeprefix("../")  # as seen from docs, where the page is written
                if not (file.is_file() and file.resolve().is_relative_to(ROOT)):
                    lines.append(f"{name}: {link} is no file of this checkout")
                    continue
                copy = site / "files" / f"{file.relative_to(ROOT)}.txt"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
                text = text.replace(f'"{link}"', f'"{copy.relative_to(site).as_posix()}"')
            elif not (site / target).is_file():
                lines.append(f"{name}: {link} leads nowhere")
            elif place and target in pages and place not in pages[target].places:
                lines.append(f"{name}: {link}: the page has no such place")
            elif address.startswith("/"):
                text = text.replace(f'"{link}"', f'"{ABOVE}{target}"')
        (site / name).write_text(text)
    return lines


if __name__ == "__main__":
    problems = complete(Path(sys.argv[1]))
    print("\n".join(problems), file=sys.stderr, end="\n" * bool(problems))
    sys.exit(bool(problems))
