// Vectors of L neighbouring floats, of the compiler's built-in type, without library headers. Single precision.
// A build for another processor differs in L alone; the compiler knows the instructions.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace longwave {

#if defined(__AVX512F__)
constexpr int64_t L = 16;
#elif defined(__AVX__)
constexpr int64_t L = 8;
#else
constexpr int64_t L = 4;
#endif

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int REGISTERS = 32;
#else
constexpr int REGISTERS = 16;
#endif

typedef float V __attribute__((vector_size(4 * L)));
typedef int32_t Whole __attribute__((vector_size(4 * L)));
typedef float Anywhere __attribute__((vector_size(4 * L), aligned(4)));

inline V load(const float* from) { return *reinterpret_cast<const Anywhere*>(from); }
inline void store(V v, float* to) { *reinterpret_cast<Anywhere*>(to) = v; }

// The first `count` numbers only.
inline void store(V v, float* to, int64_t count) {
  float lanes[L];
  store(v, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// As store(), bypassing the cache: data that are not read soon would displace others and be fetched first. `to` is
// aligned.
inline void send(V v, float* to) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<V*>(to));
#elif defined(__AVX512F__)
  __builtin_ia32_movntps512(to, v);
#elif defined(__AVX__)
  __builtin_ia32_movntps256(to, v);
#else
  store(v, to);
#endif
}

inline void send(float* to, const float* from, int64_t n) {
  for (int64_t i = 0; i < n; i += L) send(load(from + i), to + i);
}

// Waits until such stores are complete.
inline void arrive() {
#if defined(__AVX__)
  __builtin_ia32_sfence();
#endif
}

// Prefetches; any address is allowed.
inline void fetch(const float* from) { __builtin_prefetch(from); }

inline void add(V v, float* to) { store(load(to) + v, to); }

inline V all(float x) { return x - V{}; }
inline Whole bits(V x) { return (Whole)x; }
inline V floats(Whole x) { return (V)x; }

// NaN stays NaN: a comparison with it is false.
#if defined(__AVX512F__) && !defined(__clang__)  // one instruction, which GCC does not find by itself
inline V at_least(V x, V low) { return __builtin_ia32_maxps512_mask(low, x, V{}, -1, 4); }
inline V at_most(V x, V high) { return __builtin_ia32_minps512_mask(high, x, V{}, -1, 4); }
#elif defined(__AVX__) && !defined(__AVX512F__)
inline V at_least(V x, V low) { return __builtin_ia32_maxps256(low, x); }
inline V at_most(V x, V high) { return __builtin_ia32_minps256(high, x); }
#else
inline V at_least(V x, V low) { return x < low ? low : x; }
inline V at_most(V x, V high) { return x > high ? high : x; }
#endif
// As torch: NaN if either is.
inline V maximum(V x, V y) { return x > y ? x : (x == x ? (y > x ? y : (y == y ? x : y)) : x); }
inline V minimum(V x, V y) { return x < y ? x : (x == x ? (y < x ? y : (y == y ? x : y)) : x); }
inline V absolute(V x) { return floats(bits(x) & 0x7fffffff); }
inline V flag(Whole mask) { return floats(mask & bits(all(1.0f))); }
// 0 for NaN, as in torch.
inline V sign(V x) { return flag(x > 0.0f) - flag(x < 0.0f); }
// 1 where x > y or either is NaN, and a half where they are equal: how torch shares the gradient of a maximum.
inline V above(V x, V y) { return 1.0f - flag(x < y) - 0.5f * flag(x == y); }

// Zeros from unit d on, where `i` is the first unit of x: no NaN of the padding may meet a sum.
inline V inside(V x, int64_t i, int64_t d) {
  V y = x;
  for (int64_t k = d > i ? d - i : 0; k < L; ++k) y[k] = 0.0f;
  return y;
}

inline V root(V x) {
  V y;
  for (int64_t i = 0; i < L; ++i) y[i] = __builtin_sqrtf(x[i]);
  return y;
}

inline double total(V x) {
  double sum = 0.0;
  for (int64_t i = 0; i < L; ++i) sum += x[i];
  return sum;
}

// Lane by lane, for rare cases.
template <class F>
inline V each(V x, F f) {
  V y;
  for (int64_t i = 0; i < L; ++i) y[i] = f(x[i]);
  return y;
}

// 2^n, of n from -126 to 127.
inline V power(Whole n) { return floats((n + 127) << 23); }

// e^x as a product of 2^n and a number near 1, which is returned; |x| is below 2^21.
inline V significand(V x, Whole& n) {
  const V shifted = x * 1.44269504f + 12582912.0f;  // 1.5 · 2^23: adding it rounds to a whole number, in the low bits
  const V whole = shifted - 12582912.0f;
  const V r = whole * -1.42860677e-6f + (whole * -0.693145752f + x);
  n = bits(shifted) - 0x4b400000;
  V e = all(1.0f / 5040);
  for (float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) e = e * r + c;
  return e;
}

// Relative error below 2 units in the last place. Too large results are infinite, too small ones 0.
inline V exponential(V x) {
  Whole n;
  const V e = significand(at_most(at_least(x, all(-105.0f)), all(89.0f)), n);
  const Whole half = n >> 1;  // 2^128, with a number below 1, is in range as a product alone
  return e * power(half) * power(n - half);
}

// As exponential(), clipped to [e^-87, e^88]: if 1 is added, larger values make no difference.
inline V bounded_exponential(V x) {
  Whole n;
  const V e = significand(at_most(at_least(x, all(-87.0f)), all(88.0f)), n);
  return e * power(n);
}

inline V sigmoid(V x) { return 1.0f / (1.0f + bounded_exponential(-x)); }

// Near 0, where small time steps are, the quotient would lose relative accuracy; there it is the Taylor series.
inline V hyperbolic_tangent(V x) {
  const V size = absolute(x), t = bounded_exponential(size * -2.0f), x2 = x * x;
  V series = all(-1382.0f / 155925);
  for (float c : {62.0f / 2835, -17.0f / 315, 2.0f / 15, -1.0f / 3}) series = series * x2 + c;
  series = series * x2 * x + x;
  const V quotient = (1.0f - t) / (1.0f + t);
  return size < 0.3f ? series : floats(bits(quotient) | (bits(x) & INT32_MIN));
}

// Of numbers above 0, not subnormal: Cephes' logf. Others go to the library.
inline V logarithm(V x) {
  const Whole usual = (x >= 1.17549435e-38f) & (x < INFINITY);
  for (int64_t i = 0; i < L; ++i)
    if (!usual[i]) return each(x, [](float a) { return std::log(a + 0.0f); });  // the sum flushes: the library reads bits
  Whole exponent = ((bits(x) >> 23) & 255) - 126;
  V m = floats((bits(x) & 0x007fffff) | 0x3f000000);  // x = m 2^exponent, 1/2 ≤ m < 1
  const Whole low = m < 0.707106781f;
  exponent += low;
  m = (low ? m + m : m) - 1.0f;
  const V e = __builtin_convertvector(exponent, V), m2 = m * m;
  V y = all(7.0376836292e-2f);
  for (float c : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                  2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f})
    y = y * m + c;
  return e * 0.693359375f + (m + (y * m * m2 + (e * -2.12194440e-4f - 0.5f * m2)));
}

// log(1 + e^x), without loss for any x: the quotient undoes the rounding of 1 + e^-|x| (Kahan).
inline V softplus(V x) {
  const V e = exponential(-absolute(x)), sum = 1.0f + e, rounded = sum - 1.0f;
  return at_least(x, V{}) + (rounded == 0.0f ? e : logarithm(sum) * (e / rounded));
}

// sin x, or cos x for `turn` 1: Cephes' sinf and cosf. Large numbers go to the library.
inline V wave(V x, int turn) {
  const Whole small = absolute(x) < 8192.0f;
  for (int64_t i = 0; i < L; ++i)
    if (!small[i]) return each(x, [turn](float a) { return turn ? std::cos(a) : std::sin(a); });
  const V shifted = x * 0.636619772f + 12582912.0f, n = shifted - 12582912.0f;  // quarter turns
  const V r = n * -7.54978995489e-8f + (n * -4.83751296997e-4f + (n * -1.5703125f + x)), r2 = r * r;
  const V odd = ((-1.9515295891e-4f * r2 + 8.3321608736e-3f) * r2 - 1.6666654611e-1f) * r2 * r + r;
  const V even = ((2.443315711809948e-5f * r2 - 1.388731625493765e-3f) * r2 + 4.166664568298827e-2f) * r2 * r2 - 0.5f * r2 + 1.0f;
  const Whole quarter = bits(shifted) + turn;
  const V value = (quarter & 1) != 0 ? even : odd;
  return floats(bits(value) ^ ((quarter & 2) << 30));
}

inline V sine(V x) { return wave(x, 0); }
inline V cosine(V x) { return wave(x, 1); }
inline V error_function(V x) { return each(x, [](float a) { return std::erf(a); }); }

}  // namespace longwave
