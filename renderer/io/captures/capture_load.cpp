#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/format.h"
#include "base/parallel.h"
#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/lidar_beside.h"
#include "renderer/io/captures/photo_load.h"
#include "renderer/io/captures/photo_stream.h"
#include "renderer/io/captures/point_colors.h"
#include "renderer/io/captures/random_points.h"
#include "renderer/io/captures/undistort.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/scene/camera_names.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

using Slots = std::vector<std::optional<Result<LoadedView>>>;

bool are_late(const CaptureOptions& options) { return options.late && options.photo_memory > 0; }

void drop_pixels(View& view) {
    view.photo.bytes = std::vector<std::uint8_t>();  // frees; {} would not
    view.mask = Image8();
}

// A photo too large for the machine's memory is one more bad photo, not the end: its slot stays
// empty, since even an error's words need memory. `resident`: bytes of all photos that were read;
// beyond what they may take, pixels go again.
void load_one(const Frame& frame, const CaptureOptions& options, const MaskFolder& masks,
              std::atomic<std::uint64_t>& resident, std::optional<Result<LoadedView>>& slot) try {
    const bool late = are_late(options);
    slot = options.photos && !late ? load_view(frame, options, masks)
                                   : load_view_camera(frame, options, masks);
    if (!options.photos || options.photo_memory == 0 || !*slot) return;
    LoadedView& loaded = **slot;
    if (late) {
        const Camera& c = loaded.view.camera;
        loaded.view.photo = {c.width, c.height, 3, {}};
        loaded.pixel_bytes = 4 * static_cast<std::uint64_t>(c.width) * c.height;  // with a mask
        return;
    }
    if ((resident += loaded.pixel_bytes) > options.photo_memory) drop_pixels(loaded.view);
} catch (const std::bad_alloc&) {
    slot.reset();
}

// False where the system cannot start another thread.
template <class Work>
bool start_thread(std::vector<std::jthread>& threads, const Work& work, std::size_t number) try {
    threads.emplace_back(work, number);
    return true;
} catch (const std::system_error&) {
    return false;
} catch (const std::bad_alloc&) {
    return false;
}

// Loads every frame into its slot on `threads` threads while this one reports. False when
// cancelled.
bool load_views(const CaptureSource& source, const CaptureOptions& options, const MaskFolder& masks,
                Slots& slots) {
    std::atomic<std::uint64_t> resident{0};
    std::atomic<std::size_t> next{0};
    std::atomic<bool> cancelled{false};
    std::size_t done = 0;
    std::mutex mutex;
    std::condition_variable progressed;
    const auto work = [&](std::size_t number) {
        char name[32];
        *fmt::format_to_n(name, sizeof name - 1, "loader {}", number + 1).out = '\0';
        name_this_thread(name);
        for (std::size_t i = next++; i < slots.size() && !cancelled; i = next++) {
            const Span span{Stage::decode_photo, i};
            load_one(source.frames[i], options, masks, resident, slots[i]);
            const std::lock_guard lock(mutex);
            ++done;
            progressed.notify_one();
        }
    };
    const int wanted = options.threads > 0 ? options.threads : thread_count();
    std::vector<std::jthread> threads;
    for (std::size_t t = 0;
         t < std::min(static_cast<std::size_t>(std::max(wanted, 1)), slots.size()); ++t)
        if (!start_thread(threads, work, t)) break;
    if (threads.empty()) work(0);
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
    if (loaded.resampled)
        count(fmt::format("photos resampled from {} to a pinhole, now {} x {}",
                          name_of(loaded.lens), camera.width, camera.height),
              Kind::lens);
    else if (loaded.lens != CameraModel::pinhole)
        count(fmt::format("photos are seen through their own lens, {}", name_of(loaded.lens)),
              Kind::own_lens);
    if (loaded.shutter != Shutter::global)
        count(fmt::format("photos have a rolling shutter, {}{}", text_of(loaded.shutter),
                          camera.rolling() ? "" : ", which is ignored: one pose each"),
              Kind::shutter);
    if (loaded.shutter_without_poses)
        count(
            "photos of a rolling shutter come without poses of their first and last row: one "
            "pose each",
            Kind::shutter);
    if (loaded.turned)
        count("photos are rotated by their EXIF orientation to match their camera's size");
    if (loaded.not_turned)
        count("photos have an EXIF orientation but already match their camera's size: not rotated");
    if (loaded.listed_width > 0)
        count(fmt::format("photos differ from the {} x {} pixels listed for their camera: "
                          "intrinsics scaled to the photo",
                          loaded.listed_width, loaded.listed_height),
              Kind::photo_size);
    if (loaded.factor > 1 && photos)
        count(fmt::format("photos shrunk by {} to {} x {}", loaded.factor, camera.width,
                          camera.height));
    if (!loaded.mask_problem.empty())
        count(fmt::format("mask not used: {}", loaded.mask_problem), Kind::mask);
    if (loaded.has_mask) count("views have a mask");
    if (loaded.mask_resampled) count("masks differ from their photo's size: resampled");
}

// Masks that somebody put there, and of which none counts.
void note_unused_masks(const MaskFolder& masks, bool any_mask, bool any_problem, Capture& capture) {
    if (masks.folder.empty()) return;
    std::error_code error;
    const fs::directory_iterator readable(masks.folder, error);
    if (error)
        capture.notes.push_back({fmt::format("masks not used: {} cannot be read ({})",
                                             masks.folder.string(), error.message()),
                                 CaptureNote::Kind::mask});
    else if (!any_mask && !any_problem)
        capture.notes.push_back(
            {fmt::format("masks not used: {} holds none that is named after a photo",
                         masks.folder.string()),
             CaptureNote::Kind::mask});
}

/// Where photos take more than they may, all come from their files from now on. `frames`: of the
/// capture's views; `bytes`: of their pixels.
void stream_photos(std::vector<Frame> frames, const std::vector<std::uint64_t>& bytes,
                   const CaptureOptions& options, const MaskFolder& masks, Capture& capture) {
    const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    const bool late = are_late(options);
    if (!options.photos || options.photo_memory == 0 || (!late && all <= options.photo_memory))
        return;
    std::vector<PhotoStream::Known> known;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const View& view = capture.views[i];
        known.push_back({view.name, view.photo.width, view.photo.height, bytes[i], late});
    }
    CaptureOptions again = options;
    again.progress = {};
    const int threads =
        std::clamp((options.threads > 0 ? options.threads : thread_count()) / 4, 1, 8);
    capture.source = std::make_shared<PhotoStream>(
        std::move(known),
        [frames = std::move(frames), again, masks](std::size_t i) -> Result<PhotoPixels> {
            GS_TRY(auto loaded, load_view(frames[i], again, masks));
            return PhotoPixels{std::move(loaded.view.photo), std::move(loaded.view.mask)};
        },
        options.photo_memory, threads);
    for (std::size_t i = 0; i < capture.views.size(); ++i) {
        View& view = capture.views[i];
        drop_pixels(view);
        view.source = capture.source;
        view.number = i;
    }
    capture.notes.push_back(
        {fmt::format("photos take {}{}: {} stay in memory, the others are read when needed",
                     late ? "up to " : "", format_bytes(static_cast<double>(all)),
                     format_bytes(static_cast<double>(options.photo_memory)))});
}

void collect(CaptureSource& source, Slots& slots, const CaptureOptions& options,
             const MaskFolder& masks, Capture& capture) {
    std::vector<Frame> frames;
    std::vector<std::uint64_t> bytes;
    Tally tally;
    bool any_mask = false, any_problem = false;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (!slots[i])
            slots[i] = fail(ErrorKind::unreadable, "", "not enough memory to decode it",
                            "use fewer threads");
        Result<LoadedView>& loaded = *slots[i];
        if (!loaded) {
            capture.skipped.push_back(why_skipped(source.frames[i], loaded.error()));
            continue;
        }
        if (!loaded->photo_problem.empty())
            capture.missing.push_back(std::move(loaded->photo_problem));
        any_mask |= loaded->has_mask;
        any_problem |= !loaded->mask_problem.empty();
        count_events(*loaded, options.photos, tally);
        frames.push_back(source.frames[i]);
        bytes.push_back(loaded->pixel_bytes);
        capture.views.push_back(std::move(loaded->view));
        slots[i].reset();
    }
    for (const auto& [what, happened] : tally)
        capture.notes.push_back({fmt::format("{} {}", happened.times, what), happened.kind});
    note_unused_masks(masks, any_mask, any_problem, capture);
    stream_photos(std::move(frames), bytes, options, masks, capture);
}

void ensure_points(const CaptureSource& source, const CaptureOptions& options, Capture& capture) {
    if (!capture.points.empty() && options.random_points == 0) return;
    const bool instead = !capture.points.empty();
    const std::size_t count = options.random_points > 0 ? options.random_points : kRandomPoints;
    const Box box =
        source.blender ? Box{{-1.3, -1.3, -1.3}, {1.3, 1.3, 1.3}} : box_from_cameras(capture.views);
    capture.points = random_points(box, count, options.seed);
    capture.points_are_random = true;
    capture.notes.push_back(
        {fmt::format("{}: {} random ones in a box of side {:.3g} around ({:.3g}, {:.3g}, {:.3g})",
                     instead ? "the capture's points are ignored" : "the capture has no points",
                     count, box.hi.x - box.lo.x, 0.5 * (box.lo.x + box.hi.x),
                     0.5 * (box.lo.y + box.hi.y), 0.5 * (box.lo.z + box.hi.z))});
}

Result<MaskFolder> find_masks(const CaptureSource& source, const CaptureOptions& options) {
    if (options.masks == kNoMasks) return MaskFolder{{}, true};
    if (!options.masks.empty()) {
        if (!folder_exists(options.masks))
            return fail(ErrorKind::not_found, options.masks, "is not a folder of masks",
                        "give the folder that holds the mask pictures");
        return MaskFolder{options.masks, true};
    }
    const fs::path folder =
        FileFinder({source.root, source.photo_folder.parent_path()}).folder("masks");
    return folder.empty() ? MaskFolder{} : MaskFolder{folder, false};
}

/// The place that positions are kept less of: the one asked for, or one of the capture's own.
Vec3d origin_of(const CaptureSource& source, const CaptureOptions& options) {
    constexpr std::size_t kPointsLookedAt = 20000;
    if (options.origin) return *options.origin;
    std::vector<Vec3d> cameras, points;
    for (const Frame& frame : source.frames) cameras.push_back(frame.camera.position());
    const std::size_t stride = source.points.size() / kPointsLookedAt + 1;
    for (std::size_t i = 0; i < source.points.size(); i += stride)
        points.push_back(source.points[i].position);
    return origin_for(cameras, points);
}

/// Cameras and points of the files, less the origin.
void settle_origin(Vec3d origin, CaptureSource& source, Capture& capture) {
    capture.origin = origin;
    for (Frame& frame : source.frames) frame.camera = seen_from_zero(frame.camera, origin);
    capture.points.reserve(source.points.size());
    for (const SourcePoint& p : source.points)
        capture.points.push_back(
            {local_position(p.position, origin), {p.rgb[0], p.rgb[1], p.rgb[2]}});
    source.points = {};
    if (is_zero(origin)) return;
    capture.notes.push_back(
        {fmt::format("coordinates are far from zero: the origin {} is subtracted from cameras and "
                     "points, and added again by exports",
                     text_of_origin(origin)),
         CaptureNote::Kind::origin});
}

}  // namespace

Result<Capture> load_capture(const CaptureFiles& files, const CaptureOptions& options) {
    const Span span{Stage::load};
    const auto tell = [&](const char* what) {
        if (options.progress) options.progress(what, 0, 0);
    };
    tell("cameras and points");
    GS_TRY(auto source, read_capture_source(files, options.model));
    const Vec3d origin = origin_of(source, options);
    GS_TRY_VOID(prepare_frames(source, options));
    GS_TRY(const auto masks, find_masks(source, options));

    Capture capture;
    settle_origin(origin, source, capture);
    Slots slots(source.frames.size());
    if (!load_views(source, options, masks, slots))
        return fail(ErrorKind::cancelled, files.path.string(), "loading was cancelled");

    capture.path = source.root.string();
    fs::path root = fs::absolute(source.root).lexically_normal();
    if (!root.has_filename()) root = root.parent_path();
    capture.name = root.filename().string();
    // "00" says nothing: "sequences-00" does.
    const fs::path above = root.parent_path().filename();
    if (capture.name.find_first_not_of("0123456789") == std::string::npos && !above.empty())
        capture.name = above.string() + "-" + capture.name;
    capture.format = source.format;
    capture.model = std::move(source.model);
    capture.models = std::move(source.models);
    capture.split = std::move(source.split);
    capture.split_is_listed = source.split_is_listed;
    capture.left_out = std::move(source.left_out);
    capture.skipped = std::move(source.skipped);
    for (std::string& note : source.notes) capture.notes.push_back({std::move(note)});
    for (std::string& note : source.split_notes)
        capture.notes.push_back({std::move(note), CaptureNote::Kind::split});
    for (std::string& note : source.rig_notes)
        capture.notes.push_back({std::move(note), CaptureNote::Kind::rig});
    capture.unposed = std::move(source.unposed);
    capture.reprojection_px = source.reprojection_px;
    collect(source, slots, options, masks, capture);
    if (capture.views.empty()) return no_view_left(source, capture.skipped);
    if (!source.point_sweeps.empty() || !capture.points.empty()) tell("colours of the points");
    if (!source.point_sweeps.empty())
        color_points(source.frames, source.point_sweeps, capture);
    else if (options.photos && !are_late(options) && !has_colors(source, capture.points))
        color_points_from_photos(capture);
    ensure_points(source, options, capture);
    if (options.block) keep_points_of_block(*options.block, capture.points);
    GS_TRY_VOID(join_lidars(options, capture));
    return capture;
}

}  // namespace gs
