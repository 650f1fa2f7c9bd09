"""What the environment says is checked before anything is done, each kind of value by one function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tree import ROOT

from longwave.models.kernels.dispatch import PATHS
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.paths import make_ready, store_option, store_url, sweep_storage
from longwave.platform.variables import KERNELS, SECONDS, read_seconds

WRONG = {"LONGWAVE_LEASE_SECONDS": ("0", "-1", "soon", "nan", "inf"), "LONGWAVE_STORE_WAIT": ("-1", "soon", "nan")}
WRONG["LONGWAVE_CHECKPOINT_SECONDS"] = WRONG["LONGWAVE_STORE_WAIT"]


@pytest.mark.parametrize("name", SECONDS)
def test_a_number_that_is_none_ends_every_command_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in WRONG[name]:
        monkeypatch.setenv(name, wrong)
        assert main(["models"]) == 2
        allowed = "more than 0" if name == "LONGWAVE_LEASE_SECONDS" else "0 or more"
        line = f"longwave: {name} is a number of seconds, {allowed}, got '{wrong}'. Correct it, or: unset {name}\n"
        assert capsys.readouterr() == ("", line)


def test_a_number_is_read_and_one_that_is_not_set_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, seconds in (("2.5", 2.5), (" 1e2 ", 100.0), ("", 30.0)):
        monkeypatch.setenv("LONGWAVE_LEASE_SECONDS", text)
        assert read_seconds("LONGWAVE_LEASE_SECONDS") == seconds
    monkeypatch.setenv("LONGWAVE_STORE_WAIT", "0")
    assert read_seconds("LONGWAVE_STORE_WAIT") == 0.0
    with pytest.raises(ConfigError, match="^LONGWAVE_LEASE_SECONDS is a number of seconds, more than 0, got '0'"):
        monkeypatch.setenv("LONGWAVE_LEASE_SECONDS", "0")
        read_seconds("LONGWAVE_LEASE_SECONDS")


def test_an_unknown_kernel_path_ends_every_command_in_one_line_and_known_ones_are_those_of_the_kernels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ("", *PATHS) == KERNELS
    monkeypatch.setenv("LONGWAVE_KERNEL", "foo")
    assert main(["models"]) == 2
    line = "LONGWAVE_KERNEL is reference, cpu or triton, got 'foo'. Correct it, or: unset LONGWAVE_KERNEL"
    assert capsys.readouterr() == ("", f"longwave: {line}\n")


def test_a_data_folder_that_is_a_file_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "file"))
    assert main(["board"]) == 2
    got = f"got {tmp_path}/file: {tmp_path}/file is a file"
    assert capsys.readouterr() == ("", f"longwave: LONGWAVE_HOME must name a folder, {got}. Name another place.\n")


@pytest.mark.parametrize(
    "command", ["board", "sweep list", "show abcd", "sweep run {root}/infra/sweeps/demo.toml --here"]
)
def test_a_data_folder_that_cannot_be_made_is_named_with_its_variable_and_the_way_out(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LONGWAVE_STORE", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "file/home"))
    assert main(command.format(root=ROOT).split()) == 2
    got = f"got {tmp_path}/file/home: {tmp_path}/file is a file"
    assert capsys.readouterr() == ("", f"longwave: LONGWAVE_HOME must name a folder, {got}. Name another place.\n")
    monkeypatch.setenv("LONGWAVE_HOME", "/proc/nope")
    assert main(command.format(root=ROOT).split()) == 2
    advice = "Set LONGWAVE_HOME to a folder that you can write to; the data folder is now /proc/nope"
    line = f"longwave: The folder /proc/nope cannot be made: No such file or directory. {advice}.\n"
    assert capsys.readouterr() == ("", line)


def test_checkpoints_and_cards_that_cannot_be_kept_in_the_data_folder_name_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"file/sweeps/s cannot be made: Not a directory\. Set LONGWAVE_HOME to a"):
        make_ready(sweep_storage(None, "s"))
    with pytest.raises(
        ConfigError, match=r"sweeps/s cannot be made: No such file or directory\. Name another folder\."
    ):
        make_ready(Path("/proc/nope/sweeps/s"))


def test_an_advised_command_names_its_store_unless_it_is_the_default_one_and_never_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LONGWAVE_STORE", raising=False)
    assert store_option(store_url(None)) == ""
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "absent"))
    assert store_option(f"sqlite:///{tmp_path}/s.db") and not (tmp_path / "absent").exists(), "only a store needs it"
    assert store_option(f"sqlite:///{tmp_path}/s.db") == f" --store sqlite:///{tmp_path}/s.db"
    assert store_option(f"sqlite:///{tmp_path}/my runs.db") == f" --store 'sqlite:///{tmp_path}/my runs.db'"
    assert store_option("postgresql://bob:hunter2@host/db") == " --store 'postgresql://***@host/db'"
    monkeypatch.setenv("LONGWAVE_STORE", f"sqlite:///{tmp_path}/s.db")
    assert store_option(f"sqlite:///{tmp_path}/s.db") == ""


def test_no_other_code_reads_a_number_from_the_environment() -> None:
    for folder in ("models", "platform", "tasks", "dashboard"):
        for path in (ROOT / folder).rglob("*.py"):
            numbers = re.findall(r"(?:int|float)\(os\.(?:environ|getenv).*", path.read_text(encoding="utf-8"))
            assert not numbers, path
