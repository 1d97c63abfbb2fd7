// FileFinder: the one place where names that are written in a capture's files become files on this
// disk. Captures move between machines and systems: separators, letter case, extensions and the
// folders above change on the way. Used for photos, masks, point files and lists by every reader of
// captures. May be called from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace gs {

/// A file name that ends as photos do: JPEG, PNG, WebP, TIFF. The content is not read.
bool has_photo_name(const fs::path& path);
/// The same path with / between its parts, without a byte order mark, blanks around it, quotes,
/// "file://" or a drive's letter.
std::string portable_name(std::string_view written);

/// The path of `file` from `folder`, with / between its parts; begins with ".." where it is
/// outside.
std::string name_below(const fs::path& file, const fs::path& folder);

/// The same without leading ".."; what a photo outside of its folder is called.
std::string name_outside(const fs::path& file, const fs::path& folder);

class FileFinder {
  public:
    /// Extensions that a file of this kind may have instead of the written one.
    enum class Kind { any, photo, points };
    /// `inside`: no name leads out of the folders. `anywhere`: absolute names and ".." do.
    enum class Reach { inside, anywhere };

    struct Found {
        fs::path path;           ///< empty: there is none
        bool as_written = true;  ///< the name as it is written is the file's
        bool guessed = false;    ///< leading folders of the name are ignored to find it
        int shrunk = 1;          ///< N, where a folder images_N stands for a missing images
        std::string problem{};   ///< why nothing was found, where more is known
    };

    /// Names are relative to the first of `folders` that has them.
    explicit FileFinder(std::vector<fs::path> folders, Reach reach = Reach::anywhere);

    /// By the name as it is written; else, each only where exactly one file fits: with other
    /// separators, letter case or extension, percent signs or escaped bytes (name_text.h)
    /// decoded, in images_N for a missing images, and by the longest end of the name that exists.
    Found find(std::string_view written, Kind kind) const;
    /// A folder, found in the same ways (but not by an end of its name); empty: there is none.
    fs::path folder(std::string_view written) const;

  private:
    struct Listing {
        std::map<std::string, std::vector<std::string>> by_lower;  ///< lower-case name -> names
        std::map<std::string, std::vector<std::string>> by_stem;   ///< lower-case stem -> names
    };
    using Parts = std::vector<std::string>;
    Found find_form(const std::string& form, Kind kind) const;
    Found walk(fs::path at, const Parts& parts, std::size_t first, Kind kind) const;
    fs::path child_folder(const fs::path& parent, const std::string& name, int& shrunk) const;
    void pick_file(const fs::path& folder, const std::string& name, Kind kind, Found& out) const;
    bool has_folder(const std::string& name) const;
    const Listing& list(const fs::path& folder) const;

    std::vector<fs::path> folders_;
    Reach reach_;
    mutable std::mutex mutex_;
    mutable std::map<fs::path, std::unique_ptr<Listing>> listings_;
};

/// For a capture's notes: counts names that are not as on this disk.
class FoundNames {
  public:
    void add(std::string_view written, const FileFinder::Found& found);
    /// Sentences; empty where all names are as written. `what`: "photos".
    std::vector<std::string> notes(std::string_view what) const;

  private:
    std::size_t renamed_ = 0;
    std::string written_, found_;        // the first of those
    std::map<std::string, int> shrunk_;  // folder -> its factor
};

}  // namespace gs
