// Photos that do not stay in memory: the same bits as with all of them there, the limit kept, files
// read ahead and no oftener than needed, and what becomes of a run whose photo vanishes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "renderer/io/captures/camera_export.h"
#include "renderer/io/captures/photo_stream.h"
#include "renderer/io/images/image_io.h"
#include "run_fixture.h"
#include "trainer/step_hashes.h"

namespace gs::testing {
namespace {

constexpr std::uint64_t kOnePhoto = 48 * 40 * 3;

/// small_capture() as files; one photo has a mask.
class StreamedRun : public RunTest {
  protected:
    void SetUp() override {
        RunTest::SetUp();
        const auto made = small_capture();
        std::vector<Camera> cameras;
        fs::create_directories(files() / "images");
        fs::create_directories(files() / "masks");
        for (const View& view : made->views) {
            cameras.push_back(view.camera);
            ASSERT_TRUE(write_png(files() / "images" / view.name, view.photo));
        }
        ASSERT_TRUE(write_cameras(files(), CameraFormat::transforms, *made, cameras));
        Image8 mask{48, 40, 1, std::vector<std::uint8_t>(48 * 40, 255)};
        std::fill_n(mask.bytes.begin(), 48 * 15, std::uint8_t{0});
        ASSERT_TRUE(write_png(files() / "masks" / "view2.png", mask));
    }
    fs::path files() const { return folder_ / "capture"; }
    std::shared_ptr<Capture> load(std::uint64_t photo_memory, bool late = false) const {
        auto capture =
            load_capture(files(), {.test_every = 6, .photo_memory = photo_memory, .late = late});
        EXPECT_TRUE(capture) << capture.error().text();
        return std::make_shared<Capture>(std::move(*capture));
    }
    static std::unique_ptr<Trainer> trainer(const std::shared_ptr<Capture>& capture,
                                            TrainingSettings settings = busy_settings()) {
        auto out = Trainer::create(capture, settings, make_cpu_training());
        EXPECT_TRUE(out) << out.error().text();
        (*out)->hash_steps(true);
        return std::move(*out);
    }
    static void expect_same(Trainer& a, Trainer& b, int steps) {
        for (int i = 0; i < steps; ++i) {
            a.step();
            b.step();
        }
        EXPECT_EQ(a.take_hashes(true), b.take_hashes(true));
        const GaussianModel one = a.model(), other = b.model();
        EXPECT_TRUE(std::equal(one.values.begin(), one.values.end(), other.values.begin(),
                               other.values.end()));
    }
};

TEST_F(StreamedRun, BitsAreThoseOfARunWithAllPhotosInMemory) {
    for (const double batch : {1.0, 3.0})
        for (const std::uint64_t memory : {std::uint64_t{1}, 2 * kOnePhoto + 100}) {
            TrainingSettings settings = busy_settings();
            settings.batch = batch;
            settings.refine_poses = true;
            settings.pose_from = 2;
            const auto here = load(0), streamed = load(memory);
            ASSERT_EQ(here->source, nullptr);
            ASSERT_NE(streamed->source, nullptr);
            EXPECT_EQ(photo_bytes(*streamed), 0u);
            const auto a = trainer(here, settings), b = trainer(streamed, settings);
            expect_same(*a, *b, 24);
            const Evaluation of_a = a->evaluate({0, 2}), of_b = b->evaluate({0, 2});
            EXPECT_EQ(of_a.psnr, of_b.psnr);
            EXPECT_EQ(of_a.images[1].counted, 1 - 15.0 / 40);
            const auto& stream = dynamic_cast<const PhotoStream&>(*streamed->source);
            EXPECT_LE(stream.most_kept(), memory);
            EXPECT_GT(stream.files_read(), 5u);
        }
}

TEST_F(StreamedRun, LatePhotosAreDecodedOnceForTheirScores) {
    const auto rasterizer = make_cpu_rasterizer();
    const std::vector<std::size_t> views{0, 1, 2, 3, 4, 5};
    const GaussianModel model = trainer(load(0))->model();
    const auto scored = [&](const Capture& capture) {
        return evaluate_model(model, capture, views, *rasterizer, {});
    };
    for (const std::uint64_t memory : {std::uint64_t{1}, 2 * kOnePhoto + 100, 40 * kOnePhoto}) {
        const auto here = load(0), late = load(memory, true);
        const auto& stream = dynamic_cast<const PhotoStream&>(*late->source);
        EXPECT_EQ(stream.files_read(), 0u);
        const Evaluation of_here = scored(*here), of_late = scored(*late);
        EXPECT_EQ(of_late.psnr, of_here.psnr);
        EXPECT_EQ(of_late.images[2].counted, 1 - 15.0 / 40) << "with its mask";
        EXPECT_EQ(stream.files_read(), 6u) << memory;
        EXPECT_LE(stream.most_kept(), memory);
    }
    // One that has a header and no pixels.
    const fs::path bad = files() / "images" / "view3.png";
    fs::resize_file(bad, 60);
    EXPECT_EQ(load(0)->views.size(), 5u);
    const Evaluation of_late = scored(*load(1, true));
    ASSERT_EQ(of_late.images.size(), 6u);
    EXPECT_TRUE(std::isnan(of_late.images[3].psnr));
    EXPECT_TRUE(std::isfinite(of_late.psnr));
    EXPECT_EQ(of_late.unread.count, 1u);
    EXPECT_THAT(of_late.unread.first, ::testing::HasSubstr("photo view3.png cannot be read: "));
    fs::remove(bad);
    EXPECT_EQ(load(1, true)->views.size(), 5u) << "gone before";
}

TEST_F(StreamedRun, PhotosThatFitStay) {
    EXPECT_EQ(load(7 * kOnePhoto)->source, nullptr);
    const auto forecast =
        required(forecast_capture(find_capture(files()), {.photo_memory = 2 * kOnePhoto}));
    EXPECT_EQ(forecast.photo_bytes, 2 * kOnePhoto);
    EXPECT_EQ(forecast.streamed_bytes, 4 * kOnePhoto);
}

TEST_F(StreamedRun, ResumesInTheMiddleOfAnEpoch) {
    const auto whole = trainer(load(0)), first = trainer(load(2 * kOnePhoto));
    expect_same(*whole, *first, 7);
    ASSERT_TRUE(first->save_checkpoint(folder_ / "at7.gsc"));
    auto on =
        required(Trainer::resume(folder_ / "at7.gsc", load(2 * kOnePhoto), make_cpu_training()));
    on->hash_steps(true);
    expect_same(*whole, *on, 12);
}

TEST_F(StreamedRun, APhotoThatVanishesEndsTheRunWithACheckpointAsGoodAsAny) {
    TrainingSettings settings = busy_settings();
    settings.max_gaussians = 1e5;  // as make() has it
    const auto whole = trainer(load(0), settings);
    for (int i = 0; i < 30; ++i) whole->step();
    auto run = make(make_cpu_rasterizer(), load(1));
    fs::rename(files() / "images" / "view3.png", folder_ / "away.png");
    drive(*run);
    EXPECT_THAT(run->failure(), ::testing::HasSubstr("photo view3.png cannot be read any more"));
    EXPECT_THAT(run->failure(), ::testing::HasSubstr("--resume"));
    const std::uint64_t done = run->trainer().steps_done();
    EXPECT_LT(done, 5u);
    fs::rename(folder_ / "away.png", files() / "images" / "view3.png");
    auto on =
        required(Trainer::resume(folder_ / "out" / "checkpoint.gsc", load(1), make_cpu_training()));
    while (!on->finished()) on->step();
    const GaussianModel a = whole->model(), b = on->model();
    EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
}

/// `count` photos of ten bytes; each remembers how often it was read.
struct Files {
    explicit Files(std::size_t count) : reads(count) {}
    PhotoStream stream(std::uint64_t most, int threads) {
        return {std::vector<PhotoStream::Known>(reads.size(), {"p.png", 10, 1, 10}),
                [this](std::size_t i) -> Result<PhotoPixels> {
                    ++reads[i];
                    return PhotoPixels{Image8{10, 1, 1, std::vector<std::uint8_t>(10)}, {}};
                },
                most, threads};
    }
    std::vector<std::atomic<int>> reads;
};

TEST(PhotoStreamFiles, AreReadLessOftenThanByWhoeverWasUsedLast) {
    Files files(8);
    PhotoStream stream = files.stream(60, 0);
    std::vector<std::size_t> order;
    for (int epoch = 0; epoch < 5; ++epoch)
        for (std::size_t i = 0; i < 8; ++i) order.push_back(i);
    stream.expect(order);
    for (const std::size_t i : order) {
        (void)stream.read(i);
        stream.pass(1);
    }
    // Six of eight fit. Who keeps the last ones used reads every photo every time: 40.
    EXPECT_LE(stream.files_read(), 8u + 4 * 3);
    EXPECT_LE(stream.most_kept(), 60u);
}

TEST(PhotoStreamFiles, AreReadAhead) {
    Files files(8);
    PhotoStream stream = files.stream(50, 2);
    stream.expect({7, 6, 5, 4, 3, 2, 1, 0});
    for (int i = 0; i < 2000 && stream.bytes() < 50; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(stream.bytes(), 50u);
    for (const std::size_t i : {7, 6, 5, 4, 3}) {
        (void)stream.read(i);
        EXPECT_EQ(files.reads[i], 1);
    }
    EXPECT_EQ(files.reads[0], 0);
    const auto unexpected = stream.read(0);
    EXPECT_EQ(stream.read(0), unexpected) << "lent ones are not read again";
    EXPECT_EQ(files.reads[0], 1);
}

TEST(PhotoStreamFiles, ReadAheadKeepTheSpaceThatWasMadeForThem) {
    std::promise<void> begun, used;
    PhotoStream* all = nullptr;
    PhotoStream stream(
        {{"p.png", 10, 1, 10}, {"q.png", 14, 1, 14}},
        [&](std::size_t i) -> Result<PhotoPixels> {
            if (i == 0) {
                all->expect({0, 1});  // the other is read while this one is
                begun.get_future().wait();
            } else {
                begun.set_value();
                used.get_future().wait();
            }
            const int width = i == 0 ? 10 : 14;
            std::vector<std::uint8_t> bytes(static_cast<std::size_t>(width));
            return PhotoPixels{Image8{width, 1, 1, std::move(bytes)}, {}};
        },
        20, 1);
    all = &stream;
    const auto shown = stream.read(0);  // both do not fit
    used.set_value();
    (void)stream.read(1);
    stream.pass(1);
    (void)stream.read(1);
    EXPECT_EQ(stream.files_read(), 2u);
    EXPECT_EQ(stream.most_kept(), 14u);
}

TEST(PhotoStreamFiles, StayAsTheyFitWhereNoOrderIsKnown) {
    Files files(8);
    PhotoStream stream = files.stream(50, 0);
    for (int again = 0; again < 3; ++again)
        for (std::size_t i = 0; i < 8; ++i) (void)stream.read(i);
    EXPECT_EQ(stream.bytes(), 50u);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(files.reads[i], i < 5 ? 1 : 3) << i;
    stream.expect({7, 6, 7, 6});
    for (const std::size_t i : {7, 6, 7, 6}) {
        (void)stream.read(i);
        stream.pass(1);
    }
    EXPECT_EQ(files.reads[7] + files.reads[6], 8) << "those that are expected take their place";
    EXPECT_EQ(stream.most_kept(), 50u);
}

TEST(PhotoStreamFiles, ThatHaveChangedAreRefused) {
    PhotoStream stream(
        {{"p.png", 10, 1, 10}, {"q.png", 10, 1, 10}},
        [](std::size_t i) -> Result<PhotoPixels> {
            if (i == 1) return fail(ErrorKind::unreadable, "q.png", "is a folder");
            return PhotoPixels{Image8{5, 2, 1, std::vector<std::uint8_t>(10)}, {}};
        },
        100, 1);
    stream.expect({0, 1});
    EXPECT_THROW((void)stream.read(0), PhotoError);
    try {
        (void)stream.read(1);
        FAIL();
    } catch (const PhotoError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("q.png: is a folder"));
    }
}

}  // namespace
}  // namespace gs::testing
