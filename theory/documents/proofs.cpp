// SPDX-License-Identifier: Apache-2.0
// What stands behind each verdict that something holds: where the proof is read, and what the
// search ran over. A claim without a proof holds because the search found nothing against it.
#include <map>

#include "theory/documents/documents.h"

namespace kappascope::theory {
namespace {

constexpr const char* kDerivation = "the derivation";
constexpr const char* kArithmetic = "arithmetic on the printed numbers";

}  // namespace

Support support_of(const std::string& id) {
  static const std::map<std::string, Support> all{
      {"P-ODD'", {"theory/PROOFS.md 1", "d <= 4, four tokens, two heads, all 2⁷ switches"}},
      {"P-FLAT", {kDerivation, "L <= 3, d, d_ff <= 3"}},
      {"P-SOFT'", {kDerivation, "d, d_ff <= 3"}},
      {"P-L1", {kDerivation, "Δ up to 4 × 4"}},
      {"P-L1'", {kDerivation, "Δ up to 4 × 4"}},
      {"P-L1a", {kDerivation, "Δ up to 4 × 4"}},
      {"P-L1b'", {"theory/PROOFS.md 2", "Δ up to 4 × 4"}},
      {"P-MSEa", {"theory/PROOFS.md 3", "n <= 4"}},
      {"P-MSEa'", {"theory/PROOFS.md 3", "n <= 4"}},
      {"P-MSEb'", {"theory/PROOFS.md 3", "n <= 4"}},
      {"P-ALIGN", {"theory/PROOFS.md 3", "n <= 4"}},
      {"P-ALIGN'", {"theory/PROOFS.md 3", "n <= 4"}},
      {"P-ATTa", {kDerivation, "four tokens, d <= 3"}},
      {"P-ATTa'", {kDerivation, "four tokens, d <= 3"}},
      {"P-ATTb", {kDerivation, "three tokens, d <= 3"}},
      {"P-ATTb'", {kDerivation, "three tokens, d <= 3"}},
      {"P-GATE", {kDerivation, "d <= 3, d_ff <= 4"}},
      {"P-GATE'", {"", "d <= 3, one unit"}},
      {"P-DIM'", {"theory/PROOFS.md 4", "d <= 3, the builder d <= 4"}},
      {"P-EXP'", {kDerivation, "d, d_ff <= 3"}},
      {"P-OUT", {kDerivation, "d_ff, d_model <= 4"}},
      {"P-OUT'", {kDerivation, "d_ff, d_model <= 4"}},
      {"P-NORM'", {kDerivation, "d <= 4"}},
      {"P-BND", {kDerivation, "d, d_ff, d_model <= 3"}},
      {"P-BND'", {kDerivation, "d, d_ff, d_model <= 3"}},
      {"P-P1a", {kDerivation, "d_ff, d_model <= 3; in floats d <= 24"}},
      {"P-P1b", {"theory/PROOFS.md 7", "d_ff, d_model <= 3"}},
      {"P-P1b'", {"theory/PROOFS.md 7", "d_ff, d_model <= 3"}},
      {"P-P1c", {"theory/PROOFS.md 5", "d <= 5; in floats d <= 48"}},
      {"P-P1d'", {"theory/PROOFS.md 5", "d <= 5"}},
      {"P-P1e'", {"theory/PROOFS.md 5", "d <= 5"}},
      {"P-P1f'", {"theory/PROOFS.md 6", "d <= 5"}},
      {"P-JOINT'", {"theory/PROOFS.md 8", "d <= 5"}},
      {"P-SGD", {"theory/PROOFS.md 9", "d <= 3, four samples"}},
      {"P-SGD'", {"theory/PROOFS.md 9", "d <= 3, four samples, three steps"}},
      {"P-KW'", {kDerivation, "W up to 4 × 4"}},
      {"P-VCa", {kDerivation, "d_ff, d_model <= 3"}},
      {"P-VCa'", {kDerivation, "d_ff, d_model <= 3"}},
      {"P-VCb'", {kDerivation, "d_ff, d_model <= 3"}},
      {"P-VCc'", {kDerivation, "d_ff, d_model <= 3"}},
      {"P-DROP'", {kDerivation, "laws of up to six outcomes"}},
      {"P-L2s", {kDerivation, "laws of up to six outcomes"}},
      {"P-L2s'", {kDerivation, "laws of up to six outcomes"}},
      {"P-NODROP", {"theory/PROOFS.md 10", "laws of up to six outcomes"}},
      {"P-L2a'", {"theory/PROOFS.md 10", "laws of up to six outcomes"}},
      {"P-L2b'", {"theory/PROOFS.md 10", "laws of up to six outcomes"}},
      {"P-L2c'", {"theory/PROOFS.md 10", "laws of up to six outcomes"}},
      {"P-L2d'", {"theory/PROOFS.md 10", "laws of up to six outcomes"}},
      {"P-L2f", {kDerivation, "laws of up to six outcomes"}},
      {"P-CENa", {kDerivation, "n, d <= 2, three outcomes"}},
      {"P-CENb'", {kDerivation, "n, d <= 2, three outcomes"}},
      {"P-CENc'", {kDerivation, "whole and half numbers up to 12"}},
      {"P-CENd'", {kDerivation, "n, d, d_ff <= 2, three outcomes"}},
      {"P-CENe'", {kDerivation, "n, d, d_ff <= 2, three outcomes"}},
      {"P-CENf", {kDerivation, "laws of up to six outcomes"}},
      {"Z-K", {"theory/PROOFS.md 11 where it cancels", "all 2⁷ switches, d <= 4, four tokens"}},
      {"Z-K'", {"theory/PROOFS.md 11 where it cancels", "all 2⁷ switches, d <= 4, four tokens"}},
      {"Z-Q", {"", "width <= 4"}},
      {"Z-Q'", {"", "width <= 4"}},
      {"Z-PRE'", {"", "all 2⁷ switches, width <= 6"}},
      {"Z-POST'", {"theory/PROOFS.md 11", "width <= 3, two heads, three tokens"}},
      {"Z-BN", {kDerivation, "up to five features, three batches"}},
      {"Z-BN'", {kDerivation, "up to five features, three batches"}},
      {"Z-LN", {kDerivation, "up to five features"}},
      {"Z-LN'", {kDerivation, "up to five features"}},
      {"A-G", {kDerivation, "seventeen values of each gate"}},
      {"A-G'", {kDerivation, "seventeen values of each gate"}},
      {"A-RANGE'", {kDerivation, "g up to 8 in quarters"}},
      {"A-GRAD", {kDerivation, "laws of up to six outcomes"}},
      {"A-GRAD'", {kDerivation, "laws of up to six outcomes"}},
      {"A-COUNT", {kArithmetic, "d = 768, F = 3072"}},
      {"A-COUNT'", {kDerivation, "d <= 40, F <= 60, and d = 768, F = 3072"}},
      {"A-SPAT'", {kDerivation, "d, f <= 3, three tokens"}},
      {"A-SPATt", {kDerivation, "d, f <= 3"}},
      {"A-TOK", {kArithmetic, ""}},
      {"A-TOK'", {kArithmetic, ""}},
      {"A-LOSSp'", {kArithmetic, ""}},
      {"I-ISOa'", {"theory/PROOFS.md 12", "k <= 5, d <= 4"}},
      {"I-BIAS'", {kDerivation, "d, f <= 3, k <= 4"}},
      {"I-VAR'", {kArithmetic, ""}},
      {"I-SUMa", {kArithmetic, ""}},
      {"I-SUMb", {kArithmetic, ""}},
      {"I-SUMc'", {kArithmetic, ""}},
      {"I-SUMd'", {kArithmetic, ""}},
      {"I-SUMe'", {kArithmetic, ""}},
      {"P-COST", {kDerivation, "d, f <= 24, and the sizes of the document"}},
      {"A-COST", {kDerivation, "d, f <= 24, and d = 768"}},
      {"A-COST'", {kDerivation, "d, f <= 24, and d = 768"}},
      {"I-COST", {kDerivation, "d, f <= 24, and d = 768"}},
      {"A-SHAPE", {kDerivation, "d, f <= 12"}},
      {"A-SHAPE'", {kDerivation, "d, f <= 12"}},
      {"A-PPL", {kArithmetic, ""}},
      {"I-WARM", {kDerivation, ""}},
      {"I-WARM'", {kDerivation, ""}},
  };
  const auto found = all.find(id);
  return found == all.end() ? Support{} : found->second;
}

}  // namespace kappascope::theory
