#include "base/exchange.h"

#include <utility>

namespace gs {
namespace {

std::vector<Message> none_for(const Exchange& ranks) {
    return std::vector<Message>(static_cast<std::size_t>(ranks.size()));
}

}  // namespace

Message from_head(Exchange& ranks, Message own, bool patient) {
    std::vector<Message> send = none_for(ranks);
    if (ranks.head()) send.assign(send.size(), own);
    return std::move(ranks.swap(std::move(send), patient && !ranks.head())[0]);
}

std::vector<Message> at_head(Exchange& ranks, Message own) {
    std::vector<Message> send = none_for(ranks);
    send[0] = std::move(own);
    return ranks.swap(std::move(send));
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
