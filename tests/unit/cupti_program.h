// A program on the mock CUDA driver (tests/support/fake_trainer.cpp, cuda_program.cpp) as a process
// under the injection library, and what its ring says, read as every client reads it. A process per
// case: CUDA looks for a tool once. Used by cupti_*_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "profiler/collect/client.h"
#include "profiler/store/store.h"

namespace gs::cupti_test {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A piece of GPU work as the store has it, in words.
struct Work {
    std::string name, range;  ///< range: the NVTX range it was launched in, empty: none
    bool inferred = false;
    std::uint32_t tid = 0;  ///< of the thread that launched it
    std::uint32_t device = 0, stream = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
    std::int64_t launch_ns = 0;
    GpuWork detail;
};

std::vector<Work> works_of(const TraceStore& store, GpuWorkKind kind);

class Program {
  public:
    pid_t pid() const { return pid_; }
    /// `path`: which program. Recording from the beginning, loaded through NVTX and CUDA, unless
    /// `environment` says otherwise (an empty value: not set).
    Program(const std::string& path, std::vector<std::string> arguments,
            const Environment& environment = {});
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// One command to cuda_program, and its answer.
    std::string tell(const std::string& command);
    /// The number after `word` in what the mock CUPTI says; -1: it is not there.
    long status(const std::string& word);
    service::Reply ask(service::Op op, std::uint64_t value = 0);
    /// Waits for the next process that connects, a child of the program, and reads all it says
    /// until it has ended.
    void read_child(TraceStore& store);

    /// Reads what is new, 10 s at most, until `enough`.
    void drain_until(const std::function<bool()>& enough,
                     std::source_location where = std::source_location::current());
    void drain();
    /// Lets it end, and reads the rest. Its exit code; -1: it crashed.
    int finish();

    const TraceStore& store() const { return store_; }
    const ServiceStatus& service() const;
    std::vector<Work> works(GpuWorkKind kind = GpuWorkKind::kernel) const {
        return works_of(store_, kind);
    }
    std::size_t kernels() const { return works().size(); }
    /// Calls of the CUDA API by name.
    std::size_t calls(const std::string& name) const;
    std::vector<std::string> instants() const;
    /// Newest value of a counter; NaN: there is none.
    double counter(const std::string& name) const;
    const std::filesystem::path& folder() const { return folder_; }

  private:
    service::Connection accept_one();
    void start(const std::string& path, std::vector<std::string> arguments,
               const Environment& environment);
    std::filesystem::path folder_;
    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
    std::optional<service::CollectorSocket> collector_;
    std::unique_ptr<service::Connection> connection_;
    TraceStore store_;
};

/// The two programs, and where the mock libraries are.
std::string trainer_path();
std::string program_path();

}  // namespace gs::cupti_test
