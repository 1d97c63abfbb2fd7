// Names of GPU kernels as people write them. CUPTI reports them mangled, and a ring cuts long ones,
// which no demangler takes. Used where names are read.
#pragma once

#include <string>

namespace gs {

/// "_ZN2at6native...": demangled, or, where it was cut, the qualified name without its arguments.
/// What is no mangled name comes back as it was.
std::string readable_symbol(const std::string& mangled);

}  // namespace gs
