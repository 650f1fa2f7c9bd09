"""Wrong command lines: each is one line that says what to do, with exit status 2, and nothing has changed."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from boards import keep, retrained
from sqlalchemy import create_engine, text

from longwave.platform.cli.main import main
from longwave.platform.storage.store import Store

HEAD = 'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\n'
SIZES = {"trials": "2", "hidden": "8", "batch": "10", "steps": "5", "epochs": "3"}
HUGE = "1000000000000000000000"
FILES = {
    f"huge-{name}": f"{HEAD}{{}}".format("".join(f"{n} = {HUGE if n == name else v}\n" for n, v in SIZES.items()))
    for name in SIZES
}
GOOD = HEAD + "".join(f"{name} = {value}\n" for name, value in SIZES.items())
FILES |= {
    "good": GOOD,
    "many": GOOD.replace("trials = 2", "trials = 3000000"),
    "wide": GOOD.replace("hidden = 8", "hidden = 1000000"),
    "drawn": GOOD.replace("hidden = 8\n", "") + "[space.lem]\nhidden = {low = 8, high = 1e12}\n",
    "broad": GOOD.replace("batch = 10", "batch = 2000000000"),
    "long": GOOD.replace("N=20", "N=99999999999"),
    "seed": GOOD + "seed = 99999999999999999999\n",
    "retrain": GOOD + f"retrain = {HUGE}\n",
    "grid": GOOD + f"[model.lem.grid]\nlayers = {[*range(1, 2000)]}\nx = {[*range(1, 2000)]}\n",
    "model-dt": GOOD + "[model.lem]\ndt = 0.5\n",
    "model-lr": GOOD + "[model.lem]\nlr = 0.1\n",
    "deep": GOOD + "x = " + "[" * 5000 + "]" * 5000 + "\n",
    "twice": GOOD + "epochs = 4\n",
    "key": GOOD + "epoch = 4\n",
    "none": GOOD.replace('["lem"]', "[]"),
    "double": GOOD.replace('["lem"]', '["lem", "lem"]'),
    "other": GOOD.replace('["lem"]', '["LEMM"]'),
    "path": GOOD.replace('"tiny"', '"../x"'),
    "nan": GOOD + "clip = nan\n",
}
RUN = "sweep run good.toml --here --mlflow off"
LINES = {
    "board --columns title": "--columns, --notes and --all are for boards in full. Name one task, or add: --rows",
    "board adding --numbers": "--saturated and --numbers are for the overview. Leave them out, or add: --overview",
    "board adding --notes --format csv": "--notes is for --format table; csv has none. Leave one of them out.",
    "models lem --kernel --format json": "--kernel prints text: leave out --format json.",
    "sweep edges good --widened --format json": "--widened prints TOML: leave out --format json.",
    # sweep files
    **{f"sweep run huge-{name}.toml --here": f"{name}: must be at most" for name in SIZES},
    "sweep run many.toml --here": "trials: a sweep has at most 2,000,000 in all, got 3,000,005",
    "sweep plan many.toml": "trials: a sweep has at most 2,000,000 in all",
    "sweep run wide.toml --here --mlflow off": "hidden 1,000,000 with batch 10 and 20 positions needs at least",
    "sweep plan wide.toml": "Make hidden or batch smaller",
    "sweep plan broad.toml": "Make hidden or batch smaller",
    "sweep plan drawn.toml": "hidden must be at most 2,147,483,647, got 1000000000000.0",
    "sweep plan long.toml": "adding takes a variant N=<steps>",
    "sweep plan seed.toml": "seed: must be at most",
    "sweep plan retrain.toml": "retrain: must be at most",
    "sweep plan grid.toml": "a sweep has at most 2,000,000 in all, got 27,972,007: 2 trials and 5",
    "sweep plan model-dt.toml": "model.lem: dt is a parameter: fix it in [space.lem], dt = 0.5.",
    "sweep plan model-lr.toml": "lr is a parameter",
    "sweep plan deep.toml": "its values are nested too deeply",
    "sweep plan twice.toml": "is not TOML: Cannot overwrite a value",
    "sweep plan key.toml": "No key 'epoch'. Did you mean epochs",
    "sweep plan none.toml": "models: must not be empty, got []",
    "sweep plan double.toml": "each model once",
    "sweep plan other.toml": "No model 'LEMM'. Did you mean lem",
    "sweep plan path.toml": "name: must be 1 to 80 letters, digits, dots",
    "sweep plan nan.toml": "clip: must be a finite number",
    "sweep plan utf16.toml": "is not TOML",
    "sweep run afolder --here": "afolder is a folder, and a file is read",
    "sweep run no.toml --here": "No such file or directory",
    "sweep run afile --here": "afile is not TOML",
    "sweep plan /dev/null": "/dev/null is a device, and a file is read",
    # options of a sweep
    f"{RUN} --storage afile": "--storage is a folder or an address such as s3://..., got afile",
    f"{RUN} --storage afile/below": "afile is a file",
    f"{RUN} --storage nonsense://x": "is no place for checkpoints",
    f"{RUN} --metrics PORT": "Address already in use. Give another port",
    f"{RUN} --metrics 99999": "--metrics is a port from 1 to 65535",
    f"{RUN} --ray auto": "--here trains in this process and --ray on a cluster. Give one of them",
    "sweep resume demo --here --ray auto --store STORE": "Give one of them",
    "sweep run good.toml --ray ''": "--ray is the address of a cluster",
    "sweep run good.toml --ray 10.0.0.1": "--ray is the address of a cluster: auto, or HOST:6379, got '10.0.0.1'",
    "sweep run good.toml --ray head:port": "--ray is the address of a cluster: auto, or HOST:6379, got 'head:port'",
    "sweep run good.toml --ray 127.0.0.1:9": "No cluster answers at --ray 127.0.0.1:9: Connection refused. Start its",
    "sweep resume demo --ray ray://127.0.0.1:9 --store STORE": "No cluster answers at --ray ray://127.0.0.1:9",
    "sweep plan good.toml --cluster --ray 127.0.0.1:9": "No cluster answers at --ray 127.0.0.1:9",
    "sweep run good.toml --storage memory://x": "memory:// exists within one process only",
    "sweep run good.toml --gpus 0.5 --cpu": "--gpus and --cpu exclude each other",
    "sweep run good.toml --gpus 2": "--gpus must be at least 0.0001 and at most 1, got 2",
    "sweep run good.toml --cpus inf": "--cpus must be 0.1 to 4,096 CPUs a pack, got inf.",
    "sweep run good.toml --cpus 1e9": "--cpus must be 0.1 to 4,096 CPUs a pack, got 1e+09.",
    "sweep plan good.toml --workers 99999999999": "--workers must be 1 to 1,000,000 packs at a time, got 99999999999.",
    "bench sweep --members 1000000000": "less than or equal to 10000, got '1000000000'",
    "board --min-seeds 3 --min-seeds=few": "should be a valid integer, unable to parse string as an integer, got 'few'",
    "sweep run good.toml --workers 0": "--workers must be 1 to 1,000,000 packs at a time, got 0.",
    "sweep run good.toml --label gpu=H200": "--label chooses nodes of a cluster",
    "sweep run good.toml --here --mlflow nonsense://x": "or off for none; got 'nonsense://x'",
    "sweep run good.toml --here --mlflow afile": "or off for none; got 'afile'",
    "sweep resume demo --here --mlflow oracle://x --store STORE": "got 'oracle://x'",
    "sweep run good.toml --here --mlflow sqlite:///afolder": "afolder is a folder. Name a file in it",
    "mlflow sync demo --server nonsense://x --store STORE": "got 'nonsense://x'",
    "sweep plan good.toml --price a": "--price is a number for an hour",
    "sweep plan good.toml --probe": "need --cluster",
    "sweep submit good.toml --address nonsense": "--address is that of Ray's dashboard",
    "sweep submit good.toml --address http://127.0.0.1:1 --ship afile": "--ship must be a folder, got afile",
    "sweep status '' --store STORE": "No sweep ''. Known: demo",
    "sweep watch deom --store STORE": "No sweep 'deom'. Did you mean demo",
    # stores
    "board --store oracle://x": "A store is sqlite:///file.db or postgresql://..., got oracle://x",
    "board --store mysql+foo://h/x": "A store is sqlite:///file.db or postgresql://...",
    "board --store postgresql+psycopg9://h/x": "needs the database driver 'psycopg9', which is not installed",
    "board --store sqlite+pysqlcipher:///x.db": "needs the database driver 'pysqlcipher', which is not installed",
    "board --store nonsense": "A store is sqlite:///file.db or postgresql://..., got nonsense",
    "board --store ''": "A store is sqlite:///file.db or postgresql://...",
    "board --store sqlite:///afolder": "A store is a file, and",
    f"{RUN} --store sqlite:///afolder": "is a folder. Name a file in it",
    f"{RUN} --store sqlite:///afile": "file is not a SQLite database",
    "board --store sqlite:///no.db": "There is no store at",
    "doctor --repair --store sqlite:///no.db": "There is no store to repair at",
    "doctor --to x": "--to goes with --repair",
    # files to write or to read
    "submit x.zip --store STORE": "A bundle is a file NAME.json.xz, got x.zip",
    "submit afolder.json.xz --store STORE": "is a folder",
    "submit no/x.json.xz --store STORE": "is in a folder that does not exist",
    "import afolder": "is not an edition",
    "import afile": "is not a complete xz file",
    "publish afile --store STORE": "is not empty, and an edition",
    "data fetch psmnist --path afile": "is not in",
    "bench kernels --out afolder": "--out must be a file in an existing folder, got afolder",
    "bench kernels --size a,b": "--size must be T,B,p,d",
    "bench kernels --cell lemm": "No cell 'lemm'. Did you mean lem",
    "bench data nope": "No task 'nope'",
    # ports and addresses
    "dashboard --port PORT --store STORE": "Address already in use. Give another",
    "dashboard --address example.org": "--address is an IP address",
    "dashboard --address 0.0.0.0": "To allow that, add: --public",
    # names
    "board addng --store STORE": "No task 'addng'. Did you mean adding",
    "board digits --store STORE": "No retrainings of digits are stored yet",
    "board adding --models lmm --store STORE": "Did you mean lem",
    "board --family nope --store STORE": "No family with results 'nope'",
    "models lmm": "Did you mean lem",
    "tasks add afolder": "must end in .toml. Write one with: longwave start DATA.csv",
    "tasks add afile": "must end in .toml. Write one with: longwave start DATA.csv",
    "models --kernel": "--kernel prints the plan of one model",
    "models lem --family gated": "Give one of them",
    "show zz --store STORE": "A row or a trial is named by 4 to 16 hex digits, got 'zz'",
    "show 00000000 --store STORE": "No trained row and no trial has a name that begins with 00000000",
    "reproduce zz --store STORE": "A row is named by 4 to 16 hex digits",
    "reproduce 0000 --patch --keep --store STORE": "--patch trains nothing: leave out --seed, --keep and",
    "reproduce 0000 --patch --format json --store STORE": "--patch prints a patch: leave out --format json.",
    "board adding --columns , --store STORE": "--columns lists one name or more, got ','. Name one, or leave out",
    "board adding --models , --store STORE": "--models lists one name or more, got ','. Name one, or leave out",
    "budget adding --models '' --store STORE": "--models lists one name or more, got ''. Name one, or leave out",
    "start data.csv --channels ,": "--channels lists one name or more, got ','. Name one, or leave out --channels.",
    "board --rows --columns bogus --figure fig.svg --store STORE": "No column 'bogus'. Known: place, rank_low,",
    "compare lem gru --task '' --store STORE": "No task ''.",
    "models ''": "No model ''.",
    "models --family ''": "No family ''.",
    "models lem --task ''": "No task ''.",
    "tasks ''": "No task ''.",
    "tasks --family ''": "No family ''.",
    "board adding --columns title,title --store STORE": "Each column can be shown once, got title, title",
    "diff 0000 1111 --store STORE": "No trained row has a name that begins with 0000",
}
"""What is said of each; PORT is taken, STORE holds two rows. Files are in the folder that ``workspace`` makes."""


def _contents(folder: Path) -> dict[str, object]:
    """Return all that lies in a folder; of the store what is in its tables."""
    contents: dict[str, object] = {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.startswith("s.db")
    }
    engine = create_engine(f"sqlite:///{folder}/s.db")
    with engine.begin() as connection:
        for table in ("trials", "sweeps", "sweep_trials", "attempts"):
            contents[table] = connection.scalars(text(f"SELECT count(*) FROM {table}")).all()
    engine.dispose()
    return contents


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sweep files, a file, folders, and a store."""
    folder = tmp_path_factory.mktemp("place")
    for name, content in FILES.items():
        (folder / f"{name}.toml").write_text(content)
    (folder / "utf16.toml").write_text(GOOD, encoding="utf-16")
    (folder / "afile").write_text("x, but more than a header of SQLite has; " * 20)
    for name in ("afolder", "afolder.json.xz"):
        (folder / name).mkdir()
    with Store(f"sqlite:///{folder}/s.db") as store:
        store.add_sweep("demo", {})
        keep(store, *(retrained(m, [0.1, 0.2, 0.3], task="adding", variant="N=20") for m in ("lem", "gru")))
    return folder


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port that is taken."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize(("line", "message"), LINES.items(), ids=LINES)
def test_a_wrong_command_line_is_one_line_and_changes_nothing(
    line: str, message: str, workspace: Path, port: int, home: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(workspace)
    before = _contents(workspace)
    words = shlex.split(line.replace("PORT", str(port)).replace("STORE", "sqlite:///s.db"))
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert message in err and err.startswith("longwave: ") and err.count("\n") == 1 and not out
    assert _contents(workspace) == before
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_there_are_sixty_wrong_command_lines() -> None:
    assert len(LINES) >= 60


def test_a_sweep_file_may_begin_with_a_byte_order_mark(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bom.toml").write_text(GOOD, encoding="utf-8-sig")
    assert main(["sweep", "plan", str(tmp_path / "bom.toml"), "--format", "json"]) == 0
    marked = capsys.readouterr().out
    assert main(["sweep", "plan", str(workspace / "good.toml"), "--format", "json"]) == 0
    assert capsys.readouterr().out == marked
