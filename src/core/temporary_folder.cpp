// SPDX-License-Identifier: Apache-2.0
#include "core/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "core/require.h"

namespace kappascope {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto place = std::filesystem::temp_directory_path(error);
  require(!error,
          "there is no folder for temporary files: TMPDIR in the environment names none ({})",
          error.message());
  std::string name = (place / "kappascope-XXXXXX").string();
  require(mkdtemp(name.data()) != nullptr,
          "cannot make a temporary folder {}: {}",
          name,
          std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace kappascope
