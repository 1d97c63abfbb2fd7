#include "app/bundle/bundle_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/bundle/json_fields.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/files/file_set.h"
#include "renderer/io/files/zip_writer.h"

namespace gs {
namespace {

using ManifestJson = nlohmann::ordered_json;
constexpr const char* kBundleFormat = "gausscope bundle";
constexpr int kBundleVersion = 1;
constexpr std::size_t kMostMembers = 4000;
constexpr std::uint64_t kMostMemberBytes = (std::uint64_t{4} << 30) - (4 << 20);
constexpr std::uint64_t kMostManifestBytes = 4 << 20;

struct BundleEntry {
    std::string name;
    std::uint64_t bytes = 0;
};

tl::unexpected<Error> bundle_cancelled(const fs::path& path) {
    return fail(ErrorKind::cancelled, path.string(), "was cancelled");
}

/// Regular files below `folder` by their names in it, in order.
Result<std::vector<BundleEntry>> files_below(const fs::path& folder) {
    std::vector<BundleEntry> out;
    std::error_code error;
    for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
         it.increment(error)) {
        if (!it->is_regular_file(error) || it->path().filename().string().front() == '.') continue;
        const std::string name = it->path().lexically_relative(folder).generic_string();
        if (name != member_name::kManifest) out.push_back({name, it->file_size(error)});
    }
    if (error)
        return fail(ErrorKind::unreadable, folder.string(), "cannot be read: " + error.message());
    std::ranges::sort(out, {}, &BundleEntry::name);
    return out;
}

std::string manifest_of(const BundleFacts& facts, const std::vector<BundleEntry>& entries) {
    ManifestJson files = ManifestJson::array();
    for (const BundleEntry& entry : entries)
        files.push_back({{"name", entry.name}, {"bytes", entry.bytes}});
    return json_text(ManifestJson{{"format", kBundleFormat},
                                  {"version", kBundleVersion},
                                  {"scene", facts.name},
                                  {"made", facts.made},
                                  {"backend", facts.backend},
                                  {"step", facts.step},
                                  {"sh_degree", facts.sh_degree},
                                  {"photos", facts.photos},
                                  {"files", std::move(files)}},
                     2) +
           "\n";
}

/// The files a manifest names, each once, with names that stay inside.
Result<std::vector<BundleEntry>> entries_of(const nlohmann::json& manifest,
                                            const std::string& path) {
    const auto& files = member(manifest, "files");
    if (!files.is_array())
        return fail(ErrorKind::malformed, path, "its manifest has no list of files");
    if (files.size() > kMostMembers)
        return fail(ErrorKind::unsupported, path,
                    fmt::format("contains {} files, more than the {} accepted", files.size(),
                                kMostMembers));
    std::vector<BundleEntry> out;
    std::set<std::string> seen;
    for (const nlohmann::json& file : files) {
        const auto &name = member(file, "name"), &bytes = member(file, "bytes");
        if (!name.is_string() || !bytes.is_number_unsigned())
            return fail(ErrorKind::malformed, path, "its manifest names a file wrongly");
        BundleEntry entry{name.get<std::string>(), bytes.get<std::uint64_t>()};
        std::string problem = problem_of_name(entry.name);
        for (const fs::path& part : fs::path(entry.name))
            if (part.empty() || part.string().size() > 200 || part.string().front() == '.')
                problem = "which is not a valid file name here";
        if (problem.empty() && !seen.insert(entry.name).second) problem = "which it has twice";
        if (!problem.empty())
            return fail(ErrorKind::malformed, path,
                        fmt::format("names a file \"{}\", {}", entry.name, problem),
                        "the file is damaged or malicious");
        out.push_back(std::move(entry));
    }
    return out;
}

void take_facts(const nlohmann::json& manifest, BundleFacts& facts) {
    take(manifest, "scene", facts.name);
    take(manifest, "made", facts.made);
    take(manifest, "backend", facts.backend);
    take(manifest, "photos", facts.photos);
    double sh_degree = facts.sh_degree, step = 0;
    take(manifest, "sh_degree", sh_degree);
    take(manifest, "step", step);
    facts.sh_degree = static_cast<int>(std::clamp(sh_degree, 0.0, 3.0));
    facts.step = step >= 0 && step < 1e15 ? static_cast<std::uint64_t>(step) : 0;
}

/// One file of the bundle into the folder. Errors: damaged, unwritable.
Result<void> unpack_one(const FileSet& zip, const BundleEntry& entry, std::uint64_t most,
                        const fs::path& folder) {
    GS_TRY(const auto bytes, zip.read(entry.name, most));
    if (bytes.size() != entry.bytes)
        return fail(ErrorKind::malformed, zip.describe(entry.name),
                    fmt::format("has {} bytes, the manifest says {}", bytes.size(), entry.bytes),
                    "the file is damaged");
    const fs::path to = folder / entry.name;
    GS_TRY_VOID(make_folder(to.parent_path()));
    return write_file(to, bytes);
}

}  // namespace

Result<void> write_bundle(const fs::path& path, const fs::path& folder, const BundleFacts& facts,
                          const Progress& progress) {
    GS_TRY(const auto entries, files_below(folder));
    std::uint64_t sum = 0, done = 0;
    for (const BundleEntry& entry : entries) sum += entry.bytes;
    if (entries.size() > kMostMembers || sum > kMostMemberBytes)
        return fail(
            ErrorKind::unsupported, path.string(),
            fmt::format("the bundle would contain {} files of {} bytes; the limit is {} of 4 GiB",
                        entries.size(), sum, kMostMembers),
            "omit the photos");
    GS_TRY(auto file, AtomicFile::create(path));
    ZipWriter zip(file);
    const std::string manifest = manifest_of(facts, entries);
    GS_TRY_VOID(zip.add(member_name::kManifest, std::as_bytes(std::span(manifest))));
    for (const BundleEntry& entry : entries) {
        if (progress && !progress("writing " + entry.name, done >> 10, sum >> 10))
            return bundle_cancelled(path);
        GS_TRY(const auto bytes, read_file(folder / entry.name));
        GS_TRY_VOID(zip.add(entry.name, bytes));
        done += entry.bytes;
    }
    GS_TRY_VOID(zip.finish());
    return file.commit();
}

fs::path UnpackedBundle::member(std::string_view name) const {
    const fs::path path = folder.path() / name;
    return path_exists(path) ? path : fs::path();
}

Result<std::shared_ptr<const UnpackedBundle>> unpack_bundle(const fs::path& path,
                                                            const Progress& progress) {
    GS_TRY(const auto zip, open_zip(path));
    GS_TRY(const auto bytes, zip->read(member_name::kManifest, kMostManifestBytes));
    GS_TRY(const auto manifest, parse_json_object(bytes, zip->describe(member_name::kManifest)));
    const auto& format = member(manifest, "format");
    if (!format.is_string() || format.get_ref<const std::string&>() != kBundleFormat)
        return fail(ErrorKind::malformed, path.string(), "is not a gausscope bundle");
    GS_TRY(const auto entries, entries_of(manifest, path.string()));
    GS_TRY(auto folder, PrivateFolder::make());
    auto out = std::make_shared<UnpackedBundle>(
        UnpackedBundle{path, std::move(folder), BundleFacts(), {}});
    take_facts(manifest, out->facts);
    double version = 0;
    take(manifest, "version", version);
    if (version != kBundleVersion)
        out->notes.push_back(
            fmt::format("made by another version ({:g}; this is {}): unknown parts are skipped",
                        version, kBundleVersion));
    // Entries are stored uncompressed, so the unpacked size is at most the file's.
    const std::uint64_t most = std::min(kMostMemberBytes, zip->size());
    std::uint64_t sum = 0, done = 0;
    for (const BundleEntry& entry : entries) sum += std::min(entry.bytes, most);
    if (sum > zip->size())
        return fail(ErrorKind::malformed, path.string(),
                    fmt::format("would unpack to {} bytes, more than its own size", sum),
                    "the file is damaged or malicious");
    for (const BundleEntry& entry : entries) {
        if (progress && !progress("unpacking " + entry.name, done >> 10, sum >> 10))
            return bundle_cancelled(path);
        done += entry.bytes;
        if (auto unpacked = unpack_one(*zip, entry, most, out->folder.path()); !unpacked) {
            if (unpacked.error().kind == ErrorKind::unwritable || entry.name == member_name::kScene)
                return tl::unexpected(unpacked.error());
            out->notes.push_back(entry.name + " is skipped: " + unpacked.error().text());
        }
    }
    if (out->member(member_name::kScene).empty())
        return fail(ErrorKind::malformed, path.string(), "contains no scene",
                    version > kBundleVersion ? "it was made by a newer gausscope" : "");
    return std::shared_ptr<const UnpackedBundle>(std::move(out));
}

}  // namespace gs
