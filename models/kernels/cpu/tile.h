// Vectors, products and weight gradients on small tiles held in registers. Single precision.
//
// A row holds the numbers of one sequence at one step; a vector holds L neighbouring units of a row. Rows are padded
// to whole vectors with zeros, and every cell maps zeros in the padding to zeros.
#pragma once

#include <ATen/cpu/vec/vec.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace longwave {

using V = at::vec::Vectorized<float>;
constexpr int64_t L = V::size();
static_assert(16 % L == 0, "rows are padded to 16 numbers");

inline V load(const float* from) { return V::loadu(from); }

// Relative error below 2 units in the last place; NaN stays NaN.
inline V exponential(V x) {
  using I = at::vec::Vectorized<int32_t>;
  x = at::vec::clamp(x, V(-87.0f), V(88.0f));
  const V magic(12582912.0f);  // 1.5 · 2^23: adding it rounds to a whole number, which the low bits then hold
  const V shifted = at::vec::fmadd(x, V(1.44269504f), magic);
  const V n = shifted - magic;
  const V r = at::vec::fmadd(n, V(-1.42860677e-6f), at::vec::fmadd(n, V(-0.693145752f), x));
  V e(1.0f / 5040);
  for (float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) e = at::vec::fmadd(e, r, V(c));
  return e * at::vec::cast<float>((at::vec::cast<int32_t>(shifted) + I(127)) << I(23));
}

inline V sigmoid(V x) { return V(1.0f) / (V(1.0f) + exponential(x.neg())); }

// Near 0 the quotient would lose relative accuracy, where small time steps live; there it is the Taylor series.
inline V hyperbolic_tangent(V x) {
  const V size = x.abs(), t = exponential(size * V(-2.0f)), x2 = x * x;
  V series(-1382.0f / 155925);
  for (float c : {62.0f / 2835, -17.0f / 315, 2.0f / 15, -1.0f / 3}) series = at::vec::fmadd(series, x2, V(c));
  series = at::vec::fmadd(series * x2, x, x);
  const V quotient = (V(1.0f) - t) / (V(1.0f) + t);
  const V sign = x & V(-0.0f);
  return V::blendv(quotient ^ sign, series, size < V(0.3f));
}

// Enough independent sums to hide the latency of a multiply-add, few enough for the registers.
constexpr int tile_rows(int vectors) { return vectors == 1 ? 8 : 4; }

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
      const V x(a[r * s.width + k]);
      for (int n = 0; n < N; ++n) sum[r][n] = at::vec::fmadd(x, b[n], sum[r][n]);
    }
  }
}

template <int R, int N, size_t S, class Start, class Done>
inline __attribute__((always_inline)) void tile(int64_t row, const std::array<Source, S>& sources, Start start, Done done) {
  V sum[R][N];
  for (int r = 0; r < R; ++r) start(row + r, sum[r]);
  for (const Source& s : sources) product<R, N>(sum, s, row);
  for (int r = 0; r < R; ++r) done(row + r, sum[r]);
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

// Calls f(number, first) so that `vectors` vectors are covered by groups of 4, 2 and 1.
template <class F>
inline void groups(int64_t vectors, F f) {
  int64_t u = 0;
  for (; u + 4 <= vectors; u += 4) f(std::integral_constant<int, 4>{}, u);
  if (u + 2 <= vectors) f(std::integral_constant<int, 2>{}, u), u += 2;
  if (u < vectors) f(std::integral_constant<int, 1>{}, u);
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
    for (int n = 0; n < N; ++n) sum[r][n] = V(0.0f);
  for (int64_t i = 0; i < rows; ++i, a += a_width, b += b_width) {
    V y[N];
    for (int n = 0; n < N; ++n) y[n] = load(b + n * L);
    for (int r = 0; r < R; ++r) {
      const V x(a[r]);
      for (int n = 0; n < N; ++n) sum[r][n] = at::vec::fmadd(x, y[n], sum[r][n]);
    }
  }
  // Summed apart before it is added: a long sum that began with the number in `to` would round each term to that.
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) (sum[r][n] + load(to + r * width + n * L)).store(to + r * width + n * L);
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
