// The textures behind the pictures in panels (panels/state/pictures.h): uploaded when a panel asks
// for one, read from files beside the UI's thread, let go of when many others were asked for since.
// StudioUi owns one; needs a current OpenGL context.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/task.h"
#include "panels/state/pictures.h"
#include "renderer/present/texture.h"

namespace gs {

class PanelTextures final : public PanelPictures {
  public:
    /// At most so many are kept beyond those of the last frame.
    static constexpr std::size_t kMostTextures = 512;
    static constexpr std::size_t kMostBytes = 128 << 20;

    PanelPicture of(const std::string& key, std::uint64_t version, const Image8& picture) override;
    PanelPicture of_file(const std::string& path, int most_side) override;

    /// Before a frame's panels: takes what was read, reads what the last frame asked for, and lets
    /// go of what is too many. Textures of the last frame stay.
    void begin_frame();
    /// True while a file is read or waits for it: the next frame should come soon.
    bool reading() const;
    std::size_t held() const { return held_.size(); }
    /// Deletes all textures, while OpenGL is still there.
    void release() { held_.clear(); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Held {
        PresentTexture texture;
        std::uint64_t version = 0, used_frame = 0;
        // Of a file:
        std::string path{};
        int most_side = 0;
        fs::file_time_type written{};
        Clock::time_point looked{};  ///< at the file last
        bool due = false;            ///< to be looked at
    };
    /// `picture` empty: the file is as it was, or no picture.
    struct ReadFile {
        Image8 picture;
        fs::file_time_type written;
    };
    struct Reader {
        std::string key;
        std::unique_ptr<Task<ReadFile>> task;
    };
    static Result<ReadFile> read(const std::string& path, int most_side, fs::file_time_type known);
    PanelPicture use(Held& held);
    void take_read();
    void start_reading();
    void forget_old();
    bool is_read(const std::string& key) const;

    std::map<std::string, Held> held_;
    std::vector<Reader> readers_;
    std::uint64_t frame_ = 1;
};

}  // namespace gs
