// Weights into the operands of a call, and the gradients of operands back to the weights, block by block.
#pragma once

#include "flush.h"

namespace longwave {

// A block of an operand's numbers, (row, column), is `factor` times one of a source's; gradients are laid out as by
// tasks. Offsets are in numbers, and `member` is the distance of members.
struct Block {
  struct Place {
    int64_t array, at, member, row, column;
  };
  int64_t rows, columns;
  int64_t wide;          // whether the source is in double precision
  double factor;
  Place from, to, back;  // in the source, in the operands, in a task's gradients
  int64_t gradient;      // place in the gradients of all sources, -1 where none is wanted
  int64_t size;          // of a member of the source there, 0 where all members share it
};

template <class Number>
inline void add_block(const Block& b, const Number* from, float* to) {
  const float factor = float(b.factor);
  for (int64_t r = 0; r < b.rows; ++r)
    for (int64_t c = 0; c < b.columns; ++c)
      to[r * b.to.row + c * b.to.column] += factor * float(from[r * b.from.row + c * b.from.column]);
}

}  // namespace longwave

// Adds all blocks to `operands`; the members of source s are `members[s]` apart, where they do not share it.
extern "C" void gather(const longwave::Block* blocks, int64_t count, int64_t M, const void* const* sources,
                       const int64_t* members, float* operands) {
  const longwave::Flush subnormals;
  for (int64_t n = 0; n < count; ++n)
    for (int64_t k = 0; k < M; ++k) {
      const auto& b = blocks[n];
      const void* source = sources[b.from.array];
      const int64_t at = b.from.at + k * b.from.member * members[b.from.array];
      float* to = operands + b.to.at + k * b.to.member;
      if (b.wide) longwave::add_block(b, static_cast<const double*>(source) + at, to);
      else longwave::add_block(b, static_cast<const float*>(source) + at, to);
    }
}

// Adds the gradients of all blocks, of `tasks` tasks a member, to those of the sources.
extern "C" void scatter(const longwave::Block* blocks, int64_t count, int64_t M, int64_t tasks,
                        const float* const* gradients, float* sources) {
  const longwave::Flush subnormals;
  for (int64_t n = 0; n < count; ++n) {
    const auto& b = blocks[n];
    if (b.gradient < 0) continue;
    const float factor = float(b.factor);
    for (int64_t k = 0; k < M; ++k)
      for (int64_t r = 0; r < b.rows; ++r)
        for (int64_t c = 0; c < b.columns; ++c) {
          const float* from = gradients[b.back.array] + k * tasks * b.back.member + b.back.at + r * b.back.row + c * b.back.column;
          float sum = 0.0f;
          for (int64_t j = 0; j < tasks; ++j) sum += from[j * b.back.member];
          sources[b.gradient + k * b.size + r * b.from.row + c * b.from.column] += factor * sum;
        }
  }
}
