#pragma once

#include "../cell.h"

namespace longwave {

// Gated unit with delayed feedback: h = h + g (β u + α a z − h), z from h τ steps ago. Gates u, z, g, a.
struct TauGru {
  static constexpr int states = 1, gates = 4, kept = 4, slots = 4, drive = 0, matrices = 4, scalars = 2, vectors = 0;
  static constexpr bool delayed = true;

  static float* pack_forward(float* to, const Task& t, const float* W) {
    return pack_rows(pack_units(to, t, W, {0, 2, 3}), t, W, 1);
  }

  // Adds W2 h[n − τ] to the drive of all steps of a chunk at once.
  static void delay(const Step<1>& s, float* kept, int64_t steps) {
    const float* w = s.w + 3 * s.d * s.D;
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      stage<N>(steps * s.n, std::array{Source{s.s[0] - s.lag() * s.row, s.D, w + s.d * u, s.d}},
        [&](int64_t r, V (&a)[N]) { put<N>(a, kept + r * s.width + s.D + u); },
        [&](int64_t r, V (&a)[N]) { for (int n = 0; n < N; ++n) a[n].store(kept + r * s.width + s.D + u + n * L); });
    });
  }

  static void step(const Step<1>& s) {
    const V alpha = s.scalar(0), beta = s.scalar(1);
    const int64_t D = s.D;
    for (int64_t u = 0; u < D; u += L)
      stage<3>(s.n, std::array{Source{s.before(0), D, s.w + 3 * s.d * u, s.d}},
        [&](int64_t r, V (&a)[3]) {
          const float* k = s.kept + r * s.width + u;
          a[0] = load(k), a[1] = load(k + 2 * D), a[2] = load(k + 3 * D);
        },
        [&](int64_t r, V (&sum)[3]) {
          float* k = s.kept + r * s.width + u;
          const V one = TANH(sum[0]), z = TANH(load(k + D)), g = sigmoid(sum[1]), a = sigmoid(sum[2]);
          const V h = load(s.before(0) + r * D + u);
          one.store(k), z.store(k + D), g.store(k + 2 * D), a.store(k + 3 * D);
          at::vec::fmadd(g, beta * one + alpha * a * z - h, h).store(s.after(0) + r * D + u);
        });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) {
    return pack_back(pack_back(pack_back(to, t, W, {0}), t, W, {2, 3}), t, W, {1});
  }

  static void back(Back<1, 2>& s) {
    const V alpha = s.scalar(0), beta = s.scalar(1);
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        const float* k = s.kept + r * s.width + u;
        float *to = s.slots + r * s.slots_width + u, *dh = s.adjoint[0] + r * D + u;
        const V one = load(k), z = load(k + D), g = load(k + 2 * D), a = load(k + 3 * D);
        const V all = load(dh), v = all * g, gap = beta * one + alpha * a * z - load(s.before(0) + r * D + u);
        (beta * v * (ONE - one * one)).store(to), (alpha * v * a * (ONE - z * z)).store(to + D);
        (all * gap * g * (ONE - g)).store(to + 2 * D), (alpha * v * z * a * (ONE - a)).store(to + 3 * D);
        (all - v).store(dh);
        s.sums[0] = at::vec::fmadd(v * a, z, s.sums[0]);
        s.sums[1] = at::vec::fmadd(v, one, s.sums[1]);
      }
    add_product<1>(s, 0, 0, s.adjoint[0]);
    add_product<2>(s, 2, D * D, s.adjoint[0]);
  }

  // Adds W2ᵀ times the adjoints of z of a chunk to the adjoints of the states τ steps before, at(row).
  template <class At>
  static void delay_back(const Back<1, 2>& s, int64_t steps, At at) {
    const float* w = s.w + 3 * s.D * s.D;
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      stage<N>(steps * s.n, std::array{Source{s.slots + s.D, s.slots_width, w + s.D * u, s.D}},
        [&](int64_t r, V (&a)[N]) { put<N>(a, at(r) + u); },
        [&](int64_t r, V (&a)[N]) { for (int n = 0; n < N; ++n) a[n].store(at(r) + u + n * L); });
    });
  }

  template <class Gradient>
  static void weights(const Back<1, 2>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 1, s.D);
    gradient(1, s.before(0) - s.lag() * s.row, 1, 1, s.D);
    gradient(2, s.before(0), 2, 2, s.D);
  }
};

}  // namespace longwave
