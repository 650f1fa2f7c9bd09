"""Weights that a sweep keeps, and the trained networks that they give back: predictions, streams, scores, errors."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors import safe_open
from safetensors.torch import load_file, save

import longwave as lw
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, StoreError
from longwave.platform.paths import weights_file
from longwave.platform.registry import get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run.driver import start_sweep
from longwave.platform.training import weights

SMALL: dict[str, Any] = {"models": ["lem"], "trials": 1, "retrain": 2, "hidden": 6, "batch": 10, "epochs": 2}
ADDING = {"name": "kept", "task": "adding", "variant": "N=20", "steps": 3, **SMALL}


def swept(file: Path, storage: Path, **content: Any) -> str:
    """Run a sweep in this process; return the URL of its store."""
    url, sweep = f"sqlite:///{file}", check_sweep(content, "kept.toml")
    with Store(url) as store:
        start_sweep(sweep, store, Workers(1, storage / sweep.name, here=True), None, Console(file=io.StringIO()))
    return url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with a row whose two retrainings kept their weights, beside it their storage."""
    folder = tmp_path_factory.mktemp("kept")
    return swept(folder / "store.db", folder, keep_weights=True, **ADDING)


@pytest.fixture(scope="module")
def storage(url: str) -> str:
    return str(Path(url.removeprefix("sqlite:///")).parent / "kept")


@pytest.fixture(scope="module")
def row(url: str) -> Any:
    with Store(url) as store:
        return store.retrainings()


def copied(url: str, folder: Path) -> Path:
    """Return a copy of the storage to damage."""
    source = Path(url.removeprefix("sqlite:///")).parent / "kept/weights"
    (folder / "weights").mkdir()
    for file in source.iterdir():
        (folder / "weights" / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_row_gives_the_network_of_its_retraining_that_is_best_on_validation(url: str, storage: str, row: Any) -> None:
    network = lw.load(row[0].config.row[:8], store=url, storage=storage)
    best = min(row, key=lambda t: t.run.valid)
    assert network.trial == best.config.id
    assert (network.config, network.test) == (best.config, best.run.test)
    assert repr(network).startswith(f"TrainedNetwork(\n  lem on adding, test {lw.tasks.adding.TASK.metric.name}")


@pytest.mark.parametrize("which", [0, 1])
def test_each_retraining_has_its_own_weights_which_score_what_the_store_says(
    which: int, url: str, storage: str, row: Any
) -> None:
    network = lw.load(row[which].config.id, store=url, storage=storage)
    test = lw.tasks.adding.TASK.load("N=20").test
    error = (network.predict(test.inputs) - test.targets).double().square().mean()
    assert float(error) == pytest.approx(row[which].run.test, rel=1e-5)
    assert network.score() == pytest.approx(row[which].run.test, rel=1e-6)
    assert torch.allclose(network.predict(test), network.predict(test.inputs), atol=1e-6)


def test_the_weights_are_a_plain_safetensors_file_that_the_formula_in_numpy_reads(
    url: str, storage: str, row: Any
) -> None:
    path = weights_file(Path(storage), row[0].config.id)
    assert path.stat().st_mode & 0o777 == 0o600
    w = {name: t.double().numpy() for name, t in load_file(path).items()}
    x, y, z, dt = np.random.default_rng(0).random((3, 9, 2)), np.zeros((3, 6)), np.zeros((3, 6)), w["layer.dt"]
    for n in range(9):
        u = {k: x[:, n] @ w[f"layer.V{k}"].T + w[f"layer.b{k}"] + w[f"layer.c{k}"] for k in "12zy"}
        first, second = (dt / (1 + np.exp(-u[k] - y @ w[f"layer.W{k}"].T)) for k in "12")
        z = z + first * (np.tanh(u["z"] + y @ w["layer.Wz"].T) - z)
        y = y + second * (np.tanh(u["y"] + z @ w["layer.Wy"].T) - y)
    network = lw.load(row[0].config.id, store=url, storage=storage, check=False)
    assert network.predict(x).numpy() == pytest.approx(y @ w["weight"].T + w["bias"], abs=1e-5)
    with safe_open(path, "pt") as file:
        assert json.loads(file.metadata()["longwave"])["test"] == row[0].run.test


def test_a_stream_read_step_by_step_gives_what_the_whole_sequence_gives(url: str, storage: str, row: Any) -> None:
    network, state, seen = lw.load(row[0].config.id, store=url, storage=storage, check=False), None, []
    x = torch.rand(4, 12, 2)
    outputs, last = network(x)
    for now in x.unbind(1):
        output, state = network.step(now, state)
        seen.append(output)
    assert torch.allclose(torch.stack(seen, 1), outputs, atol=1e-6)
    assert torch.allclose(seen[-1], network.predict(x), atol=1e-6)
    assert state is not None and all(torch.allclose(a, b, atol=1e-6) for a, b in zip(state, last, strict=True))
    assert torch.equal(pickle.loads(pickle.dumps(network)).predict(x), network.predict(x))
    ragged = network.predict(x, lengths=torch.tensor([3, 12, 1, 7]))
    assert torch.equal(ragged, outputs[torch.arange(4), torch.tensor([2, 11, 0, 6])])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(3, 4), r"adding: x must be numbers \(B, T, 2\) and not empty, got torch.float32 \(3, 4\)"),
        (torch.zeros(3, 0, 2), "must be numbers .* and not empty"),
        (torch.zeros(3, 4, 1), r"got torch.float32 \(3, 4, 1\)"),
        (torch.zeros(0, 4, 2), r"got torch.float32 \(0, 4, 2\)"),
        ("a", r"adding: x must be numbers \(B, T, 2\) and not empty, got str"),
    ],
)
def test_inputs_of_another_shape_are_refused(x: Any, message: str, url: str, storage: str, row: Any) -> None:
    network = lw.load(row[0].config.id, store=url, storage=storage, check=False)
    for read in (network, network.predict):
        with pytest.raises(ValueError, match=message):
            read(x)


@pytest.mark.parametrize("lengths", [[0, 4, 2], [1, 5, 2], [1, 2], torch.tensor([1.0, 2.0, 3.0])])
def test_lengths_that_do_not_fit_the_sequences_are_refused(lengths: Any, url: str, storage: str, row: Any) -> None:
    network = lw.load(row[0].config.id, store=url, storage=storage, check=False)
    with pytest.raises(ValueError, match=r"^lengths must be 3 whole numbers from 1 to 4, got"):
        network.predict(torch.zeros(3, 4, 2), lengths)


def test_a_bare_tensor_as_the_state_of_a_trained_network_is_refused(url: str, storage: str, row: Any) -> None:
    network = lw.load(row[0].config.id, store=url, storage=storage, check=False)
    with pytest.raises(ValueError, match=r"^LEM: state must be the tensors y \(1, 3, 6\), z \(1, 3, 6\), got"):
        network.step(torch.zeros(3, 2), torch.zeros(3, 6))


@pytest.mark.integration
def test_tokens_are_read_and_every_step_is_answered_where_the_task_asks_it(tmp_path: Path) -> None:
    content = {**SMALL, "name": "words", "task": "parity", "retrain": 1}
    url = swept(tmp_path / "store.db", tmp_path, keep_weights=True, **content)
    with Store(url) as store:
        [trial] = store.retrainings()
    network = lw.load(trial.config.row, store=url, storage=str(tmp_path / "words"))
    task = network.task
    data = task.load(trial.config.variant).test
    outputs = network.outputs(data.inputs[:5])
    assert torch.equal(network.predict(data.inputs[:5]), outputs.argmax(-1))
    assert outputs.shape == ((5, data.positions, task.outputs) if data.every_step else (5, task.outputs))
    if task.tokens:
        with pytest.raises(ValueError, match=f"parity: tokens are 0 to {task.tokens - 1}, got 0 to 99"):
            network.predict(torch.tensor([[0, 99]]))


def test_one_logit_above_zero_predicts_the_second_of_two_classes(
    url: str, storage: str, row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, logits = lw.load(row[0].config.id, store=url, storage=storage, check=False), torch.tensor([[-1.0], [2.0]])
    monkeypatch.setattr(type(network), "task", get_task("imdb"))
    monkeypatch.setattr(network, "outputs", lambda x, lengths: logits)
    predicted = network.predict(torch.zeros(2, 3, 2))
    assert predicted.tolist() == [0, 1] and predicted.dtype == torch.int64
    [[hits], [count]] = get_task("imdb").metric.sums(logits[None], torch.tensor([[0, 1]]))
    assert hits / count == 100, "as it is scored"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("task", "model", "outputs"), [("karate", "gcn", (1, 34, 4)), ("fitzhugh_nagumo_free", "lem", (512, 100, 1))]
)
def test_graphs_and_free_runs_are_answered_as_they_are_scored(
    task: str, model: str, outputs: tuple[int, ...], tmp_path: Path
) -> None:
    content = {**SMALL, "name": "other", "task": task, "models": [model], "retrain": 1, "epochs": 1, "batch": 512}
    url = swept(tmp_path / "store.db", tmp_path, keep_weights=True, **content)
    with Store(url) as store:
        [trial] = store.retrainings()
    network = lw.load(trial.config.row, store=url, storage=str(tmp_path / "other"))
    batch = network.task.load("").test
    outputs_here = network.outputs(batch)
    assert outputs_here.shape == outputs
    assert trial.run
    if model == "lem":
        truth = (outputs_here - batch.targets).double().square().mean().sqrt()
        assert float(truth) == pytest.approx(trial.run.test, rel=1e-5)
    else:
        scored = batch.targets != -100
        right = (network.predict(batch) == batch.targets)[scored]
        assert 100 * float(right.double().mean()) == pytest.approx(trial.run.test)
        with pytest.raises(ValueError, match="reads Graphs, got Sequences"):
            network.predict(torch.zeros(2, 3, network.task.inputs))


def test_weights_are_kept_in_no_other_sweep_and_change_no_trial(url: str, row: Any, tmp_path: Path) -> None:
    plain = swept(tmp_path / "plain.db", tmp_path, **ADDING)
    with Store(plain) as store:
        trials = store.retrainings()
    assert [(t.config.id, t.run and t.run.test) for t in trials] == [(t.config.id, t.run.test) for t in row]
    assert not (tmp_path / "kept/weights").exists()
    name, best = trials[0].config.row[:12], min(row, key=lambda t: t.run.valid).config.seed
    again = f"Train it again with: longwave reproduce {name} --seed {best} --keep-weights --store {plain}"
    with pytest.raises(ConfigError, match=rf"No saved weights of row {name} were found; .*\. {again}$"):
        lw.load(name, store=plain)


@pytest.mark.integration
def test_a_row_without_weights_gets_them_by_the_command_that_the_error_names(
    home: Path, row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGWAVE_STORE", plain := swept(tmp_path / "plain.db", tmp_path, **ADDING))
    name, file = row[0].config.row[:12], tmp_path / "lem.safetensors"
    assert main(["export", name, "--weights", str(tmp_path / "lem.pt")]) == 2
    assert "--weights is a file NAME.safetensors, got " in capsys.readouterr().err
    assert main(["export", name, "--weights", str(file)]) == 2
    refused = capsys.readouterr()
    assert (refused.out, refused.err.count("\n"), file.exists()) == ("", 1, False)
    command = refused.err.strip().partition("with: longwave ")[2].split()
    assert main(command) in (0, 3)
    capsys.readouterr()
    assert main(["export", name, "--weights", str(file)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert output == f"Weights of lem on adding, seed {command[3]}, are in {file}."
    network = lw.load(name, store=plain)
    assert network.test == pytest.approx(min(row, key=lambda t: t.run.valid).run.test, rel=1e-6)
    assert file.read_bytes() == (home / "weights" / f"{network.trial}.safetensors").read_bytes()


def test_the_option_keeps_weights_as_the_file_does_also_of_a_sweep_that_goes_on(tmp_path: Path) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in ADDING.items()]
    url, file, folder = f"sqlite:///{tmp_path}/store.db", tmp_path / "kept.toml", tmp_path / "kept/weights"
    file.write_text("\n".join([*lines, "budget = { trials = 1 }"]))
    where = ["--store", url, "--storage", str(tmp_path), "--here", "--mlflow", "off"]
    assert main(["sweep", "run", str(file), *where]) == 0
    assert not folder.exists()
    with Store(url) as store:
        store.add_sweep("kept", {k: v for k, v in store.sweep("kept").content.items() if k != "budget"})
    assert main(["sweep", "resume", "kept", *where, "--keep-weights"]) == 0
    assert len(list(folder.iterdir())) == 2
    file.write_text("\n".join(lines))
    assert main(["sweep", "run", str(file), *where, "--keep-weights"]) == 0  # that weights are kept may change


def damage_bytes(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:200])


def of_another(file: Path) -> None:
    file.write_bytes(save({"weight": torch.zeros(2)}))


def without_anything(file: Path) -> None:
    file.write_bytes(b"")


def deep(file: Path) -> None:
    head = b'{"__metadata__":' + b"[" * 10**5
    file.write_bytes(len(head).to_bytes(8, "little") + head)


def other_facts(file: Path) -> None:
    with safe_open(file, "pt") as old:
        metadata = old.metadata()
    tensors = load_file(file)
    facts = json.loads(metadata["longwave"]) | {"test": 0.0}
    file.write_bytes(save(tensors, {**metadata, "longwave": json.dumps(facts, sort_keys=True)}))


@pytest.mark.parametrize("damage", [damage_bytes, cut_short, of_another, without_anything, deep, other_facts])
def test_damaged_weights_are_refused(damage: Callable[[Path], None], url: str, row: Any, tmp_path: Path) -> None:
    folder, trial = copied(url, tmp_path), row[0].config.id
    damage(weights_file(folder, trial))
    with pytest.raises(ConfigError, match=f"{trial}.safetensors is damaged or was not written by Longwave"):
        lw.load(trial, store=url, storage=str(folder))


def test_weights_of_another_trial_under_its_name_are_refused(url: str, row: Any, tmp_path: Path) -> None:
    folder = copied(url, tmp_path)
    one, other = (weights_file(folder, t.config.id) for t in row)
    one.write_bytes(other.read_bytes())
    with pytest.raises(ConfigError, match="The saved weights do not match the store: test score"):
        lw.load(row[0].config.id, store=url, storage=str(folder))


def test_weights_that_fit_no_network_are_refused(url: str, row: Any, tmp_path: Path) -> None:
    folder, trial = copied(url, tmp_path), row[0].config.id
    with safe_open(weights_file(folder, trial), "pt") as old:
        metadata = old.metadata()
    tensors = {"weight": torch.zeros(3, 3)}
    again = {**metadata, "sha256": weights._hash(tensors, metadata["longwave"])}
    weights_file(folder, trial).write_bytes(save(tensors, again))
    with pytest.raises(ConfigError, match=f"The weights of trial {trial} do not fit its network: .* Delete them"):
        lw.load(trial, store=url, storage=str(folder))


def test_weights_are_kept_in_an_object_store_too(row: Any) -> None:
    storage = "memory://weights-of-a-test"
    store = "sqlite:///" + str(Path(os.environ["LONGWAVE_HOME"]).absolute()) + ".db"
    lw.sweep({**ADDING, "keep_weights": True}, here=True, storage=storage, mlflow="off", store=store)
    network = lw.load(row[0].config.id, store=store, storage=storage)
    assert network.test == row[0].run.test


def test_a_disk_that_takes_no_weights_ends_no_training(tmp_path: Path, row: Any, logged: io.StringIO) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/weights").write_text("a file where the folder should be")
    url = swept(tmp_path / "store.db", tmp_path, keep_weights=True, **ADDING)
    with Store(url) as store:
        assert [t.run and t.run.test for t in store.retrainings()] == [t.run.test for t in row]
    assert logged.getvalue().count(f"The weights of trial {row[0].config.id} could not be saved: ") == 1


def test_weights_that_score_otherwise_are_refused_unless_they_are_taken_as_they_are(
    url: str, storage: str, row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = lw.tasks.adding.TASK
    worse = replace(task.metric, sums=lambda outputs, targets: task.metric.sums(outputs + 1, targets))
    monkeypatch.setattr("longwave.platform.api.loading.get_task", lambda name: replace(task, metric=worse))
    with pytest.raises(ConfigError, match=r"The weights of trial \w+ score .* here, .* Load them anyway with check"):
        lw.load(row[0].config.id, store=url, storage=storage)
    lw.load(row[0].config.id, store=url, storage=storage, check=False)


def test_names_that_are_none_are_refused_in_one_line(url: str, storage: str, row: Any) -> None:
    with pytest.raises(ConfigError, match="No trained row has a name that begins with ffff"):
        lw.load("ffff", store=url)
    with pytest.raises(ConfigError, match="has no retraining with seed 7 that ended ok"):
        lw.load(row[0].config.row, store=url, seed=7)
    with Store(url) as store:
        [search] = [a.id for a in store.planned("kept") if a.id not in {t.config.id for t in row}]
    with pytest.raises(
        ConfigError, match=f"Trial {search} is a search trial, and only weights of retrainings are saved"
    ):
        lw.load(search, store=url)
    with pytest.raises(StoreError, match="There is no store at .*none.db. Make one with: longwave sweep run FILE"):
        lw.load("ffff", store=f"sqlite:///{storage}/none.db")
