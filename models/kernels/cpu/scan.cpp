// The entry points of one cell, whose struct CELL names: tasks `from` to `to` of a call. Different tasks may run at once.
// They return 1 where memory ran out, else 0.
#include "cells/cornn.h"
#include "cells/gru.h"
#include "cells/lem.h"
#include "cells/lipschitz.h"
#include "cells/lstm.h"
#include "cells/tau_gru.h"
#include "cells/unicornn.h"
#include "driver.h"

using longwave::Call;
using Loop = longwave::Loop<longwave::CELL>;

extern "C" {

int forward(const Call* call, int64_t from, int64_t to) try {
  Loop(*call, true, from, to).forward(from, to);
  return 0;
} catch (const std::bad_alloc&) {
  return 1;
}

int backward(const Call* call, int64_t from, int64_t to) try {
  Loop(*call, false, from, to).backward(from, to);
  return 0;
} catch (const std::bad_alloc&) {
  return 1;
}

// Multiplies and adds `rounds` times in twelve vectors, none of which waits for another, and returns how many numbers
// that were. No product can be faster. Twelve hide the latency, and fit the registers with both factors.
double multiply_adds(int64_t rounds) {
  using longwave::V;
  volatile float seed = 1e-30f;
  const V a(seed), b(seed);
  V sums[12];
  for (V& sum : sums) sum = V(seed);
  for (int64_t i = 0; i < rounds; ++i)
    for (V& sum : sums) sum = at::vec::fmadd(a, b, sum);
  float last[longwave::L];
  for (const V& sum : sums) sum.store(last), seed = last[0];
  return double(rounds) * 12 * longwave::L;
}
}
