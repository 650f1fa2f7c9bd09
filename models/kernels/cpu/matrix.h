// The time loop of a step on matrix states (I, J). A task is one head of one sequence; its columns are split into
// tiles, and a tile runs through a whole chunk of steps on its own. The forward pass saves the states before each
// chunk; the backward pass recomputes the states of a chunk, and then runs through it backward.
//
// A cell is one struct that the compiler prints (emit.py): the axes of its states, drives, constants and kept values,
// and three functions, forward, again and back, each of which takes a tile through a chunk.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "flush.h"
#include "vector.h"

namespace longwave::matrix {

constexpr int64_t AHEAD = 6;  // steps by which memory is prefetched

struct Axes { bool i, j; };

// Partial sums of one sum: each multiply-add waits for the previous one in its chain.
template <int N> constexpr int SPLIT = N == 1 ? 4 : N == 2 ? 2 : 1;

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

  int64_t step() const { return B * H; }
  int64_t at(int64_t task, int64_t t) const { return ((task / step()) * T + t) * step() + task % step(); }
  int64_t count() const { return (T + chunk - 1) / chunk; }
};

// A tile of one task in one chunk. State of step t lies at `before` + t · state_step, after it one state_step further.
template <class Cell>
struct Tile {
  int64_t task, first, steps, column, left;  // left: columns from `column` to the last
  float* before;
  int64_t state_step;
  float* kept;
  int64_t kept_step;
  float* adjoint;
  const float* constant;
  float* constant_gradient;
  float* end() const { return before + (state_step ? steps * state_step : 0); }
};

constexpr int64_t NEAR = 2 << 12;  // numbers of a tile that fit into 32 KiB, the smallest L1 cache of current processors

// Calls f(vectors, ragged, first column) for each tile; the last one may have fewer columns than lanes. A tile has four
// vectors, which share the reads of a row, if the working set of a backward step then fits into the L1 cache.
template <class Cell, class F>
inline void tiles(int64_t I, int64_t J, F f) {
  using std::integral_constant;
  const int64_t one = 3 * size(Cell::states, I, 1) + 2 * size(Cell::constants, I, 1) + size(Cell::kept, I, 1);
  int64_t j = 0;
  for (; 4 * one <= NEAR && j + 4 * L <= J; j += 4 * L) f(integral_constant<int, 4>(), std::false_type(), j);
  for (; 2 * one <= NEAR && j + 2 * L <= J; j += 2 * L) f(integral_constant<int, 2>(), std::false_type(), j);
  for (; j + L <= J; j += L) f(integral_constant<int, 1>(), std::false_type(), j);
  if (j < J) f(integral_constant<int, 1>(), std::true_type(), j);
}

// The first `count` numbers, zeros behind them.
inline V first(const float* from, int64_t count) {
  float lanes[L] = {};
  std::memcpy(lanes, from, std::min(count, L) * sizeof(float));
  return load(lanes);
}

template <bool Ragged>
inline V take(const float* from, int64_t left) { return Ragged ? first(from, left) : load(from); }

template <bool Ragged>
inline void give(V v, float* to, int64_t left) {
  if (Ragged) store(v, to, std::min(left, L));
  else store(v, to);
}

// A vector's part of a sum over columns, without lanes beyond the last column.
template <bool Ragged>
inline V part(V v, int64_t left) { return Ragged ? inside(v, 0, left) : v; }

// Lanes with bit S: of b, added up with the lane S below; others: of a, with the lane S above.
template <int S, size_t... K>
inline V merged(V a, V b, std::index_sequence<K...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (K & S ? K + L : K)...) + __builtin_shufflevector(a, b, (K & S ? (K ^ S) + L : K ^ S)...);
#else
  const Whole stay{static_cast<int>(K & S ? K + L : K)...}, cross{static_cast<int>(K & S ? (K ^ S) + L : K ^ S)...};
  return __builtin_shuffle(a, b, stay) + __builtin_shuffle(a, b, cross);
#endif
}

// Lane i becomes the sum of all lanes of r[i]: 15 additions for 16 sums.
template <int S = L / 2>
inline V totals(V* r) {
  for (int j = 0; j < S; ++j) r[j] = merged<S>(r[j], r[j + S], std::make_index_sequence<L>());
  if constexpr (S > 1) return totals<S / 2>(r);
  return r[0];
}

template <int S = L / 2>
inline float total(V v) {
  const V sum = merged<S>(v, v, std::make_index_sequence<L>());
  if constexpr (S > 1) return total<S / 2>(sum);
  return sum[0];
}

// The tile of the first columns stores its part of a sum over columns; others add theirs.
inline void gather(V v, float* to, int64_t count, int64_t column) {
  const V sum = column ? v + (count < L ? first(to, count) : load(to)) : v;
  if (count < L) store(sum, to, count);
  else store(sum, to);
}
inline void gather(float v, float* to, int64_t column) { *to = column ? *to + v : v; }

template <int Split, int N>
inline V whole(const V (&sums)[Split][N], int n) {
  V sum = sums[0][n];
  for (int p = 1; p < Split; ++p) sum += sums[p][n];
  return sum;
}

// Calls row(i, u) for each row, u = i mod U, and after each U rows done(first of them, how many).
template <int I, int U, class Row, class Done>
inline __attribute__((always_inline)) void over_rows(int64_t rows, Row row, Done done) {
  if constexpr (I > 0 && I % U == 0) {
#pragma GCC unroll 64
    for (int i = 0; i < I; i += U) {
#pragma GCC unroll 16
      for (int u = 0; u < U; ++u) row(i + u, u);
      done(i, U);
    }
  } else {
    int64_t i = 0;
    for (; i + U <= rows; i += U) {
#pragma GCC unroll 16
      for (int u = 0; u < U; ++u) row(i + u, u);
      done(i, U);
    }
    if (i < rows) {
#pragma GCC unroll 16
      for (int u = 0; u < U; ++u)
        if (i + u < rows) row(i + u, u);
      done(i, rows - i);
    }
  }
}

// Memory, aligned to cache lines; not initialised.
struct Scratch {
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<float[], Free> memory;
  explicit Scratch(int64_t n) : memory(static_cast<float*>(::operator new[](std::max<int64_t>(n, 1) * sizeof(float), std::align_val_t(64)))) {}
  operator float*() const { return memory.get(); }
};

// A value of one task into memory of a tile. `spread`: a value without columns is equal in all lanes; else it is an
// adjoint, held in the first lane of the first tile.
template <int N>
inline void to_tile(Axes a, const float* from, float* to, int64_t I, int64_t J, int64_t column, bool spread) {
  for (int64_t i = 0; i < (a.i ? I : 1); ++i)
    for (int n = 0; n < (a.j ? N : 1); ++n, to += L) {
      const int64_t j = column + n * L;
      if (!from) store(V{}, to);
      else if (a.j) store(j + L <= J ? load(from + i * J + j) : first(from + i * J + j, J - j), to);
      else if (spread) store(all(from[i]), to);
      else store(column ? V{} : first(from + i, 1), to);
    }
}

// And back; a value without columns is the first lane, or for an adjoint the sum over all lanes of all tiles.
template <int N>
inline void from_tile(Axes a, const float* from, float* to, int64_t I, int64_t J, int64_t column, bool spread) {
  for (int64_t i = 0; i < (a.i ? I : 1); ++i)
    for (int n = 0; n < (a.j ? N : 1); ++n, from += L) {
      const int64_t j = column + n * L;
      if (a.j && j + L <= J) store(load(from), to + i * J + j);
      else if (a.j) store(load(from), to + i * J + j, J - j);
      else if (spread) to[i] = from[0];
      else gather(total(load(from)), to + i, column);
    }
}

// All values of a list for one task, tile after tile.
template <class Cell, bool To, size_t K, class P>
inline void move(const std::array<Axes, K>& axes, P* const* outside, int64_t task, float* tile, int64_t I, int64_t J, bool spread) {
  tiles<Cell>(I, J, [&](auto N, auto, int64_t column) {
    for (size_t k = 0; k < K; ++k) {
      const Axes a = axes[k];
      P* there = outside[k] ? outside[k] + task * (a.i ? I : 1) * (a.j ? J : 1) : nullptr;
      if constexpr (To) to_tile<N>(a, there, tile, I, J, column, spread);
      else if (there) from_tile<N>(a, tile, there, I, J, column, spread);
      tile += numbers(a, I, N);
    }
  });
}

template <class Cell, size_t K>
inline int64_t all_tiles(const std::array<Axes, K>& axes, int64_t I, int64_t J) {
  int64_t sum = 0;
  tiles<Cell>(I, J, [&](auto N, auto, int64_t) { sum += size(axes, I, N); });
  return sum;
}

// Rows that fit into registers together with one vector of columns.
template <class F>
inline void with_rows(int64_t I, F f) {
  if (L == 16 && I == 16) f(std::integral_constant<int, 16>());
  else f(std::integral_constant<int, 0>());
}

template <class Cell>
inline void forward(const Call<Cell>& c, int64_t from, int64_t to) {
  const int64_t states = all_tiles<Cell>(Cell::states, c.I, c.J), constants = all_tiles<Cell>(Cell::constants, c.I, c.J);
  Scratch state(c.H * states), constant(c.H * constants);
  for (int64_t begin = from; begin < to; begin += c.H - begin % c.H) {  // the heads of one sequence side by side
    const int64_t heads = std::min(to, begin + c.H - begin % c.H) - begin;
    for (int64_t g = 0; g < heads; ++g) {
      const int64_t task = begin + g;
      move<Cell, true>(Cell::states, c.start, task, state + g * states, c.I, c.J, true);
      move<Cell, true>(Cell::constants, c.constant, task / c.step() * c.H + task % c.H, constant + g * constants, c.I, c.J, true);
    }
    for (int64_t k = 0; k < c.count(); ++k)
      for (int64_t g = 0; g < heads; ++g) {
        const int64_t first = k * c.chunk;
        float *s = state + g * states, *k_constant = constant + g * constants;
        if (c.chunks) std::memcpy(c.chunks + ((begin + g) * c.count() + k) * states, s, states * sizeof(float));
        tiles<Cell>(c.I, c.J, [&](auto N, auto ragged, int64_t column) {
          const Tile<Cell> tile{begin + g, first, std::min(c.chunk, c.T - first), column, c.J - column, s, 0, nullptr, 0,
                                nullptr, k_constant, nullptr};
          with_rows(N == 1 ? c.I : 0, [&](auto I) { Cell::template forward<I, N, ragged>(c, tile); });
          s += size(Cell::states, c.I, N), k_constant += size(Cell::constants, c.I, N);
        });
      }
    for (int64_t g = 0; g < heads; ++g) move<Cell, false>(Cell::states, c.last, begin + g, state + g * states, c.I, c.J, true);
  }
}

template <class Cell>
inline void backward(const Call<Cell>& c, int64_t from, int64_t to) {
  const int64_t states = all_tiles<Cell>(Cell::states, c.I, c.J), constants = all_tiles<Cell>(Cell::constants, c.I, c.J);
  const int64_t most = size(Cell::states, c.I, 4), kept = size(Cell::kept, c.I, 4), part = size(Cell::constants, c.I, 4);
  Scratch adjoint(c.H * states), constant(c.H * constants), sums(c.H * constants);
  Scratch again((c.chunk + 1) * most), values(c.chunk * kept), parts(part);
  for (int64_t begin = from; begin < to; begin += c.H - begin % c.H) {
    const int64_t heads = std::min(to, begin + c.H - begin % c.H) - begin;
    for (int64_t g = 0; g < heads; ++g) {
      const int64_t task = begin + g;
      move<Cell, true>(Cell::states, c.last_adjoint, task, adjoint + g * states, c.I, c.J, false);
      move<Cell, true>(Cell::constants, c.constant, task / c.step() * c.H + task % c.H, constant + g * constants, c.I, c.J, true);
    }
    std::fill_n(static_cast<float*>(sums), heads * constants, 0.0f);
    for (int64_t k = c.count() - 1; k >= 0; --k)
      for (int64_t g = 0; g < heads; ++g) {
        const int64_t first = k * c.chunk;
        const float* before = c.chunks + ((begin + g) * c.count() + k) * states;
        float *a = adjoint + g * states, *k_constant = constant + g * constants, *sum = sums + g * constants;
        tiles<Cell>(c.I, c.J, [&](auto N, auto ragged, int64_t column) {
          const int64_t own = size(Cell::states, c.I, N), numbers = size(Cell::constants, c.I, N);
          const Tile<Cell> tile{begin + g, first, std::min(c.chunk, c.T - first), column, c.J - column, again, own, values,
                                size(Cell::kept, c.I, N), a, k_constant, parts};
          std::memcpy(again, before, own * sizeof(float));
          std::fill_n(static_cast<float*>(parts), numbers, 0.0f);
          with_rows(N == 1 ? c.I : 0, [&](auto I) { Cell::template again<I, N, ragged>(c, tile); });
          with_rows(N == 1 ? c.I : 0, [&](auto I) { Cell::template back<I, N, ragged>(c, tile); });
          for (int64_t n = 0; n < numbers; ++n) sum[n] += parts[n];  // sums of a chunk are added to sums of their size
          before += own, a += own, k_constant += numbers, sum += numbers;
        });
      }
    for (int64_t g = 0; g < heads; ++g) {
      move<Cell, false>(Cell::states, c.start_adjoint, begin + g, adjoint + g * states, c.I, c.J, false);
      move<Cell, false>(Cell::constants, c.constant_gradient, begin + g, sums + g * constants, c.I, c.J, false);
    }
  }
}

template <class Cell, class Run>
int run(const void* call, int64_t from, int64_t to, Run direction) {
  const Call<Cell>& c = *static_cast<const Call<Cell>*>(call);
  const Flush flush(c.flush);
  try {
    direction(c, from, to);
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

}  // namespace longwave::matrix

#define ENTRY(CELL)                                                                                                      \
  extern "C" int64_t state_numbers(int64_t I, int64_t J) {                                                               \
    return longwave::matrix::all_tiles<longwave::matrix::CELL>(longwave::matrix::CELL::states, I, J);                    \
  }                                                                                                                      \
  extern "C" int forward(const void* c, int64_t from, int64_t to) {                                                      \
    using namespace longwave::matrix;                                                                                    \
    return run<CELL>(c, from, to, [](auto& call, int64_t a, int64_t b) { forward<CELL>(call, a, b); });                  \
  }                                                                                                                      \
  extern "C" int backward(const void* c, int64_t from, int64_t to) {                                                     \
    using namespace longwave::matrix;                                                                                    \
    return run<CELL>(c, from, to, [](auto& call, int64_t a, int64_t b) { backward<CELL>(call, a, b); });                 \
  }
