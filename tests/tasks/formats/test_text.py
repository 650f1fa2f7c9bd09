"""The texts: their tokens, their numbers, their splits, each against the raw files; and every way a file can break."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from raw_text import lines, write_glove, write_imdb, write_ptb

from longwave.platform.literature.published import published_rows
from longwave.tasks import imdb, ptb_char, ptb_word
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.formats import text

PTB_TASKS = {"ptb_char": ptb_char.TASK, "ptb_word": ptb_word.TASK}
both_ptb = pytest.mark.parametrize("task", PTB_TASKS.values(), ids=PTB_TASKS)
every_text = pytest.mark.parametrize("task", [*PTB_TASKS.values(), imdb.TASK], ids=lambda task: task.name)


@pytest.fixture
def raw(any_count: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for raw data."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    return tmp_path / "raw"


def load(task: TaskSpec, variant: str | None = None) -> Data:
    """Load past the cache in memory."""
    data: Data = inspect.unwrap(task.load)(task.variant if variant is None else variant)
    return data


def splits(data: Data) -> dict[str, Sequences]:
    assert data.train is not None
    return {"train": data.train, "valid": data.valid, "test": data.test}


def whole(split: Sequences) -> list[int]:
    """Return a text's tokens: its inputs and the last target."""
    assert split.inputs.shape == split.targets.shape and len(split.inputs) == 1
    assert torch.equal(split.inputs[0, 1:].long(), split.targets[0, :-1])
    return [*split.inputs[0].tolist(), int(split.targets[0, -1])]


def by_frequency(tokens: list[str]) -> list[str]:
    return [token for token, _ in sorted(Counter(tokens).items(), key=lambda item: (-item[1], item[0]))]


@pytest.mark.parametrize(
    ("english", "tokens"),
    [
        ("It isn't.", "it is n't ."),
        ("I can't, they'll 'really' go", "i ca n't , they 'll ' really ' go"),
        ("rock'n'roll: 7/10<br /><br />It's GREAT!!", "rock ' n ' roll : 7 / 10 it 's great ! !"),
        ("don't they'd've", "do n't they 'd 've"),
        ("Émile—a_b\t\n", "émile — a_b"),
        ("", ""),
    ],
)
def test_a_text_is_cut_as_glove_cuts_it(english: str, tokens: str) -> None:
    assert text.tokenise(english) == tokens.split()


@given(st.text())
def test_tokens_hold_every_character_that_is_not_a_space_in_order(anything: str) -> None:
    assert "".join(text.tokenise(anything)) == re.sub(r"\s", "", anything.lower().replace("<br />", ""))


@given(st.lists(st.lists(st.sampled_from("abcde")), min_size=1, max_size=5), st.data())
def test_numbers_count_through_the_learnt_words_by_frequency(texts: list[list[str]], data: st.DataObject) -> None:
    learnt = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, unique=True))
    rows, vocabulary = text.number_texts(texts, learnt)
    assert vocabulary == by_frequency([token for k in learnt for token in texts[k]])
    for row, tokens in zip(rows, texts, strict=True):
        assert row.tolist() == [vocabulary.index(t) if t in vocabulary else -1 for t in tokens]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_words_are_those_of_the_file_and_the_end_of_each_line(raw: Path, split: str) -> None:
    write_ptb(raw / "ptb")
    files = raw / "ptb/simple-examples/data"
    data = load(ptb_word.TASK)
    vocabulary = by_frequency((files / "ptb.train.txt").read_text().replace("\n", " <eos> ").split())
    tokens = whole(splits(data)[split])
    assert [vocabulary[k] for k in tokens] == (files / f"ptb.{split}.txt").read_text().replace("\n", "<eos>").split()


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_characters_are_those_of_the_file_without_the_spaces_at_a_lines_ends(raw: Path, split: str) -> None:
    write_ptb(raw / "ptb")
    content = (raw / f"ptb/simple-examples/data/ptb.{split}.txt").read_text()
    characters = content[1:].replace(" \n ", "\n").replace(" \n", "\n")
    data = load(ptb_char.TASK)
    tokens = whole(splits(data)[split])
    assert len(tokens) == len(characters) == len(content) - 2 * content.count("\n")
    assert len(set(zip(tokens, characters, strict=True))) == len(set(tokens)) == len(set(characters))
    counts = np.bincount(whole(splits(data)["train"]))
    assert (np.diff(counts) <= 0).all() and counts[-1] > 0


def test_characters_are_counted_as_published() -> None:
    sizes = {"train": (5_101_618, 42_068), "valid": (399_782, 3_370), "test": (449_945, 3_761)}  # bytes and lines
    counts = {split: size - 2 * number for split, (size, number) in sizes.items()}  # as the test above finds
    assert {split: n // 1000 for split, n in counts.items()} == {"train": 5017, "valid": 393, "test": 442}


@both_ptb
def test_a_text_is_cut_into_segments_of_the_variant(raw: Path, task: TaskSpec) -> None:
    write_ptb(raw / "ptb")
    default, longer = load(task), load(task, "T=300")
    assert task.variant == f"T={default.test.segment}" and longer.test.segment == 300
    assert torch.equal(default.valid.inputs, longer.valid.inputs) and default.version != longer.version
    assert default.valid.targets.max() < task.outputs == task.tokens


@every_text
@pytest.mark.parametrize("variant", ["T=0", "T=", "150", "nonsense"])
def test_an_unknown_variant_is_refused(task: TaskSpec, variant: str) -> None:
    with pytest.raises(ValueError, match=rf"^{task.name} takes a variant.*, got '{variant}'\.$"):
        task.load(variant)


@every_text
def test_the_published_numbers_find_their_task(task: TaskSpec) -> None:
    printed = {(row["ours"], row["metric"]) for row in published_rows() if row["task"] == task.name}
    ours = {task.variant, *({"T=300"} if task.files is text.PTB else {"padded"})}
    assert {(variant, task.metric.name) for variant in ours} <= printed


@pytest.mark.parametrize("inside", ["", "simple-examples/data"])
def test_the_corpus_may_lie_in_the_archives_folder_or_plainly(raw: Path, inside: str) -> None:
    write_ptb(raw / "ptb", inside)
    assert text.PTB.locate("ptb_word") == raw / "ptb" / inside
    assert text.PTB.missing() == []
    version = load(ptb_word.TASK).version
    write_ptb(raw / "ptb", "simple-examples/data")
    assert load(ptb_word.TASK).version == version


@both_ptb
@pytest.mark.parametrize("name", ["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"])
def test_a_file_that_is_missing_is_named_with_what_to_do(raw: Path, task: TaskSpec, name: str) -> None:
    write_ptb(raw / "ptb")
    (raw / "ptb/simple-examples/data" / name).unlink()
    with pytest.raises(DataError, match=rf"^{task.name} needs .*{name} is not in .*ptb\. Get it with: longwave data f"):
        load(task)


@both_ptb
@pytest.mark.parametrize("name", ["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"])
@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "a text must have at least 2 tokens, got 0"),
        (b"\n \n\n", "a text must have at least 2 tokens, got 0"),
        (b" the film \n a \xff \n", "a text must be UTF-8, but its byte 14 is not"),
    ],
)
def test_a_broken_corpus_is_refused_by_file_and_rule(
    raw: Path, task: TaskSpec, name: str, content: bytes, rule: str
) -> None:
    write_ptb(raw / "ptb")
    (raw / "ptb/simple-examples/data" / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"^[^\n]*{name}: {rule}\.$"):
        load(task)
    assert not list(raw.parent.glob("ptb*"))


def test_a_vocabulary_of_the_declared_size_is_taken_and_one_more_is_refused(raw: Path) -> None:
    words, signs = [f"w{k}" for k in range(9_999)], [chr(0x4E00 + k) for k in range(48)]
    for task, limit, line in ((ptb_word.TASK, 10_000, words), (ptb_char.TASK, 50, signs)):
        write_ptb(raw / "ptb", texts=dict.fromkeys(("train", "valid", "test"), [line]))
        data = load(task)
        assert data.train is not None and data.train.targets.max() == limit - 1
        write_ptb(raw / "ptb", texts={"train": [[*line, "x"]], "valid": [line], "test": [line]})
        with pytest.raises(
            DataError, match=rf"ptb.train.txt: {task.name} takes at most {limit} .*, got {limit + 1}\.$"
        ):
            load(task)


def test_a_word_that_training_lacks_counts_as_unknown_where_there_is_such_a_word(raw: Path) -> None:
    texts = {"train": [["<unk>", "film"], ["film"]], "valid": [["new", "film"]], "test": [["film", "<unk>"]]}
    write_ptb(raw / "ptb", texts=texts)
    film, end, unknown = 1, 0, 2
    data = load(ptb_word.TASK)
    assert whole(data.valid) == [unknown, film, end] and whole(data.test) == [film, unknown, end]
    write_ptb(raw / "ptb", texts={**texts, "train": [["film"]]})
    with pytest.raises(DataError, match=r"ptb.valid.txt: has a token that ptb.train.txt lacks, and there is no <unk>"):
        load(ptb_word.TASK)
    with pytest.raises(DataError, match=r"ptb.valid.txt: has a token that ptb.train.txt lacks"):
        load(ptb_char.TASK)


def test_a_line_that_moves_to_another_file_gives_other_data(raw: Path) -> None:
    text_lines = lines(5, 60)
    write_ptb(raw / "ptb", texts={"train": text_lines[:40], "valid": text_lines[40:50], "test": text_lines[50:]})
    before = load(ptb_word.TASK)
    write_ptb(raw / "ptb", texts={"train": text_lines[:41], "valid": text_lines[41:50], "test": text_lines[50:]})
    after = load(ptb_word.TASK)
    assert after.valid.inputs.shape[1] == before.valid.inputs.shape[1] - len(text_lines[40]) - 1


@both_ptb
def test_the_counting_predictors_score_as_counting_by_hand(raw: Path, task: TaskSpec) -> None:
    write_ptb(raw / "ptb")
    data = load(task)
    train, test = whole(splits(data)["train"]), whole(data.test)
    nats = {"unigram": 0.0, "bigram": 0.0}
    single, pair, seen = Counter(train[1:]), Counter(zip(train, train[1:], strict=False)), Counter(train[:-1])
    for now, then in zip(test, test[1:], strict=False):
        nats["unigram"] -= np.log((single[then] + 1) / (len(train) - 1 + task.tokens)) / (len(test) - 1)
        nats["bigram"] -= np.log((pair[now, then] + 1) / (seen[now] + task.tokens)) / (len(test) - 1)
    scores = task.trivial(data)
    for name, value in scores.items():
        expected = np.exp(nats[name]) if task.metric.name == "perplexity" else nats[name] / np.log(2)
        assert value == pytest.approx(expected, rel=1e-9)
    assert set(scores) == ({"unigram"} if task.name == "ptb_word" else {"unigram", "bigram"})


def files(raw: Path, half: str) -> list[Path]:
    """Return the reviews of a half, blame first, each kind in the order of its numbers."""
    kinds = [(raw / "imdb/aclImdb" / half / kind).iterdir() for kind in ("neg", "pos")]
    return [path for kind in kinds for path in sorted(kind, key=lambda path: int(path.name.split("_")[0]))]


def expected(raw: Path, words: int = 25_000) -> dict[str, list[tuple[list[int], int]]]:
    """Return the tokens and class of each review of each split, from the files."""
    halves = {
        half: [(text.tokenise(p.read_text()), p.parent.name) for p in files(raw, half)] for half in ("train", "test")
    }
    shuffle = np.random.RandomState(1234).permutation(len(halves["train"]))
    cut = len(shuffle) * 7 // 10
    parts = {
        "train": [halves["train"][k] for k in shuffle[:cut]],
        "valid": [halves["train"][k] for k in shuffle[cut:]],
        "test": halves["test"],
    }
    vocabulary = by_frequency([token for tokens, _ in parts["train"] for token in tokens])[:words]
    number = {word: k + 2 for k, word in enumerate(vocabulary)}
    return {
        name: [([number.get(t, 0) for t in tokens][:1000], int(kind == "pos")) for tokens, kind in part]
        for name, part in parts.items()
    }


@pytest.mark.parametrize("words", [25_000, 12])
def test_reviews_are_those_of_the_files_asked_for_at_their_last_token(
    raw: Path, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_imdb(raw / "imdb")
    (raw / "imdb/aclImdb/test/pos/99_10.txt").write_text("the film " * 700 + "a word of its own")
    monkeypatch.setattr(imdb, "WORDS", words)
    whole_reviews, padded = load(imdb.TASK), load(imdb.TASK, "padded")
    assert whole_reviews.version != padded.version and whole_reviews.embedding is None
    for name, reviews in expected(raw, words).items():
        split, late = splits(whole_reviews)[name], splits(padded)[name]
        assert split.inputs.shape == split.targets.shape == (len(reviews), 1000)
        assert torch.equal(split.inputs, late.inputs)
        for k, (tokens, label) in enumerate(reviews):
            assert split.inputs[k].tolist() == tokens + [1] * (1000 - len(tokens))
            for targets, step in ((split.targets[k], len(tokens) - 1), (late.targets[k], 999)):
                assert targets[step] == label and (targets == NO_TARGET).sum() == 999
    assert (whole_reviews.test.inputs[-1] != 1).all() and whole_reviews.test.targets[-1, 999] == 1


def test_no_word_of_the_reviews_that_validate_or_test_alone_is_in_the_vocabulary(raw: Path) -> None:
    write_imdb(raw / "imdb")
    for half in ("train", "test"):
        for path in files(raw, half):
            path.write_text(f"{path.read_text()} {half}{path.parent.name}{path.stem.replace('_', 'x')}")
    for name, split in splits(load(imdb.TASK)).items():
        last = split.inputs.gather(1, (split.targets != NO_TARGET).long().argmax(1, keepdim=True))
        assert bool((last == 0).all()) == (name != "train") and bool((last != 0).all()) == (name == "train")


def test_always_the_same_answer_is_right_for_half_of_the_reviews(raw: Path) -> None:
    write_imdb(raw / "imdb")
    assert imdb.TASK.trivial(load(imdb.TASK)) == {"majority": 50.0} and imdb.TASK.chance is None


def test_the_splits_have_the_published_sizes() -> None:
    train, valid = imdb.shuffle_reviews(25_000)
    assert (len(train), len(valid)) == (17_500, 7_500)
    assert sorted([*train, *valid]) == list(range(25_000))
    assert abs((train < 12_500).mean() - 0.5) < 0.01  # blame comes first


@pytest.mark.parametrize(
    ("part", "name", "content", "rule"),
    [
        ("train/pos", "40_6.txt", b"fine", "a rating in pos must be 7 to 10, got 6"),
        ("train/pos", "40_11.txt", b"fine", "a rating in pos must be 7 to 10, got 11"),
        ("test/neg", "40_0.txt", b"fine", "a rating in neg must be 1 to 4, got 0"),
        ("test/neg", "40_9.txt", b"fine", "a rating in neg must be 1 to 4, got 9"),
        ("test/pos", "40_9_9.txt", b"fine", "a review must be called NUMBER_RATING.txt"),
        ("test/pos", "x_9.txt", b"fine", "a review must be called NUMBER_RATING.txt"),
        ("train/neg", "7_1.txt", b"fine", "review 7 must occur once, got 7_1.txt too"),
        ("train/neg", "40_1.txt", b"fine \xe9", "a text must be UTF-8, but its byte 5 is not"),
        ("test/neg", "40_1.txt", b" <br />\n", "a review must have at least one word, got none"),
        ("test/neg", "40_1.txt", b"", "a review must have at least one word, got none"),
    ],
)
def test_a_broken_review_is_refused_by_file_and_rule(
    raw: Path, part: str, name: str, content: bytes, rule: str
) -> None:
    write_imdb(raw / "imdb")
    (raw / "imdb/aclImdb" / part / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"^[^\n]*{part}/[0-9x]+_[_0-9]+\.txt: {re.escape(rule)}\.$"):
        load(imdb.TASK)
    assert not list(raw.parent.glob("imdb*"))


@pytest.mark.parametrize("part", ["train/neg", "train/pos", "test/neg", "test/pos"])
def test_a_folder_of_reviews_that_is_empty_or_missing_is_named(raw: Path, part: str) -> None:
    write_imdb(raw / "imdb")
    folder = raw / "imdb/aclImdb" / part
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(DataError, match=rf"{part}: must hold reviews NUMBER_RATING.txt, got none\.$"):
        load(imdb.TASK)
    folder.rmdir()
    with pytest.raises(DataError, match=rf"^imdb needs .*: {part}/ is not in .*Get it with: longwave data fetch imdb"):
        load(imdb.TASK)


def test_the_embedding_starts_from_glove_where_its_file_is_there(raw: Path) -> None:
    write_imdb(raw / "imdb")
    bare = load(imdb.TASK)
    vectors = {"the": np.arange(100) / 8, "n't": -np.ones(100), "zebra": np.ones(100)}
    write_glove(raw / "imdb" / text.GLOVE, vectors)  # type: ignore[arg-type]
    data, again = load(imdb.TASK), load(imdb.TASK, "padded")
    assert torch.equal(data.test.inputs, bare.test.inputs) and data.version != bare.version
    rows, repeated = data.embedding, again.embedding
    assert rows is not None and repeated is not None and torch.equal(rows, repeated)
    assert rows.shape == (25_002, 100) == (imdb.TASK.tokens, imdb.TASK.inputs) and rows.dtype == torch.float32
    assert (rows[:2] == 0).all()
    words = [token for path in files(raw, "test") for token in text.tokenise(path.read_text())]
    number = dict(zip(words, [k for tokens, _ in expected(raw)["test"] for k in tokens], strict=True))
    assert torch.equal(rows[number["the"]], torch.arange(100) / 8) and (rows[number["n't"]] == -1).all()
    others = np.delete(rows.numpy(), [0, 1, number["the"], number["n't"]], 0)
    assert scipy.stats.kstest(others[:2000].ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("the" + " 0.1" * 99, r"line 2 must be a word and 100 finite numbers, got b'the 0.1 "),
        ("the" + " 0.1" * 101, "line 2 must be a word and 100 finite numbers"),
        ("unseen" + " 0.1" * 99, "line 2 must be a word and 100 finite numbers, got b'unseen"),
        ("the x" + " 0.1" * 99, "line 2 must be a word and 100 finite numbers, got b'the x"),
        ("the nan" + " 0.1" * 99, "line 2 must be a word and 100 finite numbers, got b'the nan"),
        ("", "line 2 must be a word and 100 finite numbers, got b'"),
    ],
)
def test_a_broken_line_of_glove_is_refused(raw: Path, line: str, rule: str) -> None:
    write_imdb(raw / "imdb")
    path = raw / "imdb" / text.GLOVE
    path.write_text("film" + " 0.5" * 100 + f"\n{line}\n")
    with pytest.raises(DataError, match=rf"{text.GLOVE}: {rule}"):
        load(imdb.TASK)
    for content in ("", "zebra" + " 0.5" * 100 + "\n"):
        path.write_text(content)
        with pytest.raises(DataError, match=rf"{text.GLOVE}: must hold words of the reviews, got none\.$"):
            load(imdb.TASK)
    assert not list(raw.parent.glob("imdb*"))
