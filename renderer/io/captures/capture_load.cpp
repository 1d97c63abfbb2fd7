#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/parallel.h"
#include "base/record/scope.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/photo_load.h"
#include "renderer/io/captures/random_points.h"
#include "renderer/io/captures/undistort.h"

namespace gs {
namespace {

constexpr std::size_t kRandomPoints = 100000;

using Slots = std::vector<std::optional<Result<LoadedView>>>;

// A photo too large for the machine's memory is one more bad photo, not the end.
Result<LoadedView> load_one(const Frame& frame, const CaptureOptions& options,
                            const MaskFolder& masks) try {
    return options.photos ? load_view(frame, options, masks) : load_view_camera(frame, options);
} catch (const std::bad_alloc&) {
    return fail(ErrorKind::unreadable, frame.photo.string(), "not enough memory to decode it",
                "use fewer threads");
}

// Loads every frame into its slot on `threads` threads while this one reports. False when
// cancelled.
bool load_views(const CaptureSource& source, const CaptureOptions& options, const MaskFolder& masks,
                Slots& slots) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> cancelled{false};
    std::size_t done = 0;
    std::mutex mutex;
    std::condition_variable progressed;
    const auto work = [&](std::size_t number) {
        name_this_thread(fmt::format("loader {}", number + 1).c_str());
        for (std::size_t i = next++; i < slots.size() && !cancelled; i = next++) {
            const Span span{Stage::decode_photo, i};
            slots[i] = load_one(source.frames[i], options, masks);
            const std::lock_guard lock(mutex);
            ++done;
            progressed.notify_one();
        }
    };
    const int wanted = options.threads > 0 ? options.threads : thread_count();
    std::vector<std::jthread> threads;
    for (std::size_t t = 0;
         t < std::min(static_cast<std::size_t>(std::max(wanted, 1)), slots.size()); ++t)
        threads.emplace_back(work, t);
    std::size_t seen = 0;
    while (seen < slots.size() && !cancelled) {
        {
            std::unique_lock lock(mutex);
            progressed.wait(lock, [&] { return done > seen; });
            seen = done;
        }
        if (options.progress && !options.progress("photos", seen, slots.size())) cancelled = true;
    }
    return !cancelled;
}

// How often each thing happened, in words. A map keeps the order the same for every thread count.
struct Happened {
    std::size_t times = 0;
    CaptureNote::Kind kind = CaptureNote::Kind::other;
};
using Tally = std::map<std::string, Happened>;

void count_events(const LoadedView& loaded, bool photos, Tally& tally) {
    using Kind = CaptureNote::Kind;
    const auto count = [&](const std::string& what, Kind kind = Kind::other) {
        Happened& happened = tally[what];
        ++happened.times;
        happened.kind = kind;
    };
    const Camera& camera = loaded.view.camera;
    if (loaded.lens != CameraModel::pinhole)
        count(fmt::format("photos resampled from {} to a pinhole, now {} x {}",
                          name_of(loaded.lens), camera.width, camera.height),
              Kind::lens);
    if (loaded.listed_width > 0)
        count(fmt::format("photos are not of the {} x {} pixels their camera is listed with: "
                          "intrinsics scaled to the photo",
                          loaded.listed_width, loaded.listed_height),
              Kind::photo_size);
    if (loaded.factor > 1 && photos)
        count(fmt::format("photos shrunk by {} to {} x {}", loaded.factor, camera.width,
                          camera.height));
    if (!loaded.mask_problem.empty()) count(fmt::format("mask not used: {}", loaded.mask_problem));
    if (!loaded.view.mask.empty()) count("views have a mask");
}

void collect(CaptureSource& source, Slots& slots, bool photos, Capture& capture) {
    Tally tally;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Result<LoadedView>& loaded = *slots[i];
        if (!loaded) {
            const Error& error = loaded.error();
            // The name says which photo; the rest of the error says why.
            Error reason = error;
            reason.path.clear();
            capture.skipped.push_back(fmt::format("{}: {}", source.frames[i].name, reason.text()));
            continue;
        }
        count_events(*loaded, photos, tally);
        capture.views.push_back(std::move(loaded->view));
        slots[i].reset();
    }
    for (const auto& [what, happened] : tally)
        capture.notes.push_back({fmt::format("{} {}", happened.times, what), happened.kind});
}

void ensure_points(const CaptureSource& source, std::uint64_t seed, Capture& capture) {
    if (!capture.points.empty()) return;
    const Box box =
        source.blender ? Box{{-1.3, -1.3, -1.3}, {1.3, 1.3, 1.3}} : box_from_cameras(capture.views);
    capture.points = random_points(box, kRandomPoints, seed);
    capture.points_are_random = true;
    capture.notes.push_back(
        {fmt::format("no points came with the capture: {} random ones in a box of side {:.3g} "
                     "around ({:.3g}, {:.3g}, {:.3g})",
                     kRandomPoints, box.hi.x - box.lo.x, 0.5 * (box.lo.x + box.hi.x),
                     0.5 * (box.lo.y + box.hi.y), 0.5 * (box.lo.z + box.hi.z))});
}

Result<MaskFolder> find_masks(const CaptureSource& source, const CaptureOptions& options) {
    std::error_code ignored;
    if (!options.masks.empty()) {
        if (!fs::is_directory(options.masks, ignored))
            return fail(ErrorKind::not_found, options.masks, "is not a folder of masks",
                        "give the folder that holds the mask pictures");
        return MaskFolder{options.masks, true};
    }
    for (const fs::path& folder :
         {source.root / "masks", source.photo_folder.parent_path() / "masks"})
        if (fs::is_directory(folder, ignored)) return MaskFolder{folder, false};
    return MaskFolder{};
}

}  // namespace

Result<Capture> load_capture(const fs::path& path, const CaptureOptions& options) {
    const Span span{Stage::load};
    auto source = read_capture_source(path);
    if (!source) return tl::unexpected(source.error());
    if (auto prepared = prepare_frames(*source, options); !prepared)
        return tl::unexpected(prepared.error());
    const auto masks = find_masks(*source, options);
    if (!masks) return tl::unexpected(masks.error());

    Slots slots(source->frames.size());
    if (!load_views(*source, options, *masks, slots))
        return fail(ErrorKind::cancelled, path.string(), "loading was cancelled");

    Capture capture;
    capture.path = source->root.string();
    capture.name = fs::absolute(source->root).lexically_normal().filename().string();
    if (capture.name.empty())
        capture.name =
            fs::absolute(source->root).lexically_normal().parent_path().filename().string();
    capture.format = source->format;
    capture.skipped = std::move(source->skipped);
    for (std::string& note : source->notes) capture.notes.push_back({std::move(note)});
    capture.unposed = std::move(source->unposed);
    capture.points = std::move(source->points);
    collect(*source, slots, options.photos, capture);
    if (capture.views.empty()) return no_view_left(*source, capture.skipped);
    ensure_points(*source, options.seed, capture);
    return capture;
}

}  // namespace gs
