#include "app/cli/train/train_settings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/common.h"
#include "app/cli/report.h"
#include "base/assets.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/try.h"
#include "trainer/checkpoint.h"
#include "trainer/run/run_folder.h"
#include "trainer/settings/schedule.h"

namespace gs::cli {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 1 << 20;

Result<NamedValues> from_json(const std::string& path, const std::string& text) {
    GS_TRY(Json object, parse_json<Json>(text, path, true));
    if (object.is_object() && object.contains("settings")) object = Json(object["settings"]);
    if (!object.is_object())
        return fail(ErrorKind::malformed, path, "the settings are not a JSON object");
    NamedValues out;
    for (const auto& [name, value] : object.items()) {
        if (!value.is_number() && !value.is_boolean() && !value.is_string())
            return fail(
                ErrorKind::malformed, path,
                fmt::format("the setting \"{}\" is neither a number, true or false, nor a word",
                            name));
        auto setting =
            read_setting(name, value.is_string() ? value.get<std::string>() : value.dump());
        if (!setting) {
            setting.error().path = path;
            return tl::unexpected(setting.error());
        }
        out.push_back(std::move(*setting));
    }
    return out;
}

Result<NamedValues> from_lines(const std::string& path, const std::string& text) {
    NamedValues out;
    std::uint64_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        line = line.substr(0, line.find('#'));
        line.erase(std::remove_if(line.begin(), line.end(),
                                  [](unsigned char c) { return std::isspace(c); }),
                   line.end());
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos || equals == 0)
            return fail_at_line(path, number, "this line is not \"name = value\"",
                                "a # begins a comment");
        auto setting = read_setting(line.substr(0, equals), line.substr(equals + 1));
        if (!setting)
            return fail_at_line(path, number, setting.error().message, setting.error().advice);
        out.push_back(std::move(*setting));
    }
    return out;
}

}  // namespace

Result<NamedValues> read_config(const std::string& path) {
    const std::string preset = fmt::format("presets/{}.cfg", path);
    const auto presets = assets_in("presets");
    const bool is_preset = std::find(presets.begin(), presets.end(), preset) != presets.end();
    auto text = read_text_file(path, kMaxConfigBytes);
    if (!text && text.error().kind == ErrorKind::not_found && is_preset) text = asset(preset).text;
    if (!text) return tl::unexpected(text.error());
    // The mark some editors begin with.
    if (text->starts_with("\xef\xbb\xbf")) text->erase(0, 3);
    const std::size_t first = text->find_first_not_of(" \t\r\n");
    return first != std::string::npos && (*text)[first] == '{' ? from_json(path, *text)
                                                               : from_lines(path, *text);
}

Result<NamedValues> given_settings(const NamedValues& flags, const std::string& background,
                                   const CommonArguments& common) {
    NamedValues out;
    if (!common.config.empty()) {
        auto config = read_config(common.config);
        if (!config) return config;
        out = std::move(*config);
    }
    out.insert(out.end(), flags.begin(), flags.end());
    if (!background.empty()) {
        const auto color = parse_color(background);
        if (!color) return tl::unexpected(color.error());
        out.emplace_back("background_r", color->x);
        out.emplace_back("background_g", color->y);
        out.emplace_back("background_b", color->z);
    }
    if (common.seed) out.emplace_back("seed", static_cast<double>(*common.seed));
    return out;
}

fs::path checkpoint_in(const fs::path& run) {
    const auto contents = run_in(run);
    return contents ? contents->checkpoint : run;
}

Result<TrainingSettings> settings_of(const fs::path& run, const NamedValues& given) {
    GS_TRY(TrainingSettings out, make_settings(given));
    if (run.empty()) return out;
    const auto head = read_checkpoint_head(checkpoint_in(run));
    if (!head) return out;
    out = head->settings;
    for (const auto& [name, value] : given) GS_TRY_VOID(set_setting(out, name, value));
    return out;
}

void report_lidar_choices(const TrainingSettings& settings, const NamedValues& given,
                          std::optional<std::uint64_t> resumed_at,
                          const CaptureArguments& capture) {
    if (settings.lidar_weight <= 0 && !capture.lidars.empty())
        log_warning("--lidar only adds a score at the end: --lidar-weight is 0");
    TrainingSettings resets = settings;
    resets.lidar_weight = 0;
    if (!resumed_at) resets.opacity_reset_every = usual_beside(resets).opacity_reset_every;
    const double every = resets.opacity_reset_every,
                 next =
                     (std::floor(static_cast<double>(resumed_at.value_or(0)) / every) + 1) * every;
    const bool chosen = std::ranges::any_of(
        given, [](const auto& value) { return value.first == "opacity_reset_every"; });
    if (settings.lidar_weight <= 0 || chosen || every <= 0 ||
        !opacity_reset_due(resets, static_cast<std::uint64_t>(next)))
        return;
    if (resumed_at)
        log_warning(
            "opacities are reset every {:.0f} steps, as in the checkpoint, which worsens ranges "
            "(--opacity-reset-every 0 stops it)",
            every);
    else
        log_info(
            "opacities are not reset, because beams learn better ranges without "
            "(--opacity-reset-every {:.0f} resets them)",
            every);
}

}  // namespace gs::cli
