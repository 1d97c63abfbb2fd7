// Exchange: how the processes that train one run together, its ranks, send each other messages.
// What carries them is MPI (base/mpi), or in tests threads of one process. Rank 0 is the head: it
// decides, the others carry out. Every rank makes the same calls in the same order, from one
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/buffer.h"

namespace gs {

using Message = Buffer<std::byte>;

/// A rank failed, is gone, or does not answer: none can continue.
class RankError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    bool head() const { return rank() == 0; }
    /// Message r of `send`, one per rank, goes to rank r; message r of the result came from there.
    /// The own one comes back as it is. `patient`: the others may take any time; else those that
    /// take longer than the transport's limit have failed. Throws RankError, or ends the process.
    virtual std::vector<Message> swap(std::vector<Message> send, bool patient = false) = 0;
    /// Ends the run on all ranks, each of which reports `reason`.
    virtual void fail(const std::string& reason) noexcept = 0;
};

/// Of a process that is alone: what it sends comes back to it.
Exchange& one_process();

/// These plain values alone.
template <class T, std::size_t N>
Message message_of(std::span<T, N> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    Message out(values.size_bytes());
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    return out;
}
/// Writes plain values and arrays one after the other; MessageReader reads them in the same order.
class MessageWriter {
  public:
    template <class T>
    void put(const T& value) {
        put_all(std::span(&value, 1));
    }
    template <class T, std::size_t N>
    void put_all(std::span<T, N> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::size_t at = message_.size();
        message_.resize(at + values.size_bytes());
        if (!values.empty()) std::memcpy(message_.data() + at, values.data(), values.size_bytes());
    }
    /// With their number, for MessageReader::list().
    template <class T>
    void put_list(const std::vector<T>& values) {
        put(static_cast<std::uint64_t>(values.size()));
        put_all(std::span(values));
    }
    void reserve(std::size_t bytes) {
        message_.resize_discard(bytes);
        message_.resize_discard(0);
    }
    Message take() { return std::move(message_); }

  private:
    Message message_;
};

/// Throws RankError where the message is shorter than what is read.
class MessageReader {
  public:
    explicit MessageReader(const Message& message) : rest_(message.span()) {}
    template <class T>
    T get() {
        T value;
        get_all(std::span(&value, 1));
        return value;
    }
    template <class T>
    void get_all(std::span<T> values) {
        const std::span<const std::byte> from = next(values.size_bytes());
        if (!values.empty()) std::memcpy(values.data(), from.data(), from.size());
    }
    template <class T>
    std::vector<T> list() {
        const auto size = get<std::uint64_t>();
        if (size > rest_.size() / sizeof(T)) throw RankError("a message between ranks is cut");
        std::vector<T> out(static_cast<std::size_t>(size));
        get_all(std::span(out));
        return out;
    }
    /// The next bytes where they are.
    std::span<const std::byte> next(std::size_t bytes) {
        if (bytes > rest_.size()) throw RankError("a message between ranks is cut");
        const auto out = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return out;
    }

  private:
    std::span<const std::byte> rest_;
};

/// The head's message, on every rank. `own` of the others is not read. `patient`: the others wait
/// for the head as long as it takes.
Message from_head(Exchange& ranks, Message own, bool patient = false);
template <class T>
T value_from_head(Exchange& ranks, const T& own) {
    return MessageReader(from_head(ranks, message_of(std::span(&own, 1)))).get<T>();
}
/// To the head: every rank's message, by rank. Elsewhere: empty ones. `patient`: as of from_head().
std::vector<Message> at_head(Exchange& ranks, Message own, bool patient = false);
/// To the head: the ranks' values, one rank's after the other's. Elsewhere: none.
template <class T>
std::vector<T> joined_at_head(Exchange& ranks, const std::vector<T>& own) {
    MessageWriter message;
    message.put_list(own);
    std::vector<T> out;
    for (const Message& part : at_head(ranks, message.take())) {
        if (part.empty()) continue;
        const std::vector<T> values = MessageReader(part).list<T>();
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}
/// To each rank `own` values of the head's `all`, in the order of ranks; the others' `all` is not
/// read. They wait for the head as long as it takes.
template <class T>
std::vector<T> parted_from_head(Exchange& ranks, const std::vector<T>& all, std::size_t own) {
    const std::vector<Message> counts =
        at_head(ranks, message_of(std::span<const std::size_t>(&own, 1)), true);
    std::vector<Message> send(counts.size());
    std::span<const T> rest(all);
    for (std::size_t rank = 0; ranks.head() && rank < send.size(); ++rank) {
        const auto count = MessageReader(counts[rank]).get<std::size_t>();
        send[rank] = message_of(rest.first(count));
        rest = rest.subspan(count);
    }
    std::vector<T> out(own);
    const std::vector<Message> came = ranks.swap(std::move(send), !ranks.head());
    MessageReader(came[0]).get_all(std::span(out));
    return out;
}
/// On every rank: what each has, by rank.
template <class T>
std::vector<T> of_each(Exchange& ranks, const T& own) {
    const std::vector<Message> send(static_cast<std::size_t>(ranks.size()),
                                    message_of(std::span<const T>(&own, 1)));
    std::vector<T> out;
    for (const Message& from : ranks.swap(send)) out.push_back(MessageReader(from).get<T>());
    return out;
}
/// Of things of which each rank has some, those of the lower ranks first.
struct Among {
    std::size_t first = 0, all = 0;  ///< how many are before the own ones; how many there are
};
Among among(Exchange& ranks, std::size_t own);
/// On every rank: the sums of the ranks' numbers, added in the order of ranks.
std::vector<std::uint64_t> sums_over(Exchange& ranks, const std::vector<std::uint64_t>& own);

}  // namespace gs
