// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What a reader of a verdict needs beside the computation: the words of the document, where a
/// proof is read, and the ten findings that matter most.
namespace kappascope::theory {

/// The words that a published claim is about; empty for claims of ours.
std::string quote_of(const std::string& id);

/// Where the proof of a claim that holds is read: a section of theory/PROOFS.md, or the claim's own
/// derivation, which `--explain` prints; empty: searched alone.
std::string proof_of(const std::string& id);

/// A counterexample in two dimensions, worked out in exact arithmetic: the lines as one would write
/// them, and whether the last of them contradicts the claim.
struct WorkedWitness {
  std::vector<std::string> lines;
  bool contradicts = false;
};

struct KeyFinding {
  std::string claim;  ///< its id
  std::string place;  ///< in the document's own numbering
  WorkedWitness (*witness)();
  std::string meaning;  ///< for someone who trains
};
/// In the order of the document, the dichotomy of attention and gating first.
const std::vector<KeyFinding>& findings();
/// The finding about a claim; nullptr when there is none.
const KeyFinding* find_finding(const std::string& id);

}  // namespace kappascope::theory
