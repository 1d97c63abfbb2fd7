#include "profiler/files/import.h"

#include <new>
#include <span>
#include <vector>

#include "base/inflate.h"
#include "profiler/files/free_memory.h"
#include "profiler/files/import_formats.h"

namespace gs {
namespace {

/// What a gzipped file holds; of one that is damaged or cut, what comes before. `whole`: all of it.
Result<std::string> unpack(const std::string& packed, const std::string& path,
                           std::uint64_t max_bytes, bool& whole) {
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
                        fmt::format("unpacks to more than the {} bytes accepted here", max_bytes),
                        "run it on a machine with more free memory");
        out.append(reinterpret_cast<const char*>(piece.data()), made);
        if (state == Inflater::State::damaged ||
            (state == Inflater::State::more && made == 0 && in.empty())) {
            whole = false;
            if (!out.empty()) return out;
            return fail_at_byte(path, byte, "cannot be unpacked", "the file is damaged or cut off");
        }
        if (state == Inflater::State::more) continue;
        while (!in.empty() && in.front() == std::byte{0}) in = in.subspan(1);  // of tapes
        if (in.empty()) return out;
        inflater.restart();  // another member
    }
}

/// Without the marks that editors and shells put at the head of a text.
std::string_view without_marks(std::string_view bytes) {
    for (;;) {
        const std::size_t text = bytes.find_first_not_of(" \t\r\n\v\f");
        if (text != bytes.npos && bytes.substr(text).starts_with("\xEF\xBB\xBF"))
            bytes.remove_prefix(text + 3);
        else
            return text == bytes.npos ? std::string_view() : bytes.substr(text);
    }
}

tl::unexpected<Error> not_a_trace(std::string_view bytes, const fs::path& path) {
    const std::string name = path.string();
    const auto ends = [&](const char* end) { return name.ends_with(end); };
    if (ends(".nsys-rep") || ends(".qdrep") || ends(".qdstrm"))
        return fail(ErrorKind::unsupported, name, "Nsight Systems reports cannot be read directly",
                    fmt::format("export it and open what that makes: nsys export --type sqlite {}",
                                path.filename().string()));
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))
        return fail(ErrorKind::unsupported, name, "this text is UTF-16; traces must be UTF-8",
                    fmt::format("convert it: iconv -f UTF-16 -t UTF-8 {} > trace.json", name));
    return fail(ErrorKind::unsupported, name,
                "neither a Perfetto trace nor Chrome JSON nor an XSpace nor an export of Nsight "
                "Systems",
                "traces are .pftrace, .perfetto-trace, .json, .xplane.pb or .sqlite files, gzipped "
                "or not");
}

Result<std::string> read_bytes(const std::string& path, const ImportOptions& options, bool& whole) {
    const std::uint64_t max_bytes = free_memory(options.max_bytes);
    auto bytes = read_text_file(path, max_bytes);
    if (!bytes || !bytes->starts_with("\x1F\x8B")) return bytes;
    return unpack(*bytes, path, max_bytes, whole);
}

enum class Format { none, perfetto, chrome, xplane, nsys };
constexpr const char* kFormatNames[] = {"", "Perfetto", "Chrome JSON", "XSpace", "Nsight Systems"};

/// `text`: without marks at the head.
Format format_of(std::string_view bytes, std::string_view text) {
    if (is_sqlite(bytes)) return Format::nsys;
    if (is_xplane(bytes)) return Format::xplane;
    if (is_perfetto(bytes)) return Format::perfetto;
    return text.starts_with('{') || text.starts_with('[') ? Format::chrome : Format::none;
}

Result<ImportSummary> read_trace_file(const fs::path& path, TraceStore& store,
                                      const ImportOptions& options) {
    bool whole = true;
    Format format = Format::none;
    auto bytes = read_bytes(path.string(), options, whole);
    if (!bytes) return tl::unexpected(bytes.error());
    ImportEvents events(options);
    if (!whole)
        events.notes.cut(
            "cannot unpack the whole file: it is damaged or cut off; events before that are shown");
    {
        const std::string_view text = without_marks(*bytes);
        format = format_of(*bytes, text);
        if (format == Format::none) return not_a_trace(*bytes, path);
        const std::string name = path.string();
        const auto read = format == Format::perfetto ? import_perfetto(*bytes, name, events)
                          : format == Format::xplane ? import_xplane(*bytes, name, events)
                          : format == Format::nsys   ? import_nsys(*bytes, name, events)
                                                     : import_chrome(*bytes, text, name, events);
        if (events.stopped()) return fail(ErrorKind::unsupported, path.string(), "stopped");
        if (!read) return tl::unexpected(read.error());
        bytes = std::string();  // before the events are put together, which takes memory as well
    }
    ImportSummary summary = events.finish(store);
    summary.format = kFormatNames[static_cast<int>(format)];
    return summary;
}

}  // namespace

Result<ImportSummary> import_trace(const fs::path& path, TraceStore& store,
                                   const ImportOptions& options) {
    try {
        return read_trace_file(path, store, options);
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::unsupported, path.string(), "not enough memory to read this trace",
                    "read it on a machine with more free memory, or record for a shorter time");
    }
}

}  // namespace gs
