// SPDX-License-Identifier: Apache-2.0
// torch.classes.kappascope.Session, the run that Python's hooks feed, and what reads a run back.
// Python's side of it is kappascope/_watch/scope.py and kappascope/_watch/runs.py.
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "kappascope/core/atomic_file.h"
#include "kappascope/core/require.h"
#include "kappascope/probes/standard.h"
#include "kappascope/reports/advice.h"
#include "kappascope/reports/report.h"
#include "kappascope/session/passes.h"
#include "kappascope/store/run_reader.h"
#include "python/evaluate.h"
#include "python/operator.h"

namespace kappascope {
namespace {

namespace fs = std::filesystem;
using Texts = c10::Dict<std::string, std::string>;
using NamedNumbers = c10::Dict<std::string, double>;
/// Of scalars, one after the other: name, layer, status, and [n, 6] step, value, lower, upper,
/// rows, effective rows; NaN where there is none.
using Rows = std::
    tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>, at::Tensor>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Rows rows_of(const std::vector<store::StepValue>& points) {
  Rows rows;
  auto& [names, layers, statuses, numbers] = rows;
  numbers = torch::empty({static_cast<int64_t>(points.size()), 6}, torch::kDouble);
  double* next = numbers.mutable_data_ptr<double>();
  for (const auto& [step, scalar] : points) {
    names.push_back(scalar.name);
    layers.push_back(scalar.layer);
    statuses.emplace_back(scalar.status.text());
    for (const double number : {static_cast<double>(step),
                                scalar.value,
                                scalar.lower.value_or(kNaN),
                                scalar.upper.value_or(kNaN),
                                scalar.n.value_or(kNaN),
                                scalar.n_effective.value_or(kNaN)})
      *next++ = number;
  }
  return rows;
}

store::Facts facts_of(const Texts& texts) {
  store::Facts facts;
  for (const auto& item : texts) facts.emplace_back(item.key(), item.value());
  return facts;
}

probes::ProbeOptions options_of(const NamedNumbers& numbers, int64_t source, bool sharded) {
  probes::ProbeOptions options;
  const auto integer = [](auto& to) {
    return [&to](double value) { to = static_cast<std::remove_reference_t<decltype(to)>>(value); };
  };
  const auto flag = [](bool& to) { return [&to](double value) { to = value != 0; }; };
  const auto real = [](double& to) { return [&to](double value) { to = value; }; };
  const std::map<std::string, std::function<void(double)>> known = {
      {"every", integer(options.every)},
      {"window", integer(options.window)},
      {"last_step", integer(options.last_step)},
      {"sample_rows", integer(options.sample_rows)},
      {"budget", real(options.budget)},
      {"hessian_every", integer(options.hessian_every)},
      {"hessian_budget", real(options.hessian_budget)},
      {"hessian_top", integer(options.spectrum.top)},
      {"hessian_tolerance", real(options.spectrum.tolerance)},
      {"features", flag(options.features)},
      {"intercept", flag(options.intercept)},
      {"gradient_variance", flag(options.gradient_variance)},
      {"hessian", flag(options.hessian)},
      {"density", flag(options.spectrum.density)},
  };
  for (const auto& item : numbers) {
    const auto found = known.find(item.key());
    require(found != known.end(), "a session has no option {}", item.key());
    found->second(item.value());
  }
  if (source >= 0) {
    options.curvature_loss = [source] { return evaluate(source); };
    options.spectrum.preconditioner = [source](const curvature::NamedParameters& /*all*/) {
      return preconditioner_of(source);
    };
  }
  if (source >= 0 && sharded) {
    options.curvature_operator = [source](const curvature::NamedParameters& parameters,
                                          tensor::Group* group) {
      std::vector<std::string> names;
      for (const auto& [name, parameter] : parameters) names.push_back(name);
      return sharded_hessian(source, names, group);
    };
  }
  return options;
}

class PythonSession final : public torch::CustomClassHolder {
 public:
  /// A new run in `dir`; `names` and `parameters` are those whose Hessian is taken of the loss that
  /// Python has under the number `source` (-1: none); `sharded`: over the processes. `group`: the
  /// name of the c10d group of the processes that train together; "": this alone.
  PythonSession(const std::string& dir,
                bool new_name,
                const Texts& facts,
                const NamedNumbers& options,
                const std::string& reduction,
                const std::vector<std::string>& names,
                const std::vector<at::Tensor>& parameters,
                int64_t source,
                bool sharded,
                const std::string& group) {
    const auto made = options_of(options, source, sharded);
    require(names.size() == parameters.size() && !names.empty(),
            "there are {} names for {} parameters",
            names.size(),
            parameters.size());
    curvature::NamedParameters named;
    int64_t count = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      named.emplace_back(names[i], parameters[i]);
      count += parameters[i].numel();
    }
    auto all = probes::standard_facts(parameters.front().device().str(), count);
    for (const auto& fact : facts_of(facts)) all.push_back(fact);
    auto probes = probes::standard_probes([named] { return named; }, made);
    const auto existing = new_name ? probes::ExistingRun::kNewName : probes::ExistingRun::kRefuse;
    session::SessionOptions session;
    session.reduction =
        reduction == "sum" ? session::LossReduction::kSum : session::LossReduction::kMean;
    if (!group.empty()) session.group = tensor::process_group(group);
    session.alarms.on_alarm = [](const auto& /*raised*/) {};  // Python asks for alarms()
    auto run = probes::new_run(dir, existing, all, session.group.get());
    dir_ = run ? run->dir().string() : "";
    if (session.group) dir_ = session.group->broadcast_bytes(dir_);
    writes_ = run.has_value();
    session_ = std::make_unique<session::Session>(std::move(run), std::move(probes), session);
  }

  /// Whether the next step's features, and the gradients at the layers' outputs, are wanted.
  std::tuple<bool, bool> needs() const {
    const auto needs = session_->needs();
    return {needs.features, needs.output_gradients};
  }
  int64_t forward(const std::string& layer,
                  const at::Tensor& features,
                  const std::optional<at::Tensor>& bias,
                  double dropout,
                  const std::optional<at::Tensor>& mask,
                  bool in_graph) {
    return session_->passes()->forward({layer,
                                        features.detach(),
                                        bias ? bias->detach() : at::Tensor(),
                                        dropout,
                                        mask.value_or(at::Tensor()),
                                        in_graph});
  }
  void backward(int64_t number, const std::optional<at::Tensor>& gradient) {
    session_->passes()->backward(number, gradient.value_or(at::Tensor()));
  }
  /// Forgets the passes since the last step: no update came of them.
  void skip() { (void)session_->passes()->take(session::LossReduction::kMean); }
  /// Whether a window ended: latest() is new.
  bool step(double loss, double learning_rate, std::optional<double> gradient_norm, double terms) {
    return session_->step(loss, learning_rate, gradient_norm, terms);
  }
  /// Of the last step: names, layers, messages.
  std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>> alarms()
      const {
    std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>> out;
    auto& [names, layers, messages] = out;
    for (const auto& alarm : session_->alarms()) {
      names.emplace_back(store::info_of(alarm.id).name);
      layers.push_back(alarm.layer);
      messages.push_back(alarm.message);
    }
    return out;
  }
  void record(const std::string& name, const std::string& layer, double value) {
    store::Scalar scalar;
    scalar.name = name;
    scalar.layer = layer;
    scalar.value = value;
    session_->record(std::move(scalar));
  }
  void event(const std::string& kind, const std::string& message) {
    session_->event(kind, message);
  }
  void flush() { session_->flush(); }
  void close(const std::string& state) { session_->close(state); }
  int64_t next_step() const { return session_->next_step(); }
  /// Of the run, also in the processes that do not write it. A rescued one is where its copy is.
  std::string dir() const { return writes_ ? session_->run().dir().string() : dir_; }
  bool writes() const { return writes_; }
  /// What the probes said last, at the step before the next.
  Rows latest() const {
    std::vector<store::StepValue> points;
    for (const auto& scalar : session_->latest())
      points.push_back({session_->next_step() - 1, scalar});
    return rows_of(points);
  }

 private:
  std::unique_ptr<session::Session> session_;
  std::string dir_;
  bool writes_ = true;
};

Rows run_scalars(const std::string& dir, const std::string& name, const std::string& layer) {
  const store::RunReader run(dir);
  std::vector<store::StepValue> all;
  for (const auto& key : run.series()) {
    if ((!name.empty() && key.name != name) || (!layer.empty() && key.layer != layer)) continue;
    const auto points = run.scalars(key);
    all.insert(all.end(), points.begin(), points.end());
  }
  return rows_of(all);
}

Texts run_facts(const std::string& dir) {
  const store::RunReader run(dir);
  Texts texts;
  for (const auto& [key, value] : run.facts()) texts.insert(key, value);
  texts.insert("state", run.state());
  return texts;
}

/// Step, kind and message of each.
std::tuple<std::vector<int64_t>, std::vector<std::string>, std::vector<std::string>> run_events(
    const std::string& dir) {
  std::tuple<std::vector<int64_t>, std::vector<std::string>, std::vector<std::string>> events;
  auto& [steps, kinds, messages] = events;
  for (const auto& [step, time, event] : store::RunReader(dir).events()) {
    steps.push_back(step);
    kinds.push_back(event.kind);
    messages.push_back(event.message);
  }
  return events;
}

void report(const std::vector<std::string>& runs, const std::string& out, bool force) {
  const std::vector<fs::path> paths(runs.begin(), runs.end());
  require_replaceable(out, reports::kPageMark, force);
  write_text_atomically(out, reports::html_report(paths));
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  using Session = kappascope::PythonSession;
  library.class_<Session>("Session")
      .def(torch::init<std::string,
                       bool,
                       kappascope::Texts,
                       kappascope::NamedNumbers,
                       std::string,
                       std::vector<std::string>,
                       std::vector<at::Tensor>,
                       int64_t,
                       bool,
                       std::string>())
      .def("needs", [](const c10::intrusive_ptr<Session>& self) { return self->needs(); })
      .def("forward", &Session::forward)
      .def("backward", &Session::backward)
      .def("skip", &Session::skip)
      .def("step", &Session::step)
      .def("record", &Session::record)
      .def("event", &Session::event)
      .def("flush", &Session::flush)
      .def("close", &Session::close)
      .def("next_step", [](const c10::intrusive_ptr<Session>& self) { return self->next_step(); })
      .def("dir", [](const c10::intrusive_ptr<Session>& self) { return self->dir(); })
      .def("writes", [](const c10::intrusive_ptr<Session>& self) { return self->writes(); })
      .def("alarms", [](const c10::intrusive_ptr<Session>& self) { return self->alarms(); })
      .def("latest", [](const c10::intrusive_ptr<Session>& self) { return self->latest(); });
  library.def("run_scalars(str dir, str name, str layer) -> (str[], str[], str[], Tensor)",
              &kappascope::run_scalars);
  library.def("run_facts(str dir) -> Dict(str, str)", &kappascope::run_facts);
  library.def("run_events(str dir) -> (int[], str[], str[])", &kappascope::run_events);
  library.def("advice_text(str dir) -> str", [](const std::string& dir) {
    return kappascope::reports::to_text(kappascope::reports::advice(dir));
  });
  library.def("advice_json(str dir) -> str", [](const std::string& dir) {
    return kappascope::reports::to_json(kappascope::reports::advice(dir));
  });
  library.def("report(str[] runs, str out, bool force) -> ()", &kappascope::report);
}
