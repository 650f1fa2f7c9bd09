"""``import longwave as lw`` as a user meets it: in the editable install and in a wheel, in any folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tree import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
PROGRAM = """
import sys
import longwave as lw, platform
light = not {'torch', 'numpy', 'pandas'} & set(sys.modules)
import json, sysconfig
print(json.dumps({
    "light": light,
    "platform": platform.__file__.startswith(sysconfig.get_path('stdlib')) and bool(platform.system()),
    "own": lw.platform is not platform and lw.platform.__name__,
    "files": [lw.__file__, *lw.platform.__path__, lw.models.__file__, lw.tasks.__file__, lw.files.__file__],
    "parts": [name for name in lw.PARTS if getattr(lw, name).__name__ != "longwave." + name],
    "listed": {*lw.PARTS, *lw.FUNCTIONS, "LEM", "__version__"} <= set(dir(lw)),
    "version": lw.__version__,
}))
"""


def imported(folder: Path, **environment: str) -> dict[str, object]:
    """Return what the program above finds in a process of its own, started in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    modules: dict[str, object] = json.loads(done.stdout)
    return modules


def check(modules: dict[str, object], paths: list[Path]) -> None:
    """Fail unless both platforms are themselves, the parts come from ``paths``, and the name alone loads little."""
    assert modules.pop("files") == [str(path) for path in paths]
    own = {"light": True, "platform": True, "own": "longwave.platform", "parts": [], "listed": True, "version": VERSION}
    assert modules == own


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built as pip builds it, but without a network."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("What belongs to the tree is known to git alone.")
    copy, made = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith("infra/typing"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(made)!r})"
    done = subprocess.run([sys.executable, "-c", build], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (file,) = made.glob("*.whl")
    return file


@pytest.mark.parametrize("inside", [True, False], ids=["in the checkout", "elsewhere"])
def test_the_editable_install_has_its_parts_and_leaves_platform_alone(inside: bool, tmp_path: Path) -> None:
    inits = [ROOT / "models/__init__.py", ROOT / "tasks/__init__.py"]
    package = ROOT / "infra/package"
    paths = [package / "__init__.py", ROOT / "platform", *inits, package / "files.py"]
    check(imported(ROOT if inside else tmp_path), paths)


@pytest.mark.integration
def test_a_wheel_has_its_parts_and_leaves_platform_alone(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    zipfile.ZipFile(wheel).extractall(site)
    own = site / "longwave"
    files = [own / "models/__init__.py", own / "tasks/__init__.py", own / "files.py"]
    check(imported(elsewhere, PYTHONPATH=str(site)), [own / "__init__.py", own / "platform", *files])


@pytest.mark.integration
def test_a_wheel_holds_every_file_that_the_program_reads_and_no_test(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("platform", "models", "tasks", "dashboard"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.is_file() and path.suffix != ".pyc":
                assert f"longwave/{path.relative_to(ROOT)}" in names, f"The wheel lacks {path.relative_to(ROOT)}."
    assert {name.split("/")[0].split("-")[0] for name in names} == {"longwave"}
    assert {name.split("/")[1] for name in names if name.count("/") == 1 and "dist-info" not in name} == {
        "__init__.py", "__main__.py", "files.py", "py.typed", "rules.py"
    }  # fmt: skip


def test_an_unknown_part_is_named_with_the_known_ones() -> None:
    import longwave

    with pytest.raises(
        AttributeError, match="longwave has no attribute 'unknown'; it has the layers of dir.*dashboard, files, mod"
    ):
        _ = longwave.unknown
