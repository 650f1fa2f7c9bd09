"""A model of one's own: one file, and it is listed, meets the contract, and can be swept."""

from __future__ import annotations

from pathlib import Path

import pytest
from more_files import with_models

pytestmark = pytest.mark.integration

TOY = '''"""A leaky integrator, the smallest model there is."""

from dataclasses import dataclass

from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.param import Param, learning_rate
from longwave.models.base.spec import ModelSpec

DT = Param("dt", "Δt", 0.1, 1.0, False, "steps", "Step.", most=1.0)


@dataclass(frozen=True)
class LeakyWeights:
    V: Tensor
    dt: Tensor


class Leaky(Recurrence[LeakyWeights]):
    """Leaky integrator: h[n] = (1 − Δt) h[n-1] + Δt V x[n]."""

    WEIGHTS = LeakyWeights
    STATE = ("h",)
    PARAMS = (DT,)

    def shapes(self):
        return {"V": (self.hidden_size, self.input_size)}

    def drive(self, x, w):
        return (affine(w.V, x),)

    def step(self, u, state, w):
        return (state[0] + w.dt * (u[0] - state[0]),)


MODEL = ModelSpec(
    name="leaky", title="Leaky integrator", family="toy", source="this test", layer=Leaky,
    lr=learning_rate(1e-3, 1e-1), count=lambda p, d, q, **_: d * p + (d + 1) * q,
)
'''
SWEEP = """
name = "toy"
task = "adding"
variant = "N=20"
models = ["leaky", "gru"]
trials = 2
retrain = 2
hidden = 4
batch = 5
steps = 3
epochs = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the one file of the toy model; ``with_models`` makes it a part of models/."""
    target = tmp_path / "more_models"
    target.mkdir()
    (target / "leaky.py").write_text(TOY, encoding="utf-8")
    return target


def test_one_file_makes_a_model_known(folder: Path) -> None:
    out = with_models(folder, "from longwave.platform.cli.main import main; sys.exit(main(['models', 'leaky']))")
    assert "Leaky integrator (leaky), toy" in out and "h[n] = (1 − Δt) h[n-1] + Δt V x[n]" in out
    assert "dt" in out and "[0.1, 1]" in out


def test_one_file_is_met_by_the_contract_of_all_models(folder: Path) -> None:
    arguments = "-q -p no:cacheprovider -k leaky tests/models/test_contract.py tests/models/test_members.py"
    program = f"import pytest; sys.exit(pytest.main({arguments.split()!r}))"
    out = with_models(folder, program)
    assert int(out.split(" passed")[0].split()[-1]) >= 7 and "failed" not in out


def test_one_file_can_be_swept_and_stands_on_the_board(folder: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "toy.toml"
    sweep.write_text(SWEEP)
    run = f"assert main(['sweep', 'run', {str(sweep)!r}, '--here', '--mlflow', 'off']) == 0\n"
    board = "sys.exit(main(['board', 'adding', '--format', 'csv']))"
    out = with_models(folder, f"from longwave.platform.cli.main import main\n{run}{board}")
    assert ",leaky," in out and ",gru," in out
