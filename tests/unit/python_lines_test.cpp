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

TEST(PythonText, IsNoneOfBytesThatAreNoText) {
    using sample::python_text;
    EXPECT_EQ(python_text("caf\xe9", 1, false), "caf\xc3\xa9");
    EXPECT_EQ(python_text(std::string("\xac\x20", 2), 2, false), "\xe2\x82\xac");
    EXPECT_EQ(python_text("\xfe\x98\xad\xb0", 1, true), "");
    EXPECT_EQ(python_text(std::string("\x00\xd8", 2), 2, false), "");  // half of a pair
}

}  // namespace
}  // namespace gs
