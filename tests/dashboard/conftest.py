"""A store as a small study leaves it, and the Lab's pages as a visitor opens them."""

from __future__ import annotations

import gc
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import streamlit as st
from browser import Come, Visitor, opened_browser
from lab import about, curve, ok, trial
from lab_speed import serve_lab
from playwright.sync_api import Browser
from streamlit.testing.v1 import AppTest

from longwave.dashboard import table_frames
from longwave.models.base.param import Param
from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.storage import leases
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store

FAMILIES = {"lem": "multiscale", "lstm": "gated", "cornn": "oscillator", "gru": "gated"}


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    """Let the stores that the tests and the pages leave open be collected here, without a warning."""
    yield
    st.cache_resource.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


DT = Param("dt", "Δt", 0.1, 2.0, False, "steps", "Time step.")
EQUATION = "An oscillator,\nfrom a paper:\n\n    y = f(x)\n    f(x) = 2x"
RANGES = {"adding": {"dt": [0.01, 0.5], "lr": [0.001, 0.1]}}
FACTS_OF_MODEL = {"source": "a paper", "equation": EQUATION, "params": [DT.to_dict()], "ranges": RANGES}


@pytest.fixture(scope="package")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a full row, a provisional one, one without a mean, and a task with two variants."""
    address = f"sqlite:///{tmp_path_factory.mktemp('store') / 'longwave.db'}"
    store = Store(address)
    store.add_sweep("demo", {"trials": 2})
    lem, lstm = [trial("lem", k) for k in range(3)], [trial("lstm", k) for k in range(5)]
    cornn, searched = [trial("cornn", k) for k in range(3)], [trial("cornn", k, phase="search") for k in (8, 9)]
    adding = [trial("gru", 1, "adding", "N=500"), trial("gru", 1, "adding", "N=2000")]
    configs = [*searched, *lem, *lstm, *cornn, *adding]
    store.add_trials("demo", configs, [about(c) for c in configs])
    runs = [ok(c, s) for c, s in zip(lem, (0.003, 0.005, 0.007), strict=True)]
    runs += [ok(c, s) for c, s in zip(lstm, (0.010, 0.011, 0.012, 0.013, 0.014), strict=True)]
    runs += [Run(c.id, "diverged", "loss is nan in epoch 2", 1, seconds=1.0) for c in cornn[:2]]
    runs += [ok(searched[0], None, 90.0), Run(searched[1].id, "diverged", "loss is inf in epoch 1", seconds=60.0)]
    runs += [ok(c, s) for c, s in zip(adding, (0.25, 0.75), strict=True)]
    points = [p for k, c in enumerate(lem) for p in curve(c, [0.3 + k, 0.1 + k, 0.2 + k])]
    points += [*curve(cornn[0], [0.9]), *curve(lstm[0], [0.8, 0.7, 0.6])]
    store.write(points, runs)
    store.write_catalogue(
        [CatalogueEntry("model", model, "2", family, facts=FACTS_OF_MODEL) for model, family in FAMILIES.items()]
    )
    with pytest.MonkeyPatch.context() as patch:  # it lives as long as the tests, however slow they are
        patch.setattr(leases, "SECONDS", 3600.0)
        driver = Leases(store, "demo").__enter__()
    driver.take([cornn[2].id])
    driver.write(Report(began={cornn[2].id: 0}))
    store.engine.dispose()
    return address


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open a page: ``visit(url, "row", row="3f2a")``. An exception on it is an error here."""

    def opened(url: str, page: str = "overview", **query: str) -> AppTest:
        monkeypatch.setenv("LONGWAVE_STORE", url)
        st.cache_resource.clear()
        app = AppTest.from_file(str(Path(table_frames.__file__).parent / "app.py"), default_timeout=60)
        app.switch_page(f"views/{page}.py")
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium. It ends with these tests: beside it, no other test could run an event loop."""
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[str], str]]:
    """Serve the Lab of a store, once for all tests: ``served(url)`` is its address."""
    addresses: dict[str, str] = {}
    with ExitStack() as stack:

        def serve(url: str) -> str:
            if url not in addresses:
                addresses[url] = stack.enter_context(serve_lab(url))[0]
            return addresses[url]

        yield serve


@pytest.fixture
def come(browser: Browser, served: Callable[[str], str]) -> Iterator[Come]:
    """Somebody comes to the Lab of a store: ``come(url, "task", task="adding")``; all went well when they leave."""
    visitors: list[Visitor] = []

    def came(url: str, name: str = "overview", /, look: dict[str, object] | None = None, **query: str) -> Visitor:
        visitors.append(Visitor(browser, served(url), **(look or {})))
        visitors[-1].open(name, **query)
        return visitors[-1]

    yield came
    for visitor in visitors:
        assert visitor.wrong == [] and visitor.strangers() == []
        visitor.close()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, made: Path) -> str:
    """The URL of an empty store."""
    return f"sqlite:///{shutil.copy(made, tmp_path_factory.mktemp('empty') / 'store.db')}"
