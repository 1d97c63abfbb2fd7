// Every splat format there is. A new one is a file of its own and a row here.
#include <algorithm>
#include <array>
#include <cctype>

#include "profiler/core/scope.h"
#include "renderer/io/input_file.h"
#include "renderer/io/splat_io.h"
#include "renderer/io/splat_ply.h"

namespace gs {
namespace {

constexpr std::size_t kFirstBytes = 16384;

std::string lower_extension(const fs::path& path) {
    std::string out = path.extension().string();
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

bool has_extension(const SplatFormat& format, const std::string& extension) {
    return std::find(format.extensions.begin(), format.extensions.end(), extension) != format.extensions.end();
}

std::string all_extensions() {
    std::string out;
    for (const SplatFormat& format : splat_formats())
        for (const std::string& extension : format.extensions) out += (out.empty() ? "" : ", ") + extension;
    return out;
}

// Content first; a name alone is enough only for a format that cannot be told by content.
Result<const SplatFormat*> format_of(const fs::path& path) {
    const auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    std::vector<std::byte> head(std::min<std::uint64_t>(kFirstBytes, file->size()));
    if (auto read = file->read_at(0, head); !read) return tl::unexpected(read.error());
    for (const SplatFormat& format : splat_formats())
        if (format.recognises(head, path)) return &format;
    const std::string extension = lower_extension(path);
    for (const SplatFormat& format : splat_formats())
        if (has_extension(format, extension)) return &format;
    return fail(ErrorKind::unsupported, path.string(), "is not a splat file of a known format",
                fmt::format("known: {}", all_extensions()));
}

}  // namespace

std::span<const SplatFormat> splat_formats() {
    static const std::array<SplatFormat, 1> formats = {
        {{"ply", "3D Gaussian Splatting PLY", {".ply"}, recognises_splat_ply, read_splat_ply, write_splat_ply}}};
    return formats;
}

bool is_splat_file(const fs::path& path) {
    const auto file = InputFile::open(path);
    if (!file) return false;
    std::vector<std::byte> head(std::min<std::uint64_t>(kFirstBytes, file->size()));
    if (!file->read_at(0, head)) return false;
    const auto formats = splat_formats();
    return std::any_of(formats.begin(), formats.end(),
                       [&](const SplatFormat& format) { return format.recognises(head, path); });
}

Result<SplatFile> read_splats(const fs::path& path, const Progress& progress) {
    const Span span{Stage::load};
    const auto format = format_of(path);
    if (!format) return tl::unexpected(format.error());
    return (*format)->read(path, progress);
}

Result<void> write_splats(const fs::path& path, const GaussianModel& model) {
    const Span span{Stage::export_splats, model.count};
    const std::string extension = lower_extension(path);
    for (const SplatFormat& format : splat_formats())
        if (format.write != nullptr && has_extension(format, extension)) return format.write(path, model);
    return fail(ErrorKind::usage, path.string(),
                fmt::format("\"{}\" is not the extension of a format that can be written", extension),
                fmt::format("known: {}", all_extensions()));
}

}  // namespace gs
