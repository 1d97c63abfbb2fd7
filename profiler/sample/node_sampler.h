// NodeSampler: call stacks of all processes of a store that live, a StackSampler each. For a daemon
// that watches a node (`serve --stacks`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "profiler/sample/stack_sampler.h"

namespace gs {

class NodeSampler {
  public:
    /// `hz`: samples a second of a thread's time on a CPU; 0: of nothing.
    explicit NodeSampler(int hz);

    /// Begins with processes that are new and ends with those that have ended. Call it once a
    /// second, on the store's thread.
    void look(TraceStore& store, std::int64_t now_ns);
    /// Moves what has come into `store`.
    void take_into(TraceStore& store);
    /// Looks a last time and ends.
    void finish(TraceStore& store);

  private:
    StackSamplerOptions options_;
    /// By process id; null: it cannot be sampled.
    std::map<std::uint32_t, std::unique_ptr<StackSampler>> samplers_;
    bool said_ = false;
};

}  // namespace gs
