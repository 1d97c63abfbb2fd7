// What the studio reads of a lab's database: rows newest first, the worst photo of each, names that
// can be compared, and a comparison or why there is none.
#include <gtest/gtest.h>

#include "app/lab/lab_file.h"
#include "app/session/parts/lab_reading.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

lab::LabRun lab_run(const char* label, std::uint64_t seed, double psnr) {
    return {.of = {label, "abcdef012345", "tiny", "toys", "default", "cpu", seed, "how"},
            .ended_s = 100 + static_cast<std::int64_t>(seed),
            .folder = "/nowhere",
            .values = {{"Gaussians", "", 1200}, {"training", "s", 3}},
            .photos = {{"a.jpg", psnr + 1, 0.9, 0.01}, {"b.jpg", psnr - 1, 0.8, 0.02}}};
}

TEST(LabReading, SaysWhatIsRecorded) {
    const test::TemporaryFolder folder;
    const fs::path path = folder / "lab.db";
    {
        const auto file = required(lab::LabFile::open(path));
        for (const std::uint64_t seed : {1, 2, 3}) {
            const double noise = 0.01 * static_cast<double>(seed);
            ASSERT_TRUE(file.add(lab_run("before", seed, 20 + noise)));
            ASSERT_TRUE(file.add(lab_run("after", seed, 21 - noise)));
        }
    }
    const auto read =
        required(read_lab(path, std::pair<std::string, std::string>{"before", "after"}));
    ASSERT_EQ(read.runs.size(), 6u);
    const LabRunRow& newest = read.runs.front();
    EXPECT_EQ(newest.seed, 3u);
    EXPECT_EQ(newest.worst_photo, "b.jpg");
    EXPECT_DOUBLE_EQ(newest.worst_psnr, newest.psnr - 1);
    EXPECT_EQ(newest.gaussians, 1200);
    EXPECT_EQ(newest.folder, "") << "its files are gone";
    EXPECT_EQ(read.names, (std::vector<std::string>{"after", "before"}));
    ASSERT_TRUE(read.compared);
    EXPECT_EQ(read.compared->pairs, 3u);
    EXPECT_EQ(read.compared->metrics.front().name, "PSNR");
    EXPECT_EQ(read.compared->metrics.front().verdict, "better");
    EXPECT_NEAR(read.compared->metrics.front().difference, 0.96, 1e-9);
    EXPECT_EQ(read.compared->worst.size(), 2u);
    const auto nobody =
        required(read_lab(path, std::pair<std::string, std::string>{"before", "nobody"}));
    EXPECT_FALSE(nobody.compared);
    EXPECT_NE(nobody.not_compared.find("nobody"), std::string::npos);
    EXPECT_EQ(nobody.runs.size(), 6u);
}

TEST(LabReading, SaysWhatIsNoDatabase) {
    const test::TemporaryFolder folder;
    EXPECT_FALSE(read_lab(folder / "none.db", std::nullopt));
    ASSERT_TRUE(write_text_file(folder / "text.db", "no database"));
    EXPECT_FALSE(read_lab(folder / "text.db", std::nullopt));
}

}  // namespace
}  // namespace gs
