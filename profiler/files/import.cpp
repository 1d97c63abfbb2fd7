#include "profiler/files/import.h"

#include <span>
#include <vector>

#include "base/inflate.h"
#include "profiler/files/import_chrome.h"
#include "profiler/files/import_perfetto.h"

namespace gs {
namespace {

Result<std::string> unpack(const std::string& packed, const std::string& path,
                           std::uint64_t max_bytes) {
    Inflater inflater(Inflater::Format::gzip);
    std::span<const std::byte> in = std::as_bytes(std::span(packed));
    std::string out;
    std::vector<std::byte> piece(1 << 16);
    for (;;) {
        std::span<std::byte> room(piece);
        const Inflater::State state = inflater.step(in, room);
        const std::uint64_t byte = packed.size() - in.size();
        const std::size_t made = piece.size() - room.size();
        if (made > max_bytes - out.size())
            return fail(ErrorKind::unsupported, path,
                        fmt::format("unpacks to more than the {} bytes accepted here", max_bytes));
        out.append(reinterpret_cast<const char*>(piece.data()), made);
        if (state == Inflater::State::damaged ||
            (state == Inflater::State::more && made == 0 && in.empty()))
            return fail_at_byte(path, byte, "cannot be unpacked", "the file is damaged or cut off");
        if (state == Inflater::State::more) continue;
        if (in.empty()) return out;
        inflater.restart();  // another member
    }
}

}  // namespace

Result<ImportSummary> import_trace(const fs::path& path, TraceStore& store,
                                   const ImportOptions& options) {
    const std::uint64_t max_bytes = std::min<std::uint64_t>(options.max_bytes, 1ull << 31);
    auto bytes = read_text_file(path, max_bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->starts_with("\x1F\x8B")) {
        bytes = unpack(*bytes, path.string(), max_bytes);
        if (!bytes) return tl::unexpected(bytes.error());
    }
    ImportEvents events(options);
    const std::size_t text = bytes->find_first_not_of(" \t\r\n");
    const bool perfetto = is_perfetto(*bytes);
    if (!perfetto && (text == bytes->npos || ((*bytes)[text] != '{' && (*bytes)[text] != '[')))
        return fail(ErrorKind::unsupported, path.string(),
                    "neither a Perfetto trace nor Chrome JSON",
                    "traces are .pftrace, .perfetto-trace or .json files, gzipped or not");
    const auto read = perfetto ? import_perfetto(*bytes, path.string(), events)
                               : import_chrome(*bytes, path.string(), events);
    if (events.stopped()) return fail(ErrorKind::unsupported, path.string(), "stopped");
    if (!read) return tl::unexpected(read.error());
    ImportSummary summary = events.finish(store);
    summary.format = perfetto ? "Perfetto" : "Chrome JSON";
    return summary;
}

}  // namespace gs
