// Every finding of the doctor has a model or capture that it must be found in; the sound ones have
// none. fix() leaves nothing fixable behind, and takes nothing else away. Real files have no
// finding of the gravest kind.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "renderer/doctor/doctor.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "tests/support/data.h"
#include "tests/support/random_scene.h"
#include "tests/unit/io_files.h"
#include "tests/unit/sound_capture.h"

namespace gs::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Nothing is wrong with it: 200 round Gaussians of degree 1 in a cube of side 2.
GaussianModel sound_splats() {
    GaussianModel m(200, 1);
    for (std::size_t i = 0; i < m.count; ++i) {
        for (int c = 0; c < 3; ++c) {
            m.at(kMeans + c, i) =
                static_cast<float>(random_in(1, static_cast<std::uint64_t>(c), i, -1, 1));
            m.at(kLogScales + c, i) = -4.0f + 0.5f * static_cast<float>(c);
            m.at(kShRest + c, i) = 0.1f;
        }
        m.at(kOpacityLogits, i) = 1;
    }
    return m;
}

std::string ids_of(const std::vector<Finding>& findings) {
    std::string out;
    for (const Finding& f : findings) out += f.id + " ";
    return out;
}
void expect_complete(const std::vector<Finding>& findings) {
    for (const Finding& f : findings) {
        EXPECT_FALSE(f.what.empty() || f.consequence.empty() || f.advice.empty()) << f.id;
        EXPECT_GT(f.count, 0u) << f.id;
        EXPECT_LE(f.examples.size(), kFindingExamples) << f.id;
    }
    EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater{}, &Finding::severity));
}

struct SplatCase {
    const char* id;
    Severity severity;
    std::uint64_t count;
    bool fixable;
    std::function<void(GaussianModel&)> spoil;
};

void copy_row(GaussianModel& m, std::size_t from, std::size_t to) {
    for (int p = 0; p < m.planes(); ++p) m.at(p, to) = m.at(p, from);
}

const std::vector<SplatCase>& splat_cases() {
    static const std::vector<SplatCase> cases{
        {"not-finite-positions", Severity::error, 2, true,
         [](GaussianModel& m) { m.at(kMeans, 17) = kNaN, m.at(kMeans + 2, 18) = -kInf; }},
        {"not-finite-sizes", Severity::error, 2, true,
         [](GaussianModel& m) { m.at(kLogScales, 17) = kNaN, m.at(kLogScales, 18) = kInf; }},
        {"not-finite-rotations", Severity::error, 1, true,
         [](GaussianModel& m) { m.at(kQuats + 1, 17) = kInf; }},
        {"not-finite-opacities", Severity::error, 1, true,
         [](GaussianModel& m) { m.at(kOpacityLogits, 17) = kNaN; }},
        {"not-finite-colors", Severity::error, 1, true,
         [](GaussianModel& m) { m.at(kSh0 + 2, 17) = -kInf; }},
        {"not-finite-harmonics", Severity::error, 1, true,
         [](GaussianModel& m) { m.at(kShRest + 8, 17) = kNaN; }},
        {"degenerate-rotations", Severity::warning, 3, true,
         [](GaussianModel& m) {
             m.at(kQuats, 17) = 0;
             m.at(kQuats, 18) = 1e25f;
             m.at(kQuats, 19) = 1e-30f;
         }},
        {"zero-sizes", Severity::note, 2, true,
         [](GaussianModel& m) { m.at(kLogScales, 17) = -kInf, m.at(kLogScales + 1, 18) = -200; }},
        {"huge-sizes", Severity::warning, 2, true,
         [](GaussianModel& m) {
             for (const std::size_t i : {17u, 18u})
                 for (int c = 0; c < 3; ++c) m.at(kLogScales + c, i) = i == 17 ? 8.0f : 300.0f;
         }},
        {"outliers", Severity::warning, 1, false,
         [](GaussianModel& m) { m.at(kMeans + 1, 17) = -40; }},
        {"needles", Severity::note, 1, false,
         [](GaussianModel& m) { m.at(kLogScales, 17) = m.at(kLogScales + 1, 17) = -9; }},
        {"blobs", Severity::note, 1, false,
         [](GaussianModel& m) {
             for (int c = 0; c < 3; ++c) m.at(kLogScales + c, 17) = -1;
         }},
        {"invisible", Severity::note, 2, true,
         [](GaussianModel& m) { m.at(kOpacityLogits, 17) = -6, m.at(kOpacityLogits, 18) = -kInf; }},
        {"duplicates", Severity::warning, 2, true,
         [](GaussianModel& m) { copy_row(m, 3, 17), copy_row(m, 3, 18); }},
        {"shared-positions", Severity::note, 1, false,
         [](GaussianModel& m) { copy_row(m, 3, 17), m.at(kSh0, 17) = 0.5f; }},
        {"unused-harmonics", Severity::note, 9, true,
         [](GaussianModel& m) {
             for (int p = kShRest; p < m.planes(); ++p) std::fill_n(m.plane(p), m.count, 0.0f);
         }},
        {"world-scale", Severity::warning, 1, false,
         [](GaussianModel& m) {
             for (int p = 0; p < 3; ++p)
                 for (std::size_t i = 0; i < m.count; ++i) m.at(p, i) *= 1e6f;
         }},
        {"empty", Severity::warning, 1, false, [](GaussianModel& m) { m = GaussianModel(0, 0); }},
    };
    return cases;
}

TEST(DoctorSplats, NothingIsFoundInSoundOnes) {
    EXPECT_EQ(ids_of(examine(sound_splats()).findings), "");
    GaussianModel opaque = sound_splats();
    opaque.at(kOpacityLogits, 5) = kInf;  // an opacity of exactly 1
    EXPECT_EQ(ids_of(examine(opaque).findings), "");
    GaussianModel discs = sound_splats();
    for (std::size_t i = 0; i < discs.count; ++i) discs.at(kLogScales, i) = -20;
    EXPECT_EQ(ids_of(examine(discs).findings), "") << "flat is no needle";
}

TEST(DoctorSplats, FindsWhatIsWrongAndNothingElse) {
    for (const SplatCase& c : splat_cases()) {
        GaussianModel m = sound_splats();
        c.spoil(m);
        const auto findings = examine(m).findings;
        expect_complete(findings);
        EXPECT_EQ(ids_of(findings), std::string(c.id) + " ");
        if (findings.size() != 1) continue;
        EXPECT_EQ(findings[0].severity, c.severity) << c.id;
        EXPECT_EQ(findings[0].count, c.count) << c.id;
        EXPECT_EQ(findings[0].fixable, c.fixable) << c.id;
        if (!findings[0].examples.empty()) {
            EXPECT_EQ(findings[0].examples[0], "#17") << c.id;
        }
        const auto rows = rows_of_finding(m, c.id);
        ASSERT_EQ(rows.empty(), !findings[0].of_gaussians) << c.id;
        if (rows.empty()) continue;
        EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}), c.count) << c.id;
        EXPECT_EQ(rows[17], 1) << c.id;
    }
}

// 3,000 in a scene of 12 units, as a user planted them: three far away, three axes as large as a
// town.
TEST(DoctorSplats, WhatStraysDoesNotHideItselfNorWhatIsHuge) {
    GaussianModel m(3000, 0);
    for (std::size_t i = 0; i < m.count; ++i) {
        for (int c = 0; c < 3; ++c) {
            m.at(kMeans + c, i) =
                static_cast<float>(random_in(5, static_cast<std::uint64_t>(c), i, -6, 6));
            m.at(kLogScales + c, i) = -3;
        }
        m.at(kOpacityLogits, i) = 1;
    }
    EXPECT_EQ(ids_of(examine(m).findings), "");
    for (const std::size_t i : {100u, 200u, 300u}) {
        m.at(kMeans + 1, i) = 500;
        m.at(kLogScales, i + 7) = 12;  // e^12 = 1.6e5
    }
    const auto findings = examine(m).findings;
    const Finding *outliers = find(findings, "outliers"), *huge = find(findings, "huge-sizes");
    ASSERT_TRUE(outliers != nullptr && huge != nullptr) << ids_of(findings);
    EXPECT_EQ(outliers->count, 3u);
    EXPECT_EQ(outliers->examples[0], "#100");
    EXPECT_EQ(huge->count, 3u);
    EXPECT_EQ(huge->examples[0], "#107");
    EXPECT_EQ(fix(m, std::vector<std::string>{"huge-sizes"}).model.count, 2997u);
    // A twentieth of it may lie where a distant background does, and is no outlier.
    for (std::size_t i = 0; i < m.count; i += 20) m.at(kMeans + 2, i) = 40;
    const auto far = examine(m).findings;
    ASSERT_NE(find(far, "outliers"), nullptr);
    EXPECT_EQ(find(far, "outliers")->count, 3u);
}

TEST(DoctorSplats, AWorldThatIsTooSmallToBeDrawnIsTold) {
    GaussianModel m = sound_splats();  // 2 units across
    for (std::size_t i = 0; i < m.count; ++i)
        for (int c = 0; c < 3; ++c) m.at(kMeans + c, i) *= 6.5e-4f, m.at(kLogScales + c, i) -= 7.3f;
    const auto findings = examine(m).findings;
    ASSERT_EQ(ids_of(findings), "world-scale ");
    EXPECT_NE(findings[0].consequence.find("0.01 or 0.2 units"), std::string::npos);
}

TEST(DoctorSplats, OneIsSpokenOfAsOneAndNumbersThatAreNoneAreToldOnce) {
    GaussianModel m = sound_splats();
    m.at(kMeans, 17) = kNaN;
    m.at(kQuats, 18) = 0;
    const SplatQuestions q{
        .notes = {"1 Gaussian has values that are NaN or infinite", "scale_2 is missing"}};
    const auto findings = examine(m, q).findings;
    ASSERT_EQ(ids_of(findings), "not-finite-positions degenerate-rotations reader ");
    EXPECT_EQ(findings[0].what, "1 Gaussian has a position that is NaN or infinite");
    EXPECT_EQ(findings[2].what, "scale_2 is missing");
    const Fixed fixed = fix(m);
    EXPECT_EQ(fixed.changes,
              (std::vector<std::string>{"1 Gaussian given a quaternion of length one",
                                        "1 Gaussian with non-numeric values removed"}));
    EXPECT_EQ(ids_of(examine(fixed.model, q).findings), "reader ");
}

TEST(DoctorSplats, FixMendsWhatItSaysAndNothingElse) {
    for (const SplatCase& c : splat_cases()) {
        GaussianModel m = sound_splats();
        c.spoil(m);
        const std::vector<std::string> other{"no-such-finding"}, own{c.id};
        EXPECT_TRUE(fix(m, other).changes.empty()) << c.id;
        const Fixed fixed = fix(m, own);
        EXPECT_EQ(fixed.changes.size(), c.fixable ? 1u : 0u) << c.id;
        EXPECT_EQ(find(examine(fixed.model).findings, c.id) == nullptr, c.fixable) << c.id;
        EXPECT_GE(fixed.model.count + 2, m.count) << c.id;
    }
    EXPECT_TRUE(fix(sound_splats()).changes.empty());
}

TEST(DoctorSplats, NothingFixableIsLeftOfAllAtOnce) {
    GaussianModel m(200 * 16, 1);
    for (std::size_t i = 0; i < m.count; ++i) {
        const GaussianModel one = sound_splats();
        for (int p = 0; p < m.planes(); ++p)
            m.at(p, i) = one.at(p, i % 200) + (p < 3 ? 0.001f * float(i / 200) : 0);
    }
    for (int value = 0; value < 400; ++value) {
        const auto row =
            static_cast<std::size_t>(random_in(3, 0, static_cast<std::uint64_t>(value), 0, 3199));
        const auto plane = static_cast<int>(
            random_in(3, 1, static_cast<std::uint64_t>(value), 0, m.planes() - 1e-3));
        const float values[] = {kNaN, kInf, -kInf, 0, 90, -90, 1e25f, 20};
        m.at(plane, row) = values[value % 8];
    }
    for (std::size_t i = 0; i < 50; ++i) copy_row(m, 40 * i, 40 * i + 7);
    const SplatReport before = examine(m);
    const std::string all = ids_of(before.findings);
    EXPECT_GT(before.findings.size(), 8u) << all;
    const Fixed fixed = fix(m);
    EXPECT_FALSE(fixed.changes.empty());
    EXPECT_GT(fixed.model.count, 2500u);
    for (const Finding& f : examine(fixed.model).findings) EXPECT_FALSE(f.fixable) << f.id;
}

TEST(DoctorSplats, ManyRowsInOnePlaceAndAnyThreadCount) {
    GaussianModel m(100'000, 0);
    for (std::size_t i = 0; i < m.count; ++i)
        m.at(kSh0, i) = static_cast<float>(i % 1000), m.at(kOpacityLogits, i) = 1;
    const int threads = thread_count();
    std::vector<std::string> texts;
    for (const int n : {1, 3}) {
        set_thread_count(n);
        const auto report = examine(m);
        ASSERT_EQ(ids_of(report.findings), "duplicates shared-positions ");
        EXPECT_EQ(report.findings[0].count, 99'000u);
        EXPECT_EQ(report.findings[1].count, 999u);
        EXPECT_EQ(report.findings[0].examples[0], "#1000");
        texts.push_back(report.findings[0].what + std::to_string(report.now.isects));
    }
    set_thread_count(threads);
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_EQ(fix(m).model.count, 1000u);
}

TEST(DoctorSplats, MemoryIsComparedWithWhatThereIs) {
    const GaussianModel m = sound_splats();
    SplatQuestions q{.cap = 5'000'000};
    q.host_bytes = q.device_bytes = 1ull << 40;
    q.notes = {"scale_2 is missing"};
    const SplatReport roomy = examine(m, q);
    EXPECT_EQ(ids_of(roomy.findings), "reader ");
    EXPECT_EQ(roomy.now.parameters, 200u * 23 * 4);
    EXPECT_EQ(roomy.at_cap.optimizer, 5'000'000ull * (23 * 8 + 16));
    EXPECT_GE(roomy.now.isects, 200u);
    // More Gaussians are smaller ones, as for predicted times.
    const double lists = static_cast<double>(roomy.now.isects) * std::pow(5e6 / 200, 0.7);
    EXPECT_NEAR(static_cast<double>(roomy.at_cap.isects), lists, 0.01 * lists);
    q.host_bytes = q.device_bytes = 1 << 20;
    const SplatReport tight = examine(m, q);
    expect_complete(tight.findings);
    for (const char* id :
         {"memory-host", "memory-device", "memory-host-training", "memory-device-training"})
        EXPECT_NE(find(tight.findings, id), nullptr) << id;
    EXPECT_EQ(worst_of(tight.findings), Severity::warning);
}

struct CaptureCase {
    const char* id;
    Severity severity;
    std::uint64_t count;
    std::function<void(Capture&)> spoil;
};

const std::vector<CaptureCase>& capture_cases() {
    static const std::vector<CaptureCase> cases{
        {"no-training-views", Severity::error, 1,
         [](Capture& c) {
             for (View& v : c.views) v.test = true;
         }},
        {"no-test-views", Severity::note, 1,
         [](Capture& c) {
             for (View& v : c.views) v.test = false;
         }},
        {"few-views", Severity::warning, 2, [](Capture& c) { c.views.resize(2); }},
        {"photos-left-out", Severity::warning, 6,
         [](Capture& c) { c.skipped.assign(6, "a.png: no such photo"); }},
        {"photos-left-out", Severity::warning, 3,
         [](Capture& c) {
             c.skipped.assign(1, "a.png: no such photo");
             c.missing.assign(2, "b.png: no such photo");
         }},
        {"photos-left-out", Severity::error, 16,
         [](Capture& c) { c.missing.assign(c.views.size(), "a.png: no such photo"); }},
        {"masks", Severity::warning, 1,
         [](Capture& c) {
             c.notes = {{"masks not used: none", CaptureNote::Kind::mask}};
         }},
        {"split", Severity::warning, 1,
         [](Capture& c) {
             c.notes = {{"1 name fits no photo", CaptureNote::Kind::split}};
         }},
        {"photo-size", Severity::warning, 1,
         [](Capture& c) {
             c.notes = {{"3 photos of another size", CaptureNote::Kind::photo_size}};
         }},
        {"lens", Severity::note, 1,
         [](Capture& c) {
             c.notes = {{"3 photos through another lens", CaptureNote::Kind::lens}};
         }},
        {"own-lens", Severity::note, 1,
         [](Capture& c) {
             c.notes = {{"3 photos through their own lens", CaptureNote::Kind::own_lens}};
         }},
        {"rolling-shutter", Severity::note, 1,
         [](Capture& c) {
             c.notes = {{"3 photos have a rolling shutter", CaptureNote::Kind::shutter}};
         }},
        {"loading", Severity::note, 1,
         [](Capture& c) { c.notes = {{"2 points resampled from nowhere"}}; }},
        {"photos-without-pose", Severity::note, 1, [](Capture& c) { c.unposed = {"a.jpg"}; }},
        {"photos-without-pose", Severity::warning, 7,
         [](Capture& c) { c.unposed.assign(7, "a.jpg"); }},
        {"random-points", Severity::note, 300, [](Capture& c) { c.points_are_random = true; }},
        {"rough-poses", Severity::warning, 1, [](Capture& c) { c.reprojection_px = 2.5; }},
        {"few-points", Severity::warning, 99, [](Capture& c) { c.points.resize(99); }},
        {"off-centre", Severity::note, 1, [](Capture& c) { c.views[4].camera.cx += 17; }},
        {"mixed-sizes", Severity::note, 2,
         [](Capture& c) { c.views[4].camera = c.views[4].camera.scaled_to(160, 120); }},
        {"tiny-photos", Severity::warning, 16,
         [](Capture& c) {
             for (View& v : c.views) v.camera = v.camera.scaled_to(60, 45);
         }},
        {"huge-photos", Severity::note, 16,
         [](Capture& c) {
             for (View& v : c.views) v.camera = v.camera.scaled_to(8800, 6600);
         }},
        {"duplicate-cameras", Severity::warning, 1,
         [](Capture& c) { c.views[4].camera = c.views[2].camera; }},
        {"looking-away", Severity::warning, 1,
         [](Capture& c) {
             c.views[4].camera = look_at({4, 0, 0}, {9, 0, 0}, {0, 0, 1}, 320, 240, 0.9);
         }},
        {"world-scale", Severity::warning, 1,
         [](Capture& c) {
             for (View& v : c.views) v.camera.translation = 1e6 * v.camera.translation;
             for (SparsePoint& p : c.points) p.position = 1e6f * p.position;
         }},
        {"no-parallax", Severity::warning, 1,
         [](Capture& c) {
             for (std::size_t i = 0; i < c.views.size(); ++i)
                 c.views[i].camera = look_at({4, 1e-5 * static_cast<double>(i), 1}, {0, 0, 0},
                                             {0, 0, 1}, 320, 240, 0.9);
         }},
    };
    return cases;
}

TEST(DoctorCapture, NothingIsFoundInASoundOne) { EXPECT_EQ(ids_of(examine(sound_capture())), ""); }

// As `info` loads it.
TEST(DoctorCapture, MissingPhotosAreFoundWithoutDecodingAny) {
    const TempFolder folder;
    ColmapFiles files{.names = {"a.png", "b.png", "c.png", "d.png"}};
    files.write_capture(folder);
    const auto left_out = [&]() -> std::pair<std::uint64_t, Severity> {
        const auto capture = load_capture(folder.path(), {.photos = false});
        EXPECT_TRUE(capture) << capture.error().text();
        for (const Finding& f : examine(*capture))
            if (f.id == "photos-left-out") return {f.count, f.severity};
        return {0, Severity::note};
    };
    EXPECT_EQ(left_out(), std::pair(std::uint64_t{0}, Severity::note));
    fs::remove(folder / "images/b.png");
    folder.write("images/c.png", "cut");
    EXPECT_EQ(left_out(), std::pair(std::uint64_t{2}, Severity::warning));
    fs::remove_all(folder / "images");
    EXPECT_EQ(left_out(), std::pair(std::uint64_t{4}, Severity::error));
}

TEST(DoctorCapture, FindsWhatIsWrongAndNothingElse) {
    for (const CaptureCase& c : capture_cases()) {
        Capture capture = sound_capture();
        c.spoil(capture);
        const auto findings = examine(capture);
        expect_complete(findings);
        EXPECT_EQ(ids_of(findings), std::string(c.id) + " ");
        if (findings.size() != 1) continue;
        EXPECT_EQ(findings[0].severity, c.severity) << c.id;
        EXPECT_EQ(findings[0].count, c.count) << c.id;
        EXPECT_FALSE(findings[0].fixable) << c.id;
    }
    Capture without_views;
    EXPECT_EQ(worst_of(examine(without_views)), Severity::error);
}

TEST(DoctorRealFiles, HaveNoErrors) {
    GS_NEED_DATA("splats");
    for (const char* name :
         {"splats/fox_trained/fox_trained_3000.ply",
          "splats/fox_trained/fox_trained.compressed.ply", "splats/guitar/guitar.compressed.ply",
          "splats/playbot/playbot_l5.ply", "splats/minimal/minimal-v4.spz",
          "splats/playbot/playbot_l4.splat", "splats/khr_gltf/khr_conformance_matrix.glb"}) {
        const fs::path path = data_path(name);
        if (!fs::exists(path)) continue;
        const auto file = required(read_splats(path));
        const auto findings = examine(file.model).findings;
        EXPECT_NE(worst_of(findings), Severity::error) << name << ": " << ids_of(findings);
        for (const Finding& f : examine(fix(file.model).model).findings)
            EXPECT_FALSE(f.fixable) << name << f.id;
    }
    for (const char* name : {"captures/fox", "captures/sceaux", "captures/lego"}) {
        const fs::path path = data_path(name);
        if (!fs::exists(path)) continue;
        const auto capture = required(load_capture(path, {.photos = false}));
        const auto findings = examine(capture);
        EXPECT_NE(worst_of(findings), Severity::error) << name << ": " << ids_of(findings);
    }
}

}  // namespace
}  // namespace gs::test
