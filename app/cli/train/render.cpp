#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/cameras.h"
#include "app/cli/common.h"
#include "app/cli/progress.h"
#include "app/cli/report.h"
#include "app/cli/subcommand.h"
#include "app/cli/train/film_steps.h"
#include "app/cli/train/level_pictures.h"
#include "app/cli/train/lidar_sweeps.h"
#include "app/cli/train/render_arguments.h"
#include "app/paths/path_contents.h"
#include "app/verify/precision.h"
#include "base/choice.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/io/video/video_writer.h"
#include "renderer/maps/normals.h"
#include "renderer/maps/scalar_map.h"
#include "renderer/maps/view_frame.h"
#include "renderer/raster/frame_size.h"
#include "renderer/raster/no_sink.h"
#include "renderer/scene/near_plane.h"
#include "renderer/scene/origin.h"
#include "trainer/run/lapse_video.h"

namespace gs::cli {
namespace {

ViewMode mode_of(const std::string& map) { return *choice_named<ViewMode>(kViewModeNames, map); }
VideoCodec codec_of(const RenderArguments& a) {
    return *choice_named<VideoCodec>(kVideoCodecNames, a.codec);
}

// A map as files hold it: 0 where there is no value.
ImageF map_of(const std::string& name, const RenderResult& result, const Camera& camera) {
    ImageF map =
        name == "normals" ? normals_of(result, camera) : scalar_map(result, mode_of(name)).values;
    for (float& value : map.values)
        if (std::isnan(value)) value = 0;
    return map;
}

class RenderRun {
  public:
    explicit RenderRun(const RenderArguments& a, const CommonArguments& common)
        : a_(a), common_(common) {}
    Result<int> run();

  private:
    Result<void> prepare();
    /// What a path and the near plane are placed by: of a set the coarsest level, so that they are
    /// the same at every budget.
    const GaussianModel& placing() const { return coarsest_.count > 0 ? coarsest_ : model_; }
    Result<SplatFile> read_scene();
    void choose_precision(bool cuda);
    Result<std::vector<NamedCamera>> choose_cameras();
    Result<void> prepare_video();
    void measure_costs(ParameterSource& source, const Camera& camera, ForwardState& state);
    Result<void> draw_all();
    Result<void> add_to_video(const Camera& camera);
    Result<Json> write_maps(const NamedCamera& camera);
    Result<fs::path> write_one(const NamedCamera& camera, const std::string& map, Json& ranges);

    const RenderArguments& a_;
    const CommonArguments& common_;
    std::optional<NewFolders> made_;
    std::vector<std::string> maps_;
    PathContents contents_;                // of the scene
    GaussianModel model_;                  // of a set by budget: its coarsest level
    std::optional<LevelPictures> levels_;  // of a set by budget
    GaussianModel coarsest_;               // of a set that is drawn whole
    std::vector<NamedCamera> cameras_;
    RenderOptions options_;
    std::unique_ptr<Rasterizer> rasterizer_;
    RenderResult result_;
    Json written_ = Json::array();
    double draw_ms_ = 0;
    double fast_psnr_ = 0;  // dB of the first picture, where pictures are fast
    double fps_ = 30;       // of the video
    std::optional<VideoWriter> video_;
    ViewSettings look_;  // of the video's pictures
};

Result<void> RenderRun::prepare() {
    if (is_video_name(a_.output) && !fs::is_directory(a_.output))
        return fail(ErrorKind::usage, a_.output, "-o names a folder, and this is a video",
                    "write it with --video " + a_.output);
    // npy files are for numeric use: write all maps unless --maps chooses.
    GS_TRY(maps_,
           parse_maps(a_.maps.empty() ? (a_.format == "npy" && a_.video.empty() ? "all" : "color")
                                      : a_.maps,
                      a_.picture.exact));
    GS_TRY(options_, picture_options(a_.picture));
    options_.sky = a_.picture.background.empty();  // one that was named is to be seen
    options_.gradients = options_.depth = false;
    for (const std::string& map : maps_)
        if (choice_named<int>(kMaps, map)) want_maps(mode_of(map), options_);
    GS_TRY(const Backend backend, picture_backend(a_.picture, common_));
    GS_TRY(rasterizer_, backend.make_rasterizer());
    if (!a_.output.empty()) {
        GS_TRY(made_, prepare_output_folder(a_.output));
    }
    GS_TRY(auto scene, read_scene());
    for (const std::string& note : scene.notes) log_info("{}: {}", a_.scene, note);
    draw_as_trained(scene, a_.picture, options_);
    model_ = std::move(scene.model);
    choose_precision(backend.cuda);
    if (options_.compatibility == Compatibility::tight)
        options_.near_plane = near_plane_of(placing());
    GS_TRY(cameras_, choose_cameras());
    for (NamedCamera& c : cameras_)
        c.camera = through(a_.lens, resized(c.camera, a_.width, a_.height));
    return a_.video.empty() ? Result<void>() : prepare_video();
}

Result<SplatFile> RenderRun::read_scene() {
    contents_ = find_contents(a_.scene);
    const bool set = contents_.splats && contents_.splats->has_levels();
    if (a_.lod_budget > 0 && !set)
        return fail(ErrorKind::usage, a_.scene, "has no levels of detail", "omit --lod-budget");
    if (!set) return read_any_splats(contents_);
    GS_TRY(LevelPictures levels, LevelPictures::open(contents_.splats->file, a_.lod_budget));
    if (a_.lod_budget > 0) {
        levels_ = std::move(levels);
        return levels_->coarsest();
    }
    coarsest_ = levels.coarsest().model;
    return read_any_splats(contents_);
}

void RenderRun::choose_precision(bool cuda) {
    if (a_.precision != "fast") return;
    const std::string why = why_exact(cuda, model_);
    if (why.empty())
        options_.precision = Precision::fast;
    else
        log_warning("--precision fast: {}", why);
}

Result<void> RenderRun::prepare_video() {
    look_.mode = mode_of(maps_.front());
    const Camera& first = cameras_.front().camera;
    for (const NamedCamera& c : cameras_)
        if (c.camera.width != first.width || c.camera.height != first.height)
            return fail(ErrorKind::usage, a_.video,
                        "a video needs pictures of one size; these cameras differ",
                        "set --width and --height");
    GS_TRY(video_, VideoWriter::create(
                       a_.video, {first.width, first.height, fps_, codec_of(a_), a_.quality}));
    return {};
}

Result<std::vector<NamedCamera>> RenderRun::choose_cameras() {
    if (a_.fps > 0) fps_ = a_.fps;
    if (!a_.cameras.empty()) return read_cameras(a_.cameras, model_.origin);
    std::optional<Capture> capture;
    if (!a_.capture.empty()) {
        GS_TRY(auto photos,
               photos_of(contents_, a_.capture, a_.loading, common_, a_.picture.background));
        options_.background = photos.loading.background;
        photos.loading.photos = false;
        if (!is_zero(model_.origin)) photos.loading.origin = model_.origin;
        GS_TRY(capture, load_capture(photos.capture, photos.loading));
        for (const std::string& skipped : capture->skipped) log_warning("skipped {}", skipped);
    }
    if (a_.path.empty()) {
        take_learned_views(contents_, *capture);
        auto cameras = cameras_of(*capture, a_.test_only);
        if (cameras.empty())
            return fail(ErrorKind::usage, a_.capture, "no camera remains", "omit --test-only");
        return cameras;
    }
    PathPlace place = capture ? place_of(*capture) : place_of(placing());
    if (!capture) place.fov_y = a_.fov * 3.14159265358979 / 180;
    GS_TRY(auto path, path_cameras({a_.path, a_.width, a_.height, a_.fps, model_.origin}, place));
    for (const std::string& note : path.notes) log_info("{}: {}", a_.path, note);
    fps_ = path.fps;
    return std::move(path.cameras);
}

Result<fs::path> RenderRun::write_one(const NamedCamera& camera, const std::string& map,
                                      Json& ranges) {
    fs::path path = fs::path(a_.output) / camera.name;
    path += (map == "color" ? "" : "_" + map) + "." + a_.format;
    const ImageF values = map == "color" ? ImageF() : map_of(map, result_, camera.camera);
    if (a_.format == "npy") {
        GS_TRY_VOID(write_npy(path, map == "color" ? result_.color : values));
    } else if (map == "color") {
        GS_TRY_VOID(write_png(path, to_bytes(result_.color)));
    } else if (map == "normals") {
        const Image8 rgb = normals_picture(normals_of(result_, camera.camera), {0, 0, 0});
        GS_TRY_VOID(write_png(path, rgb));
    } else {
        // Gray from 0 to the largest value, which goes into the index.
        const float largest =
            map == "alpha"
                ? 1.0f
                : std::max(1e-20f, *std::max_element(values.values.begin(), values.values.end()));
        ImageF gray(values.width, values.height, 1);
        for (std::size_t i = 0; i < gray.pixels(); ++i) gray.values[i] = values.values[i] / largest;
        ranges[map] = largest;
        GS_TRY_VOID(write_png(path, to_bytes(gray)));
    }
    return path;
}

Result<Json> RenderRun::write_maps(const NamedCamera& camera) {
    Json files = Json::object(), white = Json::object();
    for (const std::string& map : maps_) {
        GS_TRY(const fs::path path, write_one(camera, map, white));
        files[map] = path.filename().string();
    }
    Json entry{{"name", camera.name},
               {"width", result_.width},
               {"height", result_.height},
               {"files", files}};
    if (!white.empty()) entry["value_of_white"] = white;
    if (levels_) entry["gaussians"] = levels_->model().count;
    entry["visible"] = result_.counters.visible;
    entry["isects"] = result_.counters.isects;
    return entry;
}

Result<void> RenderRun::add_to_video(const Camera& camera) {
    ViewFrame frame;
    frame.camera = camera;
    frame.mode = look_.mode;
    fill_view_frame(result_, look_, {}, frame);
    keep_range(frame, look_);
    return video_->add(frame.rgba);
}

/// The costs that are asked for, beside the picture that is drawn already. Gradients are those of a
/// loss that grows by 1 with every value of the picture.
void RenderRun::measure_costs(ParameterSource& source, const Camera& camera, ForwardState& state) {
    RenderOptions options = options_;
    bool any = false, backward = false;
    for (const std::string& map : maps_) {
        any |= choice_named<int>(kCostMaps, map).has_value();
        backward |= choice_named<int>(kCostMaps, map) && is_of_backward(mode_of(map));
    }
    if (!any) return;
    options.costs = options.counters = true;
    options.depth = options.median_depth = false;
    options.gradients = backward && !camera.orthographic();
    RenderResult measured;
    rasterizer_->forward(source, camera, options, state, measured);
    result_.costs = std::move(measured.costs);
    result_.backward_costs = {};
    if (!options.gradients) return;
    NoSink nowhere;
    PixelGradients ones;
    ones.color.resize(camera.width, camera.height, 3);
    ones.color.values.fill(1.0f);
    rasterizer_->backward(source, camera, options, state, measured, ones, nowhere);
    result_.backward_costs = state.backward_costs();
}

Result<void> RenderRun::draw_all() {
    auto source = rasterizer_->source_of(model_);
    const auto state = rasterizer_->make_state();
    ProgressLine progress("render");
    for (std::size_t i = 0; i < cameras_.size(); ++i) {
        if (interrupted())
            return fail(ErrorKind::cancelled, a_.output.empty() ? a_.video : a_.output,
                        fmt::format("stopped after {} of {} pictures", i, cameras_.size()));
        const Camera& camera = cameras_[i].camera;
        if (levels_) {
            GS_TRY(const bool others, levels_->choose(camera));
            if (others) source = rasterizer_->source_of(levels_->model());
        }
        try {
            const auto begin = std::chrono::steady_clock::now();
            rasterizer_->forward(*source, camera, options_, *state, result_);
            draw_ms_ += 1e3 * seconds_since(begin);
            if (i == 0 && options_.precision == Precision::fast)
                fast_psnr_ = fast_psnr(*rasterizer_, *source, camera, options_, *state, result_);
            measure_costs(*source, camera, *state);
        } catch (const FrameTooLarge& error) {
            throw FrameTooLarge(fmt::format("picture {} of {}: {} (whole pictures written: {})",
                                            i + 1, cameras_.size(), error.what(), written_.size()));
        }
        if (!a_.output.empty()) {
            GS_TRY(written_.emplace_back(), write_maps(cameras_[i]));
        }
        if (video_) GS_TRY_VOID(add_to_video(camera));
        progress.update(i + 1, cameras_.size(), cameras_[i].name);
    }
    return video_ ? video_->finish() : Result<void>();
}

Result<int> RenderRun::run() {
    catch_interrupts();
    GS_TRY_VOID(prepare());
    if (auto drawn = draw_all(); !drawn) {
        report(drawn.error());
        return kFailed;
    }
    const double mean = draw_ms_ / static_cast<double>(cameras_.size());
    const std::string where = a_.video.empty() ? a_.output : a_.video;
    fmt::print("{}: {} pictures, {:.1f} ms each to draw\n", where, cameras_.size(), mean);
    const bool fast = options_.precision == Precision::fast;
    if (fast) fmt::print("fast: the first picture is {:.1f} dB from the exact one\n", fast_psnr_);
    if (video_)
        fmt::print("{:.1f} s at {:g} pictures a second, {} ({})\n",
                   static_cast<double>(cameras_.size()) / fps_, fps_,
                   human_bytes(fs::file_size(a_.video)), video_->encoder());
    if (!common_.json) return kDone;
    Json json{{"command", "render"},
              {"scene", a_.scene},
              {"output", a_.output},
              {"backend", rasterizer_->name()},
              {"gaussians", levels_ ? levels_->finest() : model_.count},
              {"profile", name_of(options_.compatibility)},
              {"projection", projection_of(a_.picture, options_)},
              {"format", a_.format},
              {"ms_mean", mean},
              {"images", written_},
              {"precision", fast ? "fast" : "exact"}};
    if (fast) json["psnr_of_fast"] = fast_psnr_;
    if (video_)
        json["video"] = {{"file", a_.video},
                         {"encoder", video_->encoder()},
                         {"fps", fps_},
                         {"pictures", cameras_.size()}};
    print_json(json);
    return kDone;
}

/// --time-lapse.
Result<int> film_lapse(const RenderArguments& a, const CommonArguments& common) {
    if (a.video.empty() || !a.output.empty())
        return fail(ErrorKind::usage, "", "--time-lapse makes a video: give only --video");
    if (a.picture.exact)
        return fail(ErrorKind::usage, "", "--time-lapse makes no exact pictures", "omit --exact");
    if (!run_in(a.scene))
        return fail(ErrorKind::usage, a.scene,
                    "is not a run's folder; time lapses are in run folders");
    catch_interrupts();
    const double fps = a.fps > 0 ? a.fps : kLapseFps;
    ProgressLine progress("film");
    const VideoOptions options{0, 0, fps, codec_of(a), a.quality};
    const std::vector<LapseView> views = time_lapse_in(a.scene);
    GS_TRY(const LapseVideo made,
           views.empty() ? film_steps(a.scene, *a.lapse, a.capture, a.picture, common, a.video,
                                      options, told_by(progress))
                         : write_lapse_video(views, *a.lapse, a.video, options, told_by(progress)));
    progress.finish();
    for (const std::string& skipped : made.skipped) log_warning("skipped {}", skipped);
    fmt::print("{}: {} pictures of {}, {:.1f} s ({})\n", a.video, made.pictures, made.view,
               static_cast<double>(made.pictures) / fps, made.encoder);
    if (common.json)
        print_json({{"command", "render"},
                    {"scene", a.scene},
                    {"video",
                     {{"file", a.video},
                      {"encoder", made.encoder},
                      {"fps", fps},
                      {"pictures", made.pictures}}},
                    {"time_lapse", made.view}});
    return kDone;
}

Result<int> run(const RenderArguments& a, const CommonArguments& common) {
    if (a.lapse) return film_lapse(a, common);
    if (!a.lidar.empty()) {
        if (!(a.cameras + a.capture + a.path + a.video + a.maps).empty() || a.output.empty() ||
            a.lod_budget > 0)
            return fail(ErrorKind::usage, "", "--lidar works only with -o and --format");
        return render_lidar(a.scene, a.lidar, a.output, a.format == "npy", common);
    }
    if (a.cameras.empty() == (a.capture.empty() && a.path.empty()))
        return fail(ErrorKind::usage, "",
                    "cameras come from --cameras, or from --capture and --path, beams from --lidar",
                    "for example --path orbit:60");
    if (a.output.empty() && a.video.empty())
        return fail(ErrorKind::usage, "", "-o is for pictures, --video for a video; use one");
    if (a.fps > 0 && a.path.empty() && a.video.empty())
        return fail(ErrorKind::usage, "", "--fps needs --path or --video");
    if (!a.video.empty() && (a.maps == "all" || a.maps.find(',') != std::string::npos))
        return fail(ErrorKind::usage, a.video, "a video shows one map",
                    "give --maps one name, for example depth");
    return RenderRun(a, common).run();
}

}  // namespace

Subcommand render_command() {
    return subcommand<RenderArguments>(
        "render", "render pictures, depth and maps of a scene to files",
        "  gausscope render scene.ply --path orbit:120 -o frames/\n"
        "  gausscope render scene.ply --path path.json --video film.mp4\n"
        "  gausscope render scene.ply --capture photos/ -o pictures/ "
        "--maps color,depth --format npy\n"
        "  gausscope render runs/drive-2026-11-23-1 --lidar drive/ -o sweeps/\n"
        "  gausscope render scene.ply --cameras cameras.json -o pictures/  "
        "   (docs/cli.md has the format)\n",
        add_render_options, run);
}

}  // namespace gs::cli
