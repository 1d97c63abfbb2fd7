#include "trainer/run/step_file.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/parallel.h"
#include "base/try.h"
#include "renderer/io/paths/camera_json.h"
#include "trainer/density/nudge.h"
#include "trainer/run/manifest_reader.h"
#include "trainer/run/run_files.h"
#include "trainer/run/step_pack.h"

namespace gs {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kStepFormat = "gausscope step";
constexpr std::uint64_t kStepVersion = 1;
constexpr const char* kManifest = "manifest.json";
constexpr std::uint64_t kMostManifest = 1 << 20, kMostSide = 1 << 16, kMostBlocks = 1u << 26,
                        kMostIsects = 1u << 31, kMostStepNumber = 1ull << 32;

/// One array of the file: a name, and where it is in memory; `like` as in step_pack.h.
struct PackedArray {
    const char* name;
    steps::Words words;
    steps::Words like{};
};

std::vector<PackedArray> arrays_of(const CapturedStep& step) {
    const StepInputs& in = step.inputs;
    const StepOutputs& out = step.outputs;
    using steps::words_of;
    const auto values = words_of(in.before.model.values),
               moments = words_of(in.before.adam.moments);
    std::vector<PackedArray> arrays{{"inputs/blocks", words_of(in.blocks)},
                                    {"inputs/model", words_of(in.model.values)},
                                    {"inputs/sample", words_of(in.sample)},
                                    {"outputs/rows", words_of(out.lists.rows)},
                                    {"outputs/splats", words_of(out.lists.splats)},
                                    {"outputs/tile_begin", words_of(out.lists.tile_begin)},
                                    {"outputs/isects", words_of(out.lists.row_from_isect)},
                                    {"outputs/color", words_of(out.color.values)},
                                    {"outputs/alpha", words_of(out.alpha.values)},
                                    {"outputs/color_gradient", words_of(out.color_gradient.values)},
                                    {"outputs/gradients", words_of(out.gradients)},
                                    {"outputs/values", words_of(out.values), values},
                                    {"outputs/moments", words_of(out.moments), moments}};
    std::ptrdiff_t at = 3;  // after the other inputs
    each_row_array(
        [&](const RowArray& array, const auto& buffer) {
            if constexpr (sizeof(*buffer.data()) == 4)  // codes are of runs that are not captured
                if (array.step_entry && !buffer.empty())
                    arrays.insert(arrays.begin() + at++, {array.step_entry, words_of(buffer)});
        },
        in.before);
    if (!in.filter.empty()) arrays.push_back({"inputs/filter", words_of(in.filter)});
    return arrays;
}

Json options_json(const RenderOptions& o) {
    return {{"background", {o.background.x, o.background.y, o.background.z}},
            {"sh_degree", o.sh_degree},
            {"antialiased", o.antialiased},
            {"blur", o.blur},
            {"near_plane", o.near_plane},
            {"profile", name_of(o.compatibility)},
            {"projection", name_of(o.projection)},
            {"absolute", o.absolute}};
}

Json clock_json(const AdamClock& clock) {
    return {{"steps", clock.steps},
            {"base", clock.base},
            {"planes", clock.planes},
            {"highest", clock.highest},
            {"pending", clock.pending}};
}

Json manifest_of(const CapturedStep& step) {
    const auto& [origin, in, out] = step;
    const RenderCounters& c = out.counters;
    Json manifest{
        {"format", kStepFormat},
        {"version", kStepVersion},
        {"program", origin.program},
        {"backend", origin.backend},
        {"machine", origin.machine},
        {"capture", origin.capture},
        {"view", origin.view},
        {"extent", origin.extent},
        {"agreement", origin.agreement},
        {"same_bits", origin.same_bits},
        {"settings", settings_json(origin.settings)},
        {"step", in.step},
        {"gaussians", in.gaussians},
        {"blocks", in.blocks.size()},
        {"rows", in.model.count},
        {"sh_degree", in.model.sh_degree},
        {"camera", camera_json(in.camera)},
        {"options", options_json(in.options)},
        {"masked", !in.mask.empty()},
        {"filtered", !in.filter.empty()},
        {"lambda_dssim", in.lambda_dssim},
        {"look", in.look ? Json{{"simple", in.look->simple}, {"parts", in.look->look.at}} : Json()},
        {"sky", in.model.sky.empty()
                    ? Json()
                    : Json{{"degree", in.model.sky.degree}, {"sh", in.model.sky.sh}}},
        {"rates", in.rates},
        {"sample", in.sample.size()},
        {"sample_rows", in.before.model.count},
        {"clock", clock_json(in.before.adam)},
        {"visible", out.lists.visible()},
        {"isects", out.lists.row_from_isect.size()},
        {"counters",
         {{"candidates", c.candidates},
          {"list_pairs", c.list_pairs},
          {"evaluated_pairs", c.evaluated_pairs},
          {"longest_tile", c.longest_tile}}},
        {"loss",
         {{"loss", json_number(out.terms.loss)},
          {"l1", json_number(out.terms.l1)},
          {"mse", json_number(out.terms.mse)},
          {"ssim", json_number(out.terms.ssim)},
          {"pixels", out.terms.pixels}}},
        {"gradients_hash", fmt::format("{:016x}", out.gradients_hash)}};
    if (auto times = json_or_discarded<Json>(origin.stage_times); !times.is_discarded())
        manifest["stages"] = std::move(times);
    return manifest;
}

// ---- reading

/// How long the arrays are, as far as the blocks do not say.
struct StepCounts {
    std::size_t blocks = 0, rows = 0, sample = 0, sample_rows = 0, visible = 0, isects = 0;
    int sh_degree = 0;
    bool masked = false, filtered = false;
    Sky sky;
};

/// Files of older versions name none.
std::optional<AppliedLook> read_look(ManifestReader& r, const nlohmann::json& json) {
    if (!json.is_object() || !json.contains("look") || json["look"].is_null()) return std::nullopt;
    const nlohmann::json& from = r.at("look");
    AppliedLook out{.simple = r.flag(from, "simple")};
    const auto parts = r.numbers<math::kLookParts>(from, "parts");
    for (std::size_t i = 0; i < parts.size(); ++i) out.look.at[i] = static_cast<float>(parts[i]);
    return out;
}

Sky read_sky(ManifestReader& r) {
    const nlohmann::json& from = r.at("sky");
    if (from.is_null()) return {};
    Sky out{.degree = static_cast<int>(r.whole(from, "degree", 0, 3))};
    const auto sh = r.numbers<Sky::kNumbers>(from, "sh");
    for (std::size_t i = 0; i < sh.size(); ++i) {
        out.sh[i] = static_cast<float>(sh[i]);
        if (!std::isfinite(out.sh[i])) r.refuse("sh");
    }
    return out;
}

Camera read_camera(ManifestReader& r) {
    const nlohmann::json& from = r.at("camera");
    const auto camera = camera_from_json(from);
    if (!camera) r.refuse("camera");
    return camera.value_or(Camera());
}

RenderOptions read_options(ManifestReader& r) {
    const nlohmann::json& from = r.at("options");
    RenderOptions o;
    const auto background = r.numbers<3>(from, "background");
    o.background = {static_cast<float>(background[0]), static_cast<float>(background[1]),
                    static_cast<float>(background[2])};
    o.sh_degree = static_cast<int>(r.whole(from, "sh_degree", 0, 3));
    o.antialiased = r.flag(from, "antialiased");
    o.blur = static_cast<float>(r.number(from, "blur"));
    o.near_plane = static_cast<float>(r.number(from, "near_plane"));
    const nlohmann::json& profile = member(from, "profile");
    const auto known =
        compatibility_from_name(profile.is_string() ? profile.get<std::string>() : "");
    if (!known) r.refuse("profile");
    o.compatibility = known.value_or(Compatibility::tight);
    if (from.contains("projection")) {  // files before it have EWA's
        const nlohmann::json& projection = member(from, "projection");
        const auto way =
            projection_from_name(projection.is_string() ? projection.get<std::string>() : "");
        if (!way) r.refuse("projection");
        o.projection = way.value_or(ProjectionMethod::ewa);
    }
    if (from.contains("absolute")) o.absolute = r.flag(from, "absolute");
    o.depth = false;
    return o;
}

void read_clock(ManifestReader& r, int planes, AdamClock& clock) {
    const nlohmann::json& from = r.at("clock");
    constexpr std::uint64_t kMostEntries = 1u << 20;
    clock.steps = static_cast<std::uint32_t>(r.whole(from, "steps", 0, kMostStepNumber - 1));
    clock.base = static_cast<std::uint32_t>(r.whole(from, "base", 0, clock.steps));
    clock.planes =
        static_cast<int>(r.whole(from, "planes", kShRest, static_cast<std::uint64_t>(planes)));
    clock.highest = r.numbers<kLearningGroups>(from, "highest");
    const nlohmann::json& pending = member(from, "pending");
    const std::size_t entries = std::size_t{clock.steps} - clock.base + 1;
    for (std::size_t g = 0; g < clock.pending.size(); ++g) {
        const nlohmann::json& table = element(pending, g);
        if (entries > kMostEntries || !table.is_array() || table.size() != entries)
            return r.refuse("pending");
        for (const nlohmann::json& value : table)
            clock.pending[g].push_back(r.number(value, "pending", true));
    }
}

void read_settings(ManifestReader& r, TrainingSettings& settings) {
    for (const SettingField& field : setting_fields()) {
        const nlohmann::json& value = member(r.at("settings"), field.name);
        if (value.is_number()) (void)set_setting(settings, field.name, value.get<double>());
    }
}

Result<StepCounts> read_manifest(const nlohmann::json& json, const std::string& path,
                                 CapturedStep& step) {
    ManifestReader r(json, path);
    auto& [origin, in, out] = step;
    StepCounts n;
    origin.program = r.text("program");
    origin.backend = r.text("backend");
    origin.machine = r.text("machine");
    origin.capture = r.text("capture");
    origin.view = r.text("view");
    origin.agreement = r.text("agreement");
    origin.same_bits = r.flag(json, "same_bits");
    origin.extent = r.number(json, "extent");
    if (const auto& stages = r.at("stages"); !stages.is_null())
        origin.stage_times = json_text(stages);
    read_settings(r, origin.settings);
    in.step = r.whole(json, "step", 0, kMostStepNumber);
    n.blocks = r.whole(json, "blocks", 1, kMostBlocks);
    n.rows = r.whole(json, "rows", (n.blocks - 1) * kBlock + 1, n.blocks * kBlock);
    in.gaussians = r.whole(json, "gaussians", n.rows, kMostBlocks * kBlock);
    n.sh_degree = static_cast<int>(r.whole(json, "sh_degree", 0, 3));
    n.sample = r.whole(json, "sample", 1, n.blocks);
    n.sample_rows = r.whole(json, "sample_rows", (n.sample - 1) * kBlock + 1, n.sample * kBlock);
    n.visible = r.whole(json, "visible", 1, n.rows);
    n.isects = r.whole(json, "isects", 0, kMostIsects);
    n.masked = r.flag(json, "masked");
    n.filtered = json.contains("filtered") && r.flag(json, "filtered");
    in.camera = read_camera(r);
    in.options = read_options(r);
    in.lambda_dssim = r.number(json, "lambda_dssim");
    in.look = read_look(r, json);
    n.sky = read_sky(r);
    in.rates = r.numbers<kLearningGroups>(json, "rates");
    in.nudge = nudge_plan(origin.settings, origin.extent, in.step, in.gaussians);
    read_clock(r, plane_count(n.sh_degree), in.before.adam);
    in.before.adam.batch = batch_of(origin.settings);
    const nlohmann::json &counters = r.at("counters"), &loss = r.at("loss");
    out.counters.gaussians = n.rows;
    out.counters.visible = n.visible;
    out.counters.isects = n.isects;
    out.counters.candidates = r.whole(counters, "candidates", 0, ~0ull);
    out.counters.list_pairs = r.whole(counters, "list_pairs", 0, ~0ull);
    out.counters.evaluated_pairs = r.whole(counters, "evaluated_pairs", 0, ~0ull);
    out.counters.longest_tile = static_cast<int>(r.whole(counters, "longest_tile", 0, kMostIsects));
    out.terms.loss = r.measured(loss, "loss");
    out.terms.l1 = r.measured(loss, "l1");
    out.terms.mse = r.measured(loss, "mse");
    out.terms.ssim = r.measured(loss, "ssim");
    out.terms.pixels = r.whole(loss, "pixels", 0, ~0ull);
    out.gradients_hash = std::strtoull(r.text("gradients_hash").c_str(), nullptr, 16);
    GS_TRY_VOID(r.result());
    return n;
}

tl::unexpected<Error> damaged(const FileSet& from, const char* entry, const char* how) {
    return fail(ErrorKind::malformed, from.describe(entry), how, "the file is damaged");
}

/// Ascending, each below `limit`.
bool ascending(std::span<const std::uint32_t> values, std::size_t limit) {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] >= limit || (i > 0 && values[i] <= values[i - 1])) return false;
    return true;
}

Result<void> read_image8(const FileSet& from, const char* name, const Camera& camera, int channels,
                         Image8& out) {
    out.width = camera.width;
    out.height = camera.height;
    out.channels = channels;
    const std::size_t size = out.pixels() * static_cast<std::size_t>(channels);
    GS_TRY(const auto bytes, from.read(name, size));
    if (bytes.size() != size) return damaged(from, name, "does not have the camera's size");
    out.bytes.resize(size);
    std::memcpy(out.bytes.data(), bytes.data(), size);
    return {};
}

Result<void> read_picture(const FileSet& from, const char* name, const Camera& camera, int channels,
                          ImageF& out) {
    out.width = camera.width;
    out.height = camera.height;
    out.channels = channels;
    return steps::read_words(from, name, out.pixels() * static_cast<std::size_t>(channels),
                             out.values);
}

GaussianModel sized_model(std::size_t rows, std::size_t blocks, int sh_degree) {
    GaussianModel out;
    out.count = rows;
    out.capacity = blocks * kBlock;
    out.sh_degree = sh_degree;
    return out;
}

Result<void> read_sampled_rows(const FileSet& from, const StepCounts& n, RunArrays& before) {
    return try_each_row_array(
        [&](const RowArray& array, auto& values) -> Result<void> {
            if (!array.step_entry) return {};
            const std::size_t columns = array.columns(plane_count(n.sh_degree));
            if constexpr (sizeof(*values.data()) == 4)
                GS_TRY_VOID(
                    steps::read_words(from, array.step_entry, columns * n.sample * kBlock, values));
            const char* wrong = wrong_values(array, values, before.adam);
            return wrong ? damaged(from, array.step_entry, wrong) : Result<void>();
        },
        before);
}

Result<void> read_inputs(const FileSet& from, const StepCounts& n, StepInputs& in) {
    using steps::read_words;
    const auto planes = static_cast<std::size_t>(plane_count(n.sh_degree));
    GS_TRY_VOID(read_words(from, "inputs/blocks", n.blocks, in.blocks));
    if (!ascending(std::as_const(in.blocks).span(), (in.gaussians + kBlock - 1) / kBlock))
        return damaged(from, "inputs/blocks", "names blocks that the model does not have");
    in.model = sized_model(n.rows, n.blocks, n.sh_degree);
    in.model.antialiased = in.options.antialiased;
    in.model.sky = n.sky;
    GS_TRY_VOID(read_words(from, "inputs/model", planes * n.blocks * kBlock, in.model.values));
    if (n.filtered) GS_TRY_VOID(read_words(from, "inputs/filter", n.blocks * kBlock, in.filter));
    for (const float f : in.filter)
        if (!(f >= 0)) return damaged(from, "inputs/filter", "has sizes that are not valid");
    GS_TRY_VOID(read_words(from, "inputs/sample", n.sample, in.sample));
    if (!ascending(std::as_const(in.sample).span(), n.blocks))
        return damaged(from, "inputs/sample", "names blocks that the file does not have");
    in.before.model = sized_model(n.sample_rows, n.sample, n.sh_degree);
    GS_TRY_VOID(read_sampled_rows(from, n, in.before));
    GS_TRY_VOID(read_image8(from, "inputs/photo", in.camera, 3, in.photo));
    if (n.masked) GS_TRY_VOID(read_image8(from, "inputs/mask", in.camera, 1, in.mask));
    return {};
}

Result<void> read_outputs(const FileSet& from, const StepCounts& n, const StepInputs& in,
                          StepOutputs& out) {
    using steps::read_words;
    FrameProbe& lists = out.lists;
    const auto along = [](int pixels) {
        return static_cast<std::size_t>((pixels + kTileSize - 1) / kTileSize);
    };
    GS_TRY_VOID(read_words(from, "outputs/rows", n.visible, lists.rows));
    if (!ascending(std::as_const(lists.rows).span(), n.rows))
        return damaged(from, "outputs/rows", "names Gaussians that the file does not have");
    GS_TRY_VOID(read_words(from, "outputs/splats", n.visible * kSplatPlanes, lists.splats));
    GS_TRY_VOID(read_words(from, "outputs/tile_begin",
                           along(in.camera.width) * along(in.camera.height) + 1, lists.tile_begin));
    std::uint32_t before = 0;
    for (const std::uint32_t begin : lists.tile_begin) {
        if (begin < before || begin > n.isects)
            return damaged(from, "outputs/tile_begin", "has tiles out of order");
        before = begin;
    }
    if (lists.tile_begin[0] != 0 || before != n.isects)
        return damaged(from, "outputs/tile_begin", "does not cover the lists");
    GS_TRY_VOID(read_words(from, "outputs/isects", n.isects, lists.row_from_isect));
    for (const std::uint32_t row : lists.row_from_isect)
        if (row >= n.rows) return damaged(from, "outputs/isects", "names a Gaussian it lacks");
    GS_TRY_VOID(read_picture(from, "outputs/color", in.camera, 3, out.color));
    GS_TRY_VOID(read_picture(from, "outputs/alpha", in.camera, 1, out.alpha));
    GS_TRY_VOID(read_picture(from, "outputs/color_gradient", in.camera, 3, out.color_gradient));
    GS_TRY_VOID(read_words(from, "outputs/gradients",
                           n.visible * static_cast<std::size_t>(kStepGradientPlanes),
                           out.gradients));
    const steps::Words values = steps::words_of(in.before.model.values),
                       moments = steps::words_of(in.before.adam.moments);
    GS_TRY_VOID(read_words(from, "outputs/values", values.size(), out.values, values));
    return read_words(from, "outputs/moments", moments.size(), out.moments, moments);
}

Result<nlohmann::json> manifest_in(const FileSet& from) {
    GS_TRY(const auto bytes, from.read(kManifest, kMostManifest));
    GS_TRY(auto json, parse_json_object(bytes, from.describe(kManifest)));
    const nlohmann::json& format = member(json, "format");
    if (!format.is_string() || format.get<std::string>() != kStepFormat)
        return fail(ErrorKind::unsupported, from.describe(kManifest), "is not of a captured step");
    if (whole_number(member(json, "version"), kStepVersion) != kStepVersion)
        return fail(ErrorKind::unsupported, from.describe(kManifest),
                    fmt::format("has version {}, this gausscope reads version {}",
                                json_text(member(json, "version")), kStepVersion),
                    "capture the step again, or use the gausscope that wrote it");
    return json;
}

}  // namespace

Result<void> write_step(const CapturedStep& step, const fs::path& path) {
    GS_TRY(AtomicFile file, AtomicFile::create(path));
    ZipWriter zip(file);
    const std::string manifest = json_text(manifest_of(step), 1);
    GS_TRY_VOID(zip.add(kManifest, std::as_bytes(std::span<const char>(manifest))));
    const std::vector<PackedArray> arrays = arrays_of(step);
    std::vector<Result<ZipWriter::Deflated>> packed(arrays.size());
    parallel_for(arrays.size(), 1, [&](std::size_t i) {
        packed[i] = ZipWriter::deflated(steps::packed_words(arrays[i].words, arrays[i].like));
    });
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        GS_TRY(const auto& entry, std::move(packed[i]));
        GS_TRY_VOID(zip.add(arrays[i].name, entry));
    }
    const auto add_bytes = [&](const char* name, const Image8& image) -> Result<void> {
        GS_TRY(const auto entry, ZipWriter::deflated(std::as_bytes(std::span(image.bytes))));
        return zip.add(name, entry);
    };
    GS_TRY_VOID(add_bytes("inputs/photo", step.inputs.photo));
    if (!step.inputs.mask.empty()) GS_TRY_VOID(add_bytes("inputs/mask", step.inputs.mask));
    GS_TRY_VOID(zip.finish());
    return file.commit();
}

Result<CapturedStep> read_step(const fs::path& path) {
    GS_TRY(const auto from, open_zip(path));
    GS_TRY(const nlohmann::json manifest, manifest_in(*from));
    CapturedStep step;
    GS_TRY(const StepCounts counts, read_manifest(manifest, from->describe(kManifest), step));
    GS_TRY_VOID(read_inputs(*from, counts, step.inputs));
    GS_TRY_VOID(read_outputs(*from, counts, step.inputs, step.outputs));
    return step;
}

bool is_step_file(const fs::path& path) {
    if (path.extension() == kStepExtension) return true;  // a damaged one is reported as such
    const auto from = open_zip(path);
    return from && manifest_in(**from);
}

fs::path step_file_name(std::uint64_t step) {
    return fmt::format("step-{:06}{}", step, kStepExtension);
}

}  // namespace gs
