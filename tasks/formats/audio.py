"""Sound files, their spectra and mel bands, and features cached on disk."""

from __future__ import annotations

import hashlib
import wave
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from longwave.files import atomic_file
from longwave.tasks.base.cache import folder
from longwave.tasks.base.raw import DataError, open_bytes

FULL_SCALE = 32768
"""Scale of 16-bit samples: they are read as numbers in [−1, 1)."""


def read_sound(path: Path, rate: int) -> np.ndarray:
    """Return the samples of a 16-bit mono file, (S,) float32 in [−1, 1).

    Args:
        path: A RIFF file or, as in TIMIT, a NIST SPHERE file without compression.
        rate: Samples per second.

    Raises:
        DataError: The file is neither, has another format, is shorter than its header says, or has no samples.
    """
    with open_bytes(path) as file:
        magic = file.read(7)
    if magic == b"NIST_1A":
        return _read_sphere(path, rate)
    if magic[:4] != b"RIFF":
        raise DataError(f"{path}: a sound file must begin with RIFF or NIST_1A, got {magic!r}.")
    try:
        with wave.open(str(path)) as sound:
            format_ = (sound.getnchannels(), sound.getsampwidth(), sound.getframerate())
            count = sound.getnframes()
            data = sound.readframes(count)
    except (wave.Error, EOFError) as error:
        raise DataError(
            f"{path}: this must be a RIFF file of plain samples: {str(error) or 'it ends too soon'}."
        ) from None
    _check_format(path, format_, (1, 2, rate))
    return _read_samples(path, data, count, "<i2")


def _read_sphere(path: Path, rate: int) -> np.ndarray:
    """Return the samples of a SPHERE file: a text header, whose second line gives its size, then samples."""
    content = path.read_bytes()
    lines = [line.split(None, 2) for line in content[:1024].decode("ascii", "replace").splitlines()]
    fields = {line[0]: line[2] for line in lines if len(line) == 3}
    try:
        start, count = int(lines[1][0]), int(fields["sample_count"])
        channels, width = int(fields["channel_count"]), int(fields["sample_n_bytes"])
        format_ = (channels, width, int(fields["sample_rate"]))
    except (IndexError, KeyError, ValueError) as error:
        raise DataError(f"{path}: the SPHERE header must give sizes and a rate: {error!r}.") from None
    _check_format(path, format_, (1, 2, rate))
    if (coding := fields.get("sample_coding", "pcm")) != "pcm":
        raise DataError(f"{path}: the sample_coding must be pcm, got {coding}.")
    return _read_samples(path, content[start:], count, ">i2" if fields.get("sample_byte_format") == "10" else "<i2")


def _check_format(path: Path, actual: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    if actual != expected:
        words = "{} channel(s) of {} bytes at {} Hz".format
        raise DataError(f"{path}: there must be {words(*expected)}, got {words(*actual)}.")


def _read_samples(path: Path, data: bytes, count: int, kind: str) -> np.ndarray:
    if len(data) < 2 * count:
        raise DataError(f"{path}: there must be {count} samples, as its header says, got {len(data) // 2}.")
    if count <= 0:
        raise DataError(f"{path}: there must be samples, got none.")
    return np.frombuffer(data, dtype=kind, count=count).astype(np.float32) / FULL_SCALE


def spectrum(x: np.ndarray, size: int, hop: int) -> np.ndarray:
    """Return the magnitudes of the short-time Fourier transform of x, (frames, size / 2 + 1) float64.

    Args:
        x: (S,); pad it beforehand, as frames lie inside it.
        size: Samples of a frame, weighted by a periodic Hann window.
        hop: Samples between frames.
    """
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    frames = np.lib.stride_tricks.sliding_window_view(x, size)[::hop]
    return np.abs(np.fft.rfft(frames * window))


def mel_filters(rate: int, size: int, bands: int, low: float, high: float) -> np.ndarray:
    """Return triangular filters of equal area, equally spaced on Slaney's mel scale, (bands, size / 2 + 1).

    The scale is linear to 1000 Hz, 3 mel for 200 Hz, and logarithmic above, 27 mel for a factor of 6.4.
    """

    def mel(hertz: float) -> float:
        return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * np.log(hertz / 1000) / np.log(6.4)

    mels = np.linspace(mel(low), mel(high), bands + 2)
    edges = np.where(mels < 15, 200 * mels / 3, 1000 * 6.4 ** ((mels - 15) / 27))[:, None]
    frequencies = np.linspace(0, rate / 2, size // 2 + 1)
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    filters: np.ndarray = np.maximum(0, np.minimum(rising, falling)) * 2 / (edges[2:] - edges[:-2])
    return filters


def decibels(power: np.ndarray, least: float = 1e-10, span: float = 80.0) -> np.ndarray:
    """Return 10 log10(power / its maximum), with powers clipped below at ``least`` and results at −``span``."""
    levels = 10 * np.log10(np.maximum(power, least))
    below: np.ndarray = np.maximum(levels - levels.max(), -span)
    return below


def list_digest(root: Path, paths: Iterable[Path]) -> str:
    """Return 12 hex digits of the names, sizes and times of many files: reading them all would take minutes."""
    digest = hashlib.sha256()
    for path in paths:
        status = path.stat()
        digest.update(f"{path.relative_to(root)}:{status.st_size}:{status.st_mtime_ns};".encode())
    return digest.hexdigest()[:12]


def map_rows(key: str, n: int, rows: Iterable[np.ndarray]) -> np.ndarray:
    """Return rows of float32 as one memory-mapped array, computed once and shared by all processes.

    Args:
        key: Everything that determines the content, version included.
        n: Number of rows.
        rows: Yields them one at a time, all of one shape; not used if the file exists and is complete.

    Raises:
        DataError: The file cannot be written.
    """
    path = folder() / f"{key}.npy"
    with suppress(OSError, EOFError, ValueError):  # absent, or truncated
        return _open_rows(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            _write_rows(partial, n, rows)
    except OSError as error:
        raise DataError(f"{path}: the features must be cached on disk, which failed: {error}.") from None
    return _open_rows(path)


def _open_rows(path: Path) -> np.ndarray:
    array: np.ndarray = np.load(path, mmap_mode="c", allow_pickle=False)
    return array


def _write_rows(path: Path, n: int, rows: Iterable[np.ndarray]) -> None:
    with path.open("wb") as file:
        for k, row in enumerate(rows):
            if k == 0:
                header = {"descr": "<f4", "fortran_order": False, "shape": (n, *row.shape)}
                np.lib.format.write_array_header_1_0(file, header)
            file.write(row.astype("<f4").tobytes())
