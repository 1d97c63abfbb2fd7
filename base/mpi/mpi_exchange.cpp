// Exchange by MPI. Every message goes as its size, then in pieces, for MPI counts in 31 bits.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/mpi/mpi_entry.h"

namespace gs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{1} << 30;
constexpr int kTag = 7;

class MpiExchange final : public Exchange {
  public:
    explicit MpiExchange(double limit_s) : limit_s_(limit_s) {
        int level = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);  // the studio's engine
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    MpiExchange(const MpiExchange&) = delete;
    MpiExchange& operator=(const MpiExchange&) = delete;
    ~MpiExchange() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::vector<Message> swap(std::vector<Message> send, bool patient) override {
        const auto ranks = static_cast<std::size_t>(size_);
        std::vector<std::uint64_t> sizes(ranks), came(ranks);
        for (std::size_t r = 0; r < ranks; ++r) sizes[r] = send[r].size();
        for (int r = 0; r < size_; ++r) {
            if (r == rank_) continue;
            const auto i = static_cast<std::size_t>(r);
            receive(r, &came[i], sizeof came[i]);
            dispatch(r, &sizes[i], sizeof sizes[i]);
        }
        wait(patient);
        std::vector<Message> out(ranks);
        for (int r = 0; r < size_; ++r) {
            if (r == rank_) continue;
            const auto i = static_cast<std::size_t>(r);
            out[i].resize_discard(static_cast<std::size_t>(came[i]));
            receive(r, out[i].data(), out[i].size());
            dispatch(r, send[i].data(), send[i].size());
        }
        wait(patient);
        const auto own = static_cast<std::size_t>(rank_);
        out[own] = std::move(send[own]);
        return out;
    }
    void fail(const std::string& reason) noexcept override {
        std::fprintf(stderr, "error: rank %d of %d: %s\n", rank_, size_, reason.c_str());
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

  private:
    /// Calls f(piece, its bytes).
    template <class F>
    static void in_pieces(std::byte* data, std::size_t size, F&& f) {
        for (std::size_t at = 0; at < size; at += kPiece)
            f(data + at, static_cast<int>(std::min(kPiece, size - at)));
    }
    void receive(int from, void* data, std::size_t size) {
        in_pieces(static_cast<std::byte*>(data), size, [&](std::byte* piece, int bytes) {
            MPI_Irecv(piece, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, next(from));
        });
    }
    void dispatch(int to, void* data, std::size_t size) {
        in_pieces(static_cast<std::byte*>(data), size, [&](std::byte* piece, int bytes) {
            MPI_Isend(piece, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD, next(to));
        });
    }
    MPI_Request* next(int with) {
        with_.push_back(with);
        requests_.push_back(MPI_REQUEST_NULL);
        return &requests_.back();
    }
    /// Until all that was begun is done.
    void wait(bool patient) {
        const Clock::time_point begin = Clock::now();
        int done = 0;
        while (true) {
            MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                        MPI_STATUSES_IGNORE);
            if (done != 0) break;
            const double waited = std::chrono::duration<double>(Clock::now() - begin).count();
            if (!patient && waited > limit_s_) give_up(waited);
            // An answer is near, or the head has something else to do.
            if (waited > 1e-3) ::usleep(patient && waited > 0.1 ? 1000 : 50);
        }
        requests_.clear();
        with_.clear();
    }
    [[noreturn]] void give_up(double waited) {
        std::set<int> ranks;
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (requests_[i] != MPI_REQUEST_NULL) ranks.insert(with_[i]);
        std::string late;
        for (const int rank : ranks) late += (late.empty() ? "" : ", ") + std::to_string(rank);
        fail("no answer from rank " + late + " in " + std::to_string(static_cast<int>(waited)) +
             " s");
        std::abort();
    }

    const double limit_s_;
    int rank_ = 0, size_ = 1;
    std::vector<MPI_Request> requests_;
    std::vector<int> with_;  ///< [request] the other rank
};

}  // namespace
}  // namespace gs

extern "C" __attribute__((visibility("default"))) gs::Exchange* gausscope_mpi_exchange(
    double limit_s) {
    static gs::MpiExchange exchange(limit_s);
    return &exchange;
}
