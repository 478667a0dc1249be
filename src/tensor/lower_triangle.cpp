// SPDX-License-Identifier: Apache-2.0
#include "tensor/lower_triangle.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Narrower strips multiply less above the diagonal, wider ones multiply faster.
constexpr int64_t kStripWidth = 64;
constexpr int64_t kMostStrips = 16;
// Differences of a thread at once: about a core's own cache, but rows enough for a fast product.
constexpr int64_t kChunkBytes = 1 << 20;
constexpr int64_t kFewestChunkRows = 512;

// The calling thread's room for `count` numbers; kept, as new pages cost more than the pass.
template <typename T>
T* room(int64_t count) {
  thread_local std::vector<T> mine;
  if (static_cast<int64_t>(mine.size()) < count) mine.resize(static_cast<std::size_t>(count));
  return mine.data();
}

template <typename T>
at::Tensor centred_chunk(const at::Tensor& rows, const bool* keep, const at::Tensor& shift) {
  const auto n = rows.size(0), d = rows.size(1);
  T* differences = room<T>(n * d);
  const T* about = shift.const_data_ptr<T>();
  for (int64_t i = 0; i < n; ++i) {
    const T* __restrict from = rows.const_data_ptr<T>() + i * d;
    T* __restrict to = differences + i * d;
    if (keep != nullptr && !keep[i]) {
      std::fill(to, to + d, T(0));
    } else {
      for (int64_t j = 0; j < d; ++j) to[j] = from[j] - about[j];
    }
  }
  return torch::from_blob(differences, {n, d}, shift.options());
}

}  // namespace

LowerTriangle::LowerTriangle(std::int64_t dimension) {
  // An even number, so that strips i and strips - 1 - i make equal work of every pair.
  const auto strips =
      dimension < 2 * kStripWidth ? 1 : std::min(dimension / kStripWidth, kMostStrips) / 2 * 2;
  for (int64_t i = 1; i <= strips; ++i) ends_.push_back(dimension * i / strips);
}

bool LowerTriangle::suits_host_threads() const {
  return strips() > 1 && strips() / 2 >= at::get_num_threads();
}

void LowerTriangle::multiply_strip(std::int64_t i,
                                   const at::Tensor& centred,
                                   double scale,
                                   const at::Tensor& out) const {
  const auto rows = end(i) - begin(i);
  out.narrow(0, begin(i), rows)
      .narrow(1, 0, end(i))
      .addmm_(centred.t().narrow(0, begin(i), rows), centred.narrow(1, 0, end(i)), scale);
}

void LowerTriangle::add_product(const at::Tensor& centred,
                                double scale,
                                const at::Tensor& out) const {
  for (int64_t i = 0; i < strips(); ++i) multiply_strip(i, centred, scale, out);
}

void LowerTriangle::add_centred_product(const at::Tensor& rows,
                                        const at::Tensor& keep,
                                        const at::Tensor& shift,
                                        double scale,
                                        const at::Tensor& out) const {
  const auto n = rows.size(0), pairs = strips() / 2;
  const auto row_bytes = rows.size(1) * static_cast<int64_t>(shift.element_size());
  const auto chunk = std::max(kChunkBytes / row_bytes, kFewestChunkRows);
  const auto workers = std::min<int64_t>(pairs, at::get_num_threads());
  const auto* kept = keep.defined() ? keep.const_data_ptr<bool>() : nullptr;
  parallel_tasks(workers, [&](int64_t worker) {
    torch::NoGradGuard no_grad;
    for (int64_t first = 0; first < n; first += chunk) {
      const auto part = rows.narrow(0, first, std::min(chunk, n - first));
      const auto* part_kept = kept == nullptr ? nullptr : kept + first;
      const auto centred = part.scalar_type() == torch::kDouble
                               ? centred_chunk<double>(part, part_kept, shift)
                               : centred_chunk<float>(part, part_kept, shift);
      for (auto pair = worker * pairs / workers; pair < (worker + 1) * pairs / workers; ++pair) {
        const auto part_scale = first == 0 ? scale : 1;
        multiply_strip(pair, centred, part_scale, out);
        multiply_strip(strips() - 1 - pair, centred, part_scale, out);
      }
    }
  });
}

void LowerTriangle::add(const at::Tensor& from, const at::Tensor& to) const {
  for (int64_t i = 0; i < strips(); ++i) {
    to.narrow(0, begin(i), end(i) - begin(i))
        .narrow(1, 0, end(i))
        .add_(from.narrow(0, begin(i), end(i) - begin(i)).narrow(1, 0, end(i)));
  }
}

}  // namespace kappascope::tensor
