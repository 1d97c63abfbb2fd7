#include "profiler/predict/gpu_device.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/assets.h"
#include "base/check.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/try.h"

namespace gs {
namespace {

using Json = nlohmann::json;

constexpr double kSustainedOfSheet = 0.88;  ///< gpu-benches: 0.86 to 0.90 on A100, L40 and H100

/// A positive number, or nothing.
std::optional<double> positive(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const double x = value.get<double>();
    return std::isfinite(x) && x > 0 ? std::optional(x) : std::nullopt;
}

struct DeviceFigure {
    const char* name;
    double GpuDevice::*value;
    bool needed;
};
constexpr DeviceFigure kDeviceFigures[] = {
    {"multiprocessors", &GpuDevice::multiprocessors, true},
    {"clock_ghz", &GpuDevice::clock_ghz, true},
    {"memory_gb", &GpuDevice::memory_gb, true},
    {"bandwidth_gb_s", &GpuDevice::bandwidth_gb_s, true},
    {"sustained_gb_s", &GpuDevice::sustained_gb_s, false},
    {"l2_mb", &GpuDevice::l2_mb, true},
    {"l2_latency", &GpuDevice::l2_latency, true},
    {"memory_latency", &GpuDevice::memory_latency, true},
};

/// "clock_ghz": [1.98, "where it comes from"].
Result<void> read_figure(const Json& figures, const DeviceFigure& figure, const std::string& origin,
                         GpuDevice& out) {
    const Json& pair = member(figures, figure.name);
    if (pair.is_null() && !figure.needed) return {};
    const auto value = positive(element(pair, 0));
    const Json& source = element(pair, 1);
    if (!value || !source.is_string() || source.get<std::string>().empty())
        return fail(ErrorKind::malformed, origin,
                    fmt::format("\"{}\" is not a positive number with its source", figure.name),
                    "write [1.98, \"where it comes from\"]");
    out.*figure.value = *value;
    out.sources[figure.name] = source.get<std::string>();
    return {};
}

Result<Json> object_of(const std::string& text, const std::string& origin) {
    return parse_json_object(std::as_bytes(std::span(text)), origin);
}

constexpr const char* kFolder = "devices";
constexpr const char* kArchitectures = "gpu/architectures.json";

const std::map<std::string, GpuArchitecture>& known_architectures() {
    static const auto kTable = [] {
        const Asset file = asset(kArchitectures);
        auto read = parse_gpu_architectures(file.text, file.origin);
        if (!read) {
            log_warning("{}", read.error().text());
            read = parse_gpu_architectures(std::string(embedded_asset(kArchitectures)), "built-in");
        }
        CHECK(read.has_value(), "{}", read.error().text());
        return *std::move(read);
    }();
    return kTable;
}

/// Words after a GPU's name that make it another GPU.
constexpr std::string_view kOtherModels[] = {"Ti",    "SUPER", "D",   "Laptop", "Mobile",
                                             "Max-Q", "PCIe",  "NVL", "MIG"};

/// As names are compared: in small letters, without the spaces around.
std::string plain_name(std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    std::string out(name);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

bool is_called(const GpuDevice& gpu, std::string_view name) {
    const auto in_word = [&](std::size_t i) {
        return i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])) != 0;
    };
    const std::size_t at = gpu.known_as.empty() ? std::string::npos : name.find(gpu.known_as),
                      end = at + gpu.known_as.size();
    if (at == std::string::npos || in_word(end) || (at > 0 && in_word(at - 1))) return false;
    std::string_view rest = name.substr(end);
    while (!rest.empty()) {
        const std::size_t word = std::min(rest.find(' '), rest.size());
        if (std::ranges::count(kOtherModels, rest.substr(0, word)) > 0) return false;
        rest.remove_prefix(std::min(word + 1, rest.size()));
    }
    return true;
}

}  // namespace

Result<std::map<std::string, GpuArchitecture>> parse_gpu_architectures(const std::string& text,
                                                                       const std::string& origin) {
    GS_TRY(const Json json, object_of(text, origin));
    std::map<std::string, GpuArchitecture> out;
    const Json& table = member(json, "architectures");
    if (!table.is_object())
        return fail(ErrorKind::malformed, origin, "there is no table \"architectures\"");
    for (const auto& [name, row] : table.items()) {
        GpuArchitecture& a = out[name];
        a.name = name;
        double warps = 0, blocks = 0, registers = 0, shared_kb = 0;
        const std::pair<const char*, double*> figures[] = {{"issue", &a.issue},
                                                           {"fp32", &a.fp32},
                                                           {"integer", &a.integer},
                                                           {"special", &a.special},
                                                           {"shared_bytes", &a.shared_bytes},
                                                           {"l2_bytes", &a.l2_bytes},
                                                           {"warps", &warps},
                                                           {"blocks", &blocks},
                                                           {"registers", &registers},
                                                           {"shared_kb", &shared_kb}};
        for (const auto& [key, to] : figures) {
            const auto value = positive(member(row, key));
            if (!value)
                return fail(ErrorKind::malformed, origin,
                            fmt::format("\"{}\" of {} is not a positive number", key, name));
            *to = *value;
        }
        const Json& code = member(row, "code");
        a.code = code.is_string() ? code.get<std::string>() : name;
        a.warps = static_cast<int>(warps);
        a.blocks = static_cast<int>(blocks);
        a.registers = static_cast<int>(registers);
        a.shared_memory = static_cast<int>(shared_kb) * 1024;
    }
    return out;
}

Result<GpuDevice> parse_gpu_device(const std::string& id, const std::string& text,
                                   const std::map<std::string, GpuArchitecture>& architectures,
                                   const std::string& origin) {
    GS_TRY(const Json json, object_of(text, origin));
    GpuDevice out;
    out.id = id;
    const Json &name = member(json, "name"), &architecture = member(json, "architecture");
    out.name = name.is_string() ? name.get<std::string>() : id;
    const Json& known_as = member(json, "known_as");
    out.known_as = known_as.is_string() ? known_as.get<std::string>() : out.name;
    const auto found = architectures.find(architecture.is_string() ? architecture.get<std::string>()
                                                                   : std::string());
    if (found == architectures.end())
        return fail(ErrorKind::malformed, origin, "\"architecture\" is unknown",
                    "for example \"89\", as in gpu/architectures.json");
    out.architecture = found->second;
    for (const DeviceFigure& figure : kDeviceFigures)
        GS_TRY_VOID(read_figure(member(json, "figures"), figure, origin, out));
    if (out.sustained_gb_s == 0) {
        out.sustained_gb_s = kSustainedOfSheet * out.bandwidth_gb_s;
        out.sources["sustained_gb_s"] = "derived: 0.88 of the data sheet, as on A100, L40 and H100";
    }
    return out;
}

std::vector<GpuDevice> gpu_devices() {
    std::vector<GpuDevice> out;
    for (const std::string& path : assets_in(kFolder)) {
        if (!path.ends_with(".json")) continue;
        const std::string id = fs::path(path).stem().string();
        const Asset file = asset(path);
        auto read = parse_gpu_device(id, file.text, known_architectures(), file.origin);
        if (read)
            out.push_back(*std::move(read));
        else
            log_warning("{}", read.error().text());
    }
    return out;
}

const GpuDevice* gpu_called(const std::vector<GpuDevice>& gpus, const std::string& name,
                            int multiprocessors) {
    const GpuDevice* best = nullptr;
    for (const GpuDevice& gpu : gpus)
        if (is_called(gpu, name) &&
            (multiprocessors <= 0 || gpu.multiprocessors == multiprocessors) &&
            (best == nullptr || gpu.known_as.size() > best->known_as.size()))
            best = &gpu;
    return best;
}

Result<std::vector<GpuDevice>> gpu_devices_named(const std::string& list) {
    const std::vector<GpuDevice> all = gpu_devices();
    std::vector<GpuDevice> out;
    const auto taken = [&](const GpuDevice& gpu) {
        return std::ranges::any_of(out, [&](const GpuDevice& one) { return one.id == gpu.id; });
    };
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const std::string id = plain_name(std::string_view(list).substr(at, end - at));
        at = end + 1;
        if (id == "all") return all;
        const auto found = std::ranges::find_if(
            all, [&](const GpuDevice& device) { return plain_name(device.id) == id; });
        if (found == all.end()) {
            std::string ids;
            for (const GpuDevice& device : all) ids += (ids.empty() ? "" : ", ") + device.id;
            return fail(ErrorKind::usage, "", fmt::format("no data for a GPU \"{}\"", id),
                        fmt::format("all, or of {}", ids));
        }
        if (!taken(*found)) out.push_back(*found);
    }
    return out;
}

}  // namespace gs
