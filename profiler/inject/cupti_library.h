// The CUPTI library of this process and the CUDA driver behind it, opened at run time. A CUPTI that
// is already mapped is preferred over any other, because two of them in one process get into each
// other's way. Used by the session (cupti.cpp) and the table of GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/inject/cupti_abi.h"

namespace gs::inject::cupti {

inline constexpr std::size_t kReasonBytes =
    192;  ///< of every "why" here, as in the service's Reply

/// The handle of libcuda.so.1 when this process has it mapped, else null. Loads nothing.
void* mapped_driver() noexcept;
/// True when the program itself has called cuInit(). Initialising CUDA for it would break programs
/// that fork first.
bool driver_is_initialized() noexcept;

struct Library {
    Functions f{};
    const Layouts* layouts = nullptr;
    std::uint32_t version = 0;

    /// Opens it and looks everything up; later calls return what the first successful one found.
    /// False: `why` says so.
    bool open(char* why) noexcept;
    bool is_open() const noexcept { return handle_ != nullptr; }
    /// CUPTI's own words for an error.
    const char* text_of(Result result) const noexcept;

  private:
    bool look_up(void* handle, char* why) noexcept;
    void* handle_ = nullptr;
};

}  // namespace gs::inject::cupti
