// Subnormal numbers count as zeros in the time loops. A vanishing gradient passes through them, and on Intel's
// processors an operation on one takes many times as long.
#pragma once

#include <cstdint>

namespace longwave {

// While an instance exists, its thread treats subnormal inputs and results as zeros. Its destructor restores the
// thread's setting. Processors other than x86 and AArch64 keep subnormals.
class Flush {
#if defined(__SSE__)
  static constexpr uint64_t ZEROS = 0x8040;  // of MXCSR: flush to zero, denormals are zeros
  static uint64_t control() { return __builtin_ia32_stmxcsr(); }
  static void set(uint64_t value) { __builtin_ia32_ldmxcsr(uint32_t(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t ZEROS = 1 << 24;  // of FPCR: flush to zero, operands and results
  static uint64_t control() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  static constexpr uint64_t ZEROS = 0;
  static uint64_t control() { return 0; }
  static void set(uint64_t) {}
#endif

  // No memory access may be moved across this: the compiler does not know the effect of the setting.
  static void change(uint64_t value) {
    asm volatile("" : : : "memory");
    set(value);
    asm volatile("" : : : "memory");
  }

  const uint64_t before = control();

 public:
  explicit Flush(bool wanted = true) { if (wanted) change(before | ZEROS); }
  ~Flush() { change(before); }
  Flush(const Flush&) = delete;
  Flush& operator=(const Flush&) = delete;
};

}  // namespace longwave
