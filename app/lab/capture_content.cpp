#include "app/lab/capture_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <span>

#include "app/lab/suite.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/try.h"

namespace gs::lab {
namespace {

constexpr std::size_t kHashedAtOnce = 4 << 20;  // bytes
constexpr const char* kMadeByARun = "run.json";

struct ContentFile {
    std::string name;  // from the capture on
    FileStamp stamp;
    std::uint64_t hash = 0;
    bool known = false;
};

/// Files below `folder`, whatever links lead there; `been`: folders that were looked at.
void list_files(const fs::path& folder, const std::string& name, std::set<std::string>& been,
                std::vector<ContentFile>& out) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !been.insert(real.string()).second) return;
    if (fs::exists(folder / kMadeByARun, error)) return;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string leaf = entry.path().filename().string();
        if (leaf.starts_with(".")) continue;
        if (entry.is_directory(error)) {
            list_files(entry.path(), name + leaf + "/", been, out);
        } else if (entry.is_regular_file(error)) {
            FileStamp stamp{fs::absolute(entry.path()).string(), 0, 0};
            stamp.bytes = static_cast<std::int64_t>(entry.file_size(error));
            stamp.time = entry.last_write_time(error).time_since_epoch().count();
            out.push_back({name + leaf, std::move(stamp), 0, false});
        }
    }
}

/// Of nothing where the file cannot be read: the training says so.
std::uint64_t hash_of_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> piece(kHashedAtOnce);
    std::uint64_t hash = 0;
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
        hash = hash_bytes(
            std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(in.gcount()))), hash);
    return hash;
}

}  // namespace

Result<std::string> content_of(const std::vector<fs::path>& folders, const LabFile& file) {
    std::vector<ContentFile> files;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        std::set<std::string> been;
        list_files(folders[i], fmt::format("{}/", i), been, files);
    }
    std::ranges::sort(files, {}, &ContentFile::name);
    for (ContentFile& one : files) {
        GS_TRY(const auto known, file.file_hash(one.stamp));
        one.known = known.has_value();
        one.hash = known.value_or(0);
    }
    parallel_for(files.size(), 1, [&](std::size_t i) {
        if (!files[i].known) files[i].hash = hash_of_file(files[i].stamp.path);
    });
    std::vector<std::pair<FileStamp, std::uint64_t>> now;
    std::string text;
    for (const ContentFile& one : files) {
        if (!one.known) now.emplace_back(one.stamp, one.hash);
        text += fmt::format("{}\n{} {:016x}\n", one.name, one.stamp.bytes, one.hash);
    }
    if (!now.empty()) GS_TRY_VOID(file.add_file_hashes(now));
    return fingerprint_of(text);
}

Result<std::string> content_of_file(const fs::path& file) {
    GS_TRY(const auto bytes, read_file(file));
    return fmt::format("{:016x}", hash_bytes(bytes)).substr(0, 8);
}

}  // namespace gs::lab
