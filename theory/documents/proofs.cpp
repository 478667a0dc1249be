// SPDX-License-Identifier: Apache-2.0
// Where the proof of each statement that holds is read. A claim without one holds because the
// search found nothing against it; over what it searched the checks say themselves.
#include <map>

#include "theory/documents/documents.h"

namespace kappascope::theory {
namespace {

constexpr const char* kDerivation = "its derivation";
constexpr const char* kArithmetic = "arithmetic on the printed numbers";

}  // namespace

std::string proof_of(const std::string& id) {
  static const std::map<std::string, std::string> all{
      {"P-ODD'", "theory/PROOFS.md 1"},
      {"P-FLAT", kDerivation},
      {"P-SOFT'", kDerivation},
      {"P-L1", kDerivation},
      {"P-L1'", kDerivation},
      {"P-L1a", kDerivation},
      {"P-L1b'", "theory/PROOFS.md 2"},
      {"P-MSEa", "theory/PROOFS.md 3"},
      {"P-MSEa'", "theory/PROOFS.md 3"},
      {"P-MSEb'", "theory/PROOFS.md 3"},
      {"P-ALIGN", "theory/PROOFS.md 3"},
      {"P-ALIGN'", "theory/PROOFS.md 3"},
      {"P-ATTa", kDerivation},
      {"P-ATTa'", kDerivation},
      {"P-ATTb", kDerivation},
      {"P-ATTb'", kDerivation},
      {"P-GATE", kDerivation},
      {"P-DIM'", "theory/PROOFS.md 4"},
      {"P-EXP'", kDerivation},
      {"P-OUT", kDerivation},
      {"P-OUT'", kDerivation},
      {"P-NORM'", kDerivation},
      {"P-BND", kDerivation},
      {"P-BND'", kDerivation},
      {"P-P1a", kDerivation},
      {"P-P1b", "theory/PROOFS.md 7"},
      {"P-P1b'", "theory/PROOFS.md 7"},
      {"P-P1c", "theory/PROOFS.md 5"},
      {"P-P1d'", "theory/PROOFS.md 5"},
      {"P-P1e'", "theory/PROOFS.md 5"},
      {"P-P1f'", "theory/PROOFS.md 6"},
      {"P-JOINT'", "theory/PROOFS.md 8"},
      {"P-PATH", kDerivation},
      {"P-BEHIND", kDerivation},
      {"P-SGD", "theory/PROOFS.md 9"},
      {"P-SGD'", "theory/PROOFS.md 9"},
      {"P-KW'", kDerivation},
      {"P-VCa", kDerivation},
      {"P-VCa'", kDerivation},
      {"P-VCb'", kDerivation},
      {"P-VCc'", kDerivation},
      {"P-DROP'", kDerivation},
      {"P-L2s", kDerivation},
      {"P-L2s'", kDerivation},
      {"P-NODROP", "theory/PROOFS.md 10"},
      {"P-L2a'", "theory/PROOFS.md 10"},
      {"P-L2b'", "theory/PROOFS.md 10"},
      {"P-L2c'", "theory/PROOFS.md 10"},
      {"P-L2d'", "theory/PROOFS.md 10"},
      {"P-L2f", kDerivation},
      {"P-CENa", kDerivation},
      {"P-CENb'", kDerivation},
      {"P-CENc'", kDerivation},
      {"P-CENd'", kDerivation},
      {"P-CENe'", kDerivation},
      {"P-ABS'", kDerivation},
      {"Z-K", "theory/PROOFS.md 11 where it cancels"},
      {"Z-K'", "theory/PROOFS.md 11 where it cancels"},
      {"Z-POST'", "theory/PROOFS.md 11"},
      {"Z-BN", kDerivation},
      {"Z-BN'", kDerivation},
      {"Z-LN", kDerivation},
      {"Z-LN'", kDerivation},
      {"A-G", kDerivation},
      {"A-G'", kDerivation},
      {"A-RANGE'", kDerivation},
      {"A-GRAD", kDerivation},
      {"A-GRAD'", kDerivation},
      {"A-COUNT", kArithmetic},
      {"A-COUNT'", kDerivation},
      {"A-SPAT'", kDerivation},
      {"A-SPATt", kDerivation},
      {"A-TOK", kArithmetic},
      {"A-TOK'", kArithmetic},
      {"A-LOSSp'", kArithmetic},
      {"I-ISOa'", "theory/PROOFS.md 12"},
      {"I-BIAS'", kDerivation},
      {"I-SCALE", kDerivation},
      {"I-SCALE'", kDerivation},
      {"I-TEMP", kDerivation},
      {"I-VAR'", kArithmetic},
      {"I-SUMa", kArithmetic},
      {"I-SUMb", kArithmetic},
      {"I-SUMc'", kArithmetic},
      {"I-SUMd'", kArithmetic},
      {"I-SUMe'", kArithmetic},
      {"P-COST", kDerivation},
      {"A-COST", kDerivation},
      {"A-COST'", kDerivation},
      {"I-COST", kDerivation},
      {"A-SHAPE", kDerivation},
      {"A-SHAPE'", kDerivation},
      {"A-PPL", kArithmetic},
      {"I-WARM", kDerivation},
      {"I-WARM'", kDerivation},
  };
  const auto found = all.find(id);
  return found == all.end() ? "" : found->second;
}

}  // namespace kappascope::theory
