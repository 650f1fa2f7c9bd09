// The multiply-add rate of this processor, on one thread.
#include "vector.h"

// Multiplies and adds `rounds` times in twelve independent vectors, and returns the number of operations. No product
// can be faster. Twelve hide the latency, and fit into the registers with both factors.
extern "C" double multiply_adds(int64_t rounds) {
  using namespace longwave;
  volatile float seed = 1e-30f;
  const V a = all(seed), b = all(seed);
  V sums[12];
  for (V& sum : sums) sum = all(seed);
  for (int64_t i = 0; i < rounds; ++i)
    for (V& sum : sums) sum += a * b;
  for (V& sum : sums) seed = sum[0];
  return double(rounds) * 12 * L;
}
