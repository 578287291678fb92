"""The command that opens the web page."""

from __future__ import annotations

import os
import webbrowser
from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register


def ui(
    call: Call,
    show_link: Annotated[bool, typer.Option("--link", help="Print the link instead of opening a browser")] = False,
) -> None:
    """Open the web page, signed in as whoever the token stands for. The link works once, within five minutes."""
    link = call.server().sign_in_link()
    if call.structured:
        call.show({"link": link})
    elif show_link or not _has_screen() or not webbrowser.open(link):
        call.say(link)
    else:
        call.say("The page is open in your browser.")


def _has_screen() -> bool:
    """False if only a browser within the terminal would open, which cannot show the page; the user's own choice is kept."""
    try:
        return "BROWSER" in os.environ or type(webbrowser.get()) is not webbrowser.GenericBrowser
    except webbrowser.Error:
        return False


def add_to(app: typer.Typer) -> None:
    """The command on the command line."""
    register(app, ui)
