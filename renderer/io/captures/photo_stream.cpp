#include "renderer/io/captures/photo_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/record/scope.h"

namespace gs {

PhotoStream::PhotoStream(std::vector<Known> photos, Read read, std::uint64_t most_bytes,
                         int threads)
    : read_(std::move(read)), most_bytes_(most_bytes), photos_(photos.size()) {
    for (std::size_t i = 0; i < photos.size(); ++i) photos_[i].known = std::move(photos[i]);
    for (int t = 0; t < threads; ++t) try {
            threads_.emplace_back([this](const std::stop_token& stop) { read_ahead(stop); });
        } catch (const std::system_error&) {
            break;  // who asks reads for himself
        }
}

PhotoStream::~PhotoStream() {
    for (std::jthread& thread : threads_) thread.request_stop();
}

std::shared_ptr<const PhotoPixels> PhotoStream::read(std::size_t number) {
    Lock lock(mutex_);
    Photo& photo = photos_.at(number);
    for (;;) {
        if (Pixels there = photo.lent.lock()) return there;
        if (!photo.being_read) return read_file(number, lock);
        arrived_.wait(lock);
    }
}

void PhotoStream::expect(std::vector<std::size_t> numbers) {
    const Lock lock(mutex_);
    order_ = std::move(numbers);
    at_ = 0;
    for (Photo& photo : photos_) photo.turns.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) photos_.at(order_[i]).turns.push_back(i);
    wake_.notify_all();
}

void PhotoStream::pass(std::size_t count) {
    const Lock lock(mutex_);
    at_ = std::min(at_ + count, order_.size());
    wake_.notify_all();
}

std::uint64_t PhotoStream::bytes() const {
    const Lock lock(mutex_);
    return bytes_;
}
std::uint64_t PhotoStream::files_read() const {
    const Lock lock(mutex_);
    return files_read_;
}
std::uint64_t PhotoStream::most_kept() const {
    const Lock lock(mutex_);
    return most_kept_;
}

std::size_t PhotoStream::next_turn(const Photo& photo) const {
    const auto turn = std::lower_bound(photo.turns.begin(), photo.turns.end(), at_);
    return turn == photo.turns.end() ? kNever : *turn;
}

/// For a photo whose turn is `turn`: those go whose turn comes later. False, and all stay, where
/// that does not do.
bool PhotoStream::make_room(std::uint64_t bytes, std::size_t turn) {
    if (bytes > most_bytes_) return false;
    std::vector<std::pair<std::size_t, std::size_t>> later;  // turn, number
    std::uint64_t free = most_bytes_ - std::min(bytes_ + reserved_, most_bytes_);
    if (free < bytes)
        for (const std::size_t number : kept_)
            if (const std::size_t its = next_turn(photos_[number]); its > turn)
                later.emplace_back(its, number);
    std::sort(later.begin(), later.end());
    std::size_t go = 0;
    while (free < bytes && go < later.size())
        free += photos_[later[later.size() - ++go].second].known.bytes;
    if (free < bytes) return false;
    for (; go > 0; --go) {
        const std::size_t number = later[later.size() - go].second;
        bytes_ -= photos_[number].known.bytes;
        photos_[number].kept.reset();
        std::erase(kept_, number);
    }
    return true;
}

void PhotoStream::keep(std::size_t number, const Pixels& pixels) {
    Photo& photo = photos_[number];
    photo.lent = pixels;
    const std::size_t turn = next_turn(photo);
    if (photo.kept || !make_room(photo.known.bytes, turn)) return;
    kept_.push_back(number);
    photo.kept = pixels;
    bytes_ += photo.known.bytes;
    most_kept_ = std::max(most_kept_, bytes_);
}

std::size_t PhotoStream::next_to_read() {
    for (std::size_t turn = at_; turn < order_.size(); ++turn) {
        const Photo& photo = photos_[order_[turn]];
        if (photo.kept || photo.being_read || photo.unreadable || !photo.lent.expired()) continue;
        return make_room(photo.known.bytes, turn) ? order_[turn] : kNever;
    }
    return kNever;
}

PhotoStream::Pixels PhotoStream::read_file(std::size_t number, Lock& lock, std::uint64_t reserved) {
    Photo& photo = photos_[number];
    photo.being_read = true;
    reserved_ += reserved;
    ++files_read_;
    lock.unlock();
    Known& known = photo.known;
    const bool first = known.unread;
    const auto done = [&] {
        lock.lock();
        photo.being_read = false;
        reserved_ -= reserved;
        arrived_.notify_all();
    };
    Pixels out;
    std::string why;
    try {
        const Span span{Stage::decode_photo, number};
        auto pixels = read_(number);
        if (!pixels)
            why = pixels.error().text();
        else if (pixels->photo.width != known.width || pixels->photo.height != known.height ||
                 (!first && pixels->bytes() != known.bytes))
            why = "the size of it or its mask has changed";
        else
            out = std::make_shared<const PhotoPixels>(std::move(*pixels));
    } catch (...) {
        done();
        throw;
    }
    done();
    if (!out)
        throw PhotoError(
            first
                ? fmt::format("photo {} cannot be read: {}", known.name, why)
                : fmt::format("photo {} cannot be read any more: {}; put it back (a training that "
                              "it stopped continues with --resume)",
                              known.name, why));
    photo.unreadable = known.unread = false;
    known.bytes = out->bytes();
    keep(number, out);
    return out;
}

void PhotoStream::read_ahead(const std::stop_token& stop) {
    name_this_thread("photos ahead");
    Lock lock(mutex_);
    while (!stop.stop_requested()) {
        const std::size_t number = next_to_read();
        if (number == kNever) {
            wake_.wait(lock, stop,
                       [&] { return stop.stop_requested() || next_to_read() != kNever; });
            continue;
        }
        try {
            (void)read_file(number, lock, photos_[number].known.bytes);
        } catch (const PhotoError&) {
            photos_[number].unreadable = true;
        } catch (const std::bad_alloc&) {
            photos_[number].unreadable = true;
        }
    }
}

}  // namespace gs
