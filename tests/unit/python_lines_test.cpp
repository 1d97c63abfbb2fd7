// The contents of CPython's tables: lines of code, and text.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "profiler/sample/python_reader.h"

namespace gs {
namespace {

TEST(PythonLines, AreThoseOfEachVersion) {
    using Lines = sample::PythonLayout::Lines;
    const auto line = [](std::initializer_list<int> bytes, Lines kind, int at) {
        std::string table;
        for (const int byte : bytes) table += static_cast<char>(byte);
        return sample::python_line(table, kind, 10, at);
    };
    // 3.9: two bytes on, one line on; then four bytes, two lines.
    EXPECT_EQ(line({2, 1, 4, 2}, Lines::pairs_3_9, 0), 10u);
    EXPECT_EQ(line({2, 1, 4, 2}, Lines::pairs_3_9, 3), 11u);
    EXPECT_EQ(line({2, 1, 4, 2}, Lines::pairs_3_9, 6), 13u);
    // 3.10: two bytes of line 10, four of line 11, two without a line, two of line 9.
    EXPECT_EQ(line({2, 0, 4, 1, 2, -128, 2, -2}, Lines::pairs_3_10, 0), 10u);
    EXPECT_EQ(line({2, 0, 4, 1, 2, -128, 2, -2}, Lines::pairs_3_10, 4), 11u);
    EXPECT_EQ(line({2, 0, 4, 1, 2, -128, 2, -2}, Lines::pairs_3_10, 8), 9u);
    // 3.11: one code unit on the first line (short form), two units a line on (one-line form), then
    // a long form five lines back.
    const std::initializer_list<int> table{
        0x80 | 0 << 3 | 0, 0x00, 0x80 | 11 << 3 | 1, 1, 2, 0x80 | 14 << 3 | 0, 5 << 1 | 1, 0, 1, 1};
    EXPECT_EQ(line(table, Lines::locations, 0), 10u);
    EXPECT_EQ(line(table, Lines::locations, 2), 11u);
    EXPECT_EQ(line(table, Lines::locations, 5), 11u);
    EXPECT_EQ(line(table, Lines::locations, 6), 6u);
}

// ---- programs whose stacks are known

constexpr int kHz = 1999;  // no beat of what the programs do

struct Sampled {
    TraceStore store;
    std::string refused;  ///< why nothing was sampled
    std::vector<std::string> remarks;
};

Sampled sample_program(std::vector<std::string> words) {
    Sampled out;
    auto sampler = StackSampler::of_next_program({.hz = kHz});
    if (!sampler) {
        out.refused = sampler.error().text();
        return out;
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
        (*sampler)->take_into(out.store);
        ::usleep(10'000);
    }
    EXPECT_EQ(status, 0);
    (*sampler)->finish(out.store);
    out.remarks = (*sampler)->remarks();
    return out;
}

/// Times of all nodes of a function whose ancestors are there.
struct Times {
    std::int64_t cpu_ns = 0, blocked_ns = 0;
    std::uint64_t samples = 0;
    bool called_right = true;
};
Times times_of(const TraceStore& store, const StackProfile& profile, std::string_view function,
               std::string_view caller) {
    Times out;
    for (const ProfileNode& node : profile.nodes()) {
        if (&node == &profile.nodes()[0] || store.name(node.name) != function) continue;
        out.cpu_ns += node.cpu_ns;
        out.blocked_ns += node.blocked_ns;
        out.samples += node.samples;
        out.called_right &= store.name(profile.nodes()[node.parent].name) == caller;
    }
    return out;
}

/// Seven tenths, within two hundredths and what so few samples may be off by chance.
void expect_seven_tenths(const Times& heavy, const Times& light) {
    const double all = static_cast<double>(heavy.cpu_ns + light.cpu_ns);
    const double count = static_cast<double>(heavy.samples + light.samples);
    ASSERT_GT(count, 100);
    EXPECT_NEAR(static_cast<double>(heavy.cpu_ns) / all, 0.7, 0.02 + 3 * std::sqrt(0.21 / count));
}

TEST(PythonText, IsNoneOfBytesThatAreNoText) {
    using sample::python_text;
    EXPECT_EQ(python_text("caf\xe9", 1, false), "caf\xc3\xa9");
    EXPECT_EQ(python_text(std::string("\xac\x20", 2), 2, false), "\xe2\x82\xac");
    EXPECT_EQ(python_text("\xfe\x98\xad\xb0", 1, true), "");
    EXPECT_EQ(python_text(std::string("\x00\xd8", 2), 2, false), "");  // half of a pair
}

}  // namespace
}  // namespace gs
