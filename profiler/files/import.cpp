#include "profiler/files/import.h"

#include <zlib.h>

#include <array>

#include "profiler/files/import_chrome.h"
#include "profiler/files/import_perfetto.h"

namespace gs {
namespace {

Result<std::string> unpack(const std::string& packed, const std::string& path,
                           std::uint64_t max_bytes) {
    struct Inflater {
        z_stream stream{};
        bool ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;
        ~Inflater() { inflateEnd(&stream); }
    } inflater;
    z_stream& z = inflater.stream;
    if (!inflater.ready) return fail(ErrorKind::unreadable, path, "cannot be unpacked");
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    z.avail_in = static_cast<uInt>(packed.size());
    std::string out;
    std::vector<char> piece(1 << 16);
    for (;;) {
        z.next_out = reinterpret_cast<Bytef*>(piece.data());
        z.avail_out = static_cast<uInt>(piece.size());
        const int code = inflate(&z, Z_NO_FLUSH);
        const std::uint64_t byte = packed.size() - z.avail_in;
        const std::size_t made = piece.size() - z.avail_out;
        if (made > max_bytes - out.size())
            return fail(ErrorKind::unsupported, path,
                        fmt::format("unpacks to more than the {} bytes accepted here", max_bytes));
        out.append(piece.data(), made);
        if (code == Z_STREAM_END) {
            if (z.avail_in == 0) return out;
            if (inflateReset(&z) != Z_OK)
                return fail_at_byte(path, byte, "cannot be unpacked");  // another member
        } else if (code != Z_OK || (made == 0 && z.avail_in == 0)) {
            return fail_at_byte(path, byte, "cannot be unpacked", "the file is damaged or cut off");
        }
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
