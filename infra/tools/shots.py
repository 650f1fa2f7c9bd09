"""Screenshots of every page of the Lab, light and dark, on a desktop and on a phone, to be reviewed one by one.

``make shots STORE=sqlite:///store.db SHOTS=FOLDER`` takes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from browser import PAGES, Visitor, opened_browser
from chromium import DESKTOP, PHONE
from lab_speed import serve_lab

from longwave.platform.storage.store import Store

WINDOWS = {"desktop": DESKTOP, "phone": PHONE}


def take_shots(url: str, folder: Path) -> list[Path]:
    """Write a screenshot per page, theme and window, like ``task-dark-phone.png``; return them, or raise page errors.

    Args:
        url: Of the store; its first row and that row's board are shown.
        folder: Created if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Store(url, create=False, read_only=True) as store:
        first = next(iter(store.retrainings(store.tasks()[0])), None) if store.tasks() else None
    query = {"task": first.config.task, "row": first.config.row} if first else {}
    made = []
    with serve_lab(url) as (address, _), opened_browser() as browser:
        for window, size in WINDOWS.items():
            for theme in ("light", "dark"):
                visitor = Visitor(browser, address, viewport=size, color_scheme=theme)
                for name in PAGES:
                    page = visitor.open(name, **{k: v for k, v in query.items() if k == name})
                    page.wait_for_timeout(1500)  # figures are drawn after the page reports that it is done
                    made.append(folder / f"{name}-{theme}-{window}.png")
                    page.screenshot(path=made[-1])
                assert not visitor.wrong and not visitor.strangers(), (visitor.wrong, visitor.strangers())
                visitor.close()
    return made


if __name__ == "__main__":
    for picture in take_shots(sys.argv[1], Path(sys.argv[2])):
        print(picture)
