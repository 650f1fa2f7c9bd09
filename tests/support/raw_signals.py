"""Small sets of worms, heartbeat beats, activities, words and sentences in the formats of the real files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import scipy.io.wavfile
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from tiers import mark_long

BIDMC_PROBLEMS = mark_long(
    {name: (name,) for name in ("BIDMC32HR", "BIDMC32RR", "BIDMC32SpO2")}, "BIDMC32RR", "BIDMC32SpO2"
)
"""The three problems of heartbeat and breath, as parameters of a test."""
CHANNELS = "body_acc_x body_acc_y body_acc_z body_gyro_x body_gyro_y body_gyro_z total_acc_x total_acc_y total_acc_z"
COMMANDS = "yes no up down left right on off stop go".split()
OTHERS = ["bed", "cat", "marvin"]
CORE = "mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0 mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0"
CORE += " mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0"
DEVELOPMENT = "faks0 fdac1 fjem0 mgwt0 mjar0 mmdb1 mmdm2 mpdf0 fcmh0 fkms0 mbdg0 mbwm0 mcsh0 fadg0 fdms0 fedw0 mgjf0"
DEVELOPMENT += " mglb0 mrtk0 mtaa0 mtdt0 mthc0 mwjg0 fnmr0 frew0 fsem0 mbns0 mmjr0 mdls0 mdlf0 mdvc0 mers0 fmah0 fdrw0"
DEVELOPMENT += " mrcs0 mrjm4 fcal1 mmwh0 fjsj0 majc0 mjsw0 mreb0 fgjd0 fjmg0 mroa0 mteb0 mjfc0 mrjr0 fmml0 mrws1"


def write_ts(path: Path, values: np.ndarray, labels: Iterable[object], header: Sequence[str]) -> None:
    """Write series (N, T, p) and their labels as a .ts file."""
    lines = ["# written by a test", *header, "@data"]
    for series, label in zip(values.tolist(), labels, strict=True):
        dimensions = [",".join(map(str, dimension)) for dimension in zip(*series, strict=True)]
        lines.append(":".join([*dimensions, str(label)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_eigenworms(root: Path, n: int = 36, steps: int = 17984, classes: str = "1 2 3 4 5") -> np.ndarray:
    """Write half of n worms into TRAIN, half into TEST; return the classes, 1 to 5, in the order of the files."""
    train, held_out = train_test_split(np.arange(n), test_size=0.3, random_state=1234)
    labels = np.empty(n, int)
    for part in (train, *train_test_split(held_out, test_size=0.5, random_state=1234)):
        labels[part] = np.arange(len(part)) % 5 + 1
    values = np.random.RandomState(0).randint(-99, 99, (n, steps, 6))
    header = ["@problemName EigenWorms", "@timeStamps false", "@missing false", "@univariate false", "@dimensions 6"]
    header += ["@equalLength true", f"@seriesLength {steps}"]
    for part, piece in [("TRAIN", slice(n // 2)), ("TEST", slice(n // 2, n))]:
        names = classes if part == "TEST" else "1 2 3 4 5"
        path = root / f"EigenWorms_{part}.ts"
        write_ts(path, values[piece], labels[piece], [*header, f"@classLabel true {names}"])
    return labels


def write_bidmc(root: Path, problem: str, n: int = 40, steps: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Write 70 % of n windows into TRAIN, the rest into TEST; return all values and targets in that order."""
    random = np.random.RandomState(sum(problem.encode()))
    values, targets = random.randn(n, steps, 2).round(3), random.uniform(60, 120, n).round(2)
    header = [f"@problemName {problem}", "@timestamps false", "@univariate false", "@targetlabel true"]
    for part, piece in [("TRAIN", slice(n * 7 // 10)), ("TEST", slice(n * 7 // 10, n))]:
        write_ts(root / f"{problem}_{part}.ts", values[piece], targets[piece], header)
    return values, targets


def write_bidmc32hr(root: Path) -> None:
    """Write 40 windows and their heartbeat rates."""
    write_bidmc(root, "BIDMC32HR")


def write_bidmc32rr(root: Path) -> None:
    """Write 40 windows and their rates of breathing."""
    write_bidmc(root, "BIDMC32RR")


def write_bidmc32spo2(root: Path) -> None:
    """Write 40 windows and their oxygen saturations."""
    write_bidmc(root, "BIDMC32SpO2")


def write_uci_har(root: Path, train: int = 70, test: int = 30) -> None:
    """Write windows with activities 1, 2, ..., 6, 1, ... in the order in which the task splits them."""
    random = np.random.RandomState(0)
    for part, n in [("train", train), ("test", test)]:
        folder = root / "UCI HAR Dataset" / part
        (folder / "Inertial Signals").mkdir(parents=True)
        for k, channel in enumerate(CHANNELS.split()):
            windows = random.randn(n, 128) * (k + 1) + k
            rows = ["".join(f" {v: .7e}" for v in row).replace("e-", "e-0").replace("e+", "e+0") for row in windows]
            (folder / "Inertial Signals" / f"{channel}_{part}.txt").write_text("\n".join(rows) + "\n")
        activities = np.empty(n, int)
        activities[np.random.RandomState(1234).permutation(n)] = np.arange(n) % 6 + 1
        (folder / f"y_{part}.txt").write_text("".join(f"{a}\n" for a in activities))


def sound(samples: int, seed: int) -> np.ndarray:
    """Return noise under a slow envelope, int16 (samples,)."""
    envelope = np.sin(np.linspace(0, np.pi, samples)) ** 2
    noise = np.random.RandomState(seed).uniform(-1, 1, samples)
    return (20000 * envelope * noise).astype(np.int16)


def write_wav(path: Path, samples: np.ndarray, rate: int = 16000) -> None:
    """Write a RIFF file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scipy.io.wavfile.write(path, rate, samples)


def write_sphere(path: Path, samples: np.ndarray, order: str = "01", **fields: object) -> None:
    """Write a NIST SPHERE file; ``fields`` replace those of the header."""
    content: dict[str, object] = {"channel_count": 1, "sample_count": len(samples), "sample_rate": 16000}
    content |= {"sample_n_bytes": 2, "sample_byte_format": order} | fields
    lines = ["NIST_1A", "   1024", "speaker_id -s5 aks0"]
    lines += [f"{k} -{'i' if isinstance(v, int) else f's{len(str(v))}'} {v}" for k, v in content.items()]
    header = "\n".join([*lines, "end_head", ""]).encode().ljust(1024)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + samples.astype("<i2" if order == "01" else ">i2").tobytes())


def write_speech_commands(root: Path) -> None:
    """Write three sounds of each of 13 words, one for each split, and two noises of two and a half seconds."""
    lists: dict[int, list[str]] = {0: [], 1: [], 2: []}
    for seed, word in enumerate([*COMMANDS, *OTHERS]):
        for k, names in lists.items():
            name = f"{word}/{seed:08x}_nohash_{k}.wav"
            write_wav(root / name, sound(16000 - 1000 * (seed % 4), 3 * seed + k))
            names.append(name)
    (root / "validation_list.txt").write_text("".join(f"{name}\n" for name in lists[1]))
    (root / "testing_list.txt").write_text("".join(f"{name}\n" for name in lists[2]))
    for k, name in enumerate(["pink_noise", "running_tap"]):
        write_wav(root / "_background_noise_" / f"{name}.wav", sound(40000, 100 + k))
    (root / "_background_noise_" / "README.md").write_text("Noises\n")


def write_timit(root: Path) -> None:
    """Write sentences of three speakers for training and one of each of 74 speakers for the other splits."""
    random = np.random.RandomState(0)
    speakers = [("TRAIN", speaker, 4) for speaker in ("FCJF0", "MSAT0", "MDAC0")]
    speakers += [("TEST", speaker.upper(), 1) for speaker in (*CORE.split(), *DEVELOPMENT.split(), "MRES0")]
    for k, (part, speaker, n) in enumerate(speakers):
        folder = root / part / f"DR{k % 8 + 1}" / speaker
        for j, name in enumerate(["SX100", "SX10", "SI600", "SI1200"][:n] + ["SA1"]):
            samples = sound(random.randint(2000, 5000), 10 * k + j)
            write = write_wav if k % 5 == 4 else write_sphere
            write(folder / f"{name}.WAV", samples)
            (folder / f"{name}.TXT").write_text("0 2000 She had\n")


def archive_writer(
    title: str, train: int, series: int, steps: int, features: int, classes: int
) -> Callable[[Path], None]:
    """Return a function that writes a set of the archive in its original size, with random values; steps 0: 7 to 29."""

    def write(root: Path) -> None:
        random = np.random.RandomState(len(title))
        header = ["@timestamps false", f"@dimensions {features}", f"@equalLength {str(steps > 0).lower()}"]
        header.append(f"@classLabel true {' '.join(map(str, range(classes)))}")
        root.mkdir(parents=True, exist_ok=True)
        for part, count in (("TRAIN", train), ("TEST", series - train)):
            lengths = [steps or 7 + k % 23 for k in range(count)]
            lines = [
                ":".join(",".join(map(str, channel)) for channel in random.randint(-99, 99, (features, n)))
                + f":{k % classes}"
                for k, n in enumerate(lengths)
            ]
            (root / f"{title}_{part}.ts").write_text("\n".join([*header, "@data", *lines]) + "\n", encoding="utf-8")

    return write
