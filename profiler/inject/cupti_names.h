// Names of kernels and CUDA calls as the ring's string arena takes them. A kernel's name is
// demangled, stripped of what distinguishes nothing (return type, parameters) and, where it is
// still too long, of its innermost template arguments, so that its identifier stays whole. Used by
// the conversion of CUPTI's records, by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/record/ring.h"
#include "profiler/inject/cupti_abi.h"

namespace gs::inject::cupti {

/// Writes what `symbol`, mangled or plain, is called in a trace into `out`, at most `room` bytes
/// with the terminator.
void readable_kernel_name(const char* symbol, char* out, std::size_t room) noexcept;

/// A kernel's string id; 0: no symbol, or no space. Found by the symbol's text, for CUPTI's
/// pointers may be reused after a module is unloaded.
StringId kernel_name(const char* symbol) noexcept;

/// The calls worth a record: those that launch, copy, wait, allocate or load. Known by name, for
/// their numbers grow with every toolkit.
class ApiCalls {
  public:
    static constexpr std::uint32_t kNumbers = 2048;
    /// Asks CUPTI for the names; once, before its records are converted.
    void find(const Functions& cupti) noexcept;
    /// 0: not worth a record.
    StringId name_of(bool driver, std::uint32_t cbid) const noexcept {
        return cbid < kNumbers ? ids_[driver][cbid] : 0;
    }

    /// "cudaLaunchKernel_ptsz_v7000" -> "cudaLaunchKernel"; empty when the call is not worth a
    /// record.
    static std::string_view recorded_name(std::string_view callback_name) noexcept;

  private:
    StringId ids_[2][kNumbers] = {};
};

}  // namespace gs::inject::cupti
