// libpcap's file format (pcap-savefile), Ethernet II, IPv4 with fragments, UDP.
#include <cstring>
#include <map>
#include <optional>

#include "base/try.h"
#include "renderer/io/lidar/ouster.h"

namespace gs {
namespace {

constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4, kNanoseconds = 0xA1B23C4D;
constexpr std::size_t kEthernet = 14, kMostFrame = 1 << 18;
constexpr std::size_t kMostOpen = 64;  // datagrams whose fragments are waited for

std::uint32_t swapped(std::uint32_t v) { return __builtin_bswap32(v); }

std::uint32_t network(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
    return value;
}

/// Datagrams out of IP packets.
class Assembler {
  public:
    Assembler(std::vector<Datagram>& out, PcapReport& report) : out_(out), report_(report) {}

    void add(double time, std::span<const std::byte> frame) {
        if (frame.size() < kEthernet + 20 || network(frame, 12, 2) != 0x0800) return other();
        const auto ip = frame.subspan(kEthernet);
        const std::size_t header = 4 * (network(ip, 0, 1) & 15), total = network(ip, 2, 2);
        if (network(ip, 0, 1) >> 4 != 4 || header < 20 || total < header || total > ip.size() ||
            network(ip, 9, 1) != 17)
            return other();
        const auto payload = ip.subspan(header, total - header);
        const std::uint32_t flags = network(ip, 6, 2), offset = 8 * (flags & 0x1FFF);
        if ((flags & 0x2000) == 0 && offset == 0) return whole(time, payload);
        const auto key = std::pair{network(ip, 12, 4), network(ip, 4, 2)};
        if (open_.size() >= kMostOpen && open_.count(key) == 0) {
            ++report_.fragments_lost;
            open_.erase(open_.begin());
        }
        Parts& parts = open_[key];
        if (parts.bytes.size() < offset + payload.size())
            parts.bytes.resize(offset + payload.size());
        if (!payload.empty())
            std::memcpy(parts.bytes.data() + offset, payload.data(), payload.size());
        parts.have += payload.size();
        if ((flags & 0x2000) == 0) parts.total = offset + payload.size();
        if (parts.total && parts.have >= *parts.total) {
            const std::vector<std::byte> bytes = std::move(parts.bytes);
            open_.erase(key);
            whole(time, bytes);
        }
    }
    void end() { report_.fragments_lost += open_.size(); }

  private:
    struct Parts {
        std::vector<std::byte> bytes;
        std::size_t have = 0;
        std::optional<std::size_t> total;
    };
    void other() { ++report_.other; }
    void whole(double time, std::span<const std::byte> udp) {
        if (udp.size() < 8 || network(udp, 4, 2) < 8 || network(udp, 4, 2) > udp.size())
            return other();
        const auto data = udp.subspan(8, network(udp, 4, 2) - 8);
        out_.push_back({time, static_cast<int>(network(udp, 2, 2)), {data.begin(), data.end()}});
    }

    std::vector<Datagram>& out_;
    PcapReport& report_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Parts> open_;
};

}  // namespace

Result<std::vector<Datagram>> read_pcap(const fs::path& path, PcapReport& report) {
    GS_TRY(const auto bytes, read_file(path, 1ull << 34));
    const auto word = [&](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, 4);
        return value;
    };
    const std::uint32_t magic = bytes.size() >= 24 ? word(0) : 0;
    const bool turned = magic == swapped(kMicroseconds) || magic == swapped(kNanoseconds);
    const auto number = [&](std::size_t at) { return turned ? swapped(word(at)) : word(at); };
    if (bytes.size() < 24 || (number(0) != kMicroseconds && number(0) != kNanoseconds))
        return fail_at_byte(path.string(), 0, "is not a recording in libpcap's format",
                            "pcapng recordings: editcap -F pcap IN OUT");
    if ((number(20) & 0xFFFF) != 1)
        return fail(
            ErrorKind::unsupported, path.string(),
            fmt::format("holds packets of link type {}, not Ethernet", number(20) & 0xFFFF));
    const double tick = number(0) == kNanoseconds ? 1e-9 : 1e-6;
    std::vector<Datagram> out;
    Assembler assembler(out, report);
    std::size_t at = 24;
    while (bytes.size() - at >= 16) {
        const std::size_t size = number(at + 8);
        if (size > kMostFrame)
            return fail_at_byte(path.string(), at,
                                fmt::format("a packet cannot have {} bytes", size),
                                "the recording is damaged from here on; cut it before this byte");
        if (size > bytes.size() - at - 16) break;
        ++report.packets;
        assembler.add(number(at) + tick * number(at + 4), std::span(bytes).subspan(at + 16, size));
        at += 16 + size;
    }
    report.cut = at != bytes.size();
    assembler.end();
    return out;
}

}  // namespace gs
