"""Rules of the tree: what may import what, and what lies where."""

from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tree import FOLDERS, ROOT, imports, modules, python_files

TOP = {
    *FOLDERS, "tests", "infra", "submissions", "pyproject.toml", "README.md", "Makefile", "requirements.lock",
    "LICENSE", "CITATION.cff",
}  # fmt: skip
ALLOWED = {
    "models": (
        "longwave.models",
        "longwave.tasks.base.batch",
        "longwave.tasks.base.graphs",
        "longwave.tasks.base.sequences",
        "longwave.files",
    ),
    "tasks": ("longwave.tasks", "longwave.files", "longwave.rules"),
    "platform": ("longwave.platform", "longwave.models", "longwave.tasks", "longwave.files", "longwave.rules"),
    "dashboard": ("longwave.dashboard", "longwave.platform"),
}
ORDER = (
    "redaction wording names errors variables processes paths records search statistics literature boards figures "
    "storage plugins registry about training contracts sweeps exchange downloads doctor bench render editions cli api"
).split()
"""platform/ from the bottom up; a file, or a folder of them, imports only what stands before it."""
ONLY_ONE_KNOWS = {
    "ray": "on_ray",
    "optuna": "search",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "alembic": "upgrade",
    "scikit_posthocs": "critical_difference",
    "matplotlib": "critical_difference",
    "altair": "figures",
    "vl_convert": "frame",
}


def test_the_name_platform_stays_with_the_standard_library() -> None:
    assert not (ROOT / "platform/__init__.py").exists(), "platform/__init__.py would hide the standard library's."
    assert (platform.__file__ or "").startswith(sysconfig.get_path("stdlib"))


def test_the_top_level_holds_what_was_decided_and_nothing_else() -> None:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    top = {line.split("/")[0] for line in listed.stdout.splitlines()} if listed.returncode == 0 else TOP
    assert {name for name in top if not name.startswith(".")} <= TOP


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_a_folder_imports_only_what_its_layer_allows(folder: str) -> None:
    for path in python_files(folder):
        ours = {name for name in imports(path) if name.startswith("longwave")}
        wrong = {name for name in ours if not any(f"{name}.".startswith(f"{a}.") for a in ALLOWED[folder])}
        assert not wrong, f"{path.relative_to(ROOT)} may not import {sorted(wrong)}."


def test_platform_files_import_only_files_below_them() -> None:
    files = [path for path in python_files("platform") if "migrations" not in path.parts]
    own = {path: path.relative_to(ROOT / "platform").with_suffix("").parts[0] for path in files}
    assert set(own.values()) == set(ORDER), f"Give {sorted(set(own.values()) ^ set(ORDER))} a place in ORDER, or none."
    for path, name in own.items():
        used = {used.split(".")[2] for used in imports(path) if used.startswith("longwave.platform.")}
        above = {u for u in used if ORDER.index(u) >= ORDER.index(name)} - {name}
        assert not above, f"{path.relative_to(ROOT)} imports {sorted(above)}, which stand above it."


def test_the_guide_for_contributors_has_the_same_order() -> None:
    guide = (ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"is: {', '.join(ORDER)}." in " ".join(guide.split())


def test_each_folder_of_sweeps_imports_only_those_before_it() -> None:
    folders, inside = "file plan place on_ray trackers run".split(), "longwave.platform.sweeps."
    for path in python_files("platform/sweeps"):
        name = path.relative_to(ROOT / "platform/sweeps").parts[0]
        used = {used.removeprefix(inside).split(".")[0] for used in imports(path) if used.startswith(inside)}
        above = {u for u in used if name in folders and (u not in folders or folders.index(u) > folders.index(name))}
        assert not above, f"{path.relative_to(ROOT)} imports {sorted(above)}, which stand above it."


def test_no_files_import_each_other_in_a_circle() -> None:
    files, used = modules(), {}
    for name, path in files.items():
        named = imports(path)
        used[name] = {*named, *(inner.rpartition(".")[0] for inner in named)} & set(files) - {name}
    TopologicalSorter(used).prepare()


def test_sqlalchemy_stays_inside_the_storage_folder() -> None:
    for path in python_files("platform", "dashboard"):
        uses = any(name.split(".")[0] == "sqlalchemy" for name in imports(path))
        assert not uses or "storage" in path.parts, f"{path.relative_to(ROOT)} imports SQLAlchemy; only storage/ may."


@pytest.mark.parametrize(("package", "owner"), ONLY_ONE_KNOWS.items())
def test_a_large_library_is_known_to_one_file_alone(package: str, owner: str) -> None:
    for path in (path for path in python_files("platform") if "migrations" not in path.parts):
        uses = any(name.split(".")[0] == package for name in imports(path))
        assert not uses or owner in (path.stem, path.parent.name), (
            f"{path.relative_to(ROOT)} imports {package}; {owner} may."
        )


@pytest.mark.integration
def test_the_store_the_board_and_an_import_of_what_ships_need_no_torch() -> None:
    parts = "longwave.platform.storage.store, longwave.platform.boards.board, longwave.platform.exchange.intake"
    code = f"import sys; sys.modules['torch'] = None; import {parts}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_executor_needs_neither_torch_nor_ray_and_leaves_the_environment_alone() -> None:
    code = (
        "import os, sys; sys.modules.update(torch=None, ray=None); before = dict(os.environ)\n"
        "from longwave.platform.sweeps.run import executor\n"
        "from longwave.platform.sweeps.on_ray.client import environment\n"
        "assert dict(os.environ) == before and environment()['RAY_AUTH_MODE'] == 'token'"
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "TUNE_"))}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=own)


@pytest.mark.integration
def test_ray_is_imported_with_its_switches_set_and_what_the_user_set_kept() -> None:
    code = (
        "import os; from longwave.platform.sweeps.on_ray.client import RAY_SWITCHES, import_ray; import_ray()\n"
        "found = {name: os.environ[name] for name in RAY_SWITCHES}\n"
        "assert found == {**RAY_SWITCHES, 'RAY_AUTH_MODE': 'disabled'}, found"
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "TUNE_"))}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**own, "RAY_AUTH_MODE": "disabled"})


@pytest.mark.integration
def test_training_needs_torch_and_numpy_alone() -> None:
    absent = "ray optuna mlflow sqlalchemy alembic pydantic streamlit typer rich pandas safetensors platformdirs psutil"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent.split()!r}))\n"
        "import longwave.platform.training.train, longwave.platform.bench.sweep, longwave.platform.bench.kernels\n"
        "from longwave.platform.registry import all_models, all_tasks\n"
        "assert all_models() and all_tasks()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_help_loads_no_heavy_package() -> None:
    code = (
        "import sys; from longwave.platform.cli.main import main; main(['--help'])\n"
        "heavy = {*'torch ray mlflow optuna sqlalchemy streamlit pandas numpy matplotlib'.split()} & set(sys.modules)\n"
        "sys.exit(f'--help imports {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


@pytest.mark.integration
def test_a_name_of_a_class_or_a_type_means_one_thing() -> None:
    defined_in = defaultdict(list)
    for path in python_files(*FOLDERS):
        for node in ast.parse(path.read_text()).body if "migrations" not in path.parts else ():
            assigned = [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []
            types = [name for name in assigned if name[0].isupper() and not name.isupper()]
            for name in [node.name] if isinstance(node, ast.ClassDef) and node.name[0].isupper() else types:
                defined_in[name].append(str(path.relative_to(ROOT)))
    twice = {name: files for name, files in defined_in.items() if len(files) > 1}
    assert not twice, f"Two things have one name: {twice}"


def test_every_folder_says_what_lives_in_it_what_it_may_import_and_where_to_add() -> None:
    folders = {path.parent for path in python_files(*FOLDERS) if "migrations" not in path.parts}
    for folder in sorted(folders - {ROOT / "platform"}):
        name = folder.relative_to(ROOT)
        assert (folder / "__init__.py").exists(), f"{name} has no __init__.py."
        first, *rest = (ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or "-").splitlines()
        assert first.endswith("."), f"{name}/__init__.py begins with no sentence."
        for start in ("May import: ", "To add"):
            assert any(line.startswith(start) for line in rest), f"{name}/__init__.py has no line {start!r}."


def test_tests_lie_where_what_they_test_lies() -> None:
    for path in python_files("tests"):
        tested = path.parent.relative_to(ROOT / "tests")
        assert tested == Path("support") or (ROOT / tested).is_dir(), f"There is no folder {tested} for {path.name}."


def test_every_folder_of_python_files_is_in_the_package_list() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    listed = {Path(*name.split(".")[1:]) for name in tool["packages"]} - {Path()}
    folders = {path.parent.relative_to(ROOT) for path in python_files(*FOLDERS)}
    assert folders == listed


def test_package_citation_changelog_and_images_say_one_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    dated = re.search(r"^## (\S+), (\S+)$", (ROOT / "infra/CHANGELOG.md").read_text(), re.MULTILINE)
    assert dated and dated[1] == version
    released = "" if dated[2] == "unreleased" else f"date-released: {dated[2]}\n"
    assert f"\nversion: {version}\n{released}license:" in (ROOT / "CITATION.cff").read_text()
    texts = "".join(path.read_text() for path in (ROOT / "infra/deploy").rglob("*") if path.suffix in (".md", ".yaml"))
    assert set(re.findall(r"longwave:(\d[\w.]*\d)", texts)) == {version}


def test_static_tools_see_the_installed_tree() -> None:
    for name in FOLDERS:
        assert (ROOT / "infra/typing/longwave" / name).resolve() == ROOT / name
    for name in ("__init__.py", "files.py", "rules.py"):
        assert (ROOT / "infra/typing/longwave" / name).resolve() == ROOT / "infra/package" / name


def test_the_lock_file_has_hashes_and_no_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "--hash=sha256:" in lock
    assert "://" not in lock


def test_sections_of_docstrings_indent_the_lines_that_continue_an_entry() -> None:
    """Sphinx takes any other line of such a section for a parameter."""
    sections = re.compile(r"^( +)(?:Args|Attributes|Raises):\n((?:\1 {4}.*\n)+)", re.MULTILINE)
    wrong, entries = [], 0
    for path in python_files(*FOLDERS, "infra/tools"):
        for indent, section in sections.findall(path.read_text(encoding="utf-8")):
            lines = re.findall(rf"^{indent} {{4}}(\S.*)", section, re.MULTILINE)
            entries += len(lines)
            wrong += [f"{path.name}: {line}" for line in lines if not re.match(r"[*\w][\w*., …]*:( |$)", line)]
    assert entries > 500 and not wrong, wrong


@pytest.mark.integration
def test_arguments_in_a_docstring_are_arguments_of_the_code() -> None:
    wrong, count = [], 0
    for path in python_files(*FOLDERS, "infra/tools", "tests"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            code: ast.AST | None = node
            if isinstance(node, ast.ClassDef):
                code = next((each for each in node.body if getattr(each, "name", "") == "__init__"), None)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and isinstance(code, ast.FunctionDef):
                names = documented_arguments(ast.get_docstring(node) or "")
                count += len(names)
                known = {each.arg for each in ast.walk(code.args) if isinstance(each, ast.arg)}
                more = code.args.kwarg is not None  # a layer's options and hyper-parameters
                wrong += [f"{path.name}: {node.name}: {name}" for name in names if name not in known and not more]
    assert count > 1000 and not wrong, wrong


def documented_arguments(docstring: str) -> list[str]:
    """Return the names under Args of a docstring."""
    section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", docstring, re.MULTILINE)
    entries = re.findall(r"^ {4}(\S[^:]*):", section[1], re.MULTILINE) if section else []
    return [name.strip().lstrip("*") for entry in entries for name in entry.split(",")]


def test_the_code_is_formatted_and_lint_free() -> None:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "."], ["format", "--check", "."]):
        done = subprocess.run([*ruff, *command], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
