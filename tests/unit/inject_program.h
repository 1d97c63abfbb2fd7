// A program that uses NVTX (tests/support/nvtx_program.cpp) as a process under the injection
// library, and what its ring says. Every test starts its own: NVTX looks for a tool once in a
// process. Used by inject_*_test.cpp.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/collect/client.h"

namespace gs::inject_test {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A span, an overlapping range or a mark by its words.
struct Seen {
    std::string name, domain, category, thread;
    std::uint64_t payload = 0;
    PayloadKind payload_kind = PayloadKind::whole;
    bool has_payload = false, overlapping = false, mark = false;
    std::uint8_t depth = 0;
    std::uint32_t track = 0, color = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
    std::vector<std::string> values{};  ///< "step 12"
};

/// All that was ever drained of one ring.
class Recording {
  public:
    void add(const TraceBatch& batch);
    const std::vector<Seen>& all() const { return all_; }
    std::vector<Seen> called(const std::string& name) const;
    /// The only one of that name; a failure when there is none or more.
    Seen only(const std::string& name) const;
    std::size_t count(const std::string& name) const { return called(name).size(); }
    const TraceBatch& last() const { return last_; }
    std::vector<std::string> open() const;
    std::vector<std::string> threads() const;

  private:
    std::map<std::uint32_t, NameInfo> names_;
    std::map<std::uint32_t, std::string> threads_;
    std::map<std::pair<std::string, std::uint32_t>, std::string> categories_;
    std::map<std::tuple<std::uint32_t, std::int64_t, std::uint8_t>, std::vector<std::string>>
        values_;  // by track, begin and depth
    std::vector<Seen> all_;
    TraceBatch last_;
};

/// The program, running.
class Program {
  public:
    /// Which build of the program: with the tests' own NVTX client, or with the toolkit's headers.
    struct Build {
        std::string program, object, other_object;
    };
    static std::vector<Build> builds();
    static std::string library();

    /// Starts it with `arguments`, recording from its first range on unless `environment` says
    /// otherwise.
    Program(const Build& build, std::vector<std::string> arguments,
            const Environment& environment = {});
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// What it has printed until it is ready for the next step; "gone" at the end when it ended
    /// instead.
    std::string wait_until_ready();
    /// Lets the program continue.
    void go_on() const { static_cast<void>(!::write(to_, "\n", 1)); }
    /// Its wait status.
    int wait();
    pid_t pid() const { return pid_; }

    /// Takes a lease or gives it up, and waits until the program says so.
    void arm(bool on);
    void settle(bool armed);
    /// Its connection, made when first asked for.
    service::Connection& connection();
    /// Forgets it: the program has become another.
    void disconnect() { connection_.reset(); }
    Recording& drain();
    /// What it has recorded when it is ready for the next step, which must come.
    const Recording& recorded();
    const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
    std::unique_ptr<service::Connection> connection_;
    Recording recording_;
};

/// Every build of the program, one test each.
class WithProgram : public testing::TestWithParam<Program::Build> {};
inline std::string name_of_build(const testing::TestParamInfo<Program::Build>& build) {
    return build.index == 0 ? "OwnClient" : "Toolkit";
}

}  // namespace gs::inject_test
