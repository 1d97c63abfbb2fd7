// The commit this program was built from, for everything that records results with a program.
#pragma once

#include <string>

namespace gs {

/// "0123456789ab", with "+changes.01234567" behind it where files differed from that commit, or
/// "unknown". Looked up at every build (tools/cmake/program_commit.cmake).
std::string program_commit();

}  // namespace gs
