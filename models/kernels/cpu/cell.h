// Shared code of the cells. A cell is one struct printed by the compiler (emit.py). Its constants are the numbers of
// states, of output states, gates, matrices, scalars and vectors, of vectors saved per row (`kept`, the drive first),
// of adjoints per step (`slots`, those of the drive first), and of packed matrices (`panels`). Its functions:
//
//   pack_forward, pack_backward   pack the matrices in the order in which step and back read them
//   delay                         adds the products of delayed outputs to the drive of a chunk of steps
//   step                          one step for all rows of a block: states, and the values saved in `kept`
//   back                          the same step backward: adjoints of the states, slots, sums of the scalars' gradients
//   delay_back                    propagates adjoints through delay to the delayed outputs
//   weights                       calls gradient(matrix, rows that it multiplied, first slot, slots, width of the rows)
#pragma once

#include "call.h"

namespace longwave {

// Packs the products of one block: [group][source][k][unit vector][sum][L]. Source s are `counts[s]` neighbouring rows;
// `matrices` lists the matrix of each row and sum.
template <bool Transposed, int Sums, size_t Sources>
inline float* pack(float* to, const Task& t, const float* W, const int (&counts)[Sources], const int* matrices) {
  const int64_t d = t.d, depth = Transposed ? t.D : d;
  groups<most(Sums)>(t.nb, [&](auto group, int64_t first) {
    const int* m = matrices;
    for (int count : counts)
      for (int c = 0; c < count; ++c, m += Sums)
        for (int64_t k = 0; k < depth; ++k)
          for (int g = 0; g < group; ++g)
            for (int j = 0; j < Sums; ++j)
              for (int64_t i = (first + g) * L; i < (first + g + 1) * L; ++i)
                *to++ = i >= d || k >= d ? 0.0f : W[Transposed ? (m[j] * d + k) * d + i : (m[j] * d + i) * d + k];
  });
  return to;
}

}  // namespace longwave
