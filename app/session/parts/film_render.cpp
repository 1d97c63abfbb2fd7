#include "app/session/parts/film_render.h"

#include <algorithm>

#include "base/file.h"
#include "base/format.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"
#include "renderer/maps/view_frame.h"

namespace gs {
namespace {

constexpr const char* kFilmJob = "film";

fs::path frame_file(const std::string& folder, std::size_t index) {
    return fs::path(folder) / fmt::format("frame_{:05}.png", index);
}

/// The folder is there, and no film is in it yet that this one would be mixed with.
Result<void> prepare_folder(const std::string& folder) {
    if (fs::path(folder).has_extension() && !folder_exists(folder))
        return fail(ErrorKind::usage, folder, "is neither a video file name nor an existing folder",
                    "use .mp4, .m4v or .mkv, or a folder name without extension");
    GS_TRY_VOID(make_folder(folder, "name another folder"));
    if (path_exists(frame_file(folder, 0)))
        return fail(ErrorKind::usage, folder, "already contains pictures of a film",
                    "name another folder, or a video (.mp4)");
    return {};
}

}  // namespace

void FilmRender::start(FilmRequest request) {
    if (ctx_.jobs.running(kFilmJob))
        return ctx_.events.error("the film " + path_ +
                                 " is in progress: one at a time (run cancel film to stop it)");
    if (!ctx_.scene) return ctx_.events.error("nothing to film: open a scene first");
    if (request.poses.empty()) return ctx_.events.error("the camera path has no keyframes");
    const auto film = std::make_shared<Film>();
    if (is_video_name(request.path)) {
        auto video = VideoWriter::create(request.path, {request.width, request.height, request.fps,
                                                        request.codec, request.quality});
        if (!video) return ctx_.events.error(video.error().text());
        film->video = std::move(*video);
    } else if (auto prepared = prepare_folder(request.path); !prepared) {
        return ctx_.events.error(prepared.error().text());
    }
    request.settings.capture_view = -1;
    request.settings.compare = Compare::off;
    request.settings.with = CompareWith::photo;
    path_ = request.path;
    const std::string what = "filming " + fs::path(path_).filename().string();
    film->request = std::move(request);
    ctx_.jobs.start_slices(
        {kFilmJob, what, ctx_.events.command, /*of_scene=*/true, /*writes=*/true},
        [this, film, what](const Shown& shown, const Progress& progress) {
            auto did = make_next(shown, *film);
            const std::size_t count = film->request.poses.size();
            progress(fmt::format("{}: {} of {} pictures", what, film->next, count), film->next,
                     count);
            return did;
        },
        [this, film, command = ctx_.events.command] {
            the<StreamedLevels>().choose_for_viewport();
            ctx_.events.done(text_of(*film), true, {}, command);
        },
        [this, film, command = ctx_.events.command](const Error& error) {
            the<StreamedLevels>().choose_for_viewport();
            const std::string made = what_is_left(*film);
            Error why = error;
            if (const std::size_t count = film->request.poses.size(); film->next < count)
                why.message = fmt::format("picture {} of {}: {} ({})", film->next + 1, count,
                                          error.message, made);
            if (why.kind == ErrorKind::unsupported) why.advice = "set a smaller size: film.size";
            ctx_.events.failed(
                why, fmt::format("the film {} was cancelled: {}", film->request.path, made),
                command);
        });
}

/// Unless its levels are being read.
Result<Jobs::Slice> FilmRender::make_next(const Shown& shown, Film& film) {
    const FilmRequest& request = film.request;
    ViewRequest view;
    view.camera =
        through(request.lens, camera_of(request.poses[film.next], request.width, request.height));
    view.settings = request.settings;
    const StreamedLevels::For levels = the<StreamedLevels>().choose_for(view);
    if (levels == StreamedLevels::For::reading) return Jobs::Slice::waited;
    if (levels == StreamedLevels::For::refused)
        return fail(ErrorKind::unreadable, request.path,
                    "the film stopped: its levels of detail could not be read");
    const auto frame = the<Viewer>().picture(shown, view);
    keep_range(*frame, film.request.settings);
    if (film.video)
        GS_TRY_VOID(film.video->add(frame->rgba));
    else
        GS_TRY_VOID(write_png(frame_file(request.path, film.next), frame->rgba));
    if (++film.next < request.poses.size()) return Jobs::Slice::worked;
    if (film.video) GS_TRY_VOID(film.video->finish());
    return Jobs::Slice::ended;
}

/// Of a film that ended early.
std::string FilmRender::what_is_left(const Film& film) {
    if (film.video) return "no video was written";
    return film.next > 0 ? fmt::format("the first {} pictures were kept", film.next)
                         : "no picture was written";
}

std::string FilmRender::text_of(const Film& film) {
    const FilmRequest& request = film.request;
    std::error_code ignored;
    const std::string how =
        film.video
            ? fmt::format("{}, {}", film.video->encoder(),
                          format_bytes(static_cast<double>(fs::file_size(request.path, ignored))))
            : "PNG";
    return fmt::format("filmed {}: {} pictures of {} x {}, {:.1f} s at {:g} fps ({})", request.path,
                       request.poses.size(), request.width, request.height,
                       static_cast<double>(request.poses.size()) / request.fps, request.fps, how);
}

}  // namespace gs
