"""Opening the browser of whoever sits at this machine."""

from __future__ import annotations

import html
import os
import webbrowser
from pathlib import Path


def browser_open(url: str, *, through: Path) -> bool:
    """Show ``url``; False where there is no browser (one inside the terminal counts as none, unless BROWSER names it).

    The address may hold a login link, and command lines can be read by every user of the machine: the browser is
    given the file ``through``, readable by its owner only, which leads there.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        return False
    through.unlink(missing_ok=True)
    with os.fdopen(os.open(through, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        address = html.escape(url)
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
            f'<title>Suture</title><a href="{address}">Suture</a>\n'
        )
    return browser.open(through.as_uri())
