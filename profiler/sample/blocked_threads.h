// BlockedThreads: which threads of a process wait, and for what, as /proc shows its owner: looked
// at a few times a second. Used by StackSampler.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace gs::sample {

struct BlockedThread {
    std::uint32_t tid = 0;
    std::string where;  ///< "futex", "read"; the kernel's function where it is in no call
    std::uint64_t stack_pointer = 0, program_counter = 0;  ///< 0: unknown
    bool moved = true;  ///< it ran since it was looked at last; else all is as it was
};

class BlockedThreads {
  public:
    explicit BlockedThreads(std::uint32_t pid) : pid_(pid) {}
    /// Those that wait now, by the numbers of `threads`.
    std::vector<BlockedThread> look(const std::vector<std::uint32_t>& threads);

  private:
    struct Last {
        std::string ran;  // what the scheduler counted: it changes when the thread runs
        BlockedThread thread;
        bool blocked = false;
    };
    std::uint32_t pid_;
    std::unordered_map<std::uint32_t, Last> last_;
};

}  // namespace gs::sample
