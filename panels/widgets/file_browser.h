// FileBrowser: a folder's contents with kind, size and date, filtered by name and by whether they
// can be opened, sorted by any column, used by mouse or keyboard. A thread of its own reads a
// folder when it is entered or refreshed. Used by the Files panel and by the file dialog.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "panels/state/file_types.h"

namespace gs {

class FileBrowser {
  public:
    struct Entry {
        std::string name;
        FileKind kind = FileKind::other;
        bool is_folder = false;
        std::uint64_t bytes = 0;
        std::int64_t modified = 0;  ///< seconds since 1970
    };
    enum class Column { name, kind, size, date };

    /// Starts to read a folder; the old list stays until that is done. For an unreadable folder,
    /// problem() has the reason.
    void enter(const std::string& path, std::shared_ptr<const FileTypes> types);
    /// The same with an empty list, for a new question. An unreadable folder gives way to the
    /// current one.
    void begin(const std::string& path, std::shared_ptr<const FileTypes> types);
    /// Takes the finished reading.
    void update();
    /// A folder is being read.
    bool busy() const { return tasks_.reading != nullptr; }
    /// So it is, or places are being found: frames should continue.
    bool waits() const { return busy() || tasks_.placing != nullptr; }
    /// Waits for the folder; for tests.
    void settle();

    const std::string& folder() const { return folder_; }
    const std::string& problem() const { return problem_; }
    const std::vector<Entry>& entries() const { return entries_; }
    /// Those shown, in their order: indices of entries().
    const std::vector<std::size_t>& shown() const { return shown_; }

    /// Path field, filter and list. Gives the path of a file or capture that was chosen: by a
    /// double click, or Enter. `menu` is drawn inside a context menu of an entry.
    std::optional<std::string> draw(
        std::shared_ptr<const FileTypes> types, float height,
        const std::function<void(const std::string& path, const Entry&)>& menu = {});
    /// The entry with keyboard focus.
    const Entry* selected() const;
    std::string path_of(const Entry& entry) const;
    /// Chooses a typed file, or goes to a typed folder. If that takes long, draw() gives the file.
    std::optional<std::string> go_to(std::string typed);

    struct Place {
        const char* heading;  ///< "Recent", "Places", "Drives"
        std::string name, path;
    };
    /// Fills `places`, in the background: folders on a dead mount hold up no frame.
    void find_places(std::vector<std::string> recent);
    std::vector<Place> places;  ///< a column at the left, if there is width for it
    std::string filter;         ///< or a path to go to
    bool openable_only = true;
    std::optional<FileKind> only;  ///< of what can be opened, beside folders
    bool for_writing = false;      ///< go to a typed folder with any content
    bool focus_filter = false;     ///< the filter takes the keyboard with the next frame

  private:
    struct Listing {
        bool typed = false;
        std::string chosen;  ///< or what follows
        std::string folder, problem;
        std::vector<Entry> entries;
        std::size_t left_out = 0;
    };
    struct Asked {
        std::string path;
        bool typed = false;    ///< a file is chosen
        bool chooses = false;  ///< so is a folder that can be opened
        Listing read(const FileTypes* types, const Progress& progress) const;
    };
    void start(Asked asked);
    void show(Result<Listing> read);
    void arrange();
    std::optional<std::string> draw_path();
    std::optional<std::string> draw_filter();
    void draw_places(float height);
    void draw_row(int row, const std::function<void(const std::string&, const Entry&)>& menu,
                  int& activated);
    std::optional<std::string> draw_list(
        float height, const std::function<void(const std::string&, const Entry&)>& menu);
    int keyboard();
    void sort_as_asked();

    std::shared_ptr<const FileTypes> types_;
    std::string folder_, typed_, problem_, came_from_;
    bool path_entered_ = false, filtering_ = false;  // in this frame
    bool fell_back_ = false;                         // from the first folder to the current one
    std::optional<std::string> chosen_;              // by going to a typed file
    std::vector<Entry> entries_;
    std::vector<std::size_t> shown_;
    std::size_t left_out_ = 0;
    Column column_ = Column::name;
    bool descending_ = false, arranged_ = false, scroll_ = false;
    std::string arranged_filter_;
    bool arranged_openable_ = true;
    std::optional<FileKind> arranged_only_;
    int selected_ = -1;  ///< a row of shown_
    struct Tasks {
        std::unique_ptr<Task<Listing>> reading;
        std::vector<std::unique_ptr<Task<Listing>>> left;  // cancelled, but on a mount that hangs
        std::unique_ptr<Task<std::vector<Place>>> placing;
        ~Tasks();  ///< does not wait for those that hang
    };
    Tasks tasks_;
};

/// "/data", "runs/fox", "~", "..": true for a path, false for part of a name.
bool is_path(std::string_view typed);
/// Folders of recent files, the home folder, the current one, and mounted drives.
std::vector<FileBrowser::Place> places_of(const std::vector<std::string>& recent);
/// "21 Nov 2026 13:05" in local time.
std::string format_date(std::int64_t seconds);
/// "capture", "splats"; empty for other files.
const char* name_of(FileKind kind);

}  // namespace gs
