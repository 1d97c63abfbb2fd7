#include "profiler/collect/trainer_link.h"

#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/record/local_socket.h"
#include "base/try.h"
#include "profiler/collect/client.h"

namespace gs::service {
namespace {

constexpr std::string_view kSuffix = ".training";

std::string socket_name(std::uint32_t pid) { return std::to_string(pid) + std::string(kSuffix); }

}  // namespace

bool TrainerLink::exists(std::uint32_t pid) {
    const auto directory = runtime_directory();
    return directory && path_exists(*directory / socket_name(pid));
}

std::vector<std::uint32_t> TrainerLink::list() {
    std::vector<std::uint32_t> out;
    const auto directory = runtime_directory();
    std::error_code error;
    if (!directory) return out;
    for (const auto& entry : fs::directory_iterator(*directory, error)) {
        const std::string name = entry.path().filename().string();
        std::uint32_t pid = 0;
        std::from_chars(name.data(), name.data() + name.size(), pid);
        if (pid > 0 && name == socket_name(pid)) out.push_back(pid);
    }
    return out;
}

Result<TrainerLink> TrainerLink::open(std::uint32_t pid) {
    GS_TRY(const fs::path path, runtime_directory());
    char why[kWhyBytes] = {};
    const Descriptor directory(open_private_directory(path.c_str(), false, why));
    if (!directory) return fail(ErrorKind::unreadable, path.string(), why);
    TrainerLink out(connect_in(directory.get(), path.c_str(), socket_name(pid).c_str()));
    if (!out.socket_ && errno == EAGAIN)
        return fail(ErrorKind::unreadable, "",
                    fmt::format("too many viewers wait for the next step of process {}", pid));
    if (!out.socket_)
        return fail(ErrorKind::not_found, "",
                    fmt::format("process {} is no training that calls gausscope.attach(), or it "
                                "has ended",
                                pid));
    if (!trusted_peer(out.socket_.get()))
        return fail(ErrorKind::unreadable, "",
                    fmt::format("process {} belongs to another user", pid));
    return out;
}

std::vector<TrainerLink::Message> TrainerLink::take(std::size_t most) {
    std::vector<Message> out;
    while (ended_.empty() && out.size() < most) {
        Message message;
        TrainerRecord& record = message.record;
        int memory = -1;
        const long bytes = receive_message(socket_.get(), &record, sizeof record, memory);
        message.memory = Descriptor(memory);
        if (bytes < 0 && errno == EAGAIN) break;
        if (bytes < 0 && errno == ECONNRESET) continue;  // once; what it sent before is still there
        if (bytes <= 0)
            ended_ = "its process has ended";
        else if (bytes != sizeof record || record.magic != TrainerRecord::kMagic ||
                 record.version != TrainerRecord::kVersion)
            ended_ = "it speaks another version's language: use the same gausscope on both sides";
        else
            record.text[sizeof record.text - 1] = '\0';
        if (!ended_.empty()) break;
        if (record.kind == TrainerRecord::goodbye) ended_ = record.text;
        out.push_back(std::move(message));
    }
    return out;
}

void TrainerLink::send(TrainerRecord::Kind kind, std::uint64_t a, const std::string& text,
                       double value) {
    TrainerRecord record{.kind = kind, .a = a};
    record.values[0] = value;
    std::strncpy(record.text, text.c_str(), sizeof record.text - 1);
    // That the other end has gone is found when all that it sent has been taken.
    (void)::send(socket_.get(), &record, sizeof record, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace gs::service
