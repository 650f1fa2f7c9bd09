#pragma once

#include "../cell.h"

namespace longwave {

// Lipschitz RNN by Euler steps: h = h + ε(A h + tanh(W h + e)). Matrices A (with α), W.
struct LipschitzEuler {
  static constexpr int states = 1, gates = 1, kept = 2, slots = 2, drive = 1, matrices = 2, scalars = 1, vectors = 0;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) { return pack_units(to, t, W, {0, 1}); }

  static void step(const Step<1>& s) {
    const V epsilon = s.scalar(0);
    slope(s, s.before(0), [&](int64_t r, int64_t u, V linear, V f) {
      float* k = s.kept + r * s.width + u;
      f.store(k), (linear + f).store(k + s.D);
      at::vec::fmadd(epsilon, linear + f, load(s.before(0) + r * s.D + u)).store(s.after(0) + r * s.D + u);
    });
  }

  // Calls done(row, unit, A h, tanh(W h + e)) for all h in `rows`.
  template <class Done>
  static void slope(const Step<1>& s, const float* rows, Done done, int64_t width = 0) {
    for (int64_t u = 0; u < s.D; u += L)
      stage<2>(s.n, std::array{Source{rows, width ? width : s.D, s.w + 2 * s.d * u, s.d}},
        [&](int64_t r, V (&a)[2]) { a[0] = V(0.0f), a[1] = load(s.kept + r * s.width + u); },
        [&](int64_t r, V (&a)[2]) { done(r, u, a[0], TANH(a[1])); });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) { return pack_back(to, t, W, {0, 1}); }

  static void back(Back<1, 1>& s) {
    const V epsilon = s.scalar(0);
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        float* g = s.slots + r * s.slots_width + u;
        const float* k = s.kept + r * s.width + u;
        const V f = load(k), dh = load(s.adjoint[0] + r * D + u), l = epsilon * dh;
        l.store(g), (l * (ONE - f * f)).store(g + D);
        s.sums[0] = at::vec::fmadd(dh, load(k + D), s.sums[0]);
      }
    add_product<2>(s, 0, 0, s.adjoint[0]);
  }

  template <class Gradient>
  static void weights(const Back<1, 1>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 2, s.D);
  }
};

// The same by the midpoint rule. Kept: the second tanh, the first, the middle state, the two slopes.
struct LipschitzRk2 {
  static constexpr int states = 1, gates = 1, kept = 5, slots = 5, drive = 4, matrices = 2, scalars = 1, vectors = 0;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) { return pack_units(to, t, W, {0, 1}); }

  static void step(const Step<1>& s) {
    const V epsilon = s.scalar(0), half = epsilon * V(0.5f);
    const int64_t D = s.D;
    LipschitzEuler::slope(s, s.before(0), [&](int64_t r, int64_t u, V linear, V f) {
      float* k = s.kept + r * s.width + u;
      f.store(k + D), (linear + f).store(k + 3 * D);
      at::vec::fmadd(half, linear + f, load(s.before(0) + r * D + u)).store(k + 2 * D);
    });
    LipschitzEuler::slope(s, s.kept + 2 * D, [&](int64_t r, int64_t u, V linear, V f) {
      float* k = s.kept + r * s.width + u;
      f.store(k), (linear + f).store(k + 4 * D);
      at::vec::fmadd(epsilon, linear + f, load(s.before(0) + r * D + u)).store(s.after(0) + r * D + u);
    }, s.width);
  }

  static float* pack_backward(float* to, const Task& t, const float* W) { return pack_back(to, t, W, {0, 1}); }

  // Slots: of the first slope A's and W's, of the second A's and W's, and the drive's.
  static void back(Back<1, 1>& s) {
    const V epsilon = s.scalar(0), half = epsilon * V(0.5f);
    const int64_t D = s.D;
    float* dh = s.adjoint[0];
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        const float* k = s.kept + r * s.width + u;
        float* g = s.slots + r * s.slots_width + u;
        const V f = load(k), l = epsilon * load(dh + r * D + u);
        l.store(g + 2 * D), (l * (ONE - f * f)).store(g + 3 * D);
        s.sums[0] = at::vec::fmadd(load(dh + r * D + u), load(k + 4 * D), s.sums[0]);
      }
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      stage<N>(s.n, std::array{Source{s.slots + 2 * D, s.slots_width, s.w + 2 * D * u, 2 * D}},
        [&](int64_t, V (&a)[N]) { zero<N>(a); },
        [&](int64_t r, V (&a)[N]) {
          for (int n = 0; n < N; ++n) {
            const int64_t i = u + n * L;
            const float* k = s.kept + r * s.width + i;
            float* g = s.slots + r * s.slots_width + i;
            const V f = load(k + D), mu = half * a[n], one = mu * (ONE - f * f);
            mu.store(g), one.store(g + D), (one + load(g + 3 * D)).store(g + 4 * D);
            (load(dh + r * D + i) + a[n]).store(dh + r * D + i);
            s.sums[0] = at::vec::fmadd(a[n] * V(0.5f), load(k + 3 * D), s.sums[0]);
          }
        });
    });
    add_product<2>(s, 0, 0, dh);
  }

  template <class Gradient>
  static void weights(const Back<1, 1>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 2, s.D);
    gradient(0, s.kept + 2 * s.D, 2, 2, s.width);
  }
};

}  // namespace longwave
