// CUPTI's activity records, of whichever generation, as the ring's 64-byte records
// (base/record/abi.h). Called for every record of a completed buffer, by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/record/abi.h"
#include "profiler/inject/cupti_abi.h"
#include "profiler/inject/cupti_names.h"

namespace gs::inject::cupti {

enum class Conversion {
    converted,
    unwanted,  ///< of a kind or call we do not record
    damaged,   ///< cut short, of no known kind, or without times
};

class RecordConverter {
  public:
    /// Before the first record. May be called again for another CUPTI.
    void begin(const Layouts& layouts, const Functions& cupti) noexcept;
    bool ready() const noexcept { return layouts_ != nullptr; }
    const ApiCalls& calls() const noexcept { return calls_; }

    /// `left`: bytes that may be read at `record`.
    Conversion convert(const std::uint8_t* record, std::size_t left,
                       abi::ActivityRecord& out) noexcept;

  private:
    Conversion kernel(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion copy(const CopyLayout& l, const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion fill(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion api(const std::uint8_t* r, bool driver, abi::ActivityRecord& out) noexcept;
    Conversion synchronization(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion overhead(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion memory(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    Conversion graph(const std::uint8_t* r, abi::ActivityRecord& out) noexcept;
    std::size_t bytes_of(std::uint32_t kind) const noexcept;
    StringId copy_name(abi::MemoryType source, abi::MemoryType target) noexcept;
    std::uint8_t device_of_context(std::uint32_t context) const noexcept;
    void learn_context(std::uint32_t context, std::uint8_t device) noexcept;

    const Layouts* layouts_ = nullptr;
    ApiCalls calls_;
    StringId copy_names_[3][3] = {}, fill_name_ = 0, graph_name_ = 0;
    std::uint8_t devices_[64] = {};  ///< of contexts 0 to 63, plus 1; 0: not seen yet
};

}  // namespace gs::inject::cupti
