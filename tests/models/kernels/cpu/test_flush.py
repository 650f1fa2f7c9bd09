"""Subnormal numbers count as zeros inside the fused loops, and nowhere else: each thread keeps its own setting."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from kernel_cases import build, inputs, on_cpu, outcome
from torch import Tensor

from longwave.models.kernels.cpu import run
from longwave.models.kernels.cpu.build import FLAGS, SOURCES, library
from longwave.models.kernels.cpu.direct import BLOCK
from longwave.models.lem import LEM

SETTING = """
#include <cstdint>

extern "C" uint64_t setting() {
#if defined(__SSE__)
  return __builtin_ia32_stmxcsr() & 0xffc0;  // without the flags of what has happened
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
#else
  return 0;
#endif
}
"""
INSIDE = """
#include <cstdio>
#include <cstring>
#include <new>
#include "flush.h"
SETTING

volatile float least = 1.17549435e-38f, large = 1e30f, below;  // the least number that is not subnormal, and half of it

// What is read is 1, what is made is 2.
__attribute__((noinline)) int kept() {
  const float given = below * large, made = least / 2;
  uint32_t bits;  // where subnormals count as zeros, to compare them with zero says nothing
  std::memcpy(&bits, &made, sizeof(bits));
  return (given > 0.0f) + 2 * (bits != 0);
}

int main() {
  below = least / 2;
  const auto before = setting();
  bool right = kept() == 3;
  try {
    const longwave::Flush subnormals;
    right = right && kept() == 0;
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) { right = right && setting() == before && kept() == 3; }
  {
    const longwave::Flush none(false);
    right = right && setting() == before && kept() == 3;
  }
  std::puts(right ? "right" : "wrong");
}
"""
LEAST = torch.finfo(torch.float32).tiny
"""The least float32 that is not subnormal."""
FAR = 1e-30
"""So large that no sum of subnormal numbers changes it."""


@pytest.fixture
def setting() -> Callable[[], int]:
    """Return what reads how the calling thread treats subnormal numbers."""
    on_cpu(LEM(1, 4))
    if platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):
        pytest.skip("this processor keeps subnormals")
    actual = library(SETTING)
    assert actual is not None
    actual.setting.restype = ctypes.c_uint64
    read: Callable[[], int] = actual.setting
    return read


@pytest.fixture(params=[False, True], ids=["kept", "flushed"])
def chosen(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Have the thread of the test keep subnormals, or flush them."""
    torch.set_flush_denormal(request.param)
    yield request.param
    torch.set_flush_denormal(False)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Return what sets torch's threads; afterwards they are as many as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def subnormal(t: Tensor) -> Tensor:
    """Return where a tensor's numbers are subnormal, by their bits: what flushes cannot tell them from zeros."""
    return ((t.view(torch.int32) & 0x7F800000) == 0) & ((t.view(torch.int32) & 0x007FFFFF) != 0)


def test_a_call_leaves_its_thread_as_it_was(
    setting: Callable[[], int], chosen: bool, threads: Callable[[int], None]
) -> None:
    threads(1)
    layer, before = LEM(2, 5), setting()
    outputs, _ = layer(torch.randn(9, 3, 2))
    assert setting() == before
    outputs.sum().backward()
    assert setting() == before
    with torch.no_grad():
        layer(torch.randn(9, 3, 2))
    assert setting() == before


def test_so_does_one_that_finds_no_memory(
    setting: Callable[[], int], chosen: bool, threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(1)
    layer, before = LEM(2, 5), setting()
    outputs, _ = layer(torch.randn(9, 3, 2))
    monkeypatch.setattr(run, "chunk", lambda *_: 2**50)
    with pytest.raises(MemoryError, match="The backward pass of .* ran out of memory"):
        outputs.sum().backward()
    assert setting() == before
    with pytest.raises(MemoryError, match="The forward pass of .* ran out of memory"), torch.no_grad():
        layer(torch.randn(9, 3, 2))
    assert setting() == before


def test_the_threads_that_share_a_call_stay_as_they_were_and_give_what_one_thread_gives(
    setting: Callable[[], int], threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    count, layer = 3, LEM(2, 5)
    x, state = inputs(layer, 300, 70)  # three blocks of rows
    threads(1)
    alone, plain, together = outcome(layer, x, state), setting(), threading.Barrier(count)

    def read() -> int:
        together.wait(30)  # or one thread would answer for all
        return setting()

    with ThreadPoolExecutor(count) as pool:
        monkeypatch.setattr(run, "threads", lambda process: pool)
        threads(count)
        shared = outcome(layer, x, state)
        after = [each.result() for each in [pool.submit(read) for _ in range(count)]]
    assert after == [plain] * count
    assert all(torch.equal(shared[name], value) for name, value in alone.items())


def test_callers_in_several_threads_keep_a_setting_each(setting: Callable[[], int]) -> None:
    layer, together = LEM(2, 5), threading.Barrier(4)
    x, state = inputs(layer, 50, 3)
    truth = outcome(layer, x, state)

    def call(flush: bool) -> bool:
        torch.set_flush_denormal(flush)
        before = setting()
        together.wait(30)
        actual = [outcome(layer, x, state) for _ in range(5)]
        return setting() == before and all(torch.equal(f[name], truth[name]) for f in actual for name in truth)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, [False, True, False, True]))


def test_a_gradient_that_vanishes_ends_in_zeros() -> None:
    layer = LEM(2, 20, dt=0.9)
    on_cpu(layer)

    def gradients() -> dict[str, Tensor]:
        x = torch.randn(700, 33, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
        last = layer(x)[0][-1].sum()
        named = {"x": x, **dict(layer.named_parameters())}
        return dict(zip(named, torch.autograd.grad(last, list(named.values())), strict=True))

    with run.keeping_subnormals():
        full = gradients()
    flushed = gradients()
    assert subnormal(full["x"]).any(), "the gradient does not vanish, so that the test says nothing"
    assert not any(subnormal(g).any() for g in flushed.values())
    assert all(torch.equal(g[g.abs() > FAR], full[name][g.abs() > FAR]) for name, g in flushed.items())
    assert all(torch.equal(g, full[name]) for name, g in flushed.items() if name != "x")


def test_a_state_that_decays_is_never_subnormal() -> None:
    layer = LEM(1, 4)
    on_cpu(layer)
    with torch.no_grad():
        for p in layer.parameters():
            p.zero_()
        state = (torch.ones(2, 4), torch.ones(2, 4))
        flushed, _ = layer(torch.zeros(140, 2, 1), state)
        with run.keeping_subnormals():
            full, _ = layer(torch.zeros(140, 2, 1), state)
    halves = 0.5 ** torch.arange(1, 141).view(140, 1, 1).expand(140, 2, 4)  # Δt σ(0) of the state goes at each step
    assert torch.equal(full, halves) and subnormal(full).any() and not subnormal(flushed).any()
    # Without an instruction that multiplies and adds at once, nothing can be taken from the least number.
    assert torch.equal(flushed[:125], halves[:125]) and (flushed[125:] <= LEAST).all()


def test_an_input_that_is_subnormal_counts_as_zero() -> None:
    layer, x = LEM(1, 4), torch.full((3, 2, 1), LEAST / 4)
    on_cpu(layer)
    with torch.no_grad():
        for name, p in layer.named_parameters():
            p.copy_(p * 2.0**126 if name.startswith("V") else p)
        assert torch.equal(layer(x)[0], layer(torch.zeros_like(x))[0])
        with run.keeping_subnormals():
            assert not torch.equal(layer(x)[0], layer(torch.zeros_like(x))[0])


def test_weights_and_their_gradients_are_copied_without_subnormals() -> None:
    layer = LEM(1, 4)
    on_cpu(layer)
    copies = run.compiled(layer.cell_on("cpu"))
    # One number of an array into one of another, times 2^-10, and back; as CopyTable packs it.
    block = BLOCK.pack(1, 1, 0, 2.0**-10, *(0, 0, 0, 1, 1), *(0, 0, 0, 1, 1), *(0, 0, 0, 1, 1), 0, 0)
    for power, actual in ((-115, 2.0**-125), (-120, 0.0)):
        number, copied, back = torch.tensor([2.0**power]), torch.zeros(1), torch.zeros(1)
        pointer = number.data_ptr().to_bytes(8, "little")
        copies.gather(block, 1, 1, pointer, bytes(8), copied.data_ptr())
        copies.scatter(block, 1, 1, 1, pointer, back.data_ptr())
        assert copied.item() == back.item() == actual


@pytest.mark.parametrize("case", ["lem", "tau_gru", "lstm", "unicornn"])
def test_what_is_not_subnormal_is_as_without_to_the_bit(case: str) -> None:
    layer = build(case, 7)
    on_cpu(layer)
    x, state = inputs(layer, 60, 33)
    flushed = outcome(layer, x, state)
    with run.keeping_subnormals():
        full = outcome(layer, x, state)
    assert all(torch.equal(flushed[name], value) for name, value in full.items())


@pytest.mark.parametrize(("compiler", "emulator"), [("c++", ""), ("aarch64-linux-gnu-g++", "qemu-aarch64")])
def test_what_is_read_and_what_is_made_is_flushed_until_the_end_of_a_block(
    setting: Callable[[], int], compiler: str, emulator: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None or emulator and shutil.which(emulator) is None:
        pytest.skip("no cross compiler or no emulator: apt-get install g++-aarch64-linux-gnu qemu-user")
    source, program = tmp_path / "inside.cpp", tmp_path / "inside"
    source.write_text(INSIDE.replace("SETTING", SETTING))
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-fPIC")] + (["-static"] if emulator else [])
    subprocess.run([compiler, *flags, f"-I{SOURCES}", str(source), "-o", str(program)], check=True)
    command = [emulator, str(program)] if emulator else [str(program)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "right\n"
