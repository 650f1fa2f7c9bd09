"""What every task keeps to, on small sets in the real raw formats: sizes, splits, scores, chance, refusals."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import raw_images
import raw_signals
import raw_text
import torch
from tiers import mark_long
from torch import Tensor
from torch.nn import functional
from trials import present_trial

from longwave.platform.contracts.loaded import LoadedTask
from longwave.platform.contracts.rule import check_subjects
from longwave.platform.contracts.tasks import RULES
from longwave.platform.registry import all_models, all_tasks
from longwave.platform.training.feed import epoch_batches
from longwave.platform.training.rules import training_params
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.feedback import FreeRuns
from longwave.tasks.base.raw import DataError, Source
from longwave.tasks.base.sequences import STRANDS, Sequences, Text
from longwave.tasks.base.spec import Recipe, TaskSpec, changes
from longwave.tasks.formats import packaged

WRITERS: Mapping[str, Callable[[Path], object]] = {
    "mnist": raw_images.write_mnist,
    "cifar10": raw_images.write_cifar10,
    "eigenworms": raw_signals.write_eigenworms,
    "bidmc32hr": raw_signals.write_bidmc32hr,
    "bidmc32rr": raw_signals.write_bidmc32rr,
    "bidmc32spo2": raw_signals.write_bidmc32spo2,
    "uci_har": raw_signals.write_uci_har,
    "speech_commands": raw_signals.write_speech_commands,
    "timit": raw_signals.write_timit,
    "ptb": raw_text.write_ptb,
    "imdb": raw_text.write_imdb,
    "gun_point": raw_signals.archive_writer("GunPoint", 50, 200, 150, 1, 2),
    "basic_motions": raw_signals.archive_writer("BasicMotions", 40, 80, 100, 6, 4),
    "osu_leaf": raw_signals.archive_writer("OSULeaf", 200, 442, 427, 1, 6),
    "acsf1": raw_signals.archive_writer("ACSF1", 100, 200, 1460, 1, 10),
    "japanese_vowels": raw_signals.archive_writer("JapaneseVowels", 270, 640, 0, 12, 9),
}
"""By the name of a source: what writes it small."""
SEQUENCES = [task for task in all_tasks().values() if task.family != "graph"]
GUESSED = [task for task in all_tasks().values() if task.metric.name == "accuracy" and task.chance]
every_task = pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())
all_of_them = pytest.mark.parametrize("task", SEQUENCES, ids=lambda task: task.name)
with_files = pytest.mark.parametrize("task", [t for t in all_tasks().values() if t.files], ids=lambda t: t.name)
Load = Callable[..., Data]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """Load a task's default variant once, or ``again``: a data set from files written small, generated data as ever."""
    folder, loaded = tmp_path_factory.mktemp("cache"), dict[str, Data]()
    for source, write in WRITERS.items():
        write(folder / "raw" / source)

    def one(task: TaskSpec, again: bool = False) -> Data:
        if again or task.name not in loaded:
            with pytest.MonkeyPatch.context() as patch:
                if task.files:
                    patch.setenv("LONGWAVE_CACHE", str(folder))
                    patch.setattr(Source, "check_count", lambda *rule, **how: None)  # as of the originals
                    patch.setattr(packaged, "check_md5", lambda *rule: None)
                    raw_images.accept_small(patch, folder / "raw")
                loaded[task.name] = inspect.unwrap(task.load)(task.variant)  # past the cache in memory
        return loaded[task.name]

    yield one


def outputs_for(task: TaskSpec, targets: Tensor, members: int, seed: int = 0) -> Tensor:
    """Return random outputs (members, ..., q) of the shape that a network gives for these targets."""
    shape = targets.shape if targets.is_floating_point() else (*targets.shape, task.outputs)
    return torch.randn((members, *shape), generator=torch.Generator().manual_seed(seed))


def few(split: Sequences, n: int = 20) -> Tensor:
    """Return the targets of the first n sequences, of a text of the first steps."""
    return split.targets[:n] if len(split.targets) > 1 else split.targets[:, :200]


@all_of_them
def test_a_task_feeds_what_it_declares(task: TaskSpec, load: Load) -> None:
    data = load(task)
    for split in (data.training(64), data.valid, data.test):
        examples = split.take(torch.arange(min(8, len(split))))
        inputs, targets, n = examples.inputs, examples.targets, len(examples)
        steps = split.inputs.shape[1] + (len(split.tail.values) if split.tail else 0)
        free = split.horizon - 1 if isinstance(split, FreeRuns) else 0
        assert split.positions == (split.segment if isinstance(split, Text) else steps + free)
        assert inputs.shape == ((n, steps) if task.tokens else (n, steps, task.inputs))
        assert inputs.dtype == (torch.int64 if task.tokens else torch.float32)
        assert inputs.min() >= 0 and inputs.max() < task.tokens if task.tokens else inputs.isfinite().all()
        where = (n, split.horizon if free else steps) if split.every_step else (n,)
        run = data.test
        scored_free = f"; scored over free runs of {run.horizon} steps" if isinstance(run, FreeRuns) else ""
        assert task.targets.startswith(("at every step" if split.every_step else "at the last step") + scored_free)
        if targets.is_floating_point():
            assert targets.shape == (*where, task.outputs) and targets.isfinite().flatten(1).any(1).all()
        else:
            classes = targets[targets != NO_TARGET]
            assert targets.shape == where and targets.dtype == torch.int64 and len(classes) >= n
            assert classes.min() >= 0 and classes.max() < max(task.outputs, 2)


@all_of_them
def test_a_task_says_what_a_reader_wants_to_know(task: TaskSpec, load: Load) -> None:
    texts = (task.title, task.summary, task.source, task.licence, task.length, task.lag, task.metric.definition)
    assert all(texts) and task.summary.endswith(".")
    assert task.baselines and task.recipes[""].source and task.version.isdecimal()
    assert (task.horizon is not None) == (
        "predict" in task.summary.lower() and task.tokens == 0 or "follow" in task.summary
    )
    assert task.id.startswith(f"{task.name}@{task.version}")
    streamed = task.recipe("").steps is not None
    assert streamed == (load(task).train is None)


@every_task
def test_a_recipe_says_words_and_numbers_that_the_training_rules_have(task: TaskSpec) -> None:
    assert set(task.recipes) <= {"", *all_models()}
    for recipe in map(task.recipe, task.recipes):
        known = {p.name: p for p in training_params(recipe.optimiser, recipe.schedule)}
        for name, value in recipe.numbers.items():
            known[name].check(value)
            assert value != known[name].default, f"{name} {value} goes without saying"
        assert recipe.hidden > 0 < recipe.batch and recipe.source and all(0 < d < recipe.epochs for d in recipe.drops)
        assert (recipe.clip is None or recipe.clip > 0) and (recipe.schedule == "drops" or not recipe.drops)


def test_a_recipe_states_only_what_differs_and_the_rest_is_that_of_all_others() -> None:
    task = replace(
        all_tasks()["adding"],
        recipes={
            "": Recipe(8, 4, 9, "all", (5,), 1.0, numbers={"input_dropout": 0.1, "momentum": 0.9}),
            "lem": changes(epochs=7, clip=None, numbers={"momentum": None, "warmup": 2.0}, source="LEM"),
        },
    )
    assert task.recipe("gru") == task.recipe("") == task.recipes[""]
    assert task.recipe("lem") == Recipe(8, 4, 7, "LEM", (5,), None, numbers={"input_dropout": 0.1, "warmup": 2.0})


PRINTED = [
    ("fitzhugh_nagumo", "lipschitz_rnn", {"hidden": 24}),
    ("fitzhugh_nagumo", "exprnn", {"hidden": 50}),
    ("fitzhugh_nagumo", "fastgrnn", {"hidden": 34}),
    ("fitzhugh_nagumo", "lstm", {"hidden": 16}),
    ("fitzhugh_nagumo", "cornn", {"hidden": 24}),
    ("google12", "lem", {"numbers": {"input_dropout": 0.03}, "drops": (50,)}),
    ("google12", "tau_gru", {"numbers": {"input_dropout": 0.03}, "drops": ()}),
    ("imdb", "tau_gru", {"numbers": {"input_dropout": 0.04}}),
    ("scifar", "lipschitz_rnn", {"optimiser": "sgd", "numbers": {"momentum": 0.9, "drop_factor": 0.2}, "drops": (90,)}),
    ("ncifar", "lipschitz_rnn", {"optimiser": "sgd", "numbers": {"momentum": 0.9, "drop_factor": 0.2}, "hidden": 256}),
    ("mnist98", "lipschitz_rnn", {"optimiser": "sgd", "numbers": {"momentum": 0.9}, "clip": None}),
    ("ptb_word", "lipschitz_rnn", {"optimiser": "rmsprop", "numbers": {"rms_decay": 0.9}, "clip": None}),
    ("psmnist", "lem", {"clip": 1.1, "drops": (100,)}),
    ("psmnist", "unicornn", {"epochs": 2600, "drops": (650,), "clip": None, "batch": 64}),
]
"""Task, model, and what its paper or code prints of the recipe."""


@pytest.mark.parametrize(("name", "model", "printed"), PRINTED, ids=str)
def test_a_recipe_is_what_its_paper_prints(name: str, model: str, printed: Mapping[str, object]) -> None:
    recipe = all_tasks()[name].recipe(model)
    assert {field: getattr(recipe, field) for field in printed} == printed


@pytest.mark.parametrize("task", mark_long({task.name: (task,) for task in SEQUENCES}, "mqar", "listops"))
def test_a_task_keeps_every_rule(task: TaskSpec, load: Load) -> None:
    here = replace(task, load=lambda variant: load(task, again=True) if variant == task.variant else task.load(variant))
    outcomes = [*check_subjects(RULES, [("", LoadedTask(here, load(task)))])]
    assert not [(finding.words, finding.broken) for finding in outcomes if finding.broken]
    assert len([finding for finding in outcomes if finding.skipped]) <= 2


@all_of_them
@pytest.mark.parametrize("part", ["inputs", "targets"])
@pytest.mark.parametrize("which", ["train", "valid", "test"])
def test_one_other_number_gives_another_version(task: TaskSpec, which: str, part: str, load: Load) -> None:
    data = load(task)

    def short(split: Sequences) -> Sequences:
        lengths = None if split.lengths is None else split.lengths[:16]
        return replace(split, inputs=split.inputs[:16], targets=split.targets[:16], lengths=lengths)

    data = replace(data, train=short(data.training(16)), valid=short(data.valid), test=short(data.test), stream=None)
    split = getattr(data, which)
    changed = getattr(split, part).clone(memory_format=torch.contiguous_format)
    last = changed.view(-1)[-1:]
    last.copy_(torch.where(last == 0, 1, 0) if not last.isnan() else torch.zeros_like(last))
    other = replace(data, **{which: replace(split, **{part: changed})})
    assert other.version != data.version


@pytest.mark.parametrize("task", mark_long({task.name: (task,) for task in SEQUENCES}, "mqar"))
def test_a_perfect_prediction_scores_best_and_any_other_worse(task: TaskSpec, load: Load) -> None:
    targets = few(load(task).test)
    if targets.is_floating_point():
        perfect = targets.nan_to_num()
    elif task.outputs == 1:
        perfect = (200.0 * (targets == 1) - 100).unsqueeze(-1)
    else:
        perfect = 100.0 * functional.one_hot(targets.clamp_min(0), task.outputs)
    best, other = task.metric.score(torch.stack([perfect, outputs_for(task, targets, 1)[0]]), targets).tolist()
    assert best == pytest.approx({"accuracy": 100.0, "perplexity": 1.0}.get(task.metric.name, 0.0), abs=1e-12)
    assert other < best if task.metric.goal == "max" else other > best
    loss = task.loss(torch.stack([perfect, perfect + 1e-3]), torch.stack([targets, targets]))
    assert loss[0] < 1e-12


@pytest.mark.parametrize("task", mark_long({task.name: (task,) for task in GUESSED}, "mqar"))
def test_a_guess_among_the_classes_scores_the_stated_chance(task: TaskSpec, load: Load) -> None:
    data = load(task)
    seen = data.training(2000 if task.tokens < 1000 else 4000).targets
    classes = seen[seen != NO_TARGET].unique()
    assert task.chance == pytest.approx(100 / len(classes), rel=0.03)
    targets = data.test.targets.flatten()
    targets = targets[targets != NO_TARGET]
    guesses = classes[torch.randint(len(classes), targets.shape, generator=torch.Generator().manual_seed(1))]
    outputs = torch.where(guesses == 1, 1.0, -1.0).unsqueeze(-1)
    if task.outputs > 1:
        outputs = torch.zeros(len(targets), task.outputs, dtype=torch.int8).scatter_(1, guesses[:, None], 1).float()
    share = 1 / len(classes)
    spread = 100 * (share * (1 - share) / len(targets)) ** 0.5
    assert abs(task.metric.score(outputs.unsqueeze(0), targets).item() - 100 * share) < 4 * spread + 1e-9


@all_of_them
def test_batches_of_two_members_have_the_declared_shape(task: TaskSpec, load: Load) -> None:
    data = load(task)
    config = present_trial(task.name, task.variant, "", "lem", {}, {}, 4, 3, 1, "search", 1, steps=2)
    batch = next(epoch_batches([config, replace(config, seed=2)], data, 1))
    x, target = batch.x, batch.ordered_targets
    assert x.shape[:1] + x.shape[2:] == ((2, 3) if task.tokens else (2, 3, task.inputs))
    assert target.shape[:3] == (2, x.shape[1], 3) if batch.every_step else target.shape[:2] == (2, 3)
    n = data.test.targets.numel()
    assert sum(piece.targets.numel() for piece in data.test.pieces(128)) == (n - n % STRANDS if batch.CARRIED else n)


@every_task
def test_an_unknown_variant_is_refused(task: TaskSpec) -> None:
    with pytest.raises(ValueError, match=rf"^{task.name} (has one variant|takes a variant).*got 'nonsense'\.$"):
        task.load("nonsense")


@with_files
def test_absent_files_are_named_with_the_place_and_the_way_to_get_them(
    task: TaskSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    command = re.escape(task.files.command(task.name)) if task.files else ""
    with pytest.raises(DataError, match=rf"^{task.name} needs .*: .* is not in .*raw.*\. Get it with: {command}"):
        inspect.unwrap(task.load)(task.variant)
    assert list(tmp_path.iterdir()) == []
