#pragma once

#include "../cell.h"

namespace longwave {

// Long expressive memory. Gates 1, z, 2, y.
struct Lem {
  static constexpr int states = 2, gates = 4, kept = 4, slots = 4, drive = 0, matrices = 4, scalars = 1, vectors = 0;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) {
    return pack_rows(pack_units(to, t, W, {0, 1, 2}), t, W, 3);
  }

  static void step(const Step<2>& s) {
    const V dt = s.scalar(0);
    const float* w = s.w;
    const int64_t D = s.D;
    for (int64_t u = 0; u < D; u += L, w += s.d * 3 * L) {
      stage<3>(s.n, std::array{Source{s.before(0), D, w, s.d}},
        [&](int64_t r, V (&a)[3]) { for (int g = 0; g < 3; ++g) a[g] = load(s.kept + r * s.width + g * D + u); },
        [&](int64_t r, V (&a)[3]) {
          float* k = s.kept + r * s.width + u;
          const V one = sigmoid(a[0]), p = TANH(a[1]), z = load(s.before(1) + r * D + u);
          // The gates replace the drive: the way back then needs no exponential.
          one.store(k), p.store(k + D), sigmoid(a[2]).store(k + 2 * D);
          at::vec::fmadd(dt * one, p - z, z).store(s.after(1) + r * D + u);
        });
    }
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      stage<N>(s.n, std::array{Source{s.after(1), D, w + s.d * u, s.d}},
        [&](int64_t r, V (&a)[N]) { put<N>(a, s.kept + r * s.width + 3 * D + u); },
        [&](int64_t r, V (&a)[N]) {
          for (int n = 0; n < N; ++n) {
            float* k = s.kept + r * s.width + u + n * L;
            const V q = TANH(a[n]), y = load(s.before(0) + r * D + u + n * L);
            q.store(k + 3 * D);
            at::vec::fmadd(dt * load(k + 2 * D), q - y, y).store(s.after(0) + r * D + u + n * L);
          }
        });
    });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) {
    return pack_back(pack_back(to, t, W, {3}), t, W, {0, 1, 2});
  }

  static void back(Back<2, 1>& s) {
    const V dt = s.scalar(0);
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        const float* k = s.kept + r * s.width + u;
        float *g = s.slots + r * s.slots_width + u, *dy = s.adjoint[0] + r * D + u;
        const V two = load(k + 2 * D), q = load(k + 3 * D), gap = q - load(s.before(0) + r * D + u), y = load(dy);
        const V delta = dt * two;
        (y * delta * (ONE - q * q)).store(g + 3 * D);
        (y * delta * (ONE - two) * gap).store(g + 2 * D);
        (y * (ONE - delta)).store(dy);
        s.sums[0] = at::vec::fmadd(y * two, gap, s.sums[0]);
      }
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      stage<N>(s.n, std::array{Source{s.slots + 3 * D, s.slots_width, s.w + D * u, D}},
        [&](int64_t r, V (&a)[N]) { put<N>(a, s.adjoint[1] + r * D + u); },
        [&](int64_t r, V (&a)[N]) {
          for (int n = 0; n < N; ++n) {
            const int64_t i = u + n * L;
            const float* k = s.kept + r * s.width + i;
            float* g = s.slots + r * s.slots_width + i;
            const V one = load(k), p = load(k + D), gap = p - load(s.before(1) + r * D + i), delta = dt * one;
            (a[n] * delta * (ONE - p * p)).store(g + D);
            (a[n] * delta * (ONE - one) * gap).store(g);
            (a[n] * (ONE - delta)).store(s.adjoint[1] + r * D + i);
            s.sums[0] = at::vec::fmadd(a[n] * one, gap, s.sums[0]);
          }
        });
    });
    add_product<3>(s, 0, D * D, s.adjoint[0]);
  }

  template <class Gradient>
  static void weights(const Back<2, 1>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 3, s.D);
    gradient(3, s.after(1), 3, 1, s.D);
  }
};

}  // namespace longwave
