#include "app/studio/panel_pictures.h"

#include <algorithm>

#include "base/try.h"
#include "renderer/io/images/image_io.h"

namespace gs {
namespace {

constexpr double kLookAgain = 2;  // seconds after which a shown file is looked at for a newer one
constexpr std::size_t kReaders = 2;  // files at a time: a training run needs the processor, too

std::size_t bytes_of(const PresentTexture& texture) {
    return 4 * static_cast<std::size_t>(texture.width()) *
           static_cast<std::size_t>(texture.height());
}

}  // namespace

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
    if (seconds_since(held.looked) > kLookAgain) held.due = true;
    return use(held);
}

Result<PanelTextures::ReadFile> PanelTextures::read(const std::string& path, int most_side,
                                                    fs::file_time_type known) {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    if (error || written == known) return ReadFile{{}, written};
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

void PanelTextures::take_read() {
    std::erase_if(readers_, [&](Reader& reader) {
        const auto result = reader.task->take();
        if (!result) return false;
        const auto it = held_.find(reader.key);
        if (it == held_.end()) return true;
        it->second.looked = Clock::now();
        if (!*result) return true;  // no picture: the panel says so by its place being empty
        it->second.written = (*result)->written;
        if (!(*result)->picture.empty()) it->second.texture.upload((*result)->picture);
        return true;
    });
}

bool PanelTextures::is_read(const std::string& key) const {
    return std::any_of(readers_.begin(), readers_.end(),
                       [&](const Reader& reader) { return reader.key == key; });
}

/// Only what the last frame asked for: who scrubs through hundreds waits for none but the newest.
void PanelTextures::start_reading() {
    for (auto& [key, held] : held_) {
        if (!held.due || held.used_frame != frame_ || is_read(key)) continue;
        if (readers_.size() >= kReaders) return;
        held.due = false;
        held.looked = Clock::now();
        auto work = [path = held.path, side = held.most_side,
                     known = held.written](const Progress&) { return read(path, side, known); };
        readers_.push_back(
            {key, std::make_unique<Task<ReadFile>>("picture", "reading", std::move(work))});
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
    return !readers_.empty() || std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
        return entry.second.due && entry.second.used_frame == frame_;
    });
}

}  // namespace gs
