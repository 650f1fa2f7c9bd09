// What the lanes of a vector are in a loop over matrix states: neighbouring columns of one task, or the same column of
// L tasks. In the second form no lane is idle, however many columns there are, and no sum goes across lanes; but inputs
// and outputs are copied, and more numbers have to stay in the cache.
#pragma once

#include "matrix_call.h"

namespace longwave::matrix {

// The first `count` numbers, zeros behind them.
inline V first(const float* from, int64_t count) {
  float lanes[L] = {};
  std::memcpy(lanes, from, std::min(count, L) * sizeof(float));
  return load(lanes);
}

// Lanes with bit S: of b, added up with the lane S below; others: of a, with the lane S above.
template <int S, size_t... K>
inline V merged(V a, V b, std::index_sequence<K...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (K & S ? K + L : K)...) + __builtin_shufflevector(a, b, (K & S ? (K ^ S) + L : K ^ S)...);
#else
  const Whole stay{static_cast<int>(K & S ? K + L : K)...}, cross{static_cast<int>(K & S ? (K ^ S) + L : K ^ S)...};
  return __builtin_shuffle(a, b, stay) + __builtin_shuffle(a, b, cross);
#endif
}

// Lane i becomes the sum of all lanes of r[i]: 15 additions for 16 sums.
template <int S = L / 2>
inline V totals(V* r) {
  for (int j = 0; j < S; ++j) r[j] = merged<S>(r[j], r[j + S], std::make_index_sequence<L>());
  if constexpr (S > 1) return totals<S / 2>(r);
  return r[0];
}

template <int S = L / 2>
inline float total(V v) {
  const V sum = merged<S>(v, v, std::make_index_sequence<L>());
  if constexpr (S > 1) return total<S / 2>(sum);
  return sum[0];
}

// The tile of the first columns stores its part of a sum over columns; others add theirs.
inline void gather(float v, float* to, int64_t column) { *to = column ? *to + v : v; }

// Lanes are neighbouring columns of one task; in a ragged vector the last ones lie beyond the last column. The loop
// reads and writes the caller's tensors.
template <bool Ragged>
struct ColumnLanes {
  using Last = ColumnLanes<true>;
  static constexpr int64_t columns = L, tasks = 1;  // of one vector
  static constexpr int64_t stride = 1;              // memory of one number of a drive
  static constexpr int rows_together = L;           // rows whose sums over columns are computed together

  static V with_columns(const float* from, int64_t left) { return Ragged ? first(from, left) : load(from); }
  static V without_columns(const float* from) { return all(*from); }

  static void store_columns(V v, float* to, int64_t left) {
    if (Ragged) store(v, to, std::min(left, L));
    else store(v, to);
  }

  // A vector's part of a sum over columns, without lanes beyond the last column.
  static V part(V v, int64_t left) { return Ragged ? inside(v, 0, left) : v; }

  // Sums over columns: one; and those of several rows, of which keep_row() keeps row u.
  static void store_sum(V v, float* to, int64_t column) { gather(total(v), to, column); }
  static void keep_row(V v, V* parts, int u, float*, int64_t) { parts[u] = v; }
  static void store_sums(V* parts, float* to, int64_t count, int64_t column) {
    const V v = totals(parts), sum = column ? v + (count < L ? first(to, count) : load(to)) : v;
    if (count < L) store(sum, to, count);
    else store(sum, to);
  }

  // Where a step's part of a tensor lies.
  template <class Cell, class P>
  static P* place(const Call<Cell>& c, const Tile<Cell>& tile, P* tensor, Axes a, int64_t t, int64_t ahead) {
    P* here = tensor + c.at(tile.group, tile.first + t) * c.width(a) + (a.j ? tile.column : 0);
    fetch(here + ahead * c.step() * c.width(a));
    return here;
  }
  template <class Cell>
  static const float* drive(const Call<Cell>& c, const Tile<Cell>& tile, int k, int64_t t, int64_t ahead) {
    return place(c, tile, c.drive[k], Cell::drives[k], t, ahead);
  }
  template <class Cell>
  static float* drive_gradient(const Call<Cell>& c, const Tile<Cell>& tile, int k, int64_t t, int64_t ahead) {
    return place(c, tile, c.drive_gradient[k], Cell::drives[k], t, ahead);
  }
  template <class Cell>
  static float* output(const Call<Cell>& c, const Tile<Cell>& tile, int, int64_t t, int64_t ahead) {
    return place(c, tile, c.output, Axes{false, true}, t, ahead);
  }
  template <class Cell>
  static const float* output_adjoint(const Call<Cell>& c, const Tile<Cell>& tile, int, int64_t t, int64_t ahead) {
    return place(c, tile, c.output_adjoint, Axes{false, true}, t, ahead);
  }

  // A value of one task into memory of a tile. `spread`: a value without columns is equal in all lanes; else it is an
  // adjoint, held in the first lane of the first tile.
  template <int N, class Cell>
  static void to_tile(const Call<Cell>& c, Axes a, const float* tensor, int64_t group, bool shared, float* to, int64_t column, bool spread) {
    const float* from = tensor ? tensor + c.index(group, shared) * c.width(a) : nullptr;
    for (int64_t i = 0; i < (a.i ? c.I : 1); ++i)
      for (int n = 0; n < (a.j ? N : 1); ++n, to += L) {
        const int64_t j = column + n * L;
        if (!from) store(V{}, to);
        else if (a.j) store(j + L <= c.J ? load(from + i * c.J + j) : first(from + i * c.J + j, c.J - j), to);
        else if (spread) store(all(from[i]), to);
        else store(column ? V{} : first(from + i, 1), to);
      }
  }

  // And back; a value without columns is the first lane, or for an adjoint the sum over all lanes of all tiles.
  template <int N, class Cell>
  static void from_tile(const Call<Cell>& c, Axes a, const float* from, float* tensor, int64_t group, int64_t column, bool spread) {
    float* to = tensor + group * c.width(a);
    for (int64_t i = 0; i < (a.i ? c.I : 1); ++i)
      for (int n = 0; n < (a.j ? N : 1); ++n, from += L) {
        const int64_t j = column + n * L;
        if (a.j && j + L <= c.J) store(load(from), to + i * c.J + j);
        else if (a.j) store(load(from), to + i * c.J + j, c.J - j);
        else if (spread) to[i] = from[0];
        else gather(total(load(from)), to + i, column);
      }
  }

  // There is nothing to copy.
  template <class Cell>
  struct ChunkCopies : Copies {
    ChunkCopies(const Call<Cell>&, bool) : Copies{} {}
    void read(const Call<Cell>&, int64_t, int64_t, int64_t) {}
    void write(const Call<Cell>&, int64_t, int64_t, int64_t) {}
  };
};

// Lanes are tasks; a vector is one column. Spare lanes of the last group repeat its last task, and are written nowhere.
struct TaskLanes {
  using Last = TaskLanes;
  static constexpr int64_t columns = 1, tasks = L, stride = L;
  static constexpr int rows_together = 4;

  static V with_columns(const float* from, int64_t) { return load(from); }
  static V without_columns(const float* from) { return load(from); }
  static void store_columns(V v, float* to, int64_t) { store(v, to); }
  static V part(V v, int64_t) { return v; }
  static void store_sum(V v, float* to, int64_t column) { store(column ? load(to) + v : v, to); }
  static void keep_row(V v, V*, int, float* to, int64_t column) { store_sum(v, to, column); }
  static void store_sums(V*, float*, int64_t, int64_t) {}

  template <class Cell>
  static float* place(const Call<Cell>& c, const Tile<Cell>& tile, float* copies, int k, int64_t t) {
    const int64_t own = t * size(Cell::drives, c.I, c.J) + offset<Cell>(Cell::drives, k, c.I, c.J);
    return copies + own + (Cell::drives[k].j ? tile.column * L : 0);
  }
  template <class Cell>
  static const float* drive(const Call<Cell>& c, const Tile<Cell>& tile, int k, int64_t t, int64_t) {
    return place(c, tile, tile.copies.drives, k, t);
  }
  template <class Cell>
  static float* drive_gradient(const Call<Cell>& c, const Tile<Cell>& tile, int k, int64_t t, int64_t) {
    return place(c, tile, tile.copies.drive_gradients, k, t);
  }
  template <class Cell>
  static float* output(const Call<Cell>& c, const Tile<Cell>& tile, int, int64_t t, int64_t) {
    return tile.copies.output + (t * c.J + tile.column) * L;
  }
  template <class Cell>
  static const float* output_adjoint(const Call<Cell>& c, const Tile<Cell>& tile, int, int64_t t, int64_t) {
    return tile.copies.output_adjoint + (t * c.J + tile.column) * L;
  }

  // Calls f(lane, task) for the lanes of a group; without `spare` only for those that have a task of their own.
  template <class Cell, class F>
  static void lanes(const Call<Cell>& c, int64_t group, bool spare, F f) {
    for (int64_t lane = 0; lane < L; ++lane) {
      const int64_t task = group * L + lane, last = c.tasks() - 1;
      if (spare || task <= last) f(lane, std::min(task, last));
    }
  }

  template <int N, class Cell>
  static void to_tile(const Call<Cell>& c, Axes a, const float* tensor, int64_t group, bool shared, float* to, int64_t column, bool spread) {
    if (!tensor || (!a.j && !spread && column)) std::fill_n(to, numbers(a, c.I, N), 0.0f);
    else
      lanes(c, group, true, [&](int64_t lane, int64_t task) {
        const float* from = tensor + c.index(task, shared) * c.width(a);
        float* number = to + lane;
        for (int64_t i = 0; i < (a.i ? c.I : 1); ++i)
          for (int n = 0; n < (a.j ? N : 1); ++n, number += L) *number = a.j ? from[i * c.J + column + n] : from[i];
      });
  }

  template <int N, class Cell>
  static void from_tile(const Call<Cell>& c, Axes a, const float* from, float* tensor, int64_t group, int64_t column, bool spread) {
    lanes(c, group, false, [&](int64_t lane, int64_t task) {
      float* to = tensor + task * c.width(a);
      const float* number = from + lane;
      for (int64_t i = 0; i < (a.i ? c.I : 1); ++i)
        for (int n = 0; n < (a.j ? N : 1); ++n, number += L) {
          if (a.j) to[i * c.J + column + n] = *number;
          else gather(*number, to + i, spread ? 0 : column);
        }
    });
  }

  template <class Cell>
  struct ChunkCopies : Copies {
    Scratch memory;
    ChunkCopies(const Call<Cell>& c, bool backward) : memory(c.chunk * (backward ? 2 : 1) * (driven(c) + c.J * L)) {
      drives = memory, output = drives + c.chunk * driven(c);
      drive_gradients = output + c.chunk * c.J * L, output_adjoint = drive_gradients + c.chunk * driven(c);
    }
    static int64_t driven(const Call<Cell>& c) { return size(Cell::drives, c.I, c.J); }

    // Copies the drives of some steps, and in the backward pass the adjoints of the outputs.
    void read(const Call<Cell>& c, int64_t group, int64_t first, int64_t steps) {
      for (size_t k = 0; k < Call<Cell>::D; ++k)
        copy<true>(c, group, first, steps, c.drive[k], c.width(Cell::drives[k]), drives + offset<Cell>(Cell::drives, k, c.I, c.J), driven(c));
      if (c.output_adjoint) copy<true>(c, group, first, steps, c.output_adjoint, c.J, output_adjoint, c.J * L);
    }

    // Copies the outputs of some steps to the caller's tensor, or in the backward pass the gradients of their drives.
    void write(const Call<Cell>& c, int64_t group, int64_t first, int64_t steps) {
      if (c.output) copy<false>(c, group, first, steps, c.output, c.J, output, c.J * L);
      for (size_t k = 0; k < Call<Cell>::D; ++k)
        if (c.drive_gradient[k])
          copy<false>(c, group, first, steps, c.drive_gradient[k], c.width(Cell::drives[k]), drive_gradients + offset<Cell>(Cell::drives, k, c.I, c.J), driven(c));
    }

    template <bool In, class P>
    static void copy(const Call<Cell>& c, int64_t group, int64_t first, int64_t steps, P* tensor, int64_t width, float* copies, int64_t step) {
      lanes(c, group, In, [&](int64_t lane, int64_t task) {
        P* row = tensor + c.at(task, first) * width;
        float* copy = copies + lane;
        for (int64_t t = 0; t < steps; ++t, row += c.step() * width, copy += step)
          for (int64_t x = 0; x < width; ++x) {
            if constexpr (In) copy[x * L] = row[x];
            else row[x] = copy[x * L];
          }
      });
    }
  };
};

}  // namespace longwave::matrix
