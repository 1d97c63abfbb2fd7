// Arrows from forward operators to their backward passes, as torch.profiler writes them (category
// "fwdbwd"): the operators at both ends get the arrow's number as payload and say by their category
// which they are, as ranges of `record --pytorch` do (profiler/analysis/counterpart.h). Used by
// import_chrome.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/files/import_events.h"

namespace gs {

class ImportPasses {
  public:
    /// An end of arrow `number`, at the beginning of an operator of `track`.
    void add(std::uint32_t track, std::int64_t begin_ns, std::uint64_t number, bool backward) {
        ends_.push_back({begin_ns, number, track, backward});
    }
    /// Links the operators, of those that begin there the innermost. Ends that are alone or at no
    /// operator are skipped and counted.
    void tell(ImportEvents& events);

  private:
    struct End {
        std::int64_t begin_ns;
        std::uint64_t number;
        std::uint32_t track;
        bool backward;
    };
    std::vector<End> ends_;
};

}  // namespace gs
