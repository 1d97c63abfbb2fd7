// Ranks that are threads of one process: what tests and sanitizers see of a run that several
// processes train.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/exchange.h"

namespace gs::testing {

/// Where the threads' messages lie until all have them.
class ThreadHub {
  public:
    explicit ThreadHub(int ranks)
        : boxes_(static_cast<std::size_t>(ranks),
                 std::vector<Message>(static_cast<std::size_t>(ranks))) {}
    int size() const { return static_cast<int>(boxes_.size()); }
    std::vector<Message> swap(int rank, std::vector<Message> send) {
        std::unique_lock lock(mutex_);
        for (std::size_t r = 0; r < send.size(); ++r)
            boxes_[r][static_cast<std::size_t>(rank)] = std::move(send[r]);
        wait_for_all(lock);
        std::vector<Message> out(boxes_.size());
        for (std::size_t r = 0; r < out.size(); ++r)
            out[r] = std::move(boxes_[static_cast<std::size_t>(rank)][r]);
        wait_for_all(lock);
        return out;
    }
    void fail(int rank, const std::string& reason) {
        const std::lock_guard lock(mutex_);
        if (reason_.empty()) reason_ = "rank " + std::to_string(rank) + ": " + reason;
        arrived_.notify_all();
    }

  private:
    void wait_for_all(std::unique_lock<std::mutex>& lock) {
        const std::uint64_t round = round_;
        if (++waiting_ == size()) {
            waiting_ = 0;
            ++round_;
            arrived_.notify_all();
        }
        arrived_.wait(lock, [&] { return round_ != round || !reason_.empty(); });
        if (round_ == round) throw RankError(reason_);
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<std::vector<Message>> boxes_;  ///< [to][from]
    int waiting_ = 0;
    std::uint64_t round_ = 0;
    std::string reason_;
};

class ThreadExchange final : public Exchange {
  public:
    ThreadExchange(ThreadHub& hub, int rank) : hub_(hub), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return hub_.size(); }
    std::vector<Message> swap(std::vector<Message> send, bool) override {
        return hub_.swap(rank_, std::move(send));
    }
    void fail(const std::string& reason) noexcept override { hub_.fail(rank_, reason); }

  private:
    ThreadHub& hub_;
    const int rank_;
};

/// Calls head(its exchange) here and other(exchange) in a thread for each other rank. What they
/// throw is discarded: the head hears of it.
inline void with_ranks(ThreadHub& hub, const std::function<void(Exchange&)>& head,
                       const std::function<void(Exchange&)>& other) {
    std::vector<std::thread> threads;
    for (int rank = 1; rank < hub.size(); ++rank)
        threads.emplace_back([&hub, &other, rank] {
            ThreadExchange ranks(hub, rank);
            try {
                other(ranks);
            } catch (const std::exception&) {
            }
        });
    ThreadExchange ranks(hub, 0);
    std::exception_ptr thrown;
    try {
        head(ranks);
    } catch (...) {
        thrown = std::current_exception();
    }
    for (std::thread& thread : threads) thread.join();
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace gs::testing
