// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/record.h"

#include <iterator>

namespace kappascope::store {

void append(Snapshot&& from, Snapshot& to) {
  const auto move = [](auto& source, auto& target) {
    target.insert(target.end(),
                  std::make_move_iterator(source.begin()),
                  std::make_move_iterator(source.end()));
  };
  move(from.scalars, to.scalars);
  move(from.arrays, to.arrays);
  move(from.events, to.events);
}

}  // namespace kappascope::store
