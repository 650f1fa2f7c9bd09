// The time loops: forward and backward through a whole sequence, for any cell.
#pragma once

#include "cell.h"

namespace longwave {

template <class C>
struct Loop {
  const Call& c;
  const int64_t D = c.padded(), nb = c.vectors(), inputs = c.p + 1;
  const int64_t kept_width = C::kept * D, slots_width = C::slots * D + L;  // L more, or rows would share cache sets
  Scratch weights, units;
  int64_t size;

  // Packs the weights of the members of tasks `from` to `to`.
  Loop(const Call& call, bool forward, int64_t from, int64_t to)
      : c(call), weights(call.M * room()), units(call.M * std::max(1, C::vectors) * call.padded()), size(room()) {
    for (int64_t k = from / c.blocks(); k * c.blocks() < to; ++k) pack(k, forward);
  }

  int64_t room() const { return C::panels * D * D + inputs * C::gates * D + C::gates * D * ((c.p + L - 1) / L * L); }

  void pack(int64_t k, bool forward) {
    for (int64_t v = 0; v < C::vectors; ++v)
      copy_rows(units + (k * C::vectors + v) * D, D, c.U + (k * C::vectors + v) * c.d, c.d, c.d, 1, D);
    const Task t = task_of(c, k * c.blocks(), C::vectors, weights, size, units, C::scalars);
    const float *W = c.W + k * C::matrices * c.d * c.d, *Vk = c.V + k * C::gates * c.d * c.p, *b = c.b + k * C::gates * c.d;
    float* to = weights + k * size;
    to = forward ? C::pack_forward(to, t, W) : C::pack_backward(to, t, W);
    to = weights + k * size + C::panels * D * D;
    if (forward) {
      pack_groups(to, inputs, C::gates * nb, [&](int64_t i, int64_t column) {
        const int64_t g = column / D, u = column % D;
        return u >= c.d ? 0.0f : i < c.p ? Vk[(g * c.d + u) * c.p + i] : b[g * c.d + u];
      });
    } else if (c.dx) {
      pack_groups(to, C::gates * D, (c.p + L - 1) / L, [&](int64_t k, int64_t i) {
        const int64_t g = k / D, u = k % D;
        return u < c.d && i < c.p ? Vk[(g * c.d + u) * c.p + i] : 0.0f;
      });
    }
  }

  // Copies the input of some steps of a task, [step][row][p + 1]: a 1 after each row multiplies the bias.
  void gather(const Task& t, int64_t first, int64_t steps, float* to) const {
    for (int64_t i = 0; i < steps; ++i) {
      const float* x = c.x + ((t.member * c.T + first + i) * c.B + t.first) * c.p;
      for (int64_t r = 0; r < t.n; ++r, to += inputs) {
        std::memcpy(to, x + r * c.p, c.p * sizeof(float));
        to[c.p] = 1.0f;
      }
    }
  }

  void drive(const Task& t, int64_t first, int64_t steps, float* x, float* to) const {
    gather(t, first, steps, x);
    const float* w = t.w + C::panels * D * D;
    groups(C::gates * nb, [&](auto N, int64_t u) {
      stage<N>(steps * t.n, std::array{Source{x, inputs, w + inputs * u * L, inputs}},
        [&](int64_t, V (&a)[N]) { for (V& v : a) v = V{}; },
        [&](int64_t r, V (&a)[N]) { for (int n = 0; n < N; ++n) store(a[n], to + r * kept_width + (u + n) * L); });
    });
  }

  void forward(int64_t from, int64_t to) {
    const int64_t own = c.keep == NEAR ? 0 : c.chunk;
    Scratch x(c.chunk * c.rows * inputs), kept(own * c.rows * kept_width), states(C::states * (own + 1) * c.rows * D);
    for (int64_t i = from; i < to; ++i) forward_task(i, x, kept, states);
    arrive();
  }

  // Unless rows stay in the cache for the backward pass, all chunks reuse `own_kept` and `own_states`.
  void forward_task(int64_t index, float* x, float* own_kept, float* own_states) {
    const Task t = task_of(c, index, C::vectors, weights, size, units, C::scalars);
    const bool whole = c.keep == NEAR || c.m;  // delayed outputs are read in place
    Step<C::states> s{t, {}, nullptr, kept_width};
    float* base[C::states];
    for (int i = 0; i < C::states; ++i) {
      s.s[i] = base[i] = whole ? states_at(index, i, 0, t) : own_states + i * (c.chunk + 1) * t.row;
      copy_rows(base[i], D, c.state + at_start(i, t), c.d, c.d, t.n, D);
    }
    for (int64_t j = 0; j < c.m; ++j)
      copy_rows(base[0] + (j - c.m) * t.row, D, c.past + ((t.member * c.m + j) * c.B + t.first) * c.d, c.d, c.d, t.n, D);
    if (c.keep == FAR) leave(s, index, 0);
    for (int64_t first = 0, steps; first < c.T; first += steps) {
      steps = std::min(length(t), c.T - first);
      float* kept = c.keep == NEAR ? kept_at(index, first, t) : own_kept;
      // The input does not depend on states, so one product drives a whole chunk.
      drive(t, first, steps, x, kept);
      for (int i = 0; i < C::states; ++i) s.s[i] = base[i] + (whole ? first * t.row : 0);
      if constexpr (C::delayed) C::delay(s, kept, steps);
      for (int64_t k = 0; k < steps; ++k) {
        s.kept = kept + k * t.n * kept_width;
        C::step(s);
        for (float*& state : s.s) state += t.row;
        constexpr int outputs = C::outputs;
        float* Y = c.Y + ((t.member * c.T + first + k) * c.B + t.first) * outputs * c.d;
        if (c.keep == FAR) leave(s, index, first + k + 1);
        if (outputs == 1 && c.keep == FAR && c.d == D) send(Y, s.s[0], t.row);
        else for (int i = 0; i < outputs; ++i)
          copy_rows(Y + i * c.d, outputs * c.d, s.s[i], D, c.d, t.n);
      }
      // If all chunks share memory, the next begins with the last states of the previous one.
      if (!whole)
        for (int i = 0; i < C::states; ++i) std::memcpy(base[i], s.s[i], t.row * sizeof(float));
    }
    for (int i = 0; i < C::states; ++i)
      copy_rows(c.last + at_start(i, t), c.d, s.s[i], D, c.d, t.n);
  }

  // Copies the states after so many steps, and the values saved by the last one, to the memory of the backward pass.
  void leave(const Step<C::states>& s, int64_t index, int64_t steps) const {
    for (int i = 0; i < C::states && !c.m; ++i) send(states_at(index, i, steps, s), s.s[i], s.row);
    if (steps) send(kept_at(index, steps - 1, s), s.kept, s.n * kept_width);
  }

  float* states_at(int64_t index, int i, int64_t step, const Task& t) const {
    return c.states + (index * C::states + i) * c.history() * c.rows * D + (c.m + step) * t.row;
  }

  float* kept_at(int64_t index, int64_t step, const Task& t) const {
    return c.kept + (index * c.T * c.rows + step * t.n) * kept_width;
  }

  void backward(int64_t from, int64_t to) {
    Scratch x(c.chunk * c.rows * inputs), slots(c.chunk * c.rows * slots_width), adjoints(C::states * c.rows * D);
    Scratch own(C::vectors * D), late(C::delayed ? (c.m + c.chunk + 1) * c.rows * D : 0);
    for (int64_t i = from; i < to; ++i) backward_task(i, x, slots, adjoints, own, late);
  }

  void backward_task(int64_t index, float* x, float* slots, float* adjoints, float* own, float* late) {
    const Task t = task_of(c, index, C::vectors, weights, size, units, C::scalars);
    Back<C::states, C::scalars> s{t, {}, nullptr, {}, nullptr, kept_width, slots_width, {}, own, nullptr};
    for (int i = 0; i < C::states; ++i) {
      s.adjoint[i] = adjoints + i * t.row;
      if (c.glast) copy_rows(s.adjoint[i], D, c.glast + at_start(i, t), c.d, c.d, t.n, D);
      else std::memset(s.adjoint[i], 0, t.row * sizeof(float));
    }
    float *dW = c.dW + index * c.d * C::matrices * D, *dV = c.dV + index * inputs * C::gates * D;
    float* dU = c.dU + index * C::vectors * D;
    std::memset(dW, 0, c.d * C::matrices * D * sizeof(float));
    std::memset(dU, 0, C::vectors * D * sizeof(float));
    std::memset(own, 0, C::vectors * D * sizeof(float));
    std::memset(dV, 0, inputs * C::gates * D * sizeof(float));
    Late ring{late, c.m + c.chunk + 1, c.m, t.row};
    if constexpr (C::delayed) std::memset(late, 0, ring.slots * t.row * sizeof(float));
    // In double: one number accumulates the terms of all steps, rows and units.
    double scalars[C::scalars + 1] = {};
    for (int64_t end = c.T, steps; end > 0; end -= steps) {
      steps = std::min(length(t), end);
      const int64_t first = end - steps;
      for (int64_t k = steps - 1; k >= 0; --k) {
        for (V& sum : s.sums) sum = V{};
        receive(s, first + k, ring);
        for (int i = 0; i < C::states; ++i)
          s.s[i] = states_at(index, i, first + k, t);
        s.kept = kept_at(index, first + k, t);
        s.slots = slots + k * t.n * slots_width;
        if constexpr (C::delayed) s.ring = ring.at(first + k - t.lag());
        C::back(s);
        for (int i = 0; i < C::scalars; ++i) scalars[i] += total(s.sums[i]);
      }
      C::weights(s, [&](int matrix, const float* rows, int slot, int number, int64_t width) {
        outer(dW + matrix * D, C::matrices * D, rows, width, c.d, slots + slot * D, slots_width, number * nb, steps * t.n);
      });
      if constexpr (C::delayed) C::delay_back(s, steps, [&](int64_t r) { return ring.at(first + r / t.n - t.lag()) + r % t.n * D; });
      inputs_back(t, first, steps, x, slots, dV);
      // A chunk at a time, as weights are: terms are added to sums of their own size.
      take(dU, own, C::vectors * D);
    }
    finish(s, ring, scalars, index);
  }

  // The adjoints of states from later delayed reads, by step; at most the last m + chunk + 1 of them are pending.
  struct Late {
    float* memory;
    int64_t slots, m, row;
    float* at(int64_t step) const { return memory + (step + m) % slots * row; }
  };

  // Adds the contributions of outputs and later steps to the adjoint of the state after step k.
  void receive(Back<C::states, C::scalars>& s, int64_t k, const Late& late) const {
    if (c.gY) {
      constexpr int outputs = C::outputs;
      const float* g = c.gY + ((s.member * c.T + k) * c.B + s.first) * outputs * c.d;
      for (int64_t r = 0; r < s.n; ++r)
        for (int i = 0; i < outputs; ++i, g += c.d) {
          for (int64_t u = 0; u < c.d; u += L) fetch(g + u - c.B * outputs * c.d);
          for (int64_t u = 0; u < c.d; ++u) s.adjoint[i][r * D + u] += g[u];
        }
    }
    if constexpr (C::delayed) take(s.adjoint[0], late.at(k + 1), s.row);
  }

  static void take(float* to, float* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i], from[i] = 0.0f;
  }

  // Gradients of drive weights, bias and input from the drive's adjoints of some steps.
  void inputs_back(const Task& t, int64_t first, int64_t steps, float* x, const float* slots, float* dV) const {
    const float* g = slots;
    gather(t, first, steps, x);
    outer(dV, C::gates * D, x, inputs, inputs, g, slots_width, C::gates * nb, steps * t.n);
    if (!c.dx) return;
    const auto to = [&](int64_t r) { return c.dx + ((t.member * c.T + first + r / t.n) * c.B + t.first + r % t.n) * c.p; };
    const float* w = t.w + C::panels * D * D;
    groups((c.p + L - 1) / L, [&](auto N, int64_t u) {
      stage<N>(steps * t.n, std::array{Source{g, slots_width, w + C::gates * D * u * L, C::gates * D}},
        [&](int64_t, V (&a)[N]) { for (V& v : a) v = V{}; },
        [&](int64_t r, V (&a)[N]) {
          for (int n = 0; n < N; ++n) {
            const int64_t i = (u + n) * L;
            if (i < c.p) store(a[n], to(r) + i, std::min(L, c.p - i));
          }
        });
    });
  }

  void finish(Back<C::states, C::scalars>& s, const Late& late, const double* scalars, int64_t index) const {
    if constexpr (C::delayed) take(s.adjoint[0], late.at(0), s.row);
    for (int i = 0; i < C::states; ++i)
      copy_rows(c.dstate + at_start(i, s), c.d, s.adjoint[i], D, c.d, s.n);
    for (int64_t j = 0; j < c.m; ++j)
      copy_rows(c.dpast + ((s.member * c.m + j) * c.B + s.first) * c.d, c.d, late.at(j - c.m), D, c.d, s.n);
    for (int i = 0; i < C::scalars; ++i) c.dP[index * C::scalars + i] = scalars[i];
  }

  int64_t at_start(int state, const Task& t) const { return ((state * c.M + t.member) * c.B + t.first) * c.d; }

  // Steps of a chunk; at most the lag, so that all its delayed outputs are known when it begins.
  int64_t length(const Task& t) const {
    if constexpr (C::delayed) return std::min(c.chunk, std::max<int64_t>(t.lag(), 1));
    return c.chunk;
  }
};

}  // namespace longwave

// The entry points of a cell's library: tasks `from` to `to` of a call. Different tasks may run at once. They return 1
// where memory ran out, else 0.
#define ENTRY(CELL)                                                               \
  extern "C" int forward(const longwave::Call* call, int64_t from, int64_t to) try { \
    const longwave::Flush subnormals(call->flush);                                \
    longwave::Loop<longwave::CELL>(*call, true, from, to).forward(from, to);      \
    return 0;                                                                     \
  } catch (const std::bad_alloc&) { return 1; }                                   \
  extern "C" int backward(const longwave::Call* call, int64_t from, int64_t to) try { \
    const longwave::Flush subnormals(call->flush);                                \
    longwave::Loop<longwave::CELL>(*call, false, from, to).backward(from, to);    \
    return 0;                                                                     \
  } catch (const std::bad_alloc&) { return 1; }
