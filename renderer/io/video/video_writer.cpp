#include "renderer/io/video/video_writer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/beside_program.h"
#include "base/check.h"
#include "base/full_disk.h"
#include "base/text.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr const char* kLibrary = "libgausscope_video.so";
/// In this order: the first that this machine's libavcodec has.
constexpr std::array<const char*, 2> kVideoEncoders{"libx264,libopenh264",
                                                    "libsvtav1,libaom-av1,librav1e"};

Result<const video::Plugin*> load_plugin() {
    constexpr const char* kAdvice =
        "name a folder instead of a video to write one picture per frame";
    const auto file = beside_program(kLibrary, {"", "lib", "../lib"},
                                     "this gausscope was built without its video library");
    if (!file)
        return fail(ErrorKind::unsupported, file.error().path, file.error().message, kAdvice);
    // Never closed: what it loads has threads and tables that outlive a video.
    void* const library = ::dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(ErrorKind::unsupported, file->string(),
                    fmt::format("the video library cannot be opened: {}", ::dlerror()), kAdvice);
    const auto entry = reinterpret_cast<video::PluginEntry>(::dlsym(library, video::kPluginEntry));
    if (!entry || entry()->version != video::kPluginVersion)
        return fail(ErrorKind::unsupported, file->string(),
                    "is the video library of another gausscope version", kAdvice);
    return entry();
}

Result<const video::Plugin*> plugin() {
    static const Result<const video::Plugin*> loaded = load_plugin();
    return loaded;
}

tl::unexpected<Error> unwritable(const fs::path& file, std::string why) {
    auto error = fail(ErrorKind::unwritable, file.string(), std::move(why));
    if (is_of_disk(error.value())) error.value().advice = "free some space or choose another disk";
    return error;
}

Result<void> sync(const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int code = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (synced) return {};
    return unwritable(file, fmt::format("cannot be written: {}", std::strerror(code)));
}

/// ".MP4" is ".mp4".
std::string video_ending(const fs::path& file) { return lower_case(file.extension().string()); }

bool is_matroska(const fs::path& file) { return video_ending(file) == ".mkv"; }

}  // namespace

bool is_video_name(const fs::path& file) {
    const std::string ending = video_ending(file);
    return ending == ".mp4" || ending == ".m4v" || ending == ".mkv";
}

Result<VideoWriter> VideoWriter::create(const fs::path& file, const VideoOptions& options) {
    if (!is_video_name(file))
        return fail(ErrorKind::usage, file.string(), "is not a video file name",
                    "name it .mp4, .m4v or .mkv");
    CHECK(options.width > 0 && options.height > 0 && options.fps > 0);
    VideoWriter out;
    GS_TRY(out.plugin_, plugin());
    out.file_ = file;
    out.temporary_ = file;
    out.temporary_ += fmt::format(".tmp{}", ::getpid());
    out.options_ = options;
    const int width = (options.width + 1) / 2 * 2, height = (options.height + 1) / 2 * 2;
    out.rgba_.resize(4 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 255);
    const video::PluginOptions wanted{out.temporary_.c_str(),
                                      is_matroska(file) ? "matroska" : "mp4",
                                      kVideoEncoders[static_cast<std::size_t>(options.codec)],
                                      width,
                                      height,
                                      options.fps,
                                      std::clamp(options.quality, 1, 100)};
    char error[512] = {};
    out.video_ = out.plugin_->open(&wanted, error, sizeof error);
    if (!out.video_) {
        std::error_code ignored;
        fs::remove(out.temporary_, ignored);
        if (!fs::is_directory(fs::absolute(file).parent_path(), ignored))
            return fail(ErrorKind::unwritable, file.string(), error, "no such folder");
        if (std::string_view(error).starts_with("cannot be written"))
            return unwritable(file, error);
        return fail(ErrorKind::unsupported, file.string(), error);
    }
    out.encoder_ = out.plugin_->encoder(out.video_);
    return out;
}

VideoWriter::VideoWriter(VideoWriter&& other) noexcept { *this = std::move(other); }

VideoWriter& VideoWriter::operator=(VideoWriter&& other) noexcept {
    if (this == &other) return *this;
    discard();
    plugin_ = other.plugin_;
    video_ = std::exchange(other.video_, nullptr);
    file_ = std::move(other.file_);
    temporary_ = std::move(other.temporary_);
    options_ = other.options_;
    encoder_ = std::move(other.encoder_);
    rgba_ = std::move(other.rgba_);
    return *this;
}

VideoWriter::~VideoWriter() { discard(); }

void VideoWriter::discard() noexcept {
    if (!video_) return;
    plugin_->close(std::exchange(video_, nullptr));
    ::unlink(temporary_.c_str());
}

Result<void> VideoWriter::add(const Image8& picture) {
    CHECK(video_);
    if (picture.width != options_.width || picture.height != options_.height ||
        (picture.channels != 3 && picture.channels != 4))
        return fail(ErrorKind::usage, file_.string(),
                    fmt::format("a picture of {} x {} is not the video's {} x {}", picture.width,
                                picture.height, options_.width, options_.height));
    const int width = (picture.width + 1) / 2 * 2, height = (picture.height + 1) / 2 * 2;
    // Where a side is odd, the last row or column comes twice.
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const std::uint8_t* from =
                picture.at(std::min(x, picture.width - 1), std::min(y, picture.height - 1));
            std::copy_n(from, 3,
                        &rgba_[4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                    static_cast<std::size_t>(x))]);
        }
    char error[512] = {};
    if (plugin_->add(video_, rgba_.data(), error, sizeof error)) return {};
    return fail(ErrorKind::unwritable, file_.string(), error,
                "free some space, or try another codec");
}

Result<void> VideoWriter::finish() {
    CHECK(video_);
    char error[512] = {};
    if (!plugin_->finish(video_, error, sizeof error)) return unwritable(file_, error);
    GS_TRY_VOID(sync(temporary_));
    plugin_->close(std::exchange(video_, nullptr));
    if (std::error_code code; fs::rename(temporary_, file_, code), code) {
        ::unlink(temporary_.c_str());
        return unwritable(file_, code.message());
    }
    return {};
}

}  // namespace gs
