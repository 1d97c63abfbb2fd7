// Which views are held out of training, and what a capture itself lists about that. Called by
// load_capture after the frames are sorted by name.
#pragma once

#include <map>

#include "renderer/io/captures/capture_io.h"
#include "renderer/io/captures/capture_source.h"

namespace gs {

/// Finds frames by names as people and programs write them: with or without folder and extension,
/// in any letter case.
class FrameNames {
  public:
    explicit FrameNames(const CaptureSource& source);
    /// The frames that fit best: none, one, or several that fit alike.
    std::vector<std::size_t> find(std::string_view written) const;

  private:
    struct Name {
        std::string name, from_root;  ///< relative to the photo folder and to the capture
        std::size_t frame = 0;
    };
    std::map<std::string, std::vector<Name>> by_stem_;
};

/// The first of `folders` that lists photos by what they are for: test.txt, train.txt, val.txt
/// (and test_list.txt ...), train_test_split.json, split.json and others (docs/captures.md).
/// What cannot be read is noted.
PhotoLists find_photo_lists(const std::vector<fs::path>& folders, const fs::path& root,
                            std::vector<std::string>& notes);

/// Sets Frame::test, drops frames that the lists used leave out, and says how in source.split.
/// Named views win, then what the capture lists, then every n-th frame starting with the first
/// (none of a single frame). Errors: usage, for a named view that matches no frame.
Result<void> assign_test_views(CaptureSource& source, const CaptureOptions& options);

}  // namespace gs
