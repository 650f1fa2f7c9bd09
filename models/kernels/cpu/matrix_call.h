// Arguments of the time loop of a step on matrix states, and its memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "vector.h"

namespace longwave::matrix {

constexpr int64_t AHEAD = 6;  // steps by which memory is prefetched

struct Axes { bool i, j; };

// Size of a value in memory of a tile of N vectors: all lanes are stored, even if they are equal.
inline int64_t numbers(Axes a, int64_t I, int64_t N) { return (a.i ? I : 1) * (a.j ? N : 1) * L; }

template <class Cell, size_t K>
inline int64_t offset(const std::array<Axes, K>& axes, size_t k, int64_t I, int64_t N) {
  int64_t sum = 0;
  for (size_t a = 0; a < k; ++a) sum += numbers(axes[a], I, N);
  return sum;
}

template <size_t K>
inline int64_t size(const std::array<Axes, K>& axes, int64_t I, int64_t N) {
  int64_t sum = 0;
  for (const Axes& a : axes) sum += numbers(a, I, N);
  return sum;
}

// Arguments from Python. Drives and their gradients are (M, T, B, H, ·), states (M, B, H, ·), constants (M, H, ·),
// their gradients one per task, (M, B, H, ·); `chunks` are the states before each chunk in the layout of tiles. Null
// adjoints are zeros.
template <class Cell>
struct Call {
  static constexpr size_t S = Cell::states.size(), D = Cell::drives.size(), C = Cell::constants.size();
  int64_t M, T, B, H, I, J, chunk, flush;
  const float* drive[D];
  const float* start[S];
  const float* constant[C ? C : 1];
  float* output;
  float* last[S];
  float* chunks;
  const float* output_adjoint;
  const float* last_adjoint[S];
  float* drive_gradient[D];
  float* start_adjoint[S];
  float* constant_gradient[C ? C : 1];

  int64_t tasks() const { return M * step(); }
  int64_t step() const { return B * H; }
  int64_t at(int64_t task, int64_t t) const { return ((task / step()) * T + t) * step() + task % step(); }
  // Where a task's value lies in a tensor; all sequences of a member share its constants.
  int64_t index(int64_t task, bool shared) const { return shared ? task / step() * H + task % H : task; }
  int64_t count() const { return (T + chunk - 1) / chunk; }
  int64_t width(Axes a) const { return (a.i ? I : 1) * (a.j ? J : 1); }
};

// Inputs and outputs of the steps of one chunk, copied from tensors for a group of several tasks: the lanes of a number
// are its values in these tasks.
struct Copies {
  float *drives, *drive_gradients, *output, *output_adjoint;
};

// A tile of one group in one chunk. State of step t lies at `before` + t · state_step, after it one state_step further.
template <class Cell>
struct Tile {
  int64_t group, first, steps, column, left;  // left: columns from `column` to the last
  float* before;
  int64_t state_step;
  float* kept;
  int64_t kept_step;
  float* adjoint;
  const float* constant;
  float* constant_gradient;
  Copies copies;
  float* end() const { return before + (state_step ? steps * state_step : 0); }
};

// Memory, aligned to cache lines; not initialised.
struct Scratch {
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<float[], Free> memory;
  explicit Scratch(int64_t n) : memory(static_cast<float*>(::operator new[](std::max<int64_t>(n, 1) * sizeof(float), std::align_val_t(64)))) {}
  operator float*() const { return memory.get(); }
};

}  // namespace longwave::matrix
