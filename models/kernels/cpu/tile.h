// Vectors, products and weight gradients on small tiles held in registers. Single precision.
//
// A row holds the numbers of one sequence at one step; a vector holds L neighbouring units of a row. Rows are padded to
// whole vectors; the padding has no effect.
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "vector.h"

namespace longwave {

static_assert(16 % L == 0, "rows are padded to 16 numbers");

// Sums of a tile, independent of each other: enough to hide the latency of a multiply-add; with the factors they fit the
// registers.
constexpr int SUMS = REGISTERS == 32 ? 16 : 12;

// Rows of a tile of so many vectors; fewer for a single one, where each row costs one load per multiply-add.
constexpr int tile_rows(int vectors) { return vectors == 1 ? 8 : vectors == 3 ? 4 : SUMS / vectors; }

// Vectors of units that a tile takes at most, of so many sums each.
constexpr int most(int sums) { return sums == 1 ? 4 : sums == 2 && REGISTERS == 32 ? 2 : 1; }

// What multiplies one packed panel of weights: rows `width` apart, of which `depth` numbers count.
struct Source {
  const float* rows;
  int64_t width;
  const float* panel;  // [depth][N][L]
  int64_t depth;
};

template <int R, int N>
inline __attribute__((always_inline)) void product(V (&sum)[R][N], const Source& s, int64_t row) {
  const float *a = s.rows + row * s.width, *w = s.panel;
  // k is the outer loop: a loaded weight is used for all R rows, and the panel is read in memory order.
  for (int64_t k = 0; k < s.depth; ++k, w += N * L) {
    V b[N];
    for (int n = 0; n < N; ++n) b[n] = load(w + n * L);
    for (int r = 0; r < R; ++r) {
      const float x = a[r * s.width + k];
      for (int n = 0; n < N; ++n) sum[r][n] += x * b[n];
    }
  }
}

// Adds the products of `count` rows, R at a time, then half as many at a time for the rest. A separate function: inside
// a longer one the sums would not stay in registers.
template <int R, int N, size_t S>
__attribute__((noinline)) void tiles(V (*to)[N], const std::array<Source, S>& sources, int64_t row, int64_t count) {
  for (; count >= R; count -= R, row += R, to += R) {
    V sum[R][N];
    for (int r = 0; r < R; ++r)
      for (int n = 0; n < N; ++n) sum[r][n] = to[r][n];
    for (const Source& s : sources) product<R, N>(sum, s, row);
    for (int r = 0; r < R; ++r)
      for (int n = 0; n < N; ++n) to[r][n] = sum[r][n];
  }
  if constexpr (R > 1) tiles<(R + 1) / 2, N>(to, sources, row, count);
}

// For each row: `start` fills N vectors, the products of all sources are added, `done` gets the sums.
template <int N, size_t S, class Start, class Done>
inline void stage(int64_t rows, const std::array<Source, S>& sources, Start start, Done done) {
  constexpr int R = tile_rows(N);
  // One tile at a time in wide layers, as the processor overlaps tiles; in narrow ones the calls would dominate.
  const int64_t block = sources[0].depth > 64 ? R : 4 * R;
  V sums[4 * R][N];
  for (int64_t row = 0; row < rows; row += block) {
    const int64_t count = rows - row < block ? rows - row : block;
    for (int64_t r = 0; r < count; ++r) start(row + r, sums[r]);
    tiles<R, N>(sums, sources, row, count);
#pragma GCC unroll 1  // copies of such a long body only fill the instruction cache
    for (int64_t r = 0; r < count; ++r) done(row + r, sums[r]);
  }
}

// Calls f(number, first) so that `vectors` vectors are covered by groups of 4, 2 and 1, of `Most` at most.
template <int Most = 4, class F>
inline void groups(int64_t vectors, F f) {
  int64_t u = 0;
  if constexpr (Most >= 4) for (; u + 4 <= vectors; u += 4) f(std::integral_constant<int, 4>{}, u);
  if constexpr (Most >= 2) for (; u + 2 <= vectors; u += 2) f(std::integral_constant<int, 2>{}, u);
  for (; u < vectors; ++u) f(std::integral_constant<int, 1>{}, u);
}

// Packs value(k, column) for `depth` k and `vectors` vectors of columns in the order in which groups() reads them.
template <class Value>
inline float* pack_groups(float* to, int64_t depth, int64_t vectors, Value value) {
  groups(vectors, [&](auto number, int64_t first) {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t c = 0; c < number * L; ++c) *to++ = value(k, first * L + c);
  });
  return to;
}

template <int R, int N>
inline __attribute__((always_inline)) void outer_tile(
    float* to, int64_t width, const float* a, int64_t a_width, const float* b, int64_t b_width, int64_t rows) {
  V sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = V{};
  for (int64_t i = 0; i < rows; ++i, a += a_width, b += b_width) {
    V y[N];
    for (int n = 0; n < N; ++n) y[n] = load(b + n * L);
    for (int r = 0; r < R; ++r) {
      const float x = a[r];
      for (int n = 0; n < N; ++n) sum[r][n] += x * y[n];
    }
  }
  // Summed separately before it is added: a long sum that began with the value in `to` would round each term to it.
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) add(sum[r][n], to + r * width + n * L);
}

// As tiles(), of `depth` k.
template <int R, int N>
__attribute__((noinline)) void outer_tiles(float* to, int64_t width, const float* a, int64_t a_width, int64_t depth,
                                           const float* b, int64_t b_width, int64_t rows) {
  for (; depth >= R; depth -= R, to += R * width, a += R) outer_tile<R, N>(to, width, a, a_width, b, b_width, rows);
  if constexpr (R > 1) outer_tiles<(R + 1) / 2, N>(to, width, a, a_width, depth, b, b_width, rows);
}

// to[k][c] += Σ over rows of a[row][k] b[row][c], for `depth` k and `vectors` vectors of c.
inline void outer(float* to, int64_t width, const float* a, int64_t a_width, int64_t depth, const float* b,
                  int64_t b_width, int64_t vectors, int64_t rows) {
  groups(vectors, [&](auto number, int64_t u) {
    outer_tiles<tile_rows(number), number>(to + u * L, width, a, a_width, depth, b + u * L, b_width, rows);
  });
}

}  // namespace longwave
