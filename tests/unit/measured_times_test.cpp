// The model beside what our own kernels took: the page shows the table, what instructions bind lies
// within the band that is printed for it, and no stage is right in one scene only.
#include "app/backend/measured_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "base/assets.h"
#include "profiler/predict/validation.h"
#include "tests/unit/model_page.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

const std::vector<ComparedStage>& compared() {
    static const auto kRows =
        compare_measured(measured_times(), KernelCosts::built_in(), gpu_devices(), published_fit());
    return kRows;
}

TEST(MeasuredTimes, WhatInstructionsBindLiesWithinItsBand) {
    double blind = 0, now = 0, count = 0;
    for (const ComparedStage& row : compared()) {
        const Stage stage = row.measured.stage;
        if (row.kind == "stored" || row.replaced ||
            (stage != Stage::blend && stage != Stage::loss && stage != Stage::blend_backward))
            continue;
        const double before = std::log(row.measured.blind / row.measured.ms);
        blind += before * before;
        now += row.log_error() * row.log_error();
        ++count;
    }
    ASSERT_GE(count, 4);
    EXPECT_LE(std::sqrt(blind / count), published_fit().instruction_log_sd);
    EXPECT_LE(std::sqrt(now / count), published_fit().instruction_log_sd);
}

/// A number that was set by one scene would miss the others.
TEST(MeasuredTimes, EveryStageIsNearInEveryScene) {
    std::map<Stage, int> scenes;
    for (const ComparedStage& row : compared()) {
        if (row.replaced) continue;
        SCOPED_TRACE(row.what + ", " + row.kind + ", " + name_of(row.measured.stage));
        // What is short is known to be missed: docs/model.md.
        if (row.measured.ms < 0.1) continue;
        EXPECT_LE(std::fabs(row.log_error()), std::log(1.45)) << row.now << " " << row.measured.ms;
        ++scenes[row.measured.stage];
    }
    EXPECT_GE(scenes[Stage::project_backward], 2);
    EXPECT_GE(scenes[Stage::blend], 2);
}

TEST(MeasuredTimes, DamagedFilesAreTold) {
    const auto told = [](const std::string& text) {
        const auto read = parse_measured_times(text, "times.json");
        return read ? std::string("none") : read.error().text();
    };
    EXPECT_THAT(told("{}"), HasSubstr("list \"runs\" is missing"));
    EXPECT_THAT(told(R"({"runs": [{"id": "a", "gpu": "h100", "work": "film"}]})"),
                HasSubstr("run \"a\" lacks"));
    EXPECT_THAT(told(R"({"runs": [{"id": "a", "gpu": "h100", "work": "step", "counts": {}}]})"),
                HasSubstr("\"gaussians\" is not a number"));
    const auto replacing = [&](const std::string& stage) {
        std::string text(embedded_asset("gpu/measured_times.json"));
        const std::string before = "\"replaced\": [\"emit\"";
        return told(
            text.replace(text.find(before), before.size(), "\"replaced\": [\"" + stage + "\""));
    };
    EXPECT_THAT(replacing("emission"), HasSubstr("unknown stage"));
    EXPECT_EQ(replacing("emit"), "none");
}

/// Two rows of the table, cell by cell. The model's current numbers may be a tenth off: they follow
/// the kernels' costs, and a changed instruction should not require a new page.
bool says_the_same(const std::string& a, const std::string& b) {
    if (a == b) return true;
    std::istringstream left(a), right(b);
    for (std::string x, y; std::getline(left, x, '|') && std::getline(right, y, '|');) {
        if (x == y) continue;
        const double p = std::atof(x.c_str()), q = std::atof(y.c_str());
        const bool percent = y.find('%') != y.npos, number = y.find('.') != y.npos;
        if (percent ? std::fabs(p - q) > 10 : number && std::fabs(p / q - 1) > 0.1) return false;
    }
    return true;
}

/// The table of docs/model.md, as Markdown.
std::string measured_table(const std::vector<ComparedStage>& rows) {
    std::string out, of;
    const auto error = [](double predicted, double ms) {
        return fmt::format("{:+.0f} %", 100 * (predicted / ms - 1));
    };
    for (const ComparedStage& row : rows) {
        const std::string title = fmt::format("{}, {}, {}", row.what, row.kind, row.gpu);
        if (title != of)
            out += fmt::format(
                "{}**{}**\n\n| stage | measured ms | predicted blind | | predicted now | | bound "
                "by |\n"
                "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
                of.empty() ? "" : "\n", title);
        of = title;
        out += fmt::format(
            "| {} | {:.3f} | {:.3f} | {} | {} | {} | {} |\n", name_of(row.measured.stage),
            row.measured.ms, row.measured.blind, error(row.measured.blind, row.measured.ms),
            row.replaced ? std::string("-") : fmt::format("{:.3f}", row.now),
            row.replaced ? std::string("kernels replaced") : error(row.now, row.measured.ms),
            row.replaced ? "" : name_of(row.bound_by));
    }
    return out;
}

TEST(MeasuredTimes, ThePageShowsThisTable) {
    const std::string table = measured_table(compared());
    std::istringstream shown(
        test::table_of_model_page("<!-- measured -->\n", "<!-- end of measured -->", table)),
        made(table);
    for (std::string a, b; std::getline(made, b);) {
        ASSERT_TRUE(std::getline(shown, a)) << b;
        EXPECT_TRUE(says_the_same(a, b))
            << a << "\n"
            << b << "\nGAUSSCOPE_STORE_MODEL_TABLE=1 build/tests/test_counted_work writes it";
    }
}

}  // namespace
}  // namespace gs
