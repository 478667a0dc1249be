// SPDX-License-Identifier: Apache-2.0
#include "reports/html/parts/glossary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "reports/html/text.h"

namespace kappascope::reports {
namespace {

struct Term {
  std::string_view anchor, text, meaning;
};

/// A term that holds another one stands before it.
constexpr std::array<Term, 26> kTerms = {{
    {"kappa-with-bias",
     "κ(Σ+(μ+b)(μ+b)ᵀ)",
     "condition number of the W_d block at the present bias b; equal to κ(Σ) where b = −μ"},
    {"kappa-second-moment",
     "κ(Σ+μμᵀ)",
     "condition number of the W_d block without a bias: covariance and mean of the features"},
    {"kappa-sigma",
     "κ(Σ)",
     "condition number of the covariance of the features: what is left for W_d once a bias has "
     "taken up their mean"},
    {"block",
     "W_d block",
     "the part of the Hessian that belongs to one down-projection W_d, under squared loss: the "
     "second moment of what enters it"},
    {"down-projection", "down-projection", "the last linear map of a feed-forward layer, W_d"},
    {"w-d", "W_d", "weights of the down-projection, the last linear map of a feed-forward layer"},
    {"post-gating-bias",
     "post-gating bias",
     "b in Z = (dropout(U) ⊙ silu(G) + b) W_d, added after the gate and before the "
     "down-projection"},
    {"kappa",
     "κ",
     "condition number, the largest over the smallest eigenvalue: 1 is best; gradient descent "
     "needs about κ/2 steps to shrink the slowest direction by a factor e; from few rows its "
     "estimate is too high, and stands near the upper end of its interval"},
    {"phi", "φ", "the features that enter the down-projection, after gate and dropout, before b"},
    {"mu", "μ", "mean of the features φ over the tokens of a window"},
    {"sigma", "Σ", "covariance of the features φ over the tokens of a window"},
    {"preconditioned",
     "preconditioned sharpness",
     "largest eigenvalue of P^(-1/2) H P^(-1/2), where H is the Hessian and P the diagonal by "
     "which "
     "the optimiser divides the gradient: the curvature that decides whether its steps are stable"},
    {"trace",
     "the trace",
     "sum of all eigenvalues of the Hessian: all curvature together, negative ones taken away"},
    {"gradient-variance",
     "gradient variance",
     "of the gradient of one W_d from one token to another: how noisy its steps are"},
    {"shrinkage",
     "shrinkage estimate",
     "κ of a covariance that is drawn towards a multiple of the identity: too low where the plain "
     "estimate from few rows is too high"},
    {"lambda", "λ1", "largest eigenvalue of the Hessian of the loss: its sharpest curvature"},
    {"edge",
     "2/rate",
     "plain gradient descent at this learning rate is unstable along directions with more "
     "curvature "
     "than this; momentum and Adam have limits of their own"},
    {"effective-n",
     "effective n",
     "rows that would tell as much if they were independent; tokens of one sequence are not"},
    {"effective-rows",
     "effective rows",
     "rows that would tell as much if they were independent; tokens of one sequence are not"},
    {"steps",
     "90 % learned",
     "steps of plain gradient descent, in this layer alone, until it fits 90 % of what the layer's "
     "features can represent"},
    {"learn",
     "learn 90 %",
     "fit 90 % of what the layer's features can represent, by plain gradient descent in this layer "
     "alone"},
    {"mean-costs",
     "the mean costs",
     "steps, or κ, with the mean μ of the features over those without it: what a bias could take "
     "up"},
    {"interval",
     "95 %",
     "a method that holds the true value in 95 of 100 cases made this interval, for this run; "
     "another seed is another run"},
    {"at-least-90",
     "at least 90 %",
     "the interval of a quotient, from the two 95 % intervals of its sides"},
    {"not-resolved",
     "not resolved",
     "the rows of a window do not pin the value down to a factor of two; drawn hollow"},
    {"hollow", "hollow", "an estimate that is not resolved"},
}};

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Whether the term stands at `at` as a word of its own.
bool stands_at(std::string_view text, std::size_t at, const Term& term) {
  if (text.substr(at, term.text.size()) != term.text) return false;
  const std::size_t end = at + term.text.size();
  const bool begins = at == 0 || !is_letter(text[at - 1]) || !is_letter(term.text.front());
  const bool ends = end == text.size() || !is_letter(text[end]) || !is_letter(term.text.back());
  return begins && ends;
}

}  // namespace

std::string Explain::operator()(const std::string& text) {
  std::string out;
  bool code = false;
  for (std::size_t at = 0; at <= text.size(); code = !code) {
    const auto end = std::min(text.find('`', at), text.size());
    const auto part = std::string_view(text).substr(at, end - at);
    out += code ? "<code>" + escape_html(part) + "</code>" : terms_in(part);
    at = end + 1;
  }
  return out;
}

std::string Explain::terms_in(std::string_view text) {
  std::string out;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto term = std::ranges::find_if(
        kTerms, [&](const Term& candidate) { return stands_at(text, at, candidate); });
    if (term == kTerms.end()) {
      ++at;
      continue;
    }
    if (seen_.insert(term->text).second) {
      out += escape_html(text.substr(plain, at - plain));
      out += fmt::format("<a class=\"term\" href=\"#term-{}\" title=\"{}\">{}</a>",
                         term->anchor,
                         escape_html(term->meaning),
                         escape_html(term->text));
      plain = at + term->text.size();
    }
    at += term->text.size();
  }
  return out + escape_html(text.substr(plain));
}

std::string glossary_html() {
  std::string out = "<dl class=\"glossary\">";
  for (const Term& term : kTerms) {
    out += fmt::format("<dt id=\"term-{}\">{}</dt><dd>{}</dd>",
                       term.anchor,
                       escape_html(term.text),
                       escape_html(term.meaning));
  }
  return out + "</dl>";
}

}  // namespace kappascope::reports
