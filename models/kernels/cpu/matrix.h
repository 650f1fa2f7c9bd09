// The time loop of a step on matrix states (I, J). A task is one head of one sequence. The loop takes a group, one task
// or L of them (see lanes.h), through a chunk of steps; its columns are split into tiles, each of which runs through the
// chunk on its own. The forward pass saves the states before each chunk; the backward pass recomputes the states of a
// chunk, and then runs through it backward.
//
// A cell is one struct that the compiler prints (emit_matrix.py): the axes of its states, drives, constants and kept
// values, and three functions, forward, again and back, each of which takes a tile through a chunk.
#pragma once

#include "flush.h"
#include "lanes.h"

namespace longwave::matrix {

// Partial sums of one sum: each multiply-add waits for the previous one in its chain.
template <int N> constexpr int SPLIT = N == 1 ? 4 : N == 2 ? 2 : 1;

constexpr int64_t NEAR = 2 << 12;  // numbers of a tile that fit into 32 KiB, the smallest L1 cache of current processors

// Calls f(vectors, lanes, first column) for each tile. A tile has four vectors, which share the reads of a row, if the
// working set of a backward step then fits into the L1 cache.
template <class Cell, class Lanes, class F>
inline void tiles(int64_t I, int64_t J, F f) {
  using std::integral_constant;
  constexpr int64_t C = Lanes::columns;
  const int64_t one = 3 * size(Cell::states, I, 1) + 2 * size(Cell::constants, I, 1) + size(Cell::kept, I, 1);
  int64_t j = 0;
  for (; 4 * one <= NEAR && j + 4 * C <= J; j += 4 * C) f(integral_constant<int, 4>(), Lanes(), j);
  for (; 2 * one <= NEAR && j + 2 * C <= J; j += 2 * C) f(integral_constant<int, 2>(), Lanes(), j);
  for (; j + C <= J; j += C) f(integral_constant<int, 1>(), Lanes(), j);
  if (j < J) f(integral_constant<int, 1>(), typename Lanes::Last(), j);
}

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

// Calls f(I) with a constant number of rows if these fit into registers together with one vector of columns, else f(0).
template <class Lanes, int N, class F>
inline void with_rows(int64_t I, F f) {
  if constexpr (L == 16 && N == 1 && Lanes::tasks == 1)
    if (I == 16) return f(std::integral_constant<int, 16>());
  f(std::integral_constant<int, 0>());
}

template <class Cell, class Lanes, size_t K>
inline int64_t all_tiles(const std::array<Axes, K>& axes, int64_t I, int64_t J) {
  int64_t sum = 0;
  tiles<Cell, Lanes>(I, J, [&](auto N, auto, int64_t) { sum += size(axes, I, N); });
  return sum;
}

// Moves all values of a list for one group, tile after tile, into memory of tiles; see Call::index for `shared`.
template <class Cell, class Lanes, size_t K>
inline void read(const Call<Cell>& c, const std::array<Axes, K>& axes, const float* const* tensors, int64_t group, bool shared, float* tile, bool spread) {
  tiles<Cell, Lanes>(c.I, c.J, [&](auto N, auto, int64_t column) {
    for (size_t k = 0; k < K; ++k) {
      Lanes::template to_tile<N>(c, axes[k], tensors[k], group, shared, tile, column, spread);
      tile += numbers(axes[k], c.I, N);
    }
  });
}

// And back.
template <class Cell, class Lanes, size_t K>
inline void write(const Call<Cell>& c, const std::array<Axes, K>& axes, float* const* tensors, int64_t group, const float* tile, bool spread) {
  tiles<Cell, Lanes>(c.I, c.J, [&](auto N, auto, int64_t column) {
    for (size_t k = 0; k < K; ++k) {
      if (tensors[k]) Lanes::template from_tile<N>(c, axes[k], tile, tensors[k], group, column, spread);
      tile += numbers(axes[k], c.I, N);
    }
  });
}

// Calls f(first group, how many) for groups whose chunks alternate: the heads of one sequence, which lie side by side.
template <class Cell, class Lanes, class F>
inline void side_by_side(const Call<Cell>& c, int64_t from, int64_t to, F f) {
  const int64_t most = Lanes::tasks == 1 ? c.H : 1;
  for (int64_t begin = from; begin < to; begin += most - begin % most) f(begin, std::min(to, begin + most - begin % most) - begin);
}

template <class Cell, class Lanes>
inline void forward(const Call<Cell>& c, int64_t from, int64_t to) {
  const int64_t states = all_tiles<Cell, Lanes>(Cell::states, c.I, c.J), constants = all_tiles<Cell, Lanes>(Cell::constants, c.I, c.J);
  Scratch state(c.H * states), constant(c.H * constants);
  typename Lanes::template ChunkCopies<Cell> copies(c, false);
  side_by_side<Cell, Lanes>(c, from, to, [&](int64_t begin, int64_t groups) {
    for (int64_t g = 0; g < groups; ++g) {
      read<Cell, Lanes>(c, Cell::states, c.start, begin + g, false, state + g * states, true);
      read<Cell, Lanes>(c, Cell::constants, c.constant, begin + g, true, constant + g * constants, true);
    }
    for (int64_t k = 0; k < c.count(); ++k)
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t first = k * c.chunk, steps = std::min(c.chunk, c.T - first);
        float *s = state + g * states, *k_constant = constant + g * constants;
        if (c.chunks) std::memcpy(c.chunks + ((begin + g) * c.count() + k) * states, s, states * sizeof(float));
        copies.read(c, begin + g, first, steps);
        tiles<Cell, Lanes>(c.I, c.J, [&](auto N, auto lanes, int64_t column) {
          const Tile<Cell> tile{begin + g, first, steps, column, c.J - column, s, 0, nullptr, 0, nullptr, k_constant, nullptr, copies};
          with_rows<Lanes, N>(c.I, [&](auto I) { Cell::template forward<I, N, decltype(lanes)>(c, tile); });
          s += size(Cell::states, c.I, N), k_constant += size(Cell::constants, c.I, N);
        });
        copies.write(c, begin + g, first, steps);
      }
    for (int64_t g = 0; g < groups; ++g) write<Cell, Lanes>(c, Cell::states, c.last, begin + g, state + g * states, true);
  });
}

template <class Cell, class Lanes>
inline void backward(const Call<Cell>& c, int64_t from, int64_t to) {
  const int64_t states = all_tiles<Cell, Lanes>(Cell::states, c.I, c.J), constants = all_tiles<Cell, Lanes>(Cell::constants, c.I, c.J);
  const int64_t most = size(Cell::states, c.I, 4), kept = size(Cell::kept, c.I, 4), part = size(Cell::constants, c.I, 4);
  Scratch adjoint(c.H * states), constant(c.H * constants), sums(c.H * constants);
  Scratch again((c.chunk + 1) * most), values(c.chunk * kept), parts(part);
  typename Lanes::template ChunkCopies<Cell> copies(c, true);
  side_by_side<Cell, Lanes>(c, from, to, [&](int64_t begin, int64_t groups) {
    for (int64_t g = 0; g < groups; ++g) {
      read<Cell, Lanes>(c, Cell::states, c.last_adjoint, begin + g, false, adjoint + g * states, false);
      read<Cell, Lanes>(c, Cell::constants, c.constant, begin + g, true, constant + g * constants, true);
    }
    std::fill_n(static_cast<float*>(sums), groups * constants, 0.0f);
    for (int64_t k = c.count() - 1; k >= 0; --k)
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t first = k * c.chunk, steps = std::min(c.chunk, c.T - first);
        const float* before = c.chunks + ((begin + g) * c.count() + k) * states;
        float *a = adjoint + g * states, *k_constant = constant + g * constants, *sum = sums + g * constants;
        copies.read(c, begin + g, first, steps);
        tiles<Cell, Lanes>(c.I, c.J, [&](auto N, auto lanes, int64_t column) {
          const int64_t own = size(Cell::states, c.I, N), numbers = size(Cell::constants, c.I, N);
          const Tile<Cell> tile{begin + g, first, steps, column, c.J - column, again, own, values, size(Cell::kept, c.I, N), a,
                                k_constant, parts, copies};
          std::memcpy(again, before, own * sizeof(float));
          std::fill_n(static_cast<float*>(parts), numbers, 0.0f);
          with_rows<Lanes, N>(c.I, [&](auto I) { Cell::template again<I, N, decltype(lanes)>(c, tile); });
          with_rows<Lanes, N>(c.I, [&](auto I) { Cell::template back<I, N, decltype(lanes)>(c, tile); });
          for (int64_t n = 0; n < numbers; ++n) sum[n] += parts[n];  // sums of a chunk are added to sums of their size
          before += own, a += own, k_constant += numbers, sum += numbers;
        });
        copies.write(c, begin + g, first, steps);
      }
    for (int64_t g = 0; g < groups; ++g) {
      write<Cell, Lanes>(c, Cell::states, c.start_adjoint, begin + g, adjoint + g * states, false);
      write<Cell, Lanes>(c, Cell::constants, c.constant_gradient, begin + g, sums + g * constants, false);
    }
  });
}

// Calls f(lanes). Lanes are tasks if columns would leave lanes idle and a member alone has enough tasks: which other
// members there are makes no difference to its rounding.
template <class F>
inline auto with_lanes(int64_t J, int64_t member_tasks, F f) {
  return J % L && member_tasks >= L ? f(TaskLanes()) : f(ColumnLanes<false>());
}

// Runs a direction, f(lanes), and returns whether it ran out of memory.
template <class Cell, class F>
int run(const Call<Cell>& c, F f) {
  const Flush flush(c.flush);
  try {
    with_lanes(c.J, c.step(), f);
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

}  // namespace longwave::matrix

#define ENTRY(CELL)                                                                                                      \
  using namespace longwave::matrix;                                                                                      \
  extern "C" int64_t group_tasks(int64_t J, int64_t member_tasks) {                                                       \
    return with_lanes(J, member_tasks, [](auto lanes) { return decltype(lanes)::tasks; });                               \
  }                                                                                                                      \
  extern "C" int64_t group_numbers(int64_t I, int64_t J, int64_t member_tasks) {                                          \
    return with_lanes(J, member_tasks, [&](auto lanes) { return all_tiles<CELL, decltype(lanes)>(CELL::states, I, J); }); \
  }                                                                                                                      \
  extern "C" int forward(const void* call, int64_t from, int64_t to) {                                                   \
    const auto& c = *static_cast<const Call<CELL>*>(call);                                                               \
    return run(c, [&](auto lanes) { longwave::matrix::forward<CELL, decltype(lanes)>(c, from, to); });                   \
  }                                                                                                                      \
  extern "C" int backward(const void* call, int64_t from, int64_t to) {                                                  \
    const auto& c = *static_cast<const Call<CELL>*>(call);                                                               \
    return run(c, [&](auto lanes) { longwave::matrix::backward<CELL, decltype(lanes)>(c, from, to); });                  \
  }
