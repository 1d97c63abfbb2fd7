// StudioTraces: this session's own trace, which its ring fills, and the library of all that the
// timeline can show. The studio owns one; commands about traces reach it through Studio::traces().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/session/trace_library.h"
#include "profiler/collect/multi_collector.h"
#include "profiler/store/store.h"

namespace gs {

class StudioTraces {
  public:
    explicit StudioTraces(std::function<void()> wake) : library_(own_, std::move(wake)) {}
    TraceLibrary& library() { return library_; }
    TraceStore& own() { return own_; }
    /// Takes what the ring has.
    void drain() { collector_->drain_into(own_); }
    /// The timeline's trace; this session's while another is being read.
    const TraceStore& shown();
    /// At the end of the session; with a path, writes the session's own trace there.
    Result<void> finish(const std::string& path);

  private:
    TraceStore own_;
    std::unique_ptr<service::MultiCollector> collector_ = service::MultiCollector::of_own_ring();
    TraceLibrary library_;
};

}  // namespace gs
