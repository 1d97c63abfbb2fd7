#include "trainer/run/run_pictures.h"

#include <algorithm>
#include <cmath>

#include "base/record/scope.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

constexpr int kThumbnailQuality = 85;

}  // namespace

Image8 small_picture(Trainer& trainer, const Camera& camera, int most_side) {
    const double share =
        std::min(1.0, static_cast<double>(most_side) /
                          static_cast<double>(std::max(camera.width, camera.height)));
    const auto side = [&](int pixels) {
        return std::max(1, static_cast<int>(std::lround(share * static_cast<double>(pixels))));
    };
    RenderOptions options = trainer.render_options();
    options.counters = options.gradients = false;
    RenderResult result;
    trainer.render(camera.scaled_to(side(camera.width), side(camera.height)), options, result);
    return to_bytes(result.color);
}

std::vector<fs::path> thumbnail_files(const fs::path& run_folder) {
    const fs::path folder = run_folder / kThumbnailFolder;
    std::vector<fs::path> out{folder / "last.jpg"};
    for (int i = 1; i <= kThumbnailPhotos; ++i)
        out.push_back(folder / fmt::format("photo-{}.jpg", i));
    return out;
}

void remove_thumbnails(const fs::path& run_folder) {
    std::error_code ignored;
    for (const fs::path& file : thumbnail_files(run_folder)) fs::remove(file, ignored);
    fs::remove(run_folder / kThumbnailFolder, ignored);
}

Result<void> write_thumbnails(Trainer& trainer, const std::optional<Camera>& last,
                              const fs::path& run_folder) {
    const Span span(Stage::checkpoint);
    const std::vector<fs::path> files = thumbnail_files(run_folder);
    GS_TRY_VOID(make_folder(files[0].parent_path()));
    const auto write = [&](const fs::path& file, const Camera& camera) {
        return write_jpeg(file, small_picture(trainer, camera, kThumbnailSide), kThumbnailQuality);
    };
    const std::vector<View>& views = trainer.capture().views;
    const std::size_t photos = std::min<std::size_t>(kThumbnailPhotos, views.size());
    for (std::size_t i = 0; i < photos; ++i)
        GS_TRY_VOID(write(files[i + 1], views[i * views.size() / photos].camera));
    if (last) GS_TRY_VOID(write(files[0], *last));
    return {};
}

}  // namespace gs
