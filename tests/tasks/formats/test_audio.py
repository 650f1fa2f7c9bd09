"""Sound files, spectra and mel bands against scipy, closed forms and librosa's numbers."""

from __future__ import annotations

import os
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.io.wavfile
import scipy.signal
from raw_signals import sound, write_sphere, write_wav

from longwave.tasks.base.raw import DataError
from longwave.tasks.formats import audio
from longwave.tasks.google12 import features
from longwave.tasks.timit import log_spectrum


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_riff_file_is_read_as_scipy_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    write_wav(path, np.array([0, 1, -1, 16384, 32767, -32768], np.int16))
    rate, expected = scipy.io.wavfile.read(path)
    samples = audio.read_sound(path, rate)
    assert samples.dtype == np.float32
    assert np.array_equal(samples, expected / np.float32(32768))
    assert samples.tolist()[3:] == [0.5, 32767 / 32768, -1.0]


@pytest.mark.parametrize("order", ["01", "10"])
def test_a_sphere_file_is_read_in_both_byte_orders(tmp_path: Path, order: str) -> None:
    samples = sound(1000, 1)
    write_sphere(tmp_path / "a.wav", samples, order)
    assert np.array_equal(audio.read_sound(tmp_path / "a.wav", 16000) * 32768, samples)


def _stereo(path: Path) -> None:
    write_wav(path, np.zeros((10, 2), np.int16))


def _cut(path: Path) -> None:
    write_wav(path, sound(1000, 1))
    path.write_bytes(path.read_bytes()[:-600])


def _no_samples(path: Path) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)


def _cut_sphere(path: Path) -> None:
    write_sphere(path, sound(100, 1), sample_count=101)


BROKEN = {
    "an empty file": (lambda p: p.write_bytes(b""), "must begin with RIFF or NIST_1A, got b''"),
    "a text": (lambda p: p.write_text("Not found"), "must begin with RIFF or NIST_1A, got b'Not fou'"),
    "a header cut short": (lambda p: p.write_bytes(b"RIFF\x00\x00"), "a RIFF file of plain samples: it ends too soon"),
    "no format": (lambda p: p.write_bytes(b"RIFF\x04\x00\x00\x00WAVE"), "plain samples: fmt chunk"),
    "floating-point samples": (lambda p: write_wav(p, np.zeros(9)), "plain samples: unknown format: 3"),
    "too few samples": (_cut, "must be 1000 samples, as its header says, got 700"),
    "no samples": (_no_samples, "there must be samples, got none"),
    "another rate": (lambda p: write_wav(p, sound(9, 1), 8000), r"of 2 bytes at 16000 Hz, got 1 .* at 8000 Hz"),
    "two channels": (_stereo, r"must be 1 channel\(s\) .* got 2 channel"),
    "8 bits": (lambda p: write_wav(p, np.zeros(9, np.uint8)), r"of 2 bytes .* got 1 channel\(s\) of 1 bytes"),
    "SPHERE, no sizes": (lambda p: p.write_bytes(b"NIST_1A\n   1024\nend_head\n"), "must give sizes and a rate"),
    "SPHERE, no number": (lambda p: write_sphere(p, sound(9, 1), sample_rate="x"), "must give sizes and a rate"),
    "SPHERE, another rate": (lambda p: write_sphere(p, sound(9, 1), sample_rate=8000), "got .* at 8000 Hz"),
    "SPHERE, compressed": (
        lambda p: write_sphere(p, sound(9, 1), sample_coding="pcm,embedded-shorten-v2.00"),
        "the sample_coding must be pcm, got pcm,embedded-shorten-v2.00",
    ),
    "SPHERE, too few samples": (_cut_sphere, "must be 101 samples, as its header says, got 100"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_sound_file_is_refused_with_one_line_that_names_it(tmp_path: Path, what: str) -> None:
    make, rule = BROKEN[what]
    make(tmp_path / "a.wav")
    with pytest.raises(DataError, match=rf"^{tmp_path / 'a.wav'}: [^\n]*{rule}[^\n]*$"):
        audio.read_sound(tmp_path / "a.wav", 16000)


@pytest.mark.parametrize("size, hop", [(256, 128), (1024, 128), (64, 48)])
def test_a_spectrum_is_what_scipy_returns(size: int, hop: int) -> None:
    x = np.random.RandomState(0).randn(5000)
    options = {"window": "hann", "nperseg": size, "noverlap": size - hop, "detrend": False, "scaling": "spectrum"}
    expected = scipy.signal.spectrogram(x, mode="magnitude", **options)[2].T * (size / 2)  # the window's sum is size/2
    np.testing.assert_allclose(audio.spectrum(x, size, hop), expected, rtol=1e-10, atol=1e-12)


def test_a_sine_on_a_bin_has_a_quarter_of_the_frame_times_its_amplitude_and_half_that_beside_it() -> None:
    x = 3 * np.sin(2 * np.pi * 16 * np.arange(1024) / 256 + 0.4)
    expected = np.zeros(129)
    expected[15:18] = [96, 192, 96]
    np.testing.assert_allclose(audio.spectrum(x, 256, 128), np.tile(expected, (7, 1)), atol=1e-9)


def test_mel_filters_are_triangles_between_slaneys_frequencies() -> None:
    edges = [200 * m / 3 for m in range(15)] + [1000 * 6.4 ** (m / 27) for m in range(28)]  # mel 0, 1, ..., 42
    filters = audio.mel_filters(16000, 16000, 41, 0.0, 6400.0)
    frequencies = np.arange(8001.0)
    for k in range(41):
        left, top, right = edges[k : k + 3]
        expected = np.interp(frequencies, [left, top, right], [0, 2 / (right - left), 0])
        np.testing.assert_allclose(filters[k], expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(filters.sum(1), 1.0, rtol=1e-3)  # 1 Hz apart: the area


def test_mel_filters_are_librosas() -> None:
    filters = audio.mel_filters(16000, 1024, 80, 40.0, 8000.0)
    assert filters.shape == (80, 513)
    with_librosa_0_11 = {
        (0, 5): 0.02619253376,
        (10, 28): 0.02225274267,
        (33, 86): 0.01803673718,
        (34, 90): 0.01657892721,
        (60, 240): 0.006999032341,
        (79, 493): 0.003418172322,
    }
    for (band, frequency), value in with_librosa_0_11.items():
        assert filters[band, frequency] == pytest.approx(value, rel=1e-9)


def test_the_features_of_a_chirp_are_those_that_librosa_computes() -> None:
    t = np.arange(12000) / 16000
    computed = features((0.5 * np.sin(2 * np.pi * (200 * t + 2000 * t**2)) * np.exp(-3 * t)).astype(np.float32))
    assert computed.shape == (126, 80) and computed.dtype == np.float32
    with_librosa_0_11 = {
        (0, 0): 1.213334,
        (0, 5): 1.394244,
        (1, 7): 1.155653,
        (30, 20): 0.06015525,
        (60, 40): -0.05928828,
        (93, 79): 0.1959043,
        (94, 3): 1.405307,
        (125, 79): 1.405307,
    }
    for (frame, band), value in with_librosa_0_11.items():
        assert computed[frame, band] == pytest.approx(value, rel=1e-5)


def test_features_have_mean_0_and_variance_1_and_zeros_in_silence() -> None:
    computed = features(sound(16000, 3) / np.float32(32768))
    assert computed.mean() == pytest.approx(0, abs=1e-6) and computed.std(ddof=1) == pytest.approx(1, rel=1e-6)
    assert not features(np.zeros(16000, np.float32)).any()


def test_a_sound_that_ends_early_is_filled_up_with_one_value_the_loudest() -> None:
    computed = features(sound(8000, 3) / np.float32(32768))
    assert (computed[63:] == computed.max()).all() and (computed[:63] < computed.max()).sum() >= 63 * 80 - 1


def test_decibels_are_below_the_largest_power_by_80_at_most() -> None:
    power = np.array([1e-30, 1e-9, 1e-6, 0.001, 0.1, 1.0, 10.0])
    np.testing.assert_allclose(audio.decibels(power), [-80, -80, -70, -40, -20, -10, 0], atol=1e-12)
    np.testing.assert_allclose(audio.decibels(np.array([0.0, 1e-12])), [0, 0], atol=1e-12)


def test_timit_frames_are_log_powers_of_the_sound_at_8_khz_between_frames_of_silence() -> None:
    x = sound(3001, 5) / np.float32(32768)
    slow = scipy.signal.resample_poly(x.astype(np.float64), 1, 2)
    filled = np.zeros(256 + 12 * 128 + 256)
    filled[256 : 256 + len(slow)] = slow
    options = {"window": "hann", "nperseg": 256, "noverlap": 128, "detrend": False, "scaling": "spectrum"}
    magnitudes = scipy.signal.spectrogram(filled, mode="magnitude", **options)[2].T * 128
    computed = log_spectrum(x)
    assert computed.shape == (12 + 3, 129) and computed.dtype == np.float32
    np.testing.assert_allclose(computed, 10 * np.log10(1e-5 + magnitudes**2), rtol=1e-5)
    np.testing.assert_allclose(computed[0], -50.0)


def test_timit_frames_forget_what_lies_above_4_khz() -> None:
    t = np.arange(16000) / 16000
    low, high = (log_spectrum((0.5 * np.sin(2 * np.pi * f * t)).astype(np.float32)) for f in (1000.0, 6000.0))
    assert low[20].argmax() == 32 and low[20].max() > 20  # 31.25 Hz a bin
    assert high[5:-5].max() < -30


def test_rows_are_kept_on_disk_and_made_once(cache_folder: Path) -> None:
    rows = np.random.RandomState(0).randn(5, 3, 2).astype(np.float32)

    def never() -> Iterator[np.ndarray]:
        raise AssertionError("these rows are there already")
        yield

    first = audio.map_rows("rows-1", 5, iter(rows))
    again = audio.map_rows("rows-1", 5, never())
    for stored in (first, again):
        assert isinstance(stored, np.memmap) and stored.dtype == np.float32 and np.array_equal(stored, rows)
    assert [path.name for path in cache_folder.iterdir()] == ["rows-1.npy"]


def test_what_is_written_into_the_mapped_array_does_not_reach_the_disk(cache_folder: Path) -> None:
    audio.map_rows("rows-1", 2, iter(np.ones((2, 3))))[:] = 7
    assert (audio.map_rows("rows-1", 2, iter(())) == 1).all()


def test_nothing_half_written_stays_where_a_row_cannot_be_made(cache_folder: Path) -> None:
    def rows() -> Iterator[np.ndarray]:
        yield np.zeros(3)
        raise DataError("the second file is broken")

    with pytest.raises(DataError, match=r"^the second file is broken$"):
        audio.map_rows("rows-1", 2, rows())
    assert list(cache_folder.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=rf"^{tmp_path}/file/rows-1\.npy: the features must be cached on disk, which "):
        audio.map_rows("rows-1", 1, iter([np.zeros(3)]))


def test_a_listing_notices_another_name_size_time_or_order(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"12")
        os.utime(path, (1000, 1000))
    keys = {
        audio.list_digest(tmp_path, paths),
        audio.list_digest(tmp_path, paths[::-1]),
        audio.list_digest(tmp_path, paths[:1]),
    }
    os.utime(paths[0], (1001, 1001))
    keys.add(audio.list_digest(tmp_path, paths))
    paths[0].write_bytes(b"123")
    os.utime(paths[0], (1001, 1001))
    keys.add(audio.list_digest(tmp_path, paths))
    assert len(keys) == 5
