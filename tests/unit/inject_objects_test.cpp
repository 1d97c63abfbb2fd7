// Shared objects around the injection library: several that use NVTX, some unloaded again; another
// tool behind it; and what the library itself brings into a foreign process.
#include "tests/unit/inject_program.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace gs::inject_test {
namespace {

using Objects = WithProgram;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}
std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    if (pipe != nullptr) ::pclose(pipe);
    return text;
}

TEST_P(Objects, EveryObjectOfAProcessIsHeard) {
    Program program(GetParam(), {"several", GetParam().object, GetParam().other_object});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("from the program"), 1u);
    EXPECT_EQ(seen.count("from object 1"), 1u);
    EXPECT_EQ(seen.count("from object 2"), 1u);
    EXPECT_EQ(seen.only("from object 1").track, seen.only("from the program").track);
}

TEST_P(Objects, UnloadedObjectsAreLeftAlone) {
    Program program(GetParam(), {"unloads", GetParam().object}, {{service::kArmVariable, "0"}});
    // Armed while the object is there, disarmed while it is not; the next one may lie at the same
    // place.
    for (const bool armed : {true, false, true, false}) {
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        program.arm(armed);
        program.go_on();
    }
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("program"), 0u);
    EXPECT_EQ(seen.count("first time"), 1u);
    EXPECT_EQ(seen.count("second time"), 1u);
    EXPECT_EQ(seen.count("program again"), 0u);
    program.go_on();
    EXPECT_EQ(program.wait(), 0);
}

TEST_P(Objects, AnotherToolGetsEverythingInItsOwnTerms) {
    const std::filesystem::path log =
        std::filesystem::temp_directory_path() / fmt::format("gs-nvtx-tool-{}.log", ::getpid());
    std::filesystem::remove(log);
    Program program(GetParam(), {"toggled"},
                    {{service::kArmVariable, "0"},
                     {"GAUSSCOPE_CHAIN_NVTX", GAUSSCOPE_NVTX_TOOL},
                     {"NVTX_TOOL_LOG", log.string()}});
    for (int phase = 0; phase < 5; ++phase) {
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        if (phase < 4) program.arm(phase % 2 == 0);
        program.go_on();
    }
    EXPECT_EQ(program.wait(), 0);
    std::string expected =
        "domain early domain = 1\nstring 1 early string = 2\npush open across\nstart started "
        "before\n";
    for (int phase = 0; phase < 4; ++phase)
        expected += fmt::format("push phase {}\npush in 1 #2\npop in 1\npop\n", phase);
    expected += "end 4711\npop\npush the end\npop\n";
    EXPECT_EQ(text_of(log), expected);
    // And we what happened while armed.
    const Recording& seen = program.drain();
    EXPECT_EQ(seen.count("phase 0"), 0u);
    EXPECT_EQ(seen.count("phase 1"), 1u);
    EXPECT_EQ(seen.count("early string"), 2u);
    std::filesystem::remove(log);
}

TEST_P(Objects, AToolThatCannotBeLoadedDoesNotStopOurs) {
    for (const char* tool : {"/nowhere/libtool.so", GAUSSCOPE_NVTX_OBJECT}) {
        Program program(GetParam(), {"one", "still here"}, {{"GAUSSCOPE_CHAIN_NVTX", tool}});
        ASSERT_EQ(program.wait_until_ready(), "ready\n");
        EXPECT_EQ(program.drain().count("still here"), 1u);
    }
}

TEST_P(Objects, GausscopesOwnDomainIsNotRecordedTwice) {
    // Its process has a ring of its own; what the tests' programs have in other domains stays.
    Program program(GetParam(), {"own_domain"});
    const Recording& seen = program.recorded();
    EXPECT_EQ(seen.count("of gausscope"), 0u);
    EXPECT_EQ(seen.count("of somebody else"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Client, Objects, testing::ValuesIn(Program::builds()), name_of_build);

TEST(InjectLibrary, NeedsNothingButTheCLibrary) {
    if (std::string(GAUSSCOPE_SANITIZED) != "")
        GTEST_SKIP() << "sanitizers bring libraries of their own";
    const std::string dynamic = output_of("readelf -dW " + Program::library());
    ASSERT_NE(dynamic.find("NEEDED"), std::string::npos) << "readelf is missing";
    std::istringstream lines(dynamic);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("(NEEDED)") == std::string::npos) continue;
        bool known = false;
        for (const char* name : {"[libc.so", "[libdl.so", "[libpthread.so", "[ld-linux"})
            known |= line.find(name) != std::string::npos;
        EXPECT_TRUE(known) << line;
    }
    EXPECT_NE(dynamic.find("NODELETE"), std::string::npos);
}

TEST(InjectLibrary, ExportsTheEntryPointsOnly) {
    if (std::string(GAUSSCOPE_SANITIZED) != "")
        GTEST_SKIP() << "sanitizers export symbols of their own";
    std::istringstream lines(output_of("nm -D --defined-only " + Program::library()));
    std::vector<std::string> names;
    for (std::string address, kind, name; lines >> address >> kind >> name;) names.push_back(name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"InitializeInjection", "InitializeInjectionNvtx2",
                                               "InitializeInjectionNvtxExtension"}));
}

}  // namespace
}  // namespace gs::inject_test
