"""Draw the pictures of the built site: site_pictures.py SITE.

A page of docs writes a picture as text in a block of Mermaid, which GitHub draws. A browser would load Mermaid from elsewhere for
it. So this puts the drawn picture (SVG) in the place of each block, and pages need no script and no network for it.
"""

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path

BLOCK = re.compile(r'<pre class="mermaid"><code>(.*?)</code></pre>', re.S)


def mermaid(text: str) -> str:
    """Return a picture as SVG."""
    import mermaidx

    return str(mermaidx.render(text).svg())


def with_pictures(page: str, draw: Callable[[str], str]) -> str:
    """Return a page with its pictures drawn, each under names of its own: styles and arrows are found by them."""
    count = 0

    def picture(block: re.Match[str]) -> str:
        nonlocal count
        count += 1
        svg = draw(html.unescape(block[1])).replace("my-svg", f"picture-{count}")
        return f'<p class="picture">{svg}</p>'

    return BLOCK.sub(picture, page)


def complete(site: Path, draw: Callable[[str], str] = mermaid) -> None:
    """Draw the pictures of all pages."""
    for path in sorted(site.rglob("*.html")):
        text = path.read_text()
        try:
            drawn = with_pictures(text, draw)
        except Exception as error:  # whatever the drawing program raises, the page has to be named
            raise SystemExit(f"{path.relative_to(site)}: a picture cannot be drawn: {error}") from error
        if 'class="mermaid"' in drawn:
            raise SystemExit(f"{path.relative_to(site)}: a block of Mermaid has an unknown form, so it is not drawn.")
        if drawn != text:
            path.write_text(drawn)


if __name__ == "__main__":
    complete(Path(sys.argv[1]))
