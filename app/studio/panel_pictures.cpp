#include "app/studio/panel_pictures.h"

#include <algorithm>

#include "base/exception_words.h"
#include "base/record/scope.h"
#include "base/seconds.h"
#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

constexpr double kLookAgain = 2;   // seconds between checks for a newer version of a shown file
constexpr int kMostDoublings = 5;  // of that time, for missing files
// Files queued at a time: scrubbing through hundreds waits only for the newest.
constexpr std::size_t kAtATime = 2;
constexpr std::chrono::seconds kPatience{60};

/// Seconds until a file is checked again.
double look_again_after(int in_vain) {
    return kLookAgain * static_cast<double>(1 << std::min(in_vain, kMostDoublings));
}

std::size_t bytes_of(const PresentTexture& texture) {
    return 4 * static_cast<std::size_t>(texture.width()) *
           static_cast<std::size_t>(texture.height());
}

}  // namespace

PanelTextures::~PanelTextures() {
    ends_ = true;
    wanted_.close();
    if (reader_.joinable()) reader_.join();
}

PanelPicture PanelTextures::use(Held& held) {
    held.used_frame = frame_;
    return {held.texture.gl_name(), held.texture.width(), held.texture.height()};
}

PanelPicture PanelTextures::of(const std::string& key, std::uint64_t version,
                               const Image8& picture) {
    Held& held = held_[key];
    if (held.texture.gl_name() == 0 || held.version != version) {
        held.texture.upload(picture);
        held.version = version;
    }
    return use(held);
}

PanelPicture PanelTextures::of_file(const std::string& path, int most_side) {
    Held& held = held_[std::to_string(most_side) + " " + path];
    held.path = path;
    held.most_side = most_side;
    if (seconds_since(held.looked) > look_again_after(held.in_vain)) held.due = true;
    return use(held);
}

Result<PanelTextures::ReadFile> PanelTextures::read(const std::string& path, int most_side,
                                                    fs::file_time_type known) {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    if (error) return fail(ErrorKind::not_found, path, "there is no such file");
    if (written == known) return ReadFile{{}, written};
    GS_TRY(Image8 picture, read_image(path));
    const double share = static_cast<double>(most_side) /
                         static_cast<double>(std::max(picture.width, picture.height));
    const auto side = [&](int pixels) {
        return std::max(1, static_cast<int>(share * static_cast<double>(pixels) + 0.5));
    };
    if (share < 1) picture = resize_area(picture, side(picture.width), side(picture.height));
    // Textures have colours.
    if (picture.channels == 1) {
        Image8 rgb{picture.width, picture.height, 3, {}};
        for (const std::uint8_t gray : picture.bytes) rgb.bytes.insert(rgb.bytes.end(), 3, gray);
        picture = std::move(rgb);
    }
    return ReadFile{std::move(picture), written};
}

/// On the reader's thread: one, since a training run also needs the processor.
void PanelTextures::read_what_is_wanted() {
    name_this_thread("pictures");
    while (!ends_) {
        const auto wanted = wanted_.take_within(kPatience);
        if (!wanted) continue;
        Result<ReadFile> file = fail(ErrorKind::unreadable, wanted->path, "is too large");
        try {
            file = read(wanted->path, wanted->most_side, wanted->known);
        } catch (const std::exception& error) {  // out of memory
            file = fail(ErrorKind::unreadable, wanted->path, words_of(error));
        }
        (void)answers_.try_put({wanted->key, std::move(file)});
    }
}

void PanelTextures::take_read() {
    while (auto answer = answers_.try_take()) {
        asked_.erase(answer->key);
        const auto it = held_.find(answer->key);
        if (it == held_.end()) continue;
        Held& held = it->second;
        held.looked = Clock::now();
        // No picture: the panel says so by its place being empty.
        held.in_vain = answer->file ? 0 : std::min(held.in_vain, kMostDoublings) + 1;
        if (!answer->file) continue;
        held.written = answer->file->written;
        if (!answer->file->picture.empty()) held.texture.upload(answer->file->picture);
    }
}

/// Only pictures requested in the last frame.
void PanelTextures::start_reading() {
    for (auto& [key, held] : held_) {
        if (!held.due || held.used_frame != frame_ || asked_.contains(key)) continue;
        if (asked_.size() >= kAtATime) return;
        held.due = false;
        held.looked = Clock::now();
        if (!reader_.joinable()) reader_ = std::thread([this] { read_what_is_wanted(); });
        if (!wanted_.try_put({key, held.path, held.most_side, held.written})) return;
        asked_.insert(key);
        ++looks_;
    }
}

void PanelTextures::forget_old() {
    std::size_t bytes = 0;
    for (const auto& [key, held] : held_) bytes += bytes_of(held.texture);
    while (held_.size() > kMostTextures || bytes > kMostBytes) {
        const auto oldest = std::min_element(
            held_.begin(), held_.end(),
            [](const auto& a, const auto& b) { return a.second.used_frame < b.second.used_frame; });
        if (oldest->second.used_frame == frame_) return;
        bytes -= bytes_of(oldest->second.texture);
        held_.erase(oldest);
    }
}

void PanelTextures::begin_frame() {
    take_read();
    start_reading();
    forget_old();
    ++frame_;
}

bool PanelTextures::reading() const {
    return !asked_.empty() || std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
        return entry.second.due && entry.second.used_frame == frame_;
    });
}

}  // namespace gs
