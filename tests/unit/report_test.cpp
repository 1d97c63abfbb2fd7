// Reports: well-formed pages that hold the numbers they were given; of a run from its folder; notes
// as files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/bundle/notes_file.h"
#include "app/bundle/report.h"
#include "app/bundle/run_report.h"
#include "base/format.h"
#include "base/rng.h"
#include "renderer/io/images/image_io.h"
#include "tests/support/required.h"
#include "tests/support/temporary_folder.h"

namespace gs {
namespace {

/// Why the page is no well-formed XML; empty: it is.
std::string what_is_not_well_formed(std::string_view page) {
    std::vector<std::string> open;
    for (std::size_t at = 0; at < page.size(); ++at) {
        if (page[at] == '&') {
            const std::string_view entity = page.substr(at, page.find(';', at) + 1 - at);
            if (entity != "&lt;" && entity != "&gt;" && entity != "&amp;" && entity != "&quot;")
                return "a bare &";
        }
        if (page[at] == '>') return "a bare >";
        if (page[at] != '<') continue;
        bool quoted = false;
        const std::size_t begin = ++at;
        for (; at < page.size() && (quoted || page[at] != '>'); ++at) quoted ^= page[at] == '"';
        const std::string_view tag = page.substr(begin, at - begin);
        const std::string name(tag.substr(0, tag.find_first_of(" \n/", 1)));
        if (tag.front() == '!' || tag.back() == '/') continue;
        if (tag.front() != '/') {
            open.push_back(name);
            continue;
        }
        if (open.empty() || "/" + open.back() != std::string(tag)) return "closes <" + name;
        open.pop_back();
    }
    return open.empty() ? "" : "<" + open.back() + "> is open";
}

Report full_report() {
    Report out;
    out.title = "garden <b>& \"more\"";
    out.subtitle = "bytes \xff\xfe that are no text, and \x01 control";
    out.facts = {{"Gaussians", "398,214"}, {"test PSNR", "28.93 dB"}};
    out.notes = {"a floater <here> (#17 at step 400)"};
    out.plots = {{"loss", "", {{"", {{0, 0.3}, {100, 0.1}, {200, std::nan("")}, {300, 0.05}}}}, {}},
                 {"PSNR",
                  "dB",
                  {{"train", {{0, 12}, {300, 30}}}, {"test", {{300, 28}}}},
                  {{100, "lr_means 0.1 -> 0.2", false}, {200, "the loss rose", true}}},
                 {"nothing", "", {{"", {}}}, {}}};
    out.examined = true;
    out.findings = {{"needles",
                     Severity::warning,
                     "12 Gaussians are needles",
                     12,
                     {},
                     "slow",
                     "fix them",
                     true}};
    out.tables = {{"Stages", {"stage", "mean"}, {{"blend", "12.3 ms"}, {"sort", "1.2 ms"}}}};
    out.made = "gausscope";
    return out;
}

TEST(Report, IsWellFormedAndHoldsWhatItWasGiven) {
    Report report = full_report();
    const test::TemporaryFolder folder;
    Image8 image{4, 2, 3, std::vector<std::uint8_t>(24, 200)};
    ASSERT_TRUE(write_png(folder / "p.png", image));
    auto picture = required(report_picture("a \"picture\"", folder / "p.png"));
    report.pictures.push_back(std::move(picture));
    const std::string page = report_html(report);
    EXPECT_EQ(what_is_not_well_formed(page), "");
    for (const char* wanted :
         {"garden &lt;b&gt;&amp; &quot;more&quot;", "398,214", "28.93 dB",
          "a floater &lt;here&gt; (#17 at step 400)", "12 Gaussians are needles", "12.3 ms",
          "data:image/png;base64,iVBORw0KGgo", "lr_means 0.1 -&gt; 0.2", "<svg", "\xEF\xBF\xBD",
          "prefers-color-scheme:dark"})
        EXPECT_NE(page.find(wanted), std::string::npos) << wanted;
    // It needs nothing else, and runs nothing.
    for (const char* unwanted : {"<script", "src=\"http", "href=", "url(", "\x01", "\xff"})
        EXPECT_EQ(page.find(unwanted), std::string::npos) << unwanted;
    // A line without two points is no plot.
    EXPECT_EQ(page.find("<title>nothing</title>"), std::string::npos);
}

TEST(Report, TextsOfAnyBytesStayText) {
    for (std::uint64_t i = 0; i < 300; ++i) {
        std::string text;
        for (std::uint64_t k = 0; k < 40; ++k)
            text += static_cast<char>(random_bits(7, i, k) & 255U);
        Report report;
        report.title = text;
        report.tables = {{text, {text}, {{text}}}};
        const std::string page = report_html(report);
        EXPECT_EQ(what_is_not_well_formed(page), "") << i;
        // What nlohmann takes is UTF-8.
        EXPECT_NO_THROW((void)nlohmann::json(html_text(text)).dump()) << i;
    }
}

TEST(Report, Base64IsAsTheStandardHasIt) {  // RFC 4648, section 10
    const auto of = [](std::string_view text) { return base64_of(std::as_bytes(std::span(text))); };
    EXPECT_EQ(of(""), "");
    EXPECT_EQ(of("f"), "Zg==");
    EXPECT_EQ(of("fo"), "Zm8=");
    EXPECT_EQ(of("foo"), "Zm9v");
    EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

TEST(Report, OfARunSaysWhatIsMissing) {
    const test::TemporaryFolder folder;
    const auto none = report_of_run(folder.path() / "nowhere", false);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::not_found);
    const auto empty = report_of_run(folder.path(), false);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().kind, ErrorKind::usage);
    // A run that was killed has its model, and little else; what is damaged is left out.
    ASSERT_TRUE(write_text_file(folder / "point_cloud.ply", "ply\n"));
    ASSERT_TRUE(write_text_file(folder / "metrics.json", "{\"steps\": 12, \"test\": 3"));
    ASSERT_TRUE(write_text_file(folder / "notes.json", "[]"));
    const auto damaged = required(report_of_run(folder.path(), true));
    for (const char* what : {"run.json", "metrics.json", "metrics.csv", "notes.json"})
        EXPECT_NE(damaged.subtitle.find(what), std::string::npos) << damaged.subtitle;
    EXPECT_EQ(what_is_not_well_formed(report_html(damaged)), "");
}

TEST(Report, OfARunHoldsItsNumbers) {
    const test::TemporaryFolder folder;
    ASSERT_TRUE(write_text_file(folder / "point_cloud.ply", "ply\n"));
    ASSERT_TRUE(
        write_text_file(folder / "metrics.json",
                        R"({"steps": 1200, "gaussians": 34567, "backend": "CPU", "seconds": 75.2,
            "test": {"psnr": 27.123, "ssim": 0.91, "images": [{"name": "a.jpg", "psnr": 25.5, "ssim": 0.9, "l1": 0.02}]},
            "train": {"loss": 0.0421}, "settings": {"lr_means": 0.00016},
            "stages": [{"name": "blend", "ms_mean": 3.25, "ms_p50": 3, "ms_p95": 4, "share": 0.5, "samples": 9}]})"));
    ASSERT_TRUE(write_text_file(
        folder / "metrics.csv",
        "step,loss,l1,ssim,psnr,milliseconds,gaussians,visible,isects,view,lr_means\n"
        "1,0.3,0.1,0.5,12,40,1000,900,5000,3,0.00016\n2,0.2,0.1,0.5,14,41,1100,900,5000,4,0."
        "00016\n"));
    ASSERT_TRUE(write_text_file(folder / "notes.json",
                                notes_json({{NoteOn::gaussian, "look", {1, 2, 3}, 17, 400}})));
    const auto report = required(report_of_run(folder.path(), false));
    const std::string page = report_html(report);
    for (const char* wanted : {"1,200", "34,567", "27.12 dB", "a.jpg", "25.5", "0.00016", "blend",
                               "3.25 ms", "look (#17 at step 400)", "<title>loss</title>"})
        EXPECT_NE(page.find(wanted), std::string::npos) << wanted;
    EXPECT_EQ(what_is_not_well_formed(page), "");
}

TEST(Notes, ComeBackAsTheyWere) {
    const std::vector<Note> notes{
        {NoteOn::place, "a \"place\"\nin two lines", {1.5, -2.25, 1e-7}, 0, 12},
        {NoteOn::gaussian, "a Gaussian", {0.1, 0.2, 0.3}, 123456789, 400},
        {NoteOn::span, "slow", {}, 0, 0, 123, 456, "blend on engine"},
        {NoteOn::gaussian, "of a run", {1, 2, 3}, 5, 7, 0, 0, "", 99}};
    const auto back = required(parse_notes(notes_json(notes), "notes.json"));
    EXPECT_EQ(back, notes);
    const test::TemporaryFolder folder;
    const auto none = required(read_notes(folder / "none.json"));
    EXPECT_TRUE(none.empty());
}

TEST(Notes, WhatIsNoneIsSaid) {
    const auto said = [](const std::string& list,
                         const std::string& head = R"("format":"gausscope notes","version":1)") {
        const auto parsed = parse_notes("{" + head + ",\"notes\":" + list + "}", "n.json");
        return parsed ? "" : parsed.error().text();
    };
    EXPECT_EQ(said("[]"), "");
    EXPECT_NE(said("3"), "");
    EXPECT_NE(said("[]", R"("format":"other","version":1)"), "");
    EXPECT_NE(said("[]", R"("format":"gausscope notes","version":2)").find("newer"),
              std::string::npos);
    for (const char* note :
         {"{}", R"({"on":"place"})", R"({"on":"place","text":""})",
          R"({"on":"place","text":"a","point":[1,2]})",
          R"({"on":"place","text":"a","point":[1,2,"x"]})",
          R"({"on":"gaussian","text":"a","point":[1,2,3],"row":-1})",
          R"({"on":"span","text":"a","begin_ns":5,"end_ns":3})", R"({"on":"x","text":"a"})",
          R"({"on":"place","text":"a","point":[1,2,3],"step":0.5})"})
        EXPECT_NE(said("[" + std::string(note) + "]").find("note 1"), std::string::npos) << note;
    EXPECT_NE(said("[{\"on\":\"place\",\"point\":[0,0,0],\"text\":\"" +
                   std::string(kLongestNote + 1, 'x') + "\"}]"),
              "");
}

}  // namespace
}  // namespace gs
