#pragma once

#include "../cell.h"

namespace longwave {

// Gated recurrent unit in torch's form: h = (1 − s) ñ + s h, ñ = tanh(e + r (W h + c)). Gates r, s, n.
// Kept: r, s, ñ, and W h + c of the last, which r multiplied and whose adjoint r needs.
struct Gru {
  static constexpr int states = 1, gates = 3, kept = 4, slots = 4, drive = 1, matrices = 3, scalars = 0, vectors = 1;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) { return pack_units(to, t, W, {0, 1, 2}); }

  static void step(const Step<1>& s) {
    const int64_t D = s.D;
    for (int64_t u = 0; u < D; u += L)
      stage<3>(s.n, std::array{Source{s.before(0), D, s.w + 3 * s.d * u, s.d}},
        [&](int64_t r, V (&a)[3]) {
          const float* k = s.kept + r * s.width + u;
          a[0] = load(k), a[1] = load(k + D), a[2] = load(s.U + u);
        },
        [&](int64_t r, V (&a)[3]) {
          float* k = s.kept + r * s.width + u;
          const V one = sigmoid(a[0]), two = sigmoid(a[1]), n = TANH(at::vec::fmadd(one, a[2], load(k + 2 * D)));
          one.store(k), two.store(k + D), n.store(k + 2 * D), a[2].store(k + 3 * D);
          at::vec::fmadd(two, load(s.before(0) + r * D + u) - n, n).store(s.after(0) + r * D + u);
        });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) { return pack_back(to, t, W, {2, 0, 1}); }

  // Slots: W h of n, r, s, and the drive of n.
  static void back(Back<1, 0>& s) {
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        const float* k = s.kept + r * s.width + u;
        float *to = s.slots + r * s.slots_width + u, *dh = s.adjoint[0] + r * D + u;
        const V one = load(k), two = load(k + D), n = load(k + 2 * D), h = load(s.before(0) + r * D + u), g = load(dh);
        const V dn = g * (ONE - two) * (ONE - n * n);
        (dn * one).store(to), (dn * load(k + 3 * D) * one * (ONE - one)).store(to + D);
        (g * (h - n) * two * (ONE - two)).store(to + 2 * D), dn.store(to + 3 * D);
        (g * two).store(dh);
        (load(s.dU + u) + dn * one).store(s.dU + u);
      }
    add_product<3>(s, 0, 0, s.adjoint[0]);
  }

  template <class Gradient>
  static void weights(const Back<1, 0>& s, Gradient gradient) {
    gradient(0, s.before(0), 1, 2, s.D);
    gradient(2, s.before(0), 0, 1, s.D);
  }
};

}  // namespace longwave
