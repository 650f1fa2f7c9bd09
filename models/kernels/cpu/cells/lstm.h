#pragma once

#include "../cell.h"

namespace longwave {

// Long short-term memory. Gates i, f, g, o.
struct Lstm {
  static constexpr int states = 2, gates = 4, kept = 4, slots = 4, drive = 0, matrices = 4, scalars = 0, vectors = 0;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) { return pack_units(to, t, W, {0, 1, 2, 3}); }

  static void step(const Step<2>& s) {
    const int64_t D = s.D;
    for (int64_t u = 0; u < D; u += L)
      stage<4>(s.n, std::array{Source{s.before(0), D, s.w + 4 * s.d * u, s.d}},
        [&](int64_t r, V (&a)[4]) { for (int g = 0; g < 4; ++g) a[g] = load(s.kept + r * s.width + g * D + u); },
        [&](int64_t r, V (&a)[4]) {
          float* k = s.kept + r * s.width + u;
          const V i = sigmoid(a[0]), f = sigmoid(a[1]), g = TANH(a[2]), o = sigmoid(a[3]);
          const V c = at::vec::fmadd(f, load(s.before(1) + r * D + u), i * g);
          i.store(k), f.store(k + D), g.store(k + 2 * D), o.store(k + 3 * D);
          c.store(s.after(1) + r * D + u), (o * TANH(c)).store(s.after(0) + r * D + u);
        });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) { return pack_back(to, t, W, {0, 1, 2, 3}); }

  static void back(Back<2, 0>& s) {
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        const float* k = s.kept + r * s.width + u;
        float *to = s.slots + r * s.slots_width + u, *dh = s.adjoint[0] + r * D + u, *dc = s.adjoint[1] + r * D + u;
        const V i = load(k), f = load(k + D), g = load(k + 2 * D), o = load(k + 3 * D);
        // tanh c is computed again: to keep it would take a fifth vector a row and step.
        const V t = TANH(load(s.after(1) + r * D + u)), h = load(dh), c = load(dc) + h * o * (ONE - t * t);
        (c * g * i * (ONE - i)).store(to), (c * load(s.before(1) + r * D + u) * f * (ONE - f)).store(to + D);
        (c * i * (ONE - g * g)).store(to + 2 * D), (h * t * o * (ONE - o)).store(to + 3 * D);
        V(0.0f).store(dh), (c * f).store(dc);
      }
    add_product<4>(s, 0, 0, s.adjoint[0]);
  }

  template <class Gradient>
  static void weights(const Back<2, 0>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 4, s.D);
  }
};

}  // namespace longwave
