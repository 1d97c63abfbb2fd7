#include "renderer/io/files/capture_json.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_text.h"
#include "base/try.h"

namespace gs {
namespace {

// Python writes NaN and Infinity, which JSON does not have. They become empty strings padded to the
// same length, so that places in error messages stay right; a number that is a string makes its
// frame unusable, not the file.
void replace_not_finite(std::string& text) {
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\') {
            ++i;
            continue;
        }
        if (text[i] == '"') inside = !inside;
        if (inside || (text[i] != 'N' && text[i] != 'I' && text[i] != '-')) continue;
        for (const std::string_view word :
             {std::string_view("-Infinity"), std::string_view("Infinity"), std::string_view("NaN")})
            if (text.compare(i, word.size(), word) == 0) {
                text.replace(i, word.size(), "\"\"" + std::string(word.size() - 2, ' '));
                i += word.size() - 1;
                break;
            }
    }
}

}  // namespace

Result<nlohmann::json> read_capture_json(const fs::path& path) {
    GS_TRY(auto text, read_text_file(path, 1ull << 30));
    if (text.empty()) return fail(ErrorKind::malformed, path.string(), "is empty", "copy it again");
    replace_not_finite(text);
    return parse_json(text, path.string(), false, JsonBy::anyone);
}

std::string why_no_number(const nlohmann::json& value, const char* key) {
    constexpr std::size_t kMostShown = 40;
    if (value.is_number())
        return std::isfinite(value.get<double>()) ? "" : fmt::format("{} is not finite", key);
    if (!value.is_string()) return fmt::format("{} is {}, not a number", key, value.type_name());
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty()) return fmt::format("{} is not finite", key);
    return fmt::format("{} is the text \"{}\", not a number", key, text.substr(0, kMostShown));
}

}  // namespace gs
