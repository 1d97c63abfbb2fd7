// The performance model against published times: its errors are those of docs/model.md, no more.
// GAUSSCOPE_STORE_MODEL_TABLE=1 rewrites the page's table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiler/predict/validation.h"
#include "tests/unit/model_page.h"

namespace gs {
namespace {

using ::testing::HasSubstr;

const ModelValidation& validation() {
    static const ModelValidation kValidation = validate_model(published_times(), gpu_devices());
    return kValidation;
}

TEST(PredictPublished, ThroughputIsPredictedBlindWithinAQuarter) {
    int rows = 0, ratios = 0;
    for (const ValidatedTime& v : validation().rows) {
        if (v.row.kind == PublishedKind::throughput) {
            ++rows;
            EXPECT_LE(std::fabs(v.log_error()), std::log(1.25)) << v.row.id << " " << v.predicted;
            EXPECT_EQ(v.row.miss, "") << v.row.id;
        } else if (v.row.kind == PublishedKind::ratio) {
            ++ratios;
            EXPECT_LE(std::fabs(v.log_error()), std::log(1.25)) << v.row.id << " " << v.predicted;
        } else {
            EXPECT_NE(v.row.miss, "") << v.row.id;
        }
    }
    EXPECT_GE(rows, 6);
    EXPECT_GE(ratios, 4);
}

TEST(PredictPublished, WhatIsMissedIsMissedByFixedCosts) {
    for (const ValidatedTime& v : validation().rows)
        if (v.row.kind == PublishedKind::fixed) {
            EXPECT_LT(v.predicted, v.row.published) << v.row.id;
        }
}

TEST(PredictPublished, TheBandOfMemoryIsTheSpreadOfItsErrors) {
    double squares = 0, count = 0;
    for (const ValidatedTime& v : validation().rows)
        if (v.row.kind == PublishedKind::throughput && v.row.of_memory()) {
            squares += v.log_error() * v.log_error();
            ++count;
        }
    EXPECT_NEAR(validation().fit.memory_log_sd, std::max(0.1, std::sqrt(squares / count)), 1e-12);
    EXPECT_GT(validation().log_sd_with_misses, 2 * validation().fit.memory_log_sd);
    EXPECT_GT(validation().fit.bandwidth_use, 0.6);
    EXPECT_LT(validation().fit.bandwidth_use, 1.0);
    EXPECT_EQ(published_fit().bandwidth_use, validation().fit.bandwidth_use);
}

/// One row is no spread: what instructions bind is as sure as a kernel that nobody has run.
TEST(PredictPublished, TheBandOfInstructionsIsThatOfBlindPredictions) {
    EXPECT_GE(validation().fit.instruction_log_sd, 0.15);
    int rows = 0;
    for (const ValidatedTime& v : validation().rows)
        if (v.row.kind == PublishedKind::throughput && !v.row.of_memory()) {
            ++rows;
            EXPECT_LT(v.least, v.predicted) << "what it assumes is drawn";
            EXPECT_GT(v.most, v.predicted);
            EXPECT_LT(v.square_error(), std::pow(std::log(v.most / v.row.published), 2));
            EXPECT_NEAR(validation().instruction_rows_log_sd, std::sqrt(v.square_error()), 1e-12);
        }
    EXPECT_EQ(rows, 1) << "more rows have a spread: see kLeastInstructionBand";
}

TEST(PredictPublished, ARowIsPredictedWithoutItself) {
    std::vector<PublishedTime> rows = published_times();
    const auto sort = std::ranges::find(rows, "sort-a100", &PublishedTime::id);
    ASSERT_NE(sort, rows.end());
    const auto predicted = [&] {
        for (const ValidatedTime& v : validate_model(rows, gpu_devices()).rows)
            if (v.row.id == "sort-a100") return v.predicted;
        return 0.0;
    };
    const double before = predicted();
    sort->published *= 3;  // what it took has no say in what is predicted for it
    EXPECT_DOUBLE_EQ(predicted(), before);
    EXPECT_GT(validate_model(rows, gpu_devices()).fit.memory_log_sd,
              validation().fit.memory_log_sd);
}

TEST(PredictPublished, DamagedRowsAreTold) {
    const auto error_of = [](const std::string& row) {
        const auto read = parse_published_times("{\"rows\": [" + row + "]}", "times.json");
        return read ? std::string("none") : read.error().text();
    };
    EXPECT_THAT(error_of(R"({"id": "a"})"), HasSubstr("row \"a\" lacks"));
    EXPECT_THAT(
        error_of(R"({"id": "a", "kind": "throughput", "gpu": "x", "source": "s", "ms": 1})"),
        HasSubstr("has nothing to predict"));
    EXPECT_THAT(error_of(R"({"id": "a", "kind": "other", "gpu": "x", "source": "s", "ms": 1})"),
                HasSubstr("lacks its kind"));
    EXPECT_FALSE(parse_published_times("{}", "times.json").has_value());
}

/// The table of docs/model.md, as Markdown.
std::string validation_table(const ModelValidation& validation) {
    std::string out =
        "| what | GPU | published | predicted | error | |\n| --- | --- | ---: | ---: | ---: | --- "
        "|\n";
    for (const ValidatedTime& v : validation.rows) {
        const bool ratio = v.row.kind == PublishedKind::ratio;
        const double error = 100 * (v.predicted / v.row.published - 1);
        const std::string remark =
            !v.row.miss.empty() ? "missed: " + v.row.miss
            : v.most > v.least
                ? fmt::format("{:.1f} to {:.1f} ms over what it assumes", v.least, v.most)
                : std::string();
        out += fmt::format("| {} | {} | {:.3g}{} | {:.3g}{} | {:+.0f} % | {} |\n", v.row.what,
                           v.row.gpu, v.row.published, ratio ? "" : " ms", v.predicted,
                           ratio ? "" : " ms", error, remark);
    }
    return out +
           fmt::format(
               "\nBands (log): memory {:.2f}, with the misses {:.2f}; instructions {:.2f} (its "
               "one row alone {:.2f});\nlatencies and launches {:.2f}.\n",
               validation.fit.memory_log_sd, validation.log_sd_with_misses,
               validation.fit.instruction_log_sd, validation.instruction_rows_log_sd,
               validation.fit.latency_log_sd);
}

TEST(PredictPublished, ThePageShowsThisTable) {
    const std::string table = validation_table(validation());
    EXPECT_EQ(
        test::table_of_model_page("<!-- validation -->\n", "<!-- end of validation -->", table),
        table)
        << "GAUSSCOPE_STORE_MODEL_TABLE=1 build/tests/test_predict writes it";
}

}  // namespace
}  // namespace gs
