// The two ways anything crosses threads (design §3): Latest<T>, where the newest value wins, and
// Queue<T>, bounded and in order. Nothing else is shared between the UI, engine, loader and
// collector threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace gs {

/// One slot. put() replaces what was not yet taken; the writer never waits.
template <class T>
class Latest {
  public:
    void put(T value) {
        {
            const std::lock_guard lock(mutex_);
            value_ = std::move(value);
        }
        ready_.notify_one();
    }
    /// The newest value since the last take(), if any.
    std::optional<T> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(value_, std::nullopt);
    }
    std::optional<T> take_within(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        ready_.wait_for(lock, patience, [&] { return value_.has_value(); });
        return std::exchange(value_, std::nullopt);
    }
    bool empty() const {
        const std::lock_guard lock(mutex_);
        return !value_.has_value();
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::optional<T> value_;
};

/// First in, first out, at most `capacity` waiting values.
template <class T>
class Queue {
  public:
    explicit Queue(std::size_t capacity = 256) : capacity_(capacity) {}

    /// False when full or closed: the value is not queued and the caller decides.
    bool try_put(T value) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_ || items_.size() >= capacity_) return false;
            items_.push_back(std::move(value));
        }
        changed_.notify_all();
        return true;
    }
    /// Waits until there is space. False when closed.
    bool put(T value) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
            if (closed_) return false;
            items_.push_back(std::move(value));
        }
        changed_.notify_all();
        return true;
    }
    std::optional<T> try_take() {
        std::optional<T> out;
        {
            const std::lock_guard lock(mutex_);
            if (items_.empty()) return out;
            out = std::move(items_.front());
            items_.pop_front();
        }
        changed_.notify_all();
        return out;
    }
    /// Waits for a value; nothing once closed and empty, or when `patience` has passed.
    std::optional<T> take_within(std::chrono::milliseconds patience) {
        std::optional<T> out;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, patience, [&] { return closed_ || !items_.empty(); });
            if (items_.empty()) return out;
            out = std::move(items_.front());
            items_.pop_front();
        }
        changed_.notify_all();
        return out;
    }
    std::size_t size() {
        const std::lock_guard lock(mutex_);
        return items_.size();
    }
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

  private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace gs
