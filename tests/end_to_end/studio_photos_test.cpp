// Photos that do not stay in memory, in the studio: whatever shows or measures them reads them,
// with the same result; and one that has gone is said.
#include <algorithm>

#include "app/session/parts/contact_sheet.h"
#include "panels/state/cost_report.h"
#include "panels/state/inspection.h"
#include "panels/state/photo_problems.h"
#include "panels/state/verify_report.h"
#include "tests/end_to_end/studio_costly.h"

namespace gs {
namespace {

SessionOptions with_photo_memory(std::uint64_t bytes) {
    SessionOptions options;
    options.capture.photo_memory = bytes;
    return options;
}

/// What parts of the studio made of the photos.
struct Seen {
    std::vector<std::vector<std::uint8_t>> pictures;
    std::vector<double> numbers;
    std::vector<std::string> rows;
};
Seen seen_with(std::uint64_t photo_memory) {
    Costly h(tiny_capture(), with_photo_memory(photo_memory));
    Seen out;
    const auto shown = [&](const char* command) {
        EXPECT_TRUE(h.give(command));
        const auto frame = h.look();
        EXPECT_EQ(frame->note, "");
        out.pictures.push_back(frame->rgba.bytes);
        out.numbers.push_back(frame->psnr);
    };
    for (const char* mode : {"view.mode photo", "view.mode error", "view.mode color"}) shown(mode);
    h.state.width = 40, h.state.height = 30;
    shown("view.mode error");
    h.state.width = 80, h.state.height = 60;
    shown("color.by error");
    EXPECT_TRUE(h.give("color.by off"));
    EXPECT_TRUE(h.give("inspect.pixel 30 20"));
    EXPECT_TRUE(h.until([&] { return h.state.inspection && h.state.inspection->pixel; }));
    const auto& of_pixel = h.state.inspection->pixel->photo;
    EXPECT_TRUE(of_pixel);
    if (of_pixel) out.numbers.insert(out.numbers.end(), {of_pixel->color.y, of_pixel->v_color.y});
    EXPECT_TRUE(h.give("cost.without 40"));
    EXPECT_TRUE(h.until([&] {
        return h.state.cost_report && h.state.cost_report->without &&
               h.state.cost_report->without->done == h.state.cost_report->without->photos;
    }));
    const CostWithout& without = *h.state.cost_report->without;
    out.numbers.insert(out.numbers.end(), {static_cast<double>(without.photos), without.psnr});
    EXPECT_TRUE(h.give("verify.frame"));
    EXPECT_TRUE(h.until([&] { return h.state.verified != nullptr; }));
    for (const ComparisonRow& row : h.state.verified->rows) out.rows.push_back(row.what);
    EXPECT_TRUE(h.give("problems.find"));
    EXPECT_TRUE(h.until([&] { return h.state.problems && h.state.problems->found; }));
    const FoundProblems& found = *h.state.problems->found;
    out.numbers.insert(out.numbers.end(), {static_cast<double>(found.photos), found.error_sum});
    for (const PhotoRegion& region : found.regions) {
        EXPECT_TRUE(region.crops);
        if (region.crops) out.pictures.push_back(region.crops->bytes);
    }
    h.session.send([](Engine& e) { e.part<ContactSheet>().want({.width = 40, .views = {3}}); });
    EXPECT_TRUE(h.until(
        [&] { return h.state.sheet && h.state.sheet->size() == 9 && (*h.state.sheet)[3]; }));
    out.pictures.push_back((*h.state.sheet)[3]->strip.bytes);
    EXPECT_TRUE(h.errors.empty());
    return out;
}

TEST(PhotosOnDisk, are_seen_and_measured_as_those_in_memory) {
    const Seen whole = seen_with(0), streamed = seen_with(1);
    EXPECT_GT(whole.pictures.size(), 6u);
    EXPECT_EQ(whole.pictures, streamed.pictures);
    EXPECT_EQ(whole.numbers, streamed.numbers);
    EXPECT_EQ(whole.rows, streamed.rows);
    EXPECT_TRUE(std::ranges::any_of(
        whole.rows, [](const std::string& row) { return row.find("loss") != std::string::npos; }));
}

TEST(PhotosOnDisk, one_that_has_gone_is_said) {
    const TemporaryFolder folder;
    const fs::path copy = folder.path() / "capture";
    fs::copy(tiny_capture(), copy, fs::copy_options::recursive);
    Costly h(copy.string(), with_photo_memory(1));
    const std::string name = (*h.state.cameras)[1].name;
    const auto file_of = [&](const std::string& photo) {
        fs::path file;
        for (const auto& entry : fs::recursive_directory_iterator(copy))
            if (entry.path().filename() == fs::path(photo).filename()) file = entry.path();
        return file;
    };
    const fs::path file = file_of(name), elsewhere = folder.path() / "elsewhere";
    fs::rename(file, elsewhere);
    ASSERT_TRUE(h.give("view.mode photo"));
    EXPECT_EQ(h.look()->note, "") << "the first is there";
    h.state.view.capture_view = 1;
    for (const char* mode : {"view.mode backward-time", "view.mode photo"}) {
        ASSERT_TRUE(h.give(mode));
        EXPECT_NE(h.look()->note.find(name), std::string::npos) << h.look()->note;
    }
    ASSERT_TRUE(h.give("problems.find"));
    ASSERT_TRUE(h.until([&] { return h.state.problems && h.state.problems->found; }));
    EXPECT_EQ(h.state.problems->found->photos, 8u);
    const auto said = [](const std::string& words, const std::string& of) {
        EXPECT_NE(words.find(of + " cannot be read"), std::string::npos) << words;
    };
    EXPECT_EQ(h.state.problems->found->unread.count, 1u);
    said(h.state.problems->found->unread.words(), name);
    ASSERT_TRUE(h.give("inspect.pixel 30 20"));
    ASSERT_TRUE(h.until([&] { return h.state.inspection && h.state.inspection->pixel; }));
    said(h.state.inspection->pixel->photo_problem, name);
    ASSERT_TRUE(h.give("verify.frame"));
    ASSERT_TRUE(h.until([&] { return h.state.verified != nullptr; }));
    said(h.state.verified->note, name);
    // Costs go by the two test photos.
    const std::string tested = (*h.state.cameras)[8].name;
    ASSERT_TRUE((*h.state.cameras)[8].test);
    fs::rename(file_of(tested), folder.path() / "another");
    ASSERT_TRUE(h.give("cost.without 40"));
    ASSERT_TRUE(h.until([&] {
        return h.state.cost_report && h.state.cost_report->without &&
               h.state.cost_report->without->unread.count > 0;
    }));
    said(h.state.cost_report->without->unread.words(), tested);
    h.session.send([](Engine& e) { e.part<ContactSheet>().want({.width = 40, .views = {1}}); });
    const auto thumbnail = [&] { return h.state.sheet ? (*h.state.sheet)[1] : nullptr; };
    ASSERT_TRUE(h.until([&] { return thumbnail() != nullptr; }));
    said(thumbnail()->problem, name);
    fs::rename(elsewhere, file);
    EXPECT_EQ(h.look()->note, "") << "it was put back";
    EXPECT_TRUE(h.until([&] { return thumbnail()->problem.empty(); })) << "tried again";
}

}  // namespace
}  // namespace gs
