#include "app/session/film_render.h"

#include <algorithm>

#include "base/format.h"
#include "base/seconds.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/view_frame.h"

namespace gs {
namespace {

fs::path frame_file(const std::string& folder, std::size_t index) {
    return fs::path(folder) / fmt::format("frame_{:05}.png", index);
}

/// The folder is there, and no film is in it yet that this one would be mixed with.
Result<void> prepare_folder(const std::string& folder) {
    std::error_code error;
    if (fs::path(folder).has_extension() && !fs::is_directory(folder, error))
        return fail(ErrorKind::usage, folder, "is neither a video file name nor an existing folder",
                    "use .mp4, .m4v or .mkv, or a folder name without extension");
    fs::create_directories(folder, error);
    if (error) return fail(ErrorKind::unwritable, folder, error.message(), "name another folder");
    if (fs::exists(frame_file(folder, 0), error))
        return fail(ErrorKind::usage, folder, "already contains pictures of a film",
                    "name another folder, or a video (.mp4)");
    return {};
}

}  // namespace

void FilmRender::start(FilmRequest request) {
    if (going_)
        return ctx_.tell.error("the film " + going_->request.path +
                               " is in progress: one at a time (run cancel film to stop it)");
    if (!ctx_.scene) return ctx_.tell.error("nothing to film: open a scene first");
    if (request.poses.empty()) return ctx_.tell.error("the camera path has no keyframes");
    auto going = std::make_unique<Going>();
    if (is_video_name(request.path)) {
        auto video = VideoWriter::create(request.path, {request.width, request.height, request.fps,
                                                        request.codec, request.quality});
        if (!video) return ctx_.tell.error(video.error().text());
        going->video = std::move(*video);
    } else if (auto prepared = prepare_folder(request.path); !prepared) {
        return ctx_.tell.error(prepared.error().text());
    }
    request.settings.capture_view = -1;
    request.settings.compare = Compare::off;
    request.settings.with = CompareWith::photo;
    going->request = std::move(request);
    going->command = ctx_.tell.command;
    going_ = std::move(going);
    ctx_.tell.status.at_once();
}

bool FilmRender::cancel(const std::string& name) {
    if (!going_ || !(name.empty() || name == "film")) return false;
    const bool pictures = !going_->video && going_->next > 0;
    ctx_.tell.done(fmt::format("the film {} was cancelled{}", going_->request.path,
                               pictures ? ": its first pictures were kept" : ""));
    end();
    return true;
}

Result<void> FilmRender::add(const Image8& picture) {
    if (going_->video) return going_->video->add(picture);
    return write_png(frame_file(going_->request.path, going_->next), picture);
}

bool FilmRender::work(const Shown& shown) {
    if (!going_ || !viewer_.may_draw(shown)) return false;
    FilmRequest& request = going_->request;
    ViewRequest view;
    view.camera = through(request.lens,
                          camera_of(request.poses[going_->next], request.width, request.height));
    view.settings = request.settings;
    const StreamedLevels::For levels = levels_.choose_for(view);
    if (levels == StreamedLevels::For::reading) return false;
    if (levels == StreamedLevels::For::refused) {
        const auto why = fail(ErrorKind::unreadable, request.path,
                              "the film stopped: its levels of detail could not be read");
        fail_with(why.value());
        return true;
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto frame = viewer_.picture(shown, view);
    keep_range(*frame, request.settings);
    const auto added = add(frame->rgba);
    viewer_.add_picture(shown, seconds_since(begin));
    ctx_.tell.status.changed = true;
    if (!added)
        fail_with(added.error());
    else if (++going_->next == request.poses.size())
        finish();
    return true;
}

void FilmRender::fail_with(const Error& error) {
    ctx_.tell.error(error.text(), going_->command);
    end();
}

void FilmRender::end() {
    going_.reset();
    levels_.choose_for_viewport();
    ctx_.tell.status.at_once();
}

void FilmRender::finish() {
    if (going_->video)
        if (const auto finished = going_->video->finish(); !finished)
            return fail_with(finished.error());
    const FilmRequest& request = going_->request;
    std::error_code ignored;
    const std::string how =
        going_->video
            ? fmt::format("{}, {}", going_->video->encoder(),
                          format_bytes(static_cast<double>(fs::file_size(request.path, ignored))))
            : "PNG";
    ctx_.tell.done(
        fmt::format("filmed {}: {} pictures of {} x {}, {:.1f} s at {:g} fps ({})", request.path,
                    request.poses.size(), request.width, request.height,
                    static_cast<double>(request.poses.size()) / request.fps, request.fps, how),
        true, {}, going_->command);
    end();
}

void FilmRender::describe(Published& view) const {
    if (!going_) return;
    const double seconds = seconds_since(going_->begin),
                 share = static_cast<double>(going_->next) /
                         static_cast<double>(going_->request.poses.size());
    std::string what = fmt::format("filming {}: {} of {} pictures",
                                   fs::path(going_->request.path).filename().string(), going_->next,
                                   going_->request.poses.size());
    if (going_->next > 1) what += ", " + format_duration(seconds * (1 - share) / share) + " left";
    view.activities.push_back({"film", std::move(what), share, seconds});
}

std::uint64_t FilmRender::done(std::uint64_t carried_out) const {
    return going_ && going_->command > 0 ? std::min(carried_out, going_->command - 1) : carried_out;
}

}  // namespace gs
