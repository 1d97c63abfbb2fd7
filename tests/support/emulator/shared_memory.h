// The shared memory of one block: where GS_SHARED arrays lie, their poison, and the gaps between
// them that must stay as they are.
#pragma once

#include <cstddef>
#include <source_location>
#include <vector>

namespace gs::emulator {

class SharedMemory {
  public:
    static constexpr std::size_t kLimit = 48 * 1024;  ///< static shared memory of a block
    SharedMemory();
    ~SharedMemory();
    /// A new block: no declaration yet.
    void begin();
    /// EmulatorError when it does not fit or differs from what was declared at that place.
    void* claim(std::size_t element_bytes, std::size_t count, std::size_t alignment,
                const char* name, std::source_location where);
    /// After the block: EmulatorError when a gap was written.
    void verify() const;

  private:
    struct Declaration {
        std::source_location where;
        const char* name;
        std::size_t element_bytes, count, offset;
    };
    std::byte* bytes_ = nullptr;
    std::size_t used_ = 0, declared_ = 0;  ///< with and without gaps
    std::vector<Declaration> declarations_;
};

}  // namespace gs::emulator
