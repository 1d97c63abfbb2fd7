// RangeTimes: what the ranges of a program's iterations are for, under a bounded number of names.
// Used by the metrics and the history.
#pragma once

#include <map>
#include <set>
#include <string>

#include "profiler/analysis/breakdown.h"

namespace gs::serve {

class RangeTimes {
  public:
    static constexpr std::size_t kMostNames = 16;

    /// Milliseconds of an iteration by kind. The rules' kinds are few; of a program's own names the
    /// first that come count, the rest is "other". Empty for a program whose ranges are stages of
    /// 3D Gaussian Splatting.
    std::map<std::string, double> of(const Breakdown& part) {
        std::map<std::string, double> out;
        splats_ |= part.host_splats;
        if (splats_) return out;
        for (const KindTime& kind : part.range_kinds) {
            if (!(kind.ms > 0)) continue;
            if (kind.is_named && names_.size() < kMostNames) names_.insert(kind.kind);
            const bool counts = !kind.is_named || names_.contains(kind.kind);
            out[counts ? kind.kind : "other"] += kind.ms;
        }
        return out;
    }
    bool splats() const { return splats_; }

  private:
    std::set<std::string> names_;
    bool splats_ = false;
};

}  // namespace gs::serve
