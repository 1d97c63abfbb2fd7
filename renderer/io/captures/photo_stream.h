// PhotoStream: photos of a capture that is larger than memory should hold. It keeps as many as fit
// and reads the others again from their files, ahead of the order in which they are expected, on
// threads of its own. A photo is kept by when its next turn comes (Belady 1966), which training
// knows. Made by load_capture for CaptureOptions::photo_memory.
#pragma once

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/expected.h"
#include "renderer/scene/photo_source.h"

namespace gs {

class PhotoStream final : public PhotoSource {
  public:
    /// A photo as it was when the capture was loaded.
    struct Known {
        std::string name;
        int width = 0, height = 0;
        std::uint64_t bytes = 0;  ///< of its pixels, with mask
        bool unread = false;      ///< it was not decoded yet: it has these bytes at most
    };
    using Read = std::function<Result<PhotoPixels>(std::size_t number)>;

    /// `read` decodes one; it is called from several threads. At most `most_bytes` stay.
    PhotoStream(std::vector<Known> photos, Read read, std::uint64_t most_bytes, int threads);
    ~PhotoStream() override;

    std::shared_ptr<const PhotoPixels> read(std::size_t number) override;
    void expect(std::vector<std::size_t> numbers) override;
    void pass(std::size_t count) override;
    std::uint64_t bytes() const override;
    /// How often a file was read since, and the most that stayed.
    std::uint64_t files_read() const;
    std::uint64_t most_kept() const;

  private:
    using Pixels = std::shared_ptr<const PhotoPixels>;
    static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
    struct Photo {
        Known known;
        Pixels kept;                            ///< null: it does not stay
        std::weak_ptr<const PhotoPixels> lent;  ///< whoever has it now
        std::vector<std::size_t> turns;         ///< in order_, ascending
        bool being_read = false;
        bool unreadable = false;  ///< ahead of its turn: callers get the reason
    };
    using Lock = std::unique_lock<std::mutex>;

    void read_ahead(const std::stop_token& stop);
    /// The photo to read ahead now, with space made for it; none: all is there that can be.
    std::size_t next_to_read();
    std::size_t next_turn(const Photo& photo) const;
    bool make_room(std::uint64_t bytes, std::size_t turn);
    void keep(std::size_t number, const Pixels& pixels);
    /// `reserved`: bytes that nobody else may fill until it is there.
    Pixels read_file(std::size_t number, Lock& lock, std::uint64_t reserved = 0);

    const Read read_;
    const std::uint64_t most_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;  ///< something may have to be read ahead
    std::condition_variable arrived_;
    std::vector<Photo> photos_;
    std::vector<std::size_t> kept_;   ///< numbers of those that stay
    std::vector<std::size_t> order_;  ///< as expected
    std::size_t at_ = 0;              ///< in order_: whose turn is next
    std::uint64_t bytes_ = 0, reserved_ = 0, most_kept_ = 0, files_read_ = 0;
    std::vector<std::jthread> threads_;
};

}  // namespace gs
