#pragma once

#include "../cell.h"

namespace longwave {

// Independent oscillators: z = z − s (tanh(w y + e) + α y), y = y + s z. Vectors w, s.
struct Unicornn {
  static constexpr int states = 2, gates = 1, kept = 1, slots = 1, drive = 0, matrices = 0, scalars = 1, vectors = 2;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task&, const float*) { return to; }
  static float* pack_backward(float* to, const Task&, const float*) { return to; }

  static void step(const Step<2>& s) {
    const V alpha = s.scalar(0);
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < s.D; u += L) {
        const int64_t i = r * s.D + u;
        float* k = s.kept + r * s.width + u;
        const V w = load(s.U + u), dt = load(s.U + s.D + u), y = load(s.before(0) + i);
        const V f = TANH(at::vec::fmadd(w, y, load(k))), z = load(s.before(1) + i) - dt * (f + alpha * y);
        f.store(k), z.store(s.after(1) + i), at::vec::fmadd(dt, z, y).store(s.after(0) + i);
      }
  }

  static void back(Back<2, 1>& s) {
    const V alpha = s.scalar(0);
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < s.D; u += L) {
        const int64_t i = r * s.D + u;
        const V w = load(s.U + u), dt = load(s.U + s.D + u), y = load(s.before(0) + i), f = load(s.kept + r * s.width + u);
        const V gy = load(s.adjoint[0] + i), gz = at::vec::fmadd(dt, gy, load(s.adjoint[1] + i)), to = dt * gz;
        const V dx = to.neg() * (ONE - f * f);
        dx.store(s.slots + r * s.slots_width + u);
        (gy + w * dx - alpha * to).store(s.adjoint[0] + i), gz.store(s.adjoint[1] + i);
        (load(s.dU + u) + dx * y).store(s.dU + u);
        (load(s.dU + s.D + u) + gy * load(s.after(1) + i) - gz * (f + alpha * y)).store(s.dU + s.D + u);
        s.sums[0] = s.sums[0] - to * y;
      }
  }

  template <class Gradient>
  static void weights(const Back<2, 1>&, Gradient) {}
};

}  // namespace longwave
