// Text that others wrote: words of any length, names of any bytes, JSON of any depth, disks without
// space.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/exception_words.h"
#include "base/file_group.h"
#include "base/full_disk.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/name_text.h"
#include "base/shortened.h"
#include "base/table.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;

TEST(Shortened, KeepsBothEndsAndWholeCharacters) {
    EXPECT_EQ(shortened("short"), "short");
    const std::string whole(kLongestMessage, 'x');
    EXPECT_EQ(shortened(whole), whole);
    std::string long_word = "begin";
    for (int i = 0; i < 20'000; ++i) long_word += "\u00e9";
    long_word += "end";
    for (std::size_t most = 100; most < 110; ++most) {
        const std::string cut = shortened(long_word, most);
        EXPECT_LT(cut.size(), most + 60);
        EXPECT_TRUE(cut.starts_with("begin") && cut.ends_with("end")) << cut;
        EXPECT_FALSE(needs_text(cut)) << "no character is cut in two";
    }
    log_warning("{}", long_word);
    EXPECT_LT(log_lines_after(0).back().text.size(), kLongestMessage + 60);
}

TEST(Shortened, NothingThatATerminalObeys) {
    EXPECT_EQ(shortened("a\x1b[31mb\a\x7f\rc\td\ne"), "a?[31mb???c\td\ne");
    EXPECT_EQ(shortened(std::string(kLongestMessage, '\x1b') + "end").find('\x1b'),
              std::string::npos);
    Table table{1, {{"name", "name", nullptr, [](const std::size_t&) {
                         return TableCell{std::string("\x1b[2J") + std::string(30'000, 'Q')};
                     }}}};
    EXPECT_EQ(table_text(table).find('\x1b'), std::string::npos);
    EXPECT_LT(table_text(table).size(), 3 * kLongestMessage);
}

TEST(NameText, EveryNameComesBack) {
    EXPECT_EQ(text_from_name("plain \u00e9 100%25 \ufffd"), "plain \u00e9 100%25 \ufffd");
    EXPECT_EQ(text_from_name("caf\xe9/cap"), "caf\ufffde9/cap");
    std::vector<std::string> names{"\xff\xfe",         "\xc3",     "\xed\xa0\x80",
                                   "\xf4\x90\x80\x80", "\ufffde9", "\xe9\ufffde9\xe9",
                                   "\xc0\xaf"};
    for (int i = 1; i < 256; ++i) names.push_back("a" + std::string(1, static_cast<char>(i)) + "b");
    for (const std::string& name : names) {
        const std::string text = text_from_name(name);
        EXPECT_EQ(name_from_text(text), name);
        EXPECT_NO_THROW((void)Json(text).dump()) << text;
    }
    // Other programs' text that looks like an escape.
    for (const char* text : {"caf\ufffdE9", "\ufffdc3\ufffda9", "\ufffd41", "\ufffd", "\ufffde"})
        EXPECT_EQ(name_from_text(text), text);
    const auto theirs = parse_json(R"({"\ufffde9": "caf\ufffde9"})", "file", false, JsonBy::anyone);
    EXPECT_EQ(theirs->at("\ufffde9"), "caf\ufffde9");
    Json json{{"capture", "caf\xe9"}, {"views", {"\xff.png", 3}}, {"\xe9", true}};
    const auto read = parse_json<Json>(json_text(json), "file");
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, json);
    EXPECT_EQ(parse_json<Json>(R"({"a": "caf\ufffde9"})", "file")->at("a"), "caf\xe9");
}

TEST(ParseJson, LimitsItsDepth) {
    const auto nested = [](int n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_TRUE(parse_json(nested(kDeepestJson), "file"));
    const auto deep = parse_json("{\"a\": " + nested(100'000) + "}", "file");
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().byte, 6u + kDeepestJson - 1);
    EXPECT_TRUE(json_or_discarded(nested(kDeepestJson + 1)).is_discarded());
    // Brackets in texts do not count, escaped quotes do not end them; brackets in comments neither.
    EXPECT_TRUE(parse_json("[\"\\\"" + std::string(500, '[') + "\"]", "file"));
    EXPECT_TRUE(parse_json(
        "// \" " + std::string(500, '[') + "\n{/*" + std::string(500, '{') + "*/}", "file", true));
    EXPECT_FALSE(parse_json("// \"\n" + nested(100'000), "file", true));
    EXPECT_FALSE(parse_json("/* \" */" + nested(100'000), "file", true));
    for (const char end : {'\r', '\0'})  // they end a comment as well
        EXPECT_FALSE(parse_json(std::string("// ") + end + nested(100'000), "file", true));
    EXPECT_FALSE(parse_json("\"" + nested(100'000), "file"));
}

TEST(ParseJson, SaysFaultsInItsOwnWords) {
    EXPECT_EQ(parse_json("{]", "file").error().text(),
              "file at byte 2: is not valid JSON (the file is cut or damaged)");
    for (const char* text : {"", "{", "[1e999999]", "nul", "\"\xff\"", "[1,]"}) {
        const auto read = parse_json(text, "file");
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().text().find("exception"), std::string::npos) << text;
    }
    EXPECT_EQ(words_of(std::bad_alloc()), "out of memory");
    try {
        (void)Json::parse("{}").at("none");
    } catch (const std::exception& error) {
        EXPECT_EQ(words_of(error).find("json."), std::string::npos);
    }
}

TEST(FullDisk, IsToldFromOtherPlaces) {
    const auto error_of = [](int code) {
        return Error{ErrorKind::unwritable, "x", std::strerror(code), "", {}, {}};
    };
    for (const int code : {ENOSPC, EDQUOT, EFBIG, EIO}) EXPECT_TRUE(is_of_disk(error_of(code)));
    for (const int code : {EACCES, ENOENT, EROFS, ENOTDIR})
        EXPECT_FALSE(is_of_disk(error_of(code)));
    EXPECT_TRUE(is_full_disk(error_of(ENOSPC)) && is_full_disk(error_of(EDQUOT)));
    EXPECT_FALSE(is_full_disk(error_of(EIO)) || is_full_disk(error_of(EFBIG)));
}

// In a folder that everybody may write to, such a file may be somebody else's.
TEST(AtomicFile, WritesIntoNoFileThatIsThereAlready) {
    const test::TemporaryFolder folder;
    const fs::path path = folder.path() / "a";
    std::ofstream(path.string() + fmt::format(".tmp{}", ::getpid())) << "old";
    std::ifstream old(path.string() + fmt::format(".tmp{}", ::getpid()));
    ASSERT_TRUE(write_text_file(path, "secret"));
    std::string text;
    old >> text;
    EXPECT_EQ(text, "old");
    EXPECT_EQ(*read_text_file(path), "secret");
}

TEST(FileGroup, LeavesAllOrNothing) {
    const test::TemporaryFolder folder;
    const fs::path a = folder.path() / "a", b = folder.path() / "b";
    const auto names = [&] {
        return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
    };
    const pid_t child = ::fork();
    if (child == 0) {  // a process whose files are small
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &small);
        FileGroup group;
        bool ok = group.add(a, "small").has_value();
        const auto large = group.add(b, std::string(5000, 'x'));
        ok = ok && !large && is_of_disk(large.error());
        group = FileGroup();
        ::_exit(ok ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(names(), 0);
    FileGroup group;
    ASSERT_TRUE(group.add(a, "1") && group.add(b, "2"));
    EXPECT_FALSE(fs::exists(a));
    ASSERT_TRUE(group.commit());
    EXPECT_EQ(*read_text_file(a) + *read_text_file(b), "12");
    EXPECT_EQ(names(), 2);
    // What a killed process left beside a target goes with the first file that another writes
    // there.
    const test::TemporaryFolder second;
    const fs::path target = second.path() / "a",
                   left = second.path() / fmt::format("a.tmp{}", child),
                   word = second.path() / "a.tmpfile",
                   other = second.path() / fmt::format("a.tmp.tmp{}", child);
    for (const fs::path& path : {left, word, other}) std::ofstream(path) << "part";
    ASSERT_TRUE(write_text_file(target, "3"));
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(word) && fs::exists(other));
}

}  // namespace
}  // namespace gs
