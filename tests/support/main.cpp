// The main function of every test program: GoogleTest's, and --files=a_test.cpp,b_test.cpp, which
// runs the tests of these files. Tests are compiled and linked together and still run in a process
// each for what belongs together.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

/// GoogleTest's filter for the tests of these files; empty where one of them has none.
std::string tests_of(std::string_view files) {
    std::string filter;
    while (!files.empty()) {
        const std::string_view file = files.substr(0, files.find(','));
        files.remove_prefix(std::min(files.size(), file.size() + 1));
        const std::size_t before = filter.size();
        const testing::UnitTest& all = *testing::UnitTest::GetInstance();
        for (int s = 0; s < all.total_test_suite_count(); ++s)
            for (int t = 0; t < all.GetTestSuite(s)->total_test_count(); ++t) {
                const testing::TestInfo& test = *all.GetTestSuite(s)->GetTestInfo(t);
                if (std::string_view(test.file()).ends_with("/" + std::string(file)))
                    filter += fmt::format("{}.{}:", test.test_suite_name(), test.name());
            }
        if (filter.size() == before) return {};
    }
    return filter;
}

}  // namespace

int main(int count, char** words) {
    testing::InitGoogleMock(&count, words);
    constexpr std::string_view kFiles = "--files=";
    for (int i = 1; i < count; ++i) {
        if (!std::string_view(words[i]).starts_with(kFiles)) continue;
        const std::string filter = tests_of(std::string_view(words[i]).substr(kFiles.size()));
        if (filter.empty()) {
            fmt::print(stderr, "{}: a file has no tests\n", words[i]);
            return 2;
        }
        // What --gtest_filter leaves out stays left out; what it names is run instead.
        const std::string given = GTEST_FLAG_GET(filter);
        if (given == "*" || given.starts_with("-"))
            GTEST_FLAG_SET(filter, filter + (given == "*" ? "" : given));
    }
    return RUN_ALL_TESTS();
}
