// Which kernel a function pointer is, as people and tests/kernels/kernel_table.csv call it. The
// host compiler and nvcc mangle a kernel alike but for its unnamed namespace, so the readable name
// is what joins a kernel that the emulator ran with the code that nvcc made of it.
#pragma once

#include <string>

namespace gs::emulator {

/// `blend<true, (Depths)0>` of a mangled name, as `readable` of tools/kernel_table.py: without
/// parameters, our namespaces and unnamed ones. A name that is not mangled stays as it is.
std::string readable_kernel(const std::string& mangled);
/// The same of a function of this program, from the program's own symbol table; empty when it is
/// not in it.
const std::string& kernel_name(const void* function);

}  // namespace gs::emulator
