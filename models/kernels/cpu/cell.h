// What the cells share. Each is one struct, in a file of its own in cells/. Its constants say how many vectors a row
// keeps (`kept`, the drive first) and how many adjoints a step yields (`slots`, those of the drive from `drive` on); its
// functions are the equations of the layer and, for the way back, those that follow from them by the chain rule:
//
//   pack_forward, pack_backward   put the matrices into the order in which step and back read them
//   step                          one step for all rows of a block: states, and what `kept` holds for the way back
//   back                          the same step backward: adjoints of the states, slots, sums of the scalars' gradients
//   weights                       calls gradient(matrix, rows that it multiplied, first slot, slots, width of the rows)
#pragma once

#include "call.h"

namespace longwave {

constexpr auto TANH = hyperbolic_tangent;
inline const V ONE(1.0f);

// Packs W h of the given matrices, unit by unit: [vector][k][matrix][L].
// The gates of a unit lie side by side, so one pass over h sums them all and its equations follow in registers.
template <size_t N>
inline float* pack_units(float* to, const Task& t, const float* W, const int (&matrices)[N]) {
  for (int64_t u = 0; u < t.D; u += L)
    for (int64_t k = 0; k < t.d; ++k)
      for (int g : matrices)
        for (int64_t i = u; i < u + L; ++i) *to++ = i < t.d ? W[(g * t.d + i) * t.d + k] : 0.0f;
  return to;
}

// Packs W h of one matrix for groups().
inline float* pack_rows(float* to, const Task& t, const float* W, int g) {
  return pack_groups(to, t.d, t.nb, [&](int64_t k, int64_t i) { return i < t.d ? W[(g * t.d + i) * t.d + k] : 0.0f; });
}

// Packs Σ Wᵀ a of the given matrices over their neighbouring slots for groups(): D numbers of depth each.
template <size_t N>
inline float* pack_back(float* to, const Task& t, const float* W, const int (&matrices)[N]) {
  return pack_groups(to, N * t.D, t.nb, [&](int64_t k, int64_t i) {
    const int64_t g = matrices[k / t.D], j = k % t.D;
    return i < t.d && j < t.d ? W[(g * t.d + j) * t.d + i] : 0.0f;
  });
}

template <int N>
inline void put(V (&sum)[N], const float* from) {
  for (int n = 0; n < N; ++n) sum[n] = load(from + n * L);
}

template <int N>
inline void zero(V (&sum)[N]) {
  for (V& v : sum) v = V(0.0f);
}

// Adds to `to` the product of `Slots` neighbouring slots of adjoints and a panel of pack_back(). A long sum that began
// with the larger number in `to` would round each of its terms to that.
template <int Slots, class Back>
inline void add_product(const Back& s, int64_t slot, int64_t panel, float* to) {
  groups(s.nb, [&](auto N, int64_t first) {
    const int64_t u = first * L, depth = Slots * s.D;
    stage<N>(s.n, std::array{Source{s.slots + slot * s.D, s.slots_width, s.w + panel + depth * u, depth}},
      [&](int64_t, V (&a)[N]) { zero<N>(a); },
      [&](int64_t r, V (&a)[N]) {
        for (int n = 0; n < N; ++n) {
          float* place = to + r * s.D + u + n * L;
          (a[n] + load(place)).store(place);
        }
      });
  });
}

}  // namespace longwave
