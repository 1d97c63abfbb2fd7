#include "base/exchange.h"

#include <utility>

namespace gs {
namespace {

std::vector<Message> none_for(const Exchange& ranks) {
    return std::vector<Message>(static_cast<std::size_t>(ranks.size()));
}

class OneProcess final : public Exchange {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    std::vector<Message> swap(std::vector<Message> send, bool) override { return send; }
    void fail(const std::string&) noexcept override {}
};

}  // namespace

Exchange& one_process() {
    static OneProcess alone;
    return alone;
}

Message from_head(Exchange& ranks, Message own, bool patient) {
    std::vector<Message> send = none_for(ranks);
    if (ranks.head()) send.assign(send.size(), own);
    return std::move(ranks.swap(std::move(send), patient && !ranks.head())[0]);
}

std::vector<Message> at_head(Exchange& ranks, Message own, bool patient) {
    std::vector<Message> send = none_for(ranks);
    send[0] = std::move(own);
    return ranks.swap(std::move(send), patient && !ranks.head());
}

Among among(Exchange& ranks, std::size_t own) {
    Among out;
    const std::vector<std::size_t> counts = of_each(ranks, own);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        out.first += rank < static_cast<std::size_t>(ranks.rank()) ? counts[rank] : 0;
        out.all += counts[rank];
    }
    return out;
}

std::vector<std::uint64_t> sums_over(Exchange& ranks, const std::vector<std::uint64_t>& own) {
    const Message one = message_of(std::span(own));
    std::vector<std::uint64_t> sums(own.size()), part(own.size());
    for (const Message& from : ranks.swap(std::vector<Message>(none_for(ranks).size(), one))) {
        MessageReader(from).get_all(std::span(part));
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
    }
    return sums;
}

}  // namespace gs
