// One call of a cell: the arguments from Python, and the views of a step, a chunk of steps and a task.
//
// A task is one member and a block of its rows; it runs through the whole sequence on its own, chunk by chunk, so that
// its data stay in the cache and tasks never wait for each other.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "flush.h"
#include "tile.h"

namespace longwave {

// What the forward pass saves for a backward pass: nothing, rows that stay in the cache, or more than it holds.
enum Keep : int64_t { NOTHING, NEAR, FAR };

// Tensors are contiguous. `kept` and `states` are laid out task by task, all others as in Python.
struct Call {
  int64_t M, T, B, p, d, m;      // members, steps, rows, features, units, steps of history
  int64_t rows, chunk;           // rows of a block, steps of a chunk
  Keep keep;
  int64_t flush;                 // whether subnormals count as zeros
  const float *x, *V, *b, *W, *P, *U, *state, *past;
  const int64_t* lags;
  float *Y, *last, *states, *kept;
  const float *gY, *glast;  // adjoints; null means zeros
  float *dx, *dV, *dW, *dP, *dU, *dstate, *dpast;

  int64_t padded() const { return (d + 15) / 16 * 16; }  // whole vectors of any width
  int64_t vectors() const { return padded() / L; }
  int64_t blocks() const { return (B + rows - 1) / rows; }
  int64_t history() const { return m + T + 1; }
};

// Memory of one task, aligned to cache lines; not initialised.
struct Scratch {
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<float[], Free> memory;
  explicit Scratch(int64_t n) : memory(static_cast<float*>(::operator new[](n * sizeof(float), std::align_val_t(64)))) {}
  operator float*() const { return memory.get(); }
};

// Data shared by all steps of a task.
struct Task {
  const Call& call;
  int64_t member, first, n;  // rows first … first + n of the member
  int64_t d, D, nb, row;     // units, padded units, vectors of a row; numbers of a state of one step, n · D
  const float* w;            // packed weights
  const float *P, *U;        // scalars; vectors, padded

  V scalar(int64_t i) const { return all(P[i]); }
  int64_t lag() const { return call.m || call.lags ? call.lags[member] : 0; }
};

inline Task task_of(const Call& c, int64_t index, int64_t vectors, const float* weights, int64_t weights_size,
                    const float* units, int64_t scalars) {
  const int64_t member = index / c.blocks(), first = index % c.blocks() * c.rows, n = std::min(c.rows, c.B - first);
  return {c, member, first, n, c.d, c.padded(), c.vectors(), n * c.padded(), weights + member * weights_size,
          c.P + member * scalars, units + member * vectors * c.padded()};
}

// Copies n rows of d numbers with strides `from_width` and `to_width`, optionally zero-padded to `to_width`.
inline void copy_rows(float* to, int64_t to_width, const float* from, int64_t from_width, int64_t d, int64_t n, int64_t fill = 0) {
  for (int64_t r = 0; r < n; ++r, to += to_width, from += from_width) {
    std::memcpy(to, from, d * sizeof(float));
    if (fill > d) std::memset(to + d, 0, (fill - d) * sizeof(float));
  }
}

// One step: from states `s[i]` to `s[i] + row`. `kept` holds the drive and then the values for the backward pass.
// late() are the outputs of as many steps ago as the member's lag.
template <int States>
struct Step : Task {
  float* s[States];
  float* kept;
  int64_t width;  // of a row of `kept`

  const float* before(int i) const { return s[i]; }
  float* after(int i) const { return s[i] + row; }
  const float* late() const { return s[0] - lag() * row; }
};

// The same step backward. `adjoint[i]` holds the adjoint of state i after the step, and then before it; `slots` gets
// the adjoints for the gradients, `ring` those of late().
template <int States, int Scalars>
struct Back : Task {
  const float* s[States];
  const float* kept;
  float* adjoint[States];
  float* slots;
  int64_t width, slots_width;
  V sums[Scalars + 1];  // of the scalars' gradients
  float* dU;
  float* ring;

  const float* before(int i) const { return s[i]; }
  const float* after(int i) const { return s[i] + row; }
  const float* late() const { return s[0] - lag() * row; }
};

}  // namespace longwave
