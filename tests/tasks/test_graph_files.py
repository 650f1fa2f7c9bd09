"""Graph tasks from downloads: what they make of the real file formats, and what they say of broken files."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import raw_graphs
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from longwave.platform.downloads.fetch import fetch, link
from longwave.tasks import (
    chameleon,
    chameleon_regression,
    citeseer,
    cora,
    cornell,
    film,
    pubmed,
    squirrel,
    squirrel_regression,
    texas,
    wisconsin,
    zinc,
)
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs, one_graph
from longwave.tasks.base.raw import DataError, Source
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.formats import geometric, planetoid
from longwave.tasks.formats.pickles import array_types, unpickle
from longwave.tasks.trivial.graphs import CountRidge, FeatureRidge, LabelPropagation
from longwave.tasks.trivial.nodes import NodeRidge

WEB = {"texas": texas, "wisconsin": wisconsin, "cornell": cornell, "film": film}
WEB |= {"squirrel": squirrel, "chameleon": chameleon}
CITED = {"cora": cora, "citeseer": citeseer, "pubmed": pubmed}
TRAFFIC = {"chameleon": chameleon_regression, "squirrel": squirrel_regression}
Damage = Callable[[Path], object]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    return tmp_path


def load(task: TaskSpec, variant: str = "") -> Data[Graphs]:
    return inspect.unwrap(task.load)(variant)


def folder_of(task: TaskSpec) -> Path:
    assert task.files is not None
    return task.files.folder


def splits(data: Data[Graphs]) -> dict[str, Graphs]:
    assert data.train is not None
    return {"train_mask": data.train, "val_mask": data.valid, "test_mask": data.test}


def pairs(split: Graphs, of: int = 0) -> list[list[int]]:
    """Return the edges of a graph in order, without padding."""
    edges = split.edges[of]
    return sorted(edges[(edges < split.positions).all(-1)].tolist())


@pytest.mark.usefixtures("any_count")
@pytest.mark.parametrize("name", WEB)
def test_a_graph_of_geom_gcn_keeps_its_numbers_and_a_variant_is_one_of_its_ten_splits(name: str) -> None:
    task = WEB[name].TASK
    drawn = raw_graphs.write_geom_gcn(folder_of(task), name, task.inputs)
    for variant, k in (("", 0), ("split=7", 7)):
        for part, split in splits(load(task, variant)).items():
            wanted = np.where(drawn["masks"][k][part], drawn["y"], NO_TARGET)
            assert np.array_equal(split.targets[0].numpy(), wanted)
            assert np.array_equal(split.nodes[0].numpy(), drawn["x"])
            assert pairs(split) == sorted(drawn["pairs"].tolist())
    assert task.recipe("").batch == 1 and load(task).version != load(task, "split=1").version


@pytest.mark.usefixtures("any_count")
@pytest.mark.parametrize(("name", "gap"), [("cora", 0), ("citeseer", 7), ("pubmed", 0)])
def test_a_citation_graph_is_its_largest_component_with_the_papers_split(name: str, gap: int) -> None:
    task = CITED[name].TASK
    drawn = raw_graphs.write_planetoid(folder_of(task), name, task.inputs, task.outputs, gap=gap)
    data = load(task)
    there = (
        np.setdiff1d(np.arange(30, 1700), np.arange(1610, 1610 + gap)) if not gap else largest_component(drawn["pairs"])
    )
    number = {int(k): at for at, k in enumerate(there)}
    known = np.isin(there, [*range(1600), *drawn["test"]])
    wanted = sorted([number[a], number[b]] for a, b in drawn["pairs"].tolist() if a in number)
    assert np.array_equal(data.test.nodes[0, known].numpy(), drawn["x"][there[known]])
    assert pairs(data.test) == wanted
    labelled = [split.targets[0] != NO_TARGET for split in splits(data).values()]
    assert [int(a.sum()) for a in labelled] == [20 * task.outputs, 1500 - 20 * task.outputs, len(there) - 1500]
    classes = torch.stack([split.targets[0] for split in splits(data).values()]).amax(0).numpy()
    assert np.array_equal(classes[known], drawn["y"][there[known]]) and not classes[~known].any()
    assert torch.bincount(data.training(1).targets[0][labelled[0]]).tolist() == [20] * task.outputs


def largest_component(edges: np.ndarray) -> np.ndarray:
    """Return the nodes that hang together with node 30, walked one by one."""
    near: dict[int, set[int]] = {}
    for a, b in edges.tolist():
        near.setdefault(a, set()).add(b)
    seen, new = {30}, {30}
    while new:
        new = {b for a in new for b in near[a]} - seen
        seen |= new
    return np.array(sorted(seen))


def test_a_split_is_drawn_as_the_papers_code_draws_it() -> None:
    classes = np.random.RandomState(3).randint(0, 4, 1800)
    split = planetoid.draw_split(classes, 12345)
    development = np.random.RandomState(12345).choice(1800, 1500, replace=False)
    state, train = np.random.RandomState(12345), []
    for c in range(4):
        train += list(state.choice(development[np.where(classes[development] == c)[0]], 20, replace=False))
    assert sorted(train) == split["train"].nonzero()[0].tolist()
    assert sorted(set(development) - set(train)) == split["valid"].nonzero()[0].tolist()
    assert sorted(set(range(1800)) - set(development)) == split["test"].nonzero()[0].tolist()
    with pytest.raises(DataError, match=r"^Each class must have 20 of the nodes drawn to train on, class 1 has 0\.$"):
        planetoid.draw_split(2 * (classes // 2), 1)


@pytest.mark.usefixtures("any_count")
@pytest.mark.parametrize("animal", TRAFFIC)
def test_the_mean_squared_error_of_traffic_is_the_papers_nmse(animal: str) -> None:
    task = TRAFFIC[animal].TASK
    drawn = raw_graphs.write_musae(folder_of(task), animal, task.inputs)
    data = load(task, "split=3")
    y, test = drawn["y"] / drawn["y"].max(), drawn["masks"][3]["test_mask"]
    guess = np.random.RandomState(1).rand(50)
    scaled = torch.from_numpy(guess / np.sqrt(y.mean())).view(1, 1, 50, 1)
    wanted = ((guess - y)[test] ** 2).mean() / y.mean()
    assert task.metric.score(scaled, data.test.targets).item() == pytest.approx(wanted, rel=1e-5)
    once = {tuple(sorted(pair)) for pair in drawn["pairs"].tolist()} | {(3, 3)}
    assert pairs(data.test) == sorted([list(k) for k in {*once, *((b, a) for a, b in once)}])
    assert np.array_equal(data.test.nodes[0].numpy(), drawn["x"])


@pytest.mark.usefixtures("any_count")
def test_molecules_are_what_pytorch_geometric_makes_of_them(tmp_path: Path) -> None:
    raw_graphs.write_zinc(folder_of(zinc.TASK))
    root = tmp_path / "geometric"
    (root / "raw").mkdir(parents=True)
    for path in folder_of(zinc.TASK).rglob("*.*"):
        (root / "raw" / path.name).symlink_to(path)
    made = geometric.import_geometric("datasets", "ZINC").ZINC
    for part, split in zip(("train", "val", "test"), splits(load(zinc.TASK)).values(), strict=True):
        wanted = list(made(str(root), True, part))
        assert len(wanted) == len(split)
        for k, graph in enumerate(wanted):
            assert split.nodes[k, split.real[k]].tolist() == graph.x[:, 0].tolist()
            assert pairs(split, k) == sorted(graph.edge_index.mT.tolist())
            assert split.targets[k].tolist() == graph.y.tolist()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def changed(old: str, new: str) -> Damage:
    """Change the first text that a pattern matches."""
    return lambda path: path.write_text(re.sub(old, new, path.read_text(), count=1, flags=re.MULTILINE))


def pickled(held: object) -> Damage:
    return lambda path: path.write_bytes(pickle.dumps(held, protocol=2))


def masks(**named: np.ndarray) -> Damage:
    return lambda path: np.savez(path, **named)  # type: ignore[arg-type]


class Evil:
    """Writes a file where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("evil",)


HALF = np.arange(50) < 25
TEXTS = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
SPLIT = "texas_split_0.6_0.2_0.npz"
BROKEN: dict[str, tuple[TaskSpec, str, Damage, str]] = {
    "cut nodes": (texas.TASK, TEXTS[0], cut, r", line 35: (there must be|a node must|the last)"),
    "cut edges": (texas.TASK, TEXTS[1], cut, r", line \d+: (there must be 2 columns|the last line must have an end)"),
    "NaN": (texas.TASK, TEXTS[0], changed(r"^7\t[01]", "7\tnan"), r", line \d+: every feature must be a fin"),
    "a word": (texas.TASK, TEXTS[0], changed(r"^7\t[01]", "7\tx"), r", line \d+: every feature must be a fin"),
    "a class": (texas.TASK, TEXTS[0], changed(r"\t\d$", "\t5"), r", line 2: a class must be a whole number of 0 to 4"),
    "a node twice": (texas.TASK, TEXTS[0], changed(r"^7\t", "8\t"), r": the nodes must be 0 to 49, each once"),
    "no such node": (texas.TASK, TEXTS[1], changed(r"^0\t", "50\t"), r", line \d+: an end of an edge must be"),
    "no edges": (texas.TASK, TEXTS[1], lambda p: p.write_text("a\tb\n"), r": there must be edges after the first line"),
    "other bytes": (texas.TASK, TEXTS[1], lambda p: p.write_bytes(b"\xff\tb\n0\t1\n"), r", line 1: it must be UTF-8"),
    "a word of film": (film.TASK, TEXTS[0], changed(r",931\t", ",932\t"), r", line 2: a feature must be a whole"),
    "a cut split": (texas.TASK, SPLIT, cut, r": it must be a complete \.npz file of train_mask, val_mask, test_mask"),
    "no part": (texas.TASK, SPLIT, masks(train_mask=HALF), r": it must be a complete \.npz file of"),
    "parts that share": (
        texas.TASK, SPLIT, masks(train_mask=HALF, val_mask=HALF, test_mask=~HALF), r": each part must have nodes"
    ),
    "a short split": (
        texas.TASK, SPLIT, masks(train_mask=HALF[1:], val_mask=HALF, test_mask=~HALF), r": train_mask must be 0 or 1"
    ),
    "cut words": (cora.TASK, "ind.cora.allx", cut, r": it must be a complete pickle .*, got: "),
    "cut links": (cora.TASK, "ind.cora.graph", cut, r": it must be a complete pickle .*, got: "),
    "an evil pickle": (cora.TASK, "ind.cora.ty", pickled(Evil()), r": it must be .*it names posix.mkdir"),
    "other words": (cora.TASK, "ind.cora.tx", pickled(np.ones((3, 4))), r": there must be rows of 1433 finite numbers"),
    "NaN words": (cora.TASK, "ind.cora.tx", pickled(np.full((3, 1433), np.nan)), r": there must be rows of 1433"),
    "two classes": (cora.TASK, "ind.cora.ty", pickled(np.ones((100, 7))), r": each row must hold a single 1, a node's"),
    "a row less": (cora.TASK, "ind.cora.ty", pickled(np.eye(7)), r": there must be a row for each of the 100"),
    "a lost node": (cora.TASK, "ind.cora.graph", pickled({0: [1], 2: [0]}), r": there must be the neighbours"),
    "a lost end": (cora.TASK, "ind.cora.graph", pickled({0: [1]}), r": neighbours must be nodes 0 to 0"),
    "a test node twice": (
        cora.TASK, "ind.cora.test.index", changed(r"^\d+\n\d+", "1601\n1601"), r": there must be 100 nodes of 1600"
    ),
    "cut links of pages": (
        chameleon_regression.TASK, "chameleon_edges.csv", cut, r"(: its last line|, line \d+: there must)"
    ),
    "half a line": (
        chameleon_regression.TASK, "chameleon_target.csv", changed(r"^(\d+),\d+$", r"\1,nan"),
        r", line 2: there must be two whole numbers, got '\d+,nan'"
    ),
    "no traffic": (
        chameleon_regression.TASK, "chameleon_target.csv", changed(r"^(\d+),\d+$", r"\1,0"), r": a page must have"
    ),
    "cut nouns": (chameleon_regression.TASK, "chameleon_features.json", cut, r": it must be complete JSON, got: "),
    "a noun": (
        chameleon_regression.TASK, "chameleon_features.json", changed(r"\[", "[3132, "), r": features must be 0 to 3131"
    ),
    "cut molecules": (zinc.TASK, "molecules/val.pickle", cut, r": it must be a complete pickle .*, got: "),
    "an evil molecule": (zinc.TASK, "molecules/val.pickle", pickled([Evil()]), r": .*it names posix.mkdir"),
    "no molecules": (zinc.TASK, "molecules/val.pickle", pickled([{}] * 6), r": molecule \d must have the tensors"),
    "a cut index": (zinc.TASK, "val.index", cut, r": its last line must have an end"),
    "no such molecule": (zinc.TASK, "val.index", changed(r"\d+", "6"), r": there must be numbers of 0 to 5, each once"),
    "no molecule by far": (zinc.TASK, "val.index", changed(r"\d+", "600"), r": there must be numbers of 0 to 5, each"),
}  # fmt: skip


@pytest.mark.usefixtures("any_count")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_the_rule_and_nothing_is_kept(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, name, damage, rule = BROKEN[case]
    written = {
        "cora": lambda p: raw_graphs.write_planetoid(p, "cora", 1433, 7),
        "chameleon_regression": lambda p: raw_graphs.write_musae(p, "chameleon", 3132),
        "zinc": raw_graphs.write_zinc,
    }.get(task.name, lambda p: raw_graphs.write_geom_gcn(p, task.name, task.inputs))
    written(folder_of(task))
    damage(folder_of(task) / name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"^{re.escape(str(folder_of(task) / name))}{rule}[^\n]*$"):
        load(task)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


@pytest.mark.usefixtures("any_count")
def test_files_that_do_not_fit_together_are_refused() -> None:
    raw_graphs.write_planetoid(folder_of(cora.TASK), "cora", 1433, 7, gap=3)  # only Citeseer may have gaps
    rule = r"[/\\]cora: the files must be of one graph, Planetoid's Cora, got: [^\n]*$"
    with pytest.raises(DataError, match=rule):
        load(cora.TASK)


@given(data=st.data())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pickle_with_another_byte_or_cut_anywhere_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "pickle"
    whole = raw_graphs.dumped([csr_matrix(np.eye(3)), np.eye(2), {0: [1, 2]}])
    where = data.draw(st.integers(0, len(whole) - 1))
    other = bytes([data.draw(st.integers(0, 255))]) + whole[where + 1 :]
    path.write_bytes(whole[:where] + data.draw(st.sampled_from([b"", other])))
    rule = "it must be a complete pickle that contains only numbers"
    try:
        unpickle(path, array_types())
    except DataError as error:
        assert re.fullmatch(rf"{re.escape(str(path))}: {rule}, got: [^\n]+\.", str(error))


def test_a_pickle_within_a_tensor_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "check_count", lambda *rule, **how: None)
    raw_graphs.write_zinc(folder_of(zinc.TASK))
    path = folder_of(zinc.TASK) / "molecules/val.pickle"

    class Packed:
        def __reduce__(self) -> tuple[object, ...]:
            return torch.storage._load_from_bytes, (pickle.dumps(Evil(), protocol=2),)  # type: ignore[attr-defined]

    class Holder:
        def __reduce__(self) -> tuple[object, ...]:
            return torch._utils._rebuild_tensor_v2, (Packed(), 0, (1,), (1,), False, {})

    names = ("atom_type", "bond_type", "logP_SA_cycle_normalized")
    path.write_bytes(pickle.dumps([dict.fromkeys(names, Holder())] * 6, protocol=2))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"val\.pickle: molecule \d: a tensor is broken: "):
        load(zinc.TASK)
    assert not (tmp_path / "evil").exists()


def test_files_of_another_size_are_refused() -> None:
    raw_graphs.write_geom_gcn(folder_of(texas.TASK), "texas", 1703)
    with pytest.raises(DataError, match=r"there must be 183 nodes, as in the original, got 50\."):
        load(texas.TASK)


@pytest.mark.usefixtures("any_count")
def test_fetching_reads_files_that_are_there_already_and_downloads_nothing() -> None:
    raw_graphs.write_geom_gcn(folder_of(wisconsin.TASK), "wisconsin", 1703)
    fetch(wisconsin.TASK, wisconsin.FILES, lambda *progress: None)
    assert (folder_of(wisconsin.TASK) / "MD5SUMS").is_file()
    assert not (folder_of(wisconsin.TASK) / "processed").exists()


@pytest.mark.usefixtures("any_count")
def test_a_folder_of_files_is_linked_to_and_never_written_to(tmp_path: Path) -> None:
    raw_graphs.write_geom_gcn(tmp_path / "mine", "cornell", 1703)
    before = sorted(tmp_path.joinpath("mine").rglob("*"))
    link(cornell.TASK, cornell.FILES, tmp_path / "mine", lambda *progress: None)
    assert folder_of(cornell.TASK).readlink() == tmp_path / "mine" and len(before) == 12
    assert sorted(tmp_path.joinpath("mine").rglob("*")) == before and load(cornell.TASK).test.positions == 50


@pytest.mark.usefixtures("any_count")
def test_without_pytorch_geometric_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    raw_graphs.write_geom_gcn(folder_of(texas.TASK), "texas", 1703)
    monkeypatch.setattr(geometric, "find_spec", lambda name: None)
    rule = r"^WebKB's Texas is read by PyTorch Geometric: pip install 'longwave\[graphs\]'$"
    with pytest.raises(DataError, match=rule):
        load(texas.TASK)


@pytest.mark.integration
def test_pytorch_geometric_is_imported_where_it_is_used() -> None:
    code = "from longwave.platform.registry import all_tasks; all_tasks(); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "torch_geometric" not in done.stdout.split(), done.stderr
    assert "longwave.tasks.cora" in done.stdout.split()


def test_labels_spread_as_the_formula_says() -> None:
    random = np.random.RandomState(37)
    edges, classes = random.randint(0, 20, (2, 40)), torch.from_numpy(random.randint(0, 3, 20))
    part = torch.arange(20)
    valid = (part >= 6) & (part < 14)
    data = one_graph(torch.zeros(20, 1), torch.from_numpy(edges), classes, part < 6, valid, part >= 14)
    a = np.zeros((20, 20))
    a[edges[0], edges[1]] = a[edges[1], edges[0]] = 1
    d = 1 / np.sqrt(np.maximum(a.sum(1), 1))
    known = np.eye(3)[classes.numpy()] * (np.arange(20) < 6)[:, None]
    spread, hits = dict.fromkeys((0.5, 0.9, 0.99), known), {}
    for share in spread:
        for _ in range(50):
            spread[share] = share * (d[:, None] * a * d) @ spread[share] + (1 - share) * known
        hits[share] = int((spread[share].argmax(1) == classes.numpy())[valid].sum())
    assert hits == {0.5: 4, 0.9: 5, 0.99: 3}
    fitted = LabelPropagation(3).fit(data)
    assert fitted.chosen == "share 0.9"
    np.testing.assert_allclose(fitted.outputs(data.test)[0].numpy(), spread[0.9], atol=1e-12)


def test_a_ridge_on_two_hops_reads_the_means_over_incoming_edges_and_those_of_their_means() -> None:
    random = np.random.default_rng(38)
    edges, part, x = random.integers(0, 30, (2, 70)), torch.arange(30), random.normal(size=(30, 2))
    mean = np.zeros((30, 30))
    for begin, end in edges.T:
        mean[end, begin] += 1
    mean /= np.maximum(mean.sum(1, keepdims=True), 1)
    features = np.hstack([x, mean @ x, mean @ mean @ x, np.ones((30, 1))])
    side = torch.from_numpy((features[:, 4] > features[:, 4].mean()).astype(np.int64))
    train, valid = part < 14, (part >= 14) & (part < 22)
    data = one_graph(torch.from_numpy(x), torch.from_numpy(edges), side, train, valid, part >= 22)
    fitted = NodeRidge(2, 2).fit(data)
    penalty, read = float(fitted.chosen.removeprefix("ridge ")), features[train.numpy()]
    weights = np.linalg.solve(read.T @ read + penalty * np.eye(7), read.T @ np.eye(2)[side[train].numpy()])
    np.testing.assert_allclose(fitted.outputs(data.test)[0].numpy(), features @ weights, atol=1e-10)


def test_of_penalties_with_equally_many_hits_the_largest_is_taken() -> None:
    part, side = torch.arange(30), torch.arange(30) % 2
    edges = torch.zeros(2, 0, dtype=torch.int64)
    data = one_graph(2.0 * side[:, None] - 1, edges, side, part < 10, (part >= 10) & (part < 20), part >= 20)
    fitted = NodeRidge(2, 0).fit(data)
    assert torch.equal(fitted.outputs(data.test)[0].argmax(-1), side), "no penalty changes a sign"
    assert fitted.chosen == "ridge 1000"


@pytest.mark.usefixtures("any_count")
def test_values_that_are_linear_in_what_is_read_are_found() -> None:
    raw_graphs.write_zinc(folder_of(zinc.TASK), 400)
    data = load(zinc.TASK)
    for split in splits(data).values():
        heavy = (split.nodes * split.real).sum(1, keepdim=True).float()
        object.__setattr__(split, "targets", heavy + (split.edges < split.positions).all(-1).sum(1, keepdim=True))
    assert zinc.TASK.metric.score(CountRidge(28)(data).unsqueeze(0), data.test.targets).item() < 0.5
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    part, y = torch.arange(60), x @ torch.tensor([[1.0], [2.0], [3.0]])
    graph = one_graph(x, torch.zeros(2, 0, dtype=torch.int64), y, part < 40, (part >= 40) & (part < 50), part >= 50)
    np.testing.assert_allclose(FeatureRidge()(graph)[0].numpy(), y.numpy(), atol=1e-2)
