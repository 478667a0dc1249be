// SPDX-License-Identifier: Apache-2.0
// What λ_1 of the Hessian over the data distribution costs, in passes (gradients over the whole
// data set), beside the eigenproblem of the whole data set. A table, not a Google Benchmark:
//     sampling_benchmark FOLDER_OF_FASHION_MNIST
#include <fmt/format.h>
#include <torch/autograd.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/adam.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <functional>

#include "kappascope/core/error.h"
#include "kappascope/curvature/sampling.h"
#include "kappascope/curvature/spectrum.h"
#include "lab/data/images.h"
#include "lab/data/sampler.h"
#include "lab/nn/mlp_stack.h"

using namespace kappascope;

namespace {

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const std::string& folder) {
  const auto source = data::open_images(folder, data::Split::kTrain);
  const auto all = torch::arange(source->size(), torch::kLong);
  const auto images = source->images(all).flatten(1), labels = source->labels(all);
  torch::manual_seed(1);
  nn::MlpStack model(nn::MlpStackOptions(784, 10).width(64).hidden(128).blocks(2).bias(
      nn::BiasPlacement::kPostGating));
  const auto loss = [&](const at::Tensor& rows) {
    return torch::nn::functional::cross_entropy(model->forward(images.index_select(0, rows)),
                                                labels.index_select(0, rows));
  };
  torch::optim::Adam adam(model->parameters(), 1e-3);
  data::EpochSampler sampler(source->size(), 1024, 1);
  for (int step = 0; step < 200; ++step) {
    adam.zero_grad();
    loss(sampler.indices(step)).backward();
    adam.step();
  }
  const auto parameters = curvature::select_parameters(*model);
  const curvature::RowsOperator hessian = [&](const at::Tensor& rows) {
    return curvature::hessian([&] { return loss(rows); }, parameters, {.check_determinism = false});
  };
  // The first products of a process wait for threads and code.
  curvature::top_eigenvalue(hessian, source->size(), {.relative_half_width = 0.2});
  const auto gradient = [&] { torch::autograd::grad({loss(all)}, model->parameters()); };
  gradient();
  const double pass = seconds_of(gradient);

  fmt::print("{:<34} {:>9} {:>19} {:>11} {:>7} {:>7} {:>9} {:>7} {:>7}\n",
             "lambda_1 by",
             "value",
             "95 % interval",
             "half width",
             "batch",
             "fresh",
             "products",
             "passes",
             "time");
  for (const double width : {0.2, 0.1, 0.05, 0.02}) {
    curvature::TopEigenvalueOptions options;
    options.relative_half_width = width;
    curvature::TopEigenvalue found;
    const double seconds =
        seconds_of([&] { found = curvature::top_eigenvalue(hessian, source->size(), options); });
    fmt::print("{:<34} {:9.3f} {:9.3f} {:9.3f} {:10.1f}% {:7} {:7} {:9} {:7.3f} {:7.3f}\n",
               fmt::format("growing batch, +-{:.0f} %: {}", 100 * width, to_string(found.status)),
               found.value,
               found.lower,
               found.upper,
               50 * (found.upper - found.lower) / found.value,
               found.batch_rows,
               found.fresh_rows,
               found.products,
               found.passes,
               seconds / pass);
  }
  for (const int64_t rows : {256, 1024}) {
    curvature::BatchesOptions options;
    options.rows = rows;
    options.lanczos.top = 1;
    curvature::SampledEigenvalues found;
    const double seconds = seconds_of(
        [&] { found = curvature::sampled_eigenvalues(hessian, source->size(), options); });
    const auto print = [&](const std::string& what, const curvature::SampleMeans& means) {
      fmt::print("{:<34} {:9.3f} {:9.3f} {:9.3f} {:10.1f}% {:7} {:7} {:9} {:7.3f} {:7.3f}\n",
                 what,
                 means.value(0),
                 means.lower(0),
                 means.upper(0),
                 50 * (means.upper(0) - means.lower(0)) / means.value(0),
                 rows,
                 0,
                 found.products,
                 found.passes,
                 seconds / pass);
    };
    print(fmt::format("8 batches of {}, their mean", rows), found.batch);
    print(fmt::format("8 batches of {}, bias taken out", rows), found.corrected);
  }
  linalg::LanczosOptions options;
  options.top = 1;
  linalg::ExtremeEigenvalues found;
  const double seconds =
      seconds_of([&] { found = curvature::eigenpairs(*hessian(all), options).found; });
  fmt::print("{:<34} {:9.3f} {:>19} {:>11} {:7} {:7} {:9} {:7.3f} {:7.3f}\n",
             "the whole data set, to 1e-3",
             found.eigenvalues(0),
             "",
             "",
             source->size(),
             0,
             found.products,
             1.0 + 2 * found.products,
             seconds / pass);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: sampling_benchmark FOLDER_OF_FASHION_MNIST\n");
    return 2;
  }
  try {
    measure(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampling_benchmark: error: {}\n", error.what());
    return 1;
  }
}
