#include "trainer/setting_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/try.h"
#include "trainer/settings.h"

namespace gs {
namespace {

Result<double> number_of(const std::string& word) {
    if (word == "true" || word == "yes" || word == "on") return 1.0;
    if (word == "false" || word == "no" || word == "off") return 0.0;
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != 0 || !std::isfinite(value))
        return fail(ErrorKind::usage, "", fmt::format("\"{}\" is not a number", word));
    return value;
}

}  // namespace

Result<std::pair<std::string, double>> read_setting(std::string name, const std::string& text) {
    if (find_setting(name) == nullptr) std::replace(name.begin(), name.end(), '-', '_');
    const SettingField* field = find_setting(name);
    if (field == nullptr)
        return fail(ErrorKind::usage, "", fmt::format("no training setting \"{}\"", name),
                    "gausscope train --help lists them");
    double value = 0;
    if (const auto chosen = choice_value(*field, text)) {
        value = *chosen;
    } else {
        GS_TRY(value, number_of(text));
    }
    if (field->integer && value != std::floor(value))
        return fail(ErrorKind::usage, "",
                    fmt::format("{} is {}, which is not a whole number", name, value));
    TrainingSettings scratch;
    GS_TRY_VOID(set_setting(scratch, name, value));
    return std::pair(std::move(name), value);
}

}  // namespace gs
