// Where COLMAP and programs like it put their models: the one place that knows. A capture may hold
// several: parts that could not be joined, or one as photographed and one undistorted.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

struct ColmapFolder {
    fs::path folder;
    std::string name;  ///< its path in the capture; "." for the capture's own folder
};

/// Folders with cameras and images, as .bin or .txt, in all their usual places; those come first
/// that win where photos are as many.
std::vector<ColmapFolder> colmap_folders(const fs::path& path);

/// The one of several models that was read before there was a choice; empty where there are none
/// to choose from.
std::string first_model_in(const std::vector<ColmapFolder>& folders);

struct ChosenModel {
    ColmapFolder model;
    std::vector<std::string> all;  ///< "sparse/0 (12 photos)" each, where there are several
};
/// Of `folders`, of which there is one at least: the one called `wanted` (its name or an end of
/// it); without a name the one of the most photos. Errors (usage): none is called so.
Result<ChosenModel> choose_model(const fs::path& path, const std::vector<ColmapFolder>& folders,
                                 const std::string& wanted);
/// For readers of captures without models to choose from. Errors (usage): a name is given.
tl::unexpected<Error> no_such_model(const fs::path& path, const std::string& wanted,
                                    const std::vector<std::string>& all);

}  // namespace gs
