#pragma once

#include "../cell.h"

namespace longwave {

// Coupled oscillators: z = κ(δ z + Δt(tanh(a) − γ y)), y = y + Δt z.
struct Cornn {
  static constexpr int states = 2, gates = 1, kept = 1, slots = 1, drive = 0, matrices = 2, scalars = 4, vectors = 0;
  static constexpr bool delayed = false;

  static float* pack_forward(float* to, const Task& t, const float* W) {
    return pack_rows(pack_rows(to, t, W, 0), t, W, 1);
  }

  static void step(const Step<2>& s) {
    const V dt = s.scalar(0), gamma = s.scalar(1), kappa = s.scalar(2), delta = s.scalar(3);
    const int64_t D = s.D;
    groups(s.nb, [&](auto N, int64_t first) {
      const int64_t u = first * L;
      const float* w = s.w + s.d * u;
      stage<N>(s.n, std::array{Source{s.before(0), D, w, s.d}, Source{s.before(1), D, w + s.d * D, s.d}},
        [&](int64_t r, V (&a)[N]) { put<N>(a, s.kept + r * s.width + u); },
        [&](int64_t r, V (&a)[N]) {
          for (int n = 0; n < N; ++n) {
            const int64_t i = r * D + u + n * L;
            const V f = TANH(a[n]), y = load(s.before(0) + i);
            const V z = kappa * (delta * load(s.before(1) + i) + dt * (f - gamma * y));
            f.store(s.kept + r * s.width + u + n * L);
            z.store(s.after(1) + i), at::vec::fmadd(dt, z, y).store(s.after(0) + i);
          }
        });
    });
  }

  static float* pack_backward(float* to, const Task& t, const float* W) {
    return pack_back(pack_back(to, t, W, {0}), t, W, {1});
  }

  static void back(Back<2, 4>& s) {
    const V dt = s.scalar(0), gamma = s.scalar(1), kappa = s.scalar(2), delta = s.scalar(3);
    const int64_t D = s.D;
    for (int64_t r = 0; r < s.n; ++r)
      for (int64_t u = 0; u < D; u += L) {
        float *dy = s.adjoint[0] + r * D + u, *dz = s.adjoint[1] + r * D + u;
        const V f = load(s.kept + r * s.width + u), y = load(s.before(0) + r * D + u), z = load(s.before(1) + r * D + u);
        const V gy = load(dy), all = load(dz) + dt * gy, force = f - gamma * y, xi = kappa * all;
        (dt * xi * (ONE - f * f)).store(s.slots + r * s.slots_width + u);
        (gy - dt * gamma * xi).store(dy), (delta * xi).store(dz);
        s.sums[0] = s.sums[0] + gy * load(s.after(1) + r * D + u) + xi * force;
        s.sums[1] = s.sums[1] - dt * xi * y;
        s.sums[2] = s.sums[2] + all * (delta * z + dt * force);
        s.sums[3] = s.sums[3] + xi * z;
      }
    for (int i = 0; i < 2; ++i) add_product<1>(s, 0, i * D * D, s.adjoint[i]);
  }

  template <class Gradient>
  static void weights(const Back<2, 4>& s, Gradient gradient) {
    gradient(0, s.before(0), 0, 1, s.D);
    gradient(1, s.before(1), 0, 1, s.D);
  }
};

}  // namespace longwave
