// SPDX-License-Identifier: Apache-2.0
#include "lab/data/module_tensors.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/temporary_folder.h"
#include "support/catch.h"
#include "tensor/safetensors/safetensors.h"

using namespace kappascope;

TEST_CASE("a module is saved and filled by name, also from a folder of several files") {
  const TemporaryFolder folder;
  torch::manual_seed(2);
  const auto make = [] {
    return torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4));
  };
  auto from = make(), to = make();
  from->forward(torch::randn({8, 3}));  // moves the running means
  data::save_safetensors(*from, folder / "m.safetensors");
  data::load_safetensors(*to, folder / "m.safetensors");
  from->eval();
  to->eval();
  const auto x = torch::randn({5, 3});
  CHECK(torch::equal(to->forward(x), from->forward(x)));

  const tensor::SafetensorsFile file(folder / "m.safetensors");
  std::filesystem::create_directory(folder / "parts");
  int part = 0;
  for (const auto& [name, entry] : file.entries()) {
    tensor::write_safetensors(folder / "parts" / (std::to_string(part++) + ".safetensors"),
                              {{name, file.mapped(name)}});
  }
  std::ofstream(folder / "parts" / "model.index.json") << "{}";  // others put one beside them
  auto again = make();
  data::load_safetensors(*again, folder / "parts");
  again->eval();
  CHECK(torch::equal(again->forward(x), from->forward(x)));
  tensor::write_safetensors(folder / "parts" / "twice.safetensors",
                            {{"0.bias", torch::zeros({4})}});
  CHECK_THROWS_WITH(data::load_safetensors(*again, folder / "parts"), Catch::Contains("two files"));
  std::filesystem::create_directory(folder / "empty");
  CHECK_THROWS_WITH(data::load_safetensors(*again, folder / "empty"),
                    Catch::Contains("no *.safetensors"));
}

TEST_CASE("what does not fit a module is listed in one error, and nothing is changed") {
  const TemporaryFolder folder;
  torch::nn::Linear layer(3, 4);
  const auto before = layer->bias.clone();
  tensor::write_safetensors(
      folder / "m",
      {{"bias", torch::zeros({4})}, {"weight", torch::zeros({4, 2})}, {"more", torch::zeros({1})}});
  CHECK_THROWS_WITH(data::load_safetensors(*layer, folder / "m"),
                    Catch::Contains("1 of another shape: weight [4, 2] for [4, 3]") &&
                        Catch::Contains("1 that the model does not have: more"));
  CHECK(torch::equal(layer->bias, before));
  tensor::write_safetensors(folder / "n",
                            {{"bias", torch::zeros({4})}, {"more", torch::zeros({1})}});
  CHECK_THROWS_WITH(data::load_safetensors(*layer, folder / "n", /*ignore_unexpected=*/true),
                    Catch::Contains("1 missing: weight") && !Catch::Contains("more"));
  tensor::write_safetensors(
      folder / "o",
      {{"bias", torch::zeros({4})}, {"weight", torch::zeros({4, 3})}, {"more", torch::zeros({1})}});
  CHECK_NOTHROW(data::load_safetensors(*layer, folder / "o", /*ignore_unexpected=*/true));
  CHECK(layer->weight.abs().max().item<float>() == 0);

  // Of many names eight are shown.
  tensor::NamedTensors many;
  for (int i = 0; i < 9; ++i) many.emplace_back("more" + std::to_string(i), torch::zeros({1}));
  tensor::write_safetensors(folder / "p", many);
  CHECK_THROWS_WITH(data::load_safetensors(*layer, folder / "p"),
                    Catch::Contains("9 that the model does not have") &&
                        Catch::Contains("more7, ...") && !Catch::Contains("more8"));
}

TEST_CASE("a module takes tensors from memory by name, or tells why not") {
  torch::nn::Linear layer(2, 1);
  const auto weight = torch::tensor({{1.5F, -2.0F}}), bias = torch::tensor({3.0F});
  data::load_tensors(*layer, {{"weight", weight}, {"bias", bias}}, "what was saved");
  CHECK(torch::equal(layer->weight, weight));
  CHECK(torch::equal(layer->bias, bias));
  CHECK_THROWS_WITH(data::load_tensors(*layer, {{"weight", weight}}, "what was saved"),
                    Catch::Contains("what was saved does not fit the model") &&
                        Catch::Contains("1 missing: bias"));
}
