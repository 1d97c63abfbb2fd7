// Textures of the pictures in panels (panels/state/pictures.h): uploaded when a panel asks for one,
// read from files on another thread, released when many others were used since. StudioUi owns one;
// needs a current OpenGL context.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/expected.h"
#include "base/file.h"
#include "base/mailbox.h"
#include "panels/state/pictures.h"
#include "renderer/present/texture.h"

namespace gs {

class PanelTextures final : public PanelPictures {
  public:
    /// Most pictures kept beyond those of the last frame.
    static constexpr std::size_t kMostTextures = 512;
    static constexpr std::size_t kMostBytes = 128 << 20;

    PanelTextures() = default;
    ~PanelTextures() override;
    PanelTextures(const PanelTextures&) = delete;
    PanelTextures& operator=(const PanelTextures&) = delete;

    PanelPicture of(const std::string& key, std::uint64_t version, const Image8& picture) override;
    PanelPicture of_file(const std::string& path, int most_side) override;

    /// Call before a frame's panels: uploads read files, reads the last frame's requests, and
    /// releases surplus textures. Textures of the last frame stay.
    void begin_frame();
    /// True while a file is read or waits for it: the next frame should come soon.
    bool reading() const;
    std::size_t held() const { return held_.size(); }
    /// Number of files checked so far, by one thread.
    std::uint64_t looks() const { return looks_; }
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
        Clock::time_point looked{};  ///< last check of the file
        int in_vain = 0;             ///< consecutive checks without a picture
        bool due = false;            ///< to be checked
    };
    /// `picture` empty: the file is unchanged, or not a picture.
    struct ReadFile {
        Image8 picture;
        fs::file_time_type written;
    };
    struct Wanted {
        std::string key, path;
        int most_side = 0;
        fs::file_time_type known{};
    };
    struct Answer {
        std::string key;
        Result<ReadFile> file;
    };
    static Result<ReadFile> read(const std::string& path, int most_side, fs::file_time_type known);
    PanelPicture use(Held& held);
    void take_read();
    void start_reading();
    void forget_old();
    void read_what_is_wanted();

    std::map<std::string, Held> held_;
    std::set<std::string> asked_;  // keys that the reader has
    Queue<Wanted> wanted_;
    Queue<Answer> answers_;
    std::atomic<bool> ends_{false};
    std::thread reader_;  // from the first file on
    std::uint64_t looks_ = 0;
    std::uint64_t frame_ = 1;
};

}  // namespace gs
