// Vectors, products and weight gradients on small tiles held in registers. Single precision.
//
// A row holds the numbers of one sequence at one step; a vector holds L neighbouring units of a row. Rows are padded
// to whole vectors; what lies in the padding counts nowhere.
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "vector.h"

namespace longwave {

static_assert(16 % L == 0, "rows are padded to 16 numbers");

// Enough independent sums to hide the latency of a multiply-add, few enough for the registers.
constexpr int tile_rows(int vectors) { return vectors == 1 ? 8 : 4; }

// Vectors of units that a tile takes at most, of so many sums each: they and their factors have to fit the registers.
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
  // k outside: a weight, once loaded, serves all R rows, and the panel is read in the order in which it lies.
  for (int64_t k = 0; k < s.depth; ++k, w += N * L) {
    V b[N];
    for (int n = 0; n < N; ++n) b[n] = load(w + n * L);
    for (int r = 0; r < R; ++r) {
      const float x = a[r * s.width + k];
      for (int n = 0; n < N; ++n) sum[r][n] += x * b[n];
    }
  }
}

// Of all sources from First on; a loop over them would keep the sums in memory.
template <size_t First, int R, int N, size_t S>
inline __attribute__((always_inline)) void products(V (&sum)[R][N], const std::array<Source, S>& sources, int64_t row) {
  product<R, N>(sum, sources[First], row);
  if constexpr (First + 1 < S) products<First + 1, R, N>(sum, sources, row);
}

template <int R, int N, size_t S, class Start, class Done>
inline __attribute__((always_inline)) void tile(int64_t row, const std::array<Source, S>& sources, Start start, Done done) {
  // `start` and `done` may be long, and reach into an array by computed places: they get one of their own, in memory.
  V sum[R][N], outside[R][N];
  for (int r = 0; r < R; ++r) start(row + r, outside[r]);
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = outside[r][n];
  products<0, R, N>(sum, sources, row);
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) outside[r][n] = sum[r][n];
  for (int r = 0; r < R; ++r) done(row + r, outside[r]);
}

// For each row: `start` fills N vectors, the products of all sources are added, `done` takes the sums.
// Flattened, because sums that a call takes by reference would live in memory and not in registers.
template <int N, size_t S, class Start, class Done>
__attribute__((flatten)) inline void stage(int64_t rows, const std::array<Source, S>& sources, Start start, Done done) {
  constexpr int R = tile_rows(N);
  int64_t row = 0;
  for (; row + R <= rows; row += R) tile<R, N>(row, sources, start, done);
  for (; row < rows; ++row) tile<1, N>(row, sources, start, done);
}

// Calls f(number, first) so that `vectors` vectors are covered by groups of 4, 2 and 1, of `Most` at most.
template <int Most = 4, class F>
inline void groups(int64_t vectors, F f) {
  int64_t u = 0;
  if constexpr (Most >= 4) for (; u + 4 <= vectors; u += 4) f(std::integral_constant<int, 4>{}, u);
  if constexpr (Most >= 2) for (; u + 2 <= vectors; u += 2) f(std::integral_constant<int, 2>{}, u);
  for (; u < vectors; ++u) f(std::integral_constant<int, 1>{}, u);
}

// Packs value(k, column) for `depth` k and `vectors` vectors of columns in the order in which groups() asks for them.
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
  // Summed apart before it is added: a long sum that began with the number in `to` would round each term to that.
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) add(sum[r][n], to + r * width + n * L);
}

// to[k][c] += Σ over rows of a[row][k] b[row][c], for `depth` k and `vectors` vectors of c.
inline void outer(float* to, int64_t width, const float* a, int64_t a_width, int64_t depth, const float* b,
                  int64_t b_width, int64_t vectors, int64_t rows) {
  groups(vectors, [&](auto number, int64_t u) {
    constexpr int R = tile_rows(number);
    int64_t k = 0;
    for (; k + R <= depth; k += R)
      outer_tile<R, number>(to + k * width + u * L, width, a + k, a_width, b + u * L, b_width, rows);
    for (; k < depth; ++k)
      outer_tile<1, number>(to + k * width + u * L, width, a + k, a_width, b + u * L, b_width, rows);
  });
}

}  // namespace longwave
