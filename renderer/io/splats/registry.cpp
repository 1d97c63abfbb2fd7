// All splat formats. A new format is a file and a row here.
#include <algorithm>
#include <array>
#include <new>

#include "base/file.h"
#include "base/record/scope.h"
#include "base/text.h"
#include "base/try.h"
#include "renderer/io/files/input_file.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/splat_origin.h"

namespace gs {
namespace {

constexpr std::size_t kFirstBytes = 16384;

// How much of the name the format knows: its longest extension at the end, 0 for none.
std::size_t match_length(const SplatFormat& format, const std::string& name) {
    std::size_t longest = 0;
    for (const std::string& end : format.extensions)
        if (end.front() == '.' ? name.size() > end.size() && name.ends_with(end) : name == end)
            longest = std::max(longest, end.size());
    return longest;
}

// Of the formats that `usable` accepts the one that knows most of the name; null when none does.
template <class Usable>
const SplatFormat* format_by_name(const fs::path& path, Usable usable) {
    const std::string name = lower_case(path.filename().string());
    const SplatFormat* best = nullptr;
    for (const SplatFormat& format : splat_formats())
        if (usable(format) &&
            match_length(format, name) > (best != nullptr ? match_length(*best, name) : 0))
            best = &format;
    return best;
}

bool readable(const SplatFormat& format) { return format.read != nullptr; }
bool writable(const SplatFormat& format) { return format.write != nullptr; }

// The file a folder stands for; any other path is itself.
fs::path file_in(const fs::path& path) {
    if (!folder_exists(path)) return path;
    for (const char* name : {"lod-meta.json", "meta.json"})
        if (file_exists(path / name)) return path / name;
    return path;
}

const SplatFormat* format_by_content(std::span<const std::byte> head, const fs::path& path) {
    const auto formats = splat_formats();
    const auto found = std::find_if(formats.begin(), formats.end(), [&](const SplatFormat& format) {
        return format.recognises != nullptr && format.recognises(head, path);
    });
    return found == formats.end() ? nullptr : &*found;
}

Result<std::vector<std::byte>> first_bytes_of(const fs::path& path) {
    GS_TRY(const auto file, InputFile::open(path));
    std::vector<std::byte> head(std::min<std::uint64_t>(kFirstBytes, file.size()));
    GS_TRY_VOID(file.read_at(0, head));
    return head;
}

}  // namespace

std::span<const SplatFormat> splat_formats() {
    static const std::array<SplatFormat, 10> formats = {{
        {"compressed-ply",
         "PlayCanvas compressed PLY",
         {".compressed.ply"},
         recognises_compressed_ply,
         read_compressed_ply,
         write_compressed_ply,
         true,
         true,
         true},
        {"ply",
         "3D Gaussian Splatting PLY",
         {".ply"},
         recognises_splat_ply,
         read_splat_ply,
         write_splat_ply,
         true,
         true,
         true},
        {"csv",
         "CSV of every parameter",
         {".csv"},
         recognises_splat_csv,
         nullptr,
         write_splat_csv,
         false,
         true},
        {"spz", "SPZ", {".spz"}, recognises_spz, read_spz, write_spz},
        {"ksplat",
         "GaussianSplats3D .ksplat",
         {".ksplat"},
         recognises_ksplat,
         read_ksplat,
         nullptr},
        {"lods",
         "streamed SOG, several levels",
         {"lod-meta.json"},
         recognises_splat_lods,
         read_splat_lods,
         nullptr},
        {"sog", "SOG", {".sog", "meta.json"}, recognises_sog, read_sog, write_sog, true, true},
        {"gltf",
         "glTF with KHR_gaussian_splatting",
         {".glb", ".gltf"},
         recognises_splat_gltf,
         read_splat_gltf,
         write_splat_gltf,
         false,
         true},
        {"html", "web page that shows the scene", {".html"}, nullptr, nullptr, write_splat_html},
        {"splat",
         "antimatter15 .splat",
         {".splat"},
         recognises_dot_splat,
         read_dot_splat,
         write_dot_splat},
    }};
    return formats;
}

std::string splat_extensions(bool written) {
    std::string out;
    for (const SplatFormat& format : splat_formats())
        if (written ? writable(format) : readable(format))
            for (const std::string& extension : format.extensions)
                out += (out.empty() ? "" : ", ") + extension;
    return out;
}

Result<SplatSource> find_splats(const fs::path& path) {
    const fs::path file = file_in(path);
    GS_TRY(const auto head, first_bytes_of(file));
    if (const SplatFormat* found = format_by_content(head, file))
        return SplatSource{file, found, true};
    if (const SplatFormat* found = format_by_name(file, readable))
        return SplatSource{file, found, false};
    return fail(ErrorKind::unsupported, file.string(), "is not a splat file of a known format",
                fmt::format("known: {}", splat_extensions(false)));
}

Result<SplatFile> read_splats(const SplatSource& source, const SplatReadOptions& options) {
    const Span span{Stage::load};
    const auto& [file, format, by_content] = source;
    if (format->read == nullptr)
        return fail(ErrorKind::unsupported, file.string(),
                    fmt::format("{} files are written, not read", format->description));
    try {
        GS_TRY(SplatFile out, format->read(file, options));
        settle_origin(out);
        return out;
    } catch (const std::bad_alloc&) {
        return fail(ErrorKind::unreadable, file.string(), "does not fit into memory",
                    "close other programs, or convert it on a machine with more memory");
    }
}

Result<SplatFile> read_splats(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const SplatSource source, find_splats(path));
    return read_splats(source, options);
}

Result<SplatNotes> write_splats(const fs::path& path, const GaussianModel& model,
                                const SplatWriteOptions& options) {
    const Span span{Stage::export_splats, model.count};
    if (const SplatFormat* format = format_by_name(path, writable)) {
        GS_TRY(SplatNotes notes, format->write(path, model, options));
        if (options.trained.unscented && !format->keeps_training)
            notes.push_back(format->description +
                            " does not say that the Gaussians were trained by the unscented "
                            "transform");
        if (!is_zero(model.origin) && !format->keeps_origin)
            notes.push_back(
                fmt::format("{} cannot store the origin {}: positions are relative to it",
                            format->description, text_of_origin(model.origin)));
        if (!model.sky.empty() && !format->keeps_sky)
            notes.push_back(format->description + " cannot store the learned sky");
        return notes;
    }
    return fail(ErrorKind::usage, path.string(),
                fmt::format("\"{}\" does not end like a format that can be written",
                            path.filename().string()),
                fmt::format("known: {}", splat_extensions(true)));
}

Result<void> write_splats(const fs::path& path, const GaussianModel& model) {
    GS_TRY_VOID(write_splats(path, model, SplatWriteOptions{}));
    return {};
}

std::uint64_t splat_bytes(const fs::path& path) {
    std::error_code ignored;
    const fs::path file = file_in(path);
    const std::string name = lower_case(file.filename().string());
    std::uint64_t sum = 0;
    if (name != "meta.json" && name != "lod-meta.json") {
        for (const fs::path& part :
             {file,
              name.ends_with(".gltf") ? fs::path(file).replace_extension(".bin") : fs::path()})
            if (const std::uint64_t size = fs::file_size(part, ignored); !ignored) sum += size;
        return sum;
    }
    for (auto it = fs::recursive_directory_iterator(file.parent_path(), ignored); it != fs::end(it);
         it.increment(ignored))
        if (it->is_regular_file(ignored)) sum += it->file_size(ignored);
    return sum;
}

}  // namespace gs
