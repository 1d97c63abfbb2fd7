// SampledProcess: one process that is sampled: its code, its Python, its threads, and the batch of
// stacks that is being filled of it. Used by StackSampler's worker alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/sample/blocked_threads.h"
#include "profiler/sample/process_image.h"
#include "profiler/sample/python_reader.h"
#include "profiler/store/stack_builder.h"

namespace gs::sample {

class SampledProcess {
  public:
    SampledProcess(std::uint32_t pid, std::uint64_t source, std::shared_ptr<SymbolFiles> files);

    /// It runs already: its code and threads as /proc shows them.
    void adopt();
    /// The same after records were lost, once a second at most. False: it has ended meanwhile.
    bool renew(std::int64_t now_ns);
    /// A copy of `parent`'s memory, as fork() made one at `time_ns`.
    void inherit(const SampledProcess& parent, std::int64_t time_ns);
    /// It runs another program from `time_ns` on.
    void begin_program(const std::string& name, std::int64_t time_ns);
    /// Records of it may have been lost.
    void doubt() { doubtful_ = true; }
    void map(const PerfRecord& record);
    /// It may be known already: from /proc, and from the kernel.
    void begin_thread(std::uint32_t tid) {
        if (std::ranges::find(threads_, tid) == threads_.end()) threads_.push_back(tid);
    }
    /// False: that was its last thread.
    bool end_thread(std::uint32_t tid);

    void take(const PerfRecord& sample, std::int64_t weight_ns);
    void look_at_blocked(std::int64_t now_ns, std::int64_t weight_ns);

    /// What has come since the last time. Its read_ns is 0: nothing did.
    TraceBatch hand_over(std::int64_t now_ns, bool ended);
    /// Why there are no Python functions, where a user should know it; else empty.
    const std::string& python_remark() const { return python_remark_; }
    const std::string& name() const { return name_; }

  private:
    using Frames = std::vector<FrameEvent>;  // innermost first
    Frames frames_of(const PerfRecord& sample);
    std::vector<PythonFrame> python_of(const PerfRecord& sample);
    void add(const Frames& frames, SampleEvent sample);
    void name_threads(std::int64_t now_ns);
    void identify();
    std::uint32_t tid_inside(std::uint32_t tid);

    std::uint32_t pid_;
    std::uint32_t pid_inside_ = 0;  // as the process sees itself, perhaps in a container
    std::uint64_t source_, start_ = 0;
    std::int64_t program_ns_ = 0, renewed_ns_ = 0;
    bool doubtful_ = false, gone_ = false;
    std::string name_, python_remark_;
    std::shared_ptr<SymbolFiles> files_;
    std::unique_ptr<ProcessImage> image_;
    std::unique_ptr<PythonReader> python_;
    std::size_t python_sought_ = 0;  // among this many mappings
    std::vector<std::uint32_t> threads_;
    BlockedThreads blocked_;
    std::unordered_map<std::uint32_t, Frames> waiting_;  // the stacks of those that have not moved
    std::unordered_map<std::uint32_t, std::string> thread_names_;
    std::unordered_map<std::uint32_t, std::uint32_t> tids_inside_;
    std::set<std::uint32_t> sampled_;  // threads of the batch
    std::int64_t named_ns_ = 0;
    bool handed_over_ = false;  // samples, once
    TraceBatch batch_;
    StackBuilder stacks_;  // of the batch
};

}  // namespace gs::sample
