// SPDX-License-Identifier: Apache-2.0
// Where a run was made, for its facts.
#pragma once

#include <filesystem>
#include <string>

namespace kappascope {

/// The name of this machine.
std::string host_name();

/// The commit that is checked out where `folder` lies, read from Git's files: no program runs and
/// no hook. Changes that are not committed are not seen. Empty outside of a repository.
std::string commit_at(const std::filesystem::path& folder);

}  // namespace kappascope
