// The lab's database: a file of histories (profiler/history) with added tables: runs, their
// measurements, and those of each held-out photo. A run is recorded once, as a whole or not at all.
// Written by `lab run`, read by `lab compare` and `lab report`. One thread per object.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"
#include "profiler/history/database.h"

namespace gs::lab {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct LabValue {
    std::string metric;  ///< "training", "Gaussians", "stage blend"
    std::string unit;    ///< "s", "", "ms", "bytes", "dB", "share"
    double value = kUnknown;
};
struct LabPhoto {
    std::string name;
    double psnr = kUnknown, ssim = kUnknown, l1 = kUnknown;
};
/// Identifies a run. Two runs with the same key repeat the same work.
struct LabIdentity {
    std::string label;   ///< name in comparisons: "main", "faster blend"; the commit by default
    std::string commit;  ///< of the program that trained
    std::string suite, scene, settings, backend;
    std::uint64_t seed = 0;
    /// Fingerprint of the capture's definition, settings' values and limits; then, behind a dash,
    /// of the capture's content (capture_content.h). Older databases have the first part only.
    std::string how;

    std::string definition() const { return how.substr(0, how.find('-')); }
    std::string content() const {
        return how.find('-') == how.npos ? std::string() : how.substr(how.find('-') + 1);
    }

    std::string key() const;
};
/// A file as it is now: another size or time is another content.
struct FileStamp {
    std::string path;
    std::int64_t bytes = 0, time = 0;
};
struct LabRun {
    std::int64_t id = 0;
    LabIdentity of;
    bool failed = false;
    std::string error;                      ///< of a failed run: its last message
    std::int64_t began_s = 0, ended_s = 0;  ///< since 1970
    std::string host, processor;
    std::string folder;   ///< folder of its files, while they exist
    std::string capture;  ///< a path
    std::string options;  ///< {"setting": value} that are not the default's, and the limits
    std::vector<LabValue> values;
    std::vector<LabPhoto> photos;

    double value_of(std::string_view metric) const;
    /// "node, Intel(R) Xeon(R) ..., 8 threads": times of different machines are not comparable.
    std::string machine() const;
    /// Means over the photos.
    double psnr() const;
    double ssim() const;
};

class LabFile {
  public:
    /// Creates the file and its tables if missing. Errors: unwritable; malformed: another
    /// program's; unsupported: of a newer gausscope.
    static Result<LabFile> open(const fs::path& path);
    /// In one that is open already.
    static Result<LabFile> open(history::Database database);
    /// Errors: not_found, unreadable, malformed, unsupported.
    static Result<LabFile> open_to_read(const fs::path& path);

    /// Whether a run of that key is recorded, and how it ended.
    enum class Known { no, done, failed };
    Result<Known> known(const std::string& key) const;
    /// Replaces a failed run of the same key; keeps a finished one and ignores this. Errors:
    /// unwritable, then the file is unchanged.
    Result<void> add(const LabRun& run) const;
    /// A suite as it was run, for its gates. The newest text of a name is kept.
    Result<void> add_suite(const std::string& name, const std::string& text) const;
    /// Empty: there is none of this name.
    Result<std::string> suite_text(const std::string& name) const;
    /// All, oldest first; with their values and photos.
    Result<std::vector<LabRun>> runs() const;
    /// Hashes of files' contents, kept so that large captures are not read each time.
    Result<std::optional<std::uint64_t>> file_hash(const FileStamp& stamp) const;
    Result<void> add_file_hashes(
        const std::vector<std::pair<FileStamp, std::uint64_t>>& hashes) const;
    const fs::path& path() const { return database_.path(); }

  private:
    explicit LabFile(history::Database database) : database_(std::move(database)) {}
    Result<void> is_known() const;
    Result<void> add_rows(const LabRun& run) const;
    Result<void> read_parts(std::vector<LabRun>& runs) const;
    history::Database database_;
};

}  // namespace gs::lab
