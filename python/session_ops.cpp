// SPDX-License-Identifier: Apache-2.0
// torch.classes.kappascope.Session, the run that Python's hooks feed. Python's side of it is
// kappascope/_watch/passes.py and record.py.
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/require.h"
#include "kappascope/probes/standard.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/schema/layer_probes.h"
#include "python/evaluate.h"
#include "python/operator.h"
#include "python/rows.h"
#include "session/passes.h"

namespace kappascope {
namespace {

namespace fs = std::filesystem;
using Texts = c10::Dict<std::string, std::string>;
using NamedNumbers = c10::Dict<std::string, double>;

store::Facts facts_of(const Texts& texts) {
  store::Facts facts;
  for (const auto& item : texts) facts.emplace_back(item.key(), item.value());
  return facts;
}

/// What is the session's own goes into `session`.
probes::ProbeOptions options_of(const NamedNumbers& numbers,
                                int64_t source,
                                bool sharded,
                                session::SessionOptions& session) {
  probes::ProbeOptions options;
  options.outputs = false;  // dear beside the rest, and asked for by nobody here
  const auto integer = [](auto& to) {
    return [&to](double value) { to = static_cast<std::remove_reference_t<decltype(to)>>(value); };
  };
  const auto flag = [](bool& to) { return [&to](double value) { to = value != 0; }; };
  const auto real = [](double& to) { return [&to](double value) { to = value; }; };
  std::map<std::string, std::function<void(double)>> known = {
      {"every", integer(options.every)},
      {"window", integer(options.window)},
      {"last_step", integer(options.last_step)},
      {"sample_rows", integer(options.sample_rows)},
      {"budget", real(options.budget)},
      {"hessian_every", integer(options.hessian_every)},
      {"hessian_top", integer(options.spectrum.top)},
      {"hessian_tolerance", real(options.spectrum.tolerance)},
      {"hessian", flag(options.hessian)},
      {"critical_step", flag(options.critical_step)},
      {"density", flag(options.spectrum.density)},
      {"rows", integer(session.rows)},
  };
  for (const auto& probe : store::layer_probes()) {
    known.emplace(probe.name, [&options, &probe](double value) {
      options.layer_probes.set(probe.name, value != 0);
    });
  }
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
                                          tensor::Group* group,
                                          const curvature::OperatorOptions& how) {
      std::vector<std::string> names;
      for (const auto& [name, parameter] : parameters) names.push_back(name);
      return sharded_hessian(source, names, group, how);
    };
  }
  return options;
}

/// Goes on in the run that is in `dir`, at `step` (-1: after the last that it holds), and says so
/// in its facts; returns the step.
int64_t go_on(const std::string& dir, int64_t step, std::optional<store::RunWriter>& run) {
  const store::RunReader reader(dir);
  if (step < 0) step = reader.last_step() + 1;
  const auto before = reader.fact("resumed", "");
  run = store::RunWriter::resume(dir, step - 1);
  run->set_fact("resumed",
                fmt::format("{}from step {}", before.empty() ? "" : before + ", ", step));
  return step;
}

class PythonSession final : public torch::CustomClassHolder {
 public:
  /// Writes the run in `dir`. `existing`: what is done where there is one, "error", "new-name" or
  /// "resume". `step`: the first to come; -1: 0, or after the last that a resumed run holds.
  /// `names`: of the parameters whose Hessian is taken of the loss, which are both asked for under
  /// the number `source` (-1: none); `sharded`: over the processes. `group`: the name of the c10d
  /// group of the processes that train together; "": this alone. `widths`: of the features of each
  /// layer.
  PythonSession(const std::string& dir,
                const std::string& existing,
                int64_t step,
                const Texts& facts,
                const std::string& device,
                int64_t parameters,
                const NamedNumbers& options,
                const std::string& reduction,
                const std::vector<std::string>& names,
                int64_t source,
                bool sharded,
                const std::string& group,
                const std::vector<int64_t>& widths) {
    session::SessionOptions session;
    session.widths = widths;
    // Of several their names, with commas between them.
    if (!widths.empty() && device.find(',') == std::string::npos) session.device = device;
    const auto made = options_of(options, source, sharded, session);
    auto all = probes::standard_facts(device, parameters);
    for (const auto& fact : facts_of(facts)) all.push_back(fact);
    // Asked for each time: what is held here Python could not let go of.
    auto probes =
        probes::standard_probes([names, source] { return named_parameters(source, names); }, made);
    session.reduction =
        reduction == "sum" ? session::LossReduction::kSum : session::LossReduction::kMean;
    if (!group.empty()) session.group = tensor::process_group(group);
    session.alarms.on_alarm = [](const auto& /*raised*/) {};  // Python asks for alarms()
    std::optional<store::RunWriter> run;
    bool resumes = false;
    if (existing == "resume") {
      tensor::in_leader(session.group.get(), [&] {
        resumes = store::RunWriter::holds_run(dir);
        if (resumes) step = go_on(dir, step, run);
      });
    }
    if (session.group) {
      auto told = torch::tensor({int64_t{resumes}, step}, torch::kLong);
      session.group->broadcast(told);
      resumes = told[0].item<int64_t>() != 0;
      step = told[1].item<int64_t>();
    }
    if (!resumes) {
      const auto otherwise =
          existing == "new-name" ? probes::ExistingRun::kNewName : probes::ExistingRun::kRefuse;
      run = probes::new_run(dir, otherwise, all, session.group.get());
    }
    dir_ = run ? run->dir().string() : "";
    if (session.group) dir_ = session.group->broadcast_bytes(dir_);
    writes_ = run.has_value();
    session_ = std::make_unique<session::Session>(std::move(run), std::move(probes), session);
    if (step <= 0) return;
    tensor::State at;
    at.set("step", step);
    session_->load_steps(at);
  }

  /// Whether the next step's features, the gradients at the layers' outputs, what enters the
  /// softmax of attention, what enters the activation of the gates, and what enters the routers
  /// are wanted.
  std::tuple<bool, bool, bool, bool, bool> needs() const {
    const auto needs = session_ ? session_->needs() : session::Needs();
    return {needs.features, needs.output_gradients, needs.attention, needs.gates, needs.routers};
  }
  /// `weights`: W_d, or W_d, W_gate and W_up; none where they are not whole. `gates`: what enters
  /// the activation of the gate, of the shape of the features.
  int64_t forward(const std::string& layer,
                  const at::Tensor& features,
                  const std::optional<at::Tensor>& bias,
                  double dropout,
                  const std::optional<at::Tensor>& mask,
                  bool in_graph,
                  const std::vector<at::Tensor>& weights,
                  const std::optional<at::Tensor>& gates) {
    const auto weight = [&weights](std::size_t i) {
      return i < weights.size() ? weights[i].detach() : at::Tensor();
    };
    return session().passes()->forward({layer,
                                        features.detach(),
                                        bias ? bias->detach() : at::Tensor(),
                                        dropout,
                                        mask.value_or(at::Tensor()),
                                        in_graph,
                                        weight(0),
                                        0,
                                        weight(1),
                                        weight(2),
                                        gates.value_or(at::Tensor())});
  }
  /// From a graph, which may outlive the session.
  void backward(int64_t number, const std::optional<at::Tensor>& gradient) {
    if (session_) session_->passes()->backward(number, gradient.value_or(at::Tensor()));
  }
  /// As they enter a fused kernel. Gives a number, or -1.
  int64_t attend(const std::string& layer,
                 const at::Tensor& queries,
                 const at::Tensor& keys,
                 const std::optional<at::Tensor>& mask,
                 double scale,
                 bool causal,
                 bool in_graph) {
    return session().passes()->attend(layer,
                                      {.queries = queries,
                                       .keys = keys,
                                       .mask = mask.value_or(at::Tensor()),
                                       .scale = scale,
                                       .causal = causal},
                                      in_graph);
  }
  int64_t attend_logits(const std::string& layer, const at::Tensor& logits, bool in_graph) {
    return session().passes()->attend(layer, {.logits = logits}, in_graph);
  }
  void attended(int64_t number) {
    if (session_) session_->passes()->attended(number);
  }
  /// What enters a router, and its weight. `chosen`: experts that a token is sent to, 0: not known.
  /// `sequences`: that the rows are, one after the other, 0: not known. Gives a number, or -1.
  int64_t route(const std::string& name,
                const at::Tensor& rows,
                const at::Tensor& weight,
                const std::optional<at::Tensor>& bias,
                int64_t chosen,
                const std::optional<at::Tensor>& mask,
                int64_t sequences,
                bool in_graph) {
    // A mode of Python's, as of selective checkpointing, would take the product for the model's.
    const c10::impl::ExcludeDispatchKeyGuard unseen(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
    return session().passes()->route(name,
                                     {.rows = rows,
                                      .weight = weight,
                                      .bias = bias.value_or(at::Tensor()),
                                      .mask = mask.value_or(at::Tensor()),
                                      .chosen = chosen,
                                      .sequences = sequences},
                                     in_graph);
  }
  void routed(int64_t number) {
    if (session_) session_->passes()->routed(number);
  }
  void discard_gradients() {
    if (session_) session_->passes()->discard_gradients();
  }
  /// Forgets the passes since the last step: no update came of them.
  void skip() { session().passes()->clear(); }
  /// Whether the processes of the group meet within the next step().
  bool meets() const { return session_ && session_->meets(); }
  void leave_group() { session().leave_group(); }
  /// Whether a window ended: latest() is new.
  bool begin_step(double learning_rate, double terms) {
    return session().begin_step(learning_rate, terms);
  }
  /// Whether it raised alarms().
  bool complete_step(std::optional<double> loss, std::optional<double> gradient_norm) {
    session().complete_step(loss, gradient_norm);
    return !session().alarms().empty();
  }
  /// Of the step that was completed last: names, steps, layers, messages.
  std::tuple<std::vector<std::string>,
             std::vector<int64_t>,
             std::vector<std::string>,
             std::vector<std::string>>
  alarms() const {
    std::invoke_result_t<decltype(&PythonSession::alarms), PythonSession> out;
    auto& [names, steps, layers, messages] = out;
    if (!session_) return out;
    for (const auto& alarm : session_->alarms()) {
      names.emplace_back(store::info_of(alarm.id).name);
      steps.push_back(alarm.step);
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
    session().record(std::move(scalar));
  }
  void event(const std::string& kind, const std::string& message) {
    session().event(kind, message);
  }
  void fact(const std::string& key, const std::string& value) { session().fact(key, value); }
  void flush() { session().flush(); }
  /// What can be asked for afterwards is where the run is and what it said last.
  void close(const std::string& state) {
    next_step_ = session().next_step();
    const auto closing = std::move(session_);
    latest_ = closing->latest();
    const auto where = [&] { return writes_ ? closing->run().dir().string() : dir_; };
    try {
      closing->close(state);
    } catch (...) {
      dir_ = where();  // a rescued one is elsewhere
      throw;
    }
    dir_ = where();
  }
  int64_t next_step() const { return session_ ? session_->next_step() : next_step_; }
  /// Of the run, also in the processes that do not write it. A rescued one is where its copy is.
  std::string dir() const { return session_ && writes_ ? session_->run().dir().string() : dir_; }
  bool writes() const { return writes_; }
  /// What the probes said last, at the step before the next.
  Rows latest() const {
    std::vector<store::StepValue> points;
    for (const auto& scalar : session_ ? session_->latest() : latest_)
      points.push_back({next_step() - 1, scalar});
    return rows_of(points);
  }

 private:
  session::Session& session() const {
    require(session_ != nullptr, "the run in {} is closed", dir_);
    return *session_;
  }

  std::unique_ptr<session::Session> session_;  // until it is closed
  int64_t next_step_ = 0;
  std::vector<store::Scalar> latest_;
  std::string dir_;
  bool writes_ = true;
};

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  library.def("layer_probes() -> str[]", [] {
    std::vector<std::string> names;
    for (const auto& probe : kappascope::store::layer_probes()) names.emplace_back(probe.name);
    return names;
  });
  using Session = kappascope::PythonSession;
  library.class_<Session>("Session")
      .def(torch::init<std::string,
                       std::string,
                       int64_t,
                       kappascope::Texts,
                       std::string,
                       int64_t,
                       kappascope::NamedNumbers,
                       std::string,
                       std::vector<std::string>,
                       int64_t,
                       bool,
                       std::string,
                       std::vector<int64_t>>())
      .def("needs", [](const c10::intrusive_ptr<Session>& self) { return self->needs(); })
      .def("forward", &Session::forward)
      .def("backward", &Session::backward)
      .def("attend", &Session::attend)
      .def("attend_logits", &Session::attend_logits)
      .def("attended", &Session::attended)
      .def("route", &Session::route)
      .def("routed", &Session::routed)
      .def("discard_gradients", &Session::discard_gradients)
      .def("skip", &Session::skip)
      .def("meets", [](const c10::intrusive_ptr<Session>& self) { return self->meets(); })
      .def("leave_group", &Session::leave_group)
      .def("begin_step", &Session::begin_step)
      .def("complete_step", &Session::complete_step)
      .def("record", &Session::record)
      .def("event", &Session::event)
      .def("fact", &Session::fact)
      .def("flush", &Session::flush)
      .def("close", &Session::close)
      .def("next_step", [](const c10::intrusive_ptr<Session>& self) { return self->next_step(); })
      .def("dir", [](const c10::intrusive_ptr<Session>& self) { return self->dir(); })
      .def("writes", [](const c10::intrusive_ptr<Session>& self) { return self->writes(); })
      .def("alarms", [](const c10::intrusive_ptr<Session>& self) { return self->alarms(); })
      .def("latest", [](const c10::intrusive_ptr<Session>& self) { return self->latest(); });
}
