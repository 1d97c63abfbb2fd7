// The table of names: one id per name for all threads, also at once; numbers collapse when the
// table is full; kernels are found by their symbols.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/record/ring.h"
#include "base/record/strings.h"

namespace gs {
namespace {

using detail::string_table;

class Strings : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(start_recording()); }
    static std::string text_of(StringId id) {
        char text[abi::kMaxStringBytes + 1];
        string_table.copy_text(id, text);
        return text;
    }
    static StringId numbered(const std::string& text) {
        return register_string({.text = text, .numbered = true});
    }
};

TEST_F(Strings, ANameIsItsTextItsDomainAndWhatItNames) {
    const StringId plain = register_string("rasterize"), domain = register_string("gsplat");
    EXPECT_EQ(string_table.find({.text = "rasterize"}), plain);
    EXPECT_EQ(string_table.find({.text = "rasterize", .domain = domain}), 0u);
    const StringId theirs = register_string("rasterize", domain, 0x0112AB34);
    EXPECT_NE(theirs, plain);
    EXPECT_EQ(register_string("rasterize", domain, 0x01000000), theirs);  // the first colour stays
    EXPECT_NE(register_category("rasterize", domain, 7), theirs);
    EXPECT_EQ(text_of(theirs), "rasterize");
    EXPECT_EQ(text_of(0), "");
    EXPECT_EQ(text_of(8000), "");
    EXPECT_EQ(register_string(nullptr), 0u);
    EXPECT_EQ(register_string(""), register_string(""));
}

TEST_F(Strings, ASymbolStandsForItsName) {
    EXPECT_EQ(string_table.find_alias("_Z5blendPf"), 0u);
    const StringId blend = register_string("blend<float>");
    string_table.add_alias("_Z5blendPf", blend);
    string_table.add_alias("_Z5blendPf", register_string("another"));  // the first one stays
    EXPECT_EQ(string_table.find_alias("_Z5blendPf"), blend);
    EXPECT_EQ(string_table.find({.text = "_Z5blendPf"}), 0u);  // it is no name
    EXPECT_EQ(string_table.find_alias("blend<float>"), 0u);    // nor the name a symbol
    string_table.add_alias("_Z4none", 0);
    EXPECT_EQ(string_table.find_alias("_Z4none"), 0u);
}

TEST_F(Strings, ManyThreadsAtOnceAgree) {
    constexpr int kThreads = 8, kNames = 500;
    std::vector<std::vector<StringId>> ids(kThreads, std::vector<StringId>(kNames));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kNames; ++i) {
                const int n = (i * 7 + t * 61) % kNames;
                const std::string text = "shared name " + std::to_string(n);
                const StringId id = register_string(text.c_str());
                ids[static_cast<std::size_t>(t)][static_cast<std::size_t>(n)] = id;
                if (string_table.find({.text = text}) != id || text_of(id) != text) ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    for (const auto& of_thread : ids) EXPECT_EQ(of_thread, ids[0]);
    EXPECT_EQ(std::set<StringId>(ids[0].begin(), ids[0].end()).size(), std::size_t{kNames});
}

// Last: it fills the table.
TEST_F(Strings, WhenTheRoomRunsOutNumbersCollapseAndThenNamesAreNone) {
    const auto lost = [] { return detail::ring_header()->dropped_strings; };
    const StringId early = numbered("step 1");
    for (int i = 0; i < 8000; ++i) numbered("step " + std::to_string(i));
    EXPECT_EQ(numbered("step 1"), early);
    EXPECT_EQ(text_of(numbered("step 123456")), "step #");
    EXPECT_EQ(text_of(numbered("void k<12, 3>")), "void k<#, #>");
    EXPECT_EQ(text_of(register_string("slot 77")), "slot 77");  // only what says it is numbered
    EXPECT_EQ(lost(), 0u);
    for (int i = 0; i < 8192; ++i) register_string(("full " + std::to_string(i)).c_str());
    EXPECT_GT(lost(), 0u);
    const std::uint64_t before = lost();
    EXPECT_EQ(register_string("too late"), 0u);
    EXPECT_EQ(lost(), before + 1);
    EXPECT_EQ(register_string("rasterize"), string_table.find({.text = "rasterize"}));
    EXPECT_EQ(numbered("step 99999"), string_table.find({.text = "step #"}));
    const StringId blend = string_table.find({.text = "step #"});
    string_table.add_alias("_Z9late_kernelv", blend);  // kernels are found by symbol all the same
    EXPECT_EQ(string_table.find_alias("_Z9late_kernelv"), blend);
}

}  // namespace
}  // namespace gs
