// The memory that cudaMalloc and cudaMallocHost give: poisoned, with zones around it that must stay
// as they are, and, when memory is separate (emulator.h), out of the host's reach except while
// device work runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gs::emulator {

struct Allocation {
    std::size_t bytes = 0;
    bool pinned = false;
    bool separate = false;
    void* block = nullptr;  ///< with the zones around it
    std::size_t block_bytes = 0;
    mutable std::vector<std::weak_ptr<int>> copies{};  ///< from and to it, until they are done
};

class Allocations {
  public:
    using Map = std::map<std::uintptr_t, Allocation>;
    /// Null when the host has no more.
    void* add(std::size_t bytes, bool pinned, bool separate);
    /// `pointer` must be one that add() gave for this kind; EmulatorError naming `call` otherwise,
    /// and when its zones are damaged.
    Allocation remove(const char* call, void* pointer, bool pinned);
    /// The allocation that holds all of it; null when there is none.
    const Allocation* holder(const void* pointer, std::size_t bytes) const;
    /// EmulatorError when bytes around an allocation are not as they were left. `by`: whom to name.
    void verify(const std::string& by) const;
    const Map& all() const { return all_; }

    /// While one lives, separate memory can be touched: device work is running.
    class Reach {
      public:
        explicit Reach(Allocations& allocations);
        ~Reach();
        Reach(const Reach&) = delete;
        Reach& operator=(const Reach&) = delete;

      private:
        Allocations& allocations_;
    };

  private:
    void set_reachable(const Map::value_type& one, bool reachable) const;
    Map all_;  ///< by first byte
    int reaches_ = 0;
};

}  // namespace gs::emulator
