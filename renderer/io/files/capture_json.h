// JSON that comes with captures: large, and sometimes with NaN in it, as Python writes it. Used by
// the readers of transforms.json, OpenSfM and nuScenes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/expected.h"
#include "base/file.h"

namespace gs {

/// NaN and Infinity become empty strings. Errors: unreadable; malformed, with the byte.
Result<nlohmann::json> read_capture_json(const fs::path& path);
/// "k1 is null, not a number"; empty where the value of `key` is a finite number.
std::string why_no_number(const nlohmann::json& value, const char* key);

}  // namespace gs
