#include "trainer/run/lapse_video.h"

#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

Result<const LapseView*> lapse_of(const std::vector<LapseView>& views, const std::string& name) {
    std::string names;
    for (const LapseView& view : views) {
        if (view.steps.empty()) continue;
        if (name.empty() || view.name == name) return &view;
        names += (names.empty() ? "" : ", ") + view.name;
    }
    if (names.empty())
        return fail(ErrorKind::usage, "", "the time lapse has no pictures",
                    "set timelapse.every while the studio trains");
    return fail(ErrorKind::usage, "", fmt::format("the time lapse has no camera \"{}\"", name),
                names);
}

}  // namespace

Result<LapseVideo> write_lapse_video(const std::vector<LapseView>& views, const std::string& view,
                                     const fs::path& file, VideoOptions options,
                                     const Progress& progress) {
    GS_TRY(const LapseView* const lapse, lapse_of(views, view));
    LapseVideo out{lapse->name, {}, 0, {}};
    std::optional<VideoWriter> video;
    for (std::size_t i = 0; i < lapse->steps.size(); ++i) {
        if (progress && !progress("filming " + lapse->name, i, lapse->steps.size()))
            return fail(ErrorKind::cancelled, file.string(), "was cancelled");
        const fs::path picture = lapse_picture(lapse->folder, lapse->steps[i]);
        const auto image = read_image(picture);
        const bool fits =
            image && image->channels >= 3 &&
            (!video || (image->width == options.width && image->height == options.height));
        if (!fits) {
            out.skipped.push_back(picture.string());
            continue;
        }
        if (!video) {
            options.width = image->width;
            options.height = image->height;
            GS_TRY(video, VideoWriter::create(file, options));
        }
        GS_TRY_VOID(video->add(*image));
        ++out.pictures;
    }
    if (!video)
        return fail(ErrorKind::unreadable, lapse->folder.string(),
                    "none of the pictures can be read");
    out.encoder = video->encoder();
    GS_TRY_VOID(video->finish());
    return out;
}

}  // namespace gs
