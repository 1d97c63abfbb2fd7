#include <array>
#include <nlohmann/json.hpp>

#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/gltf_document.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::uint64_t kLargestGlb = 0xFFFFFFFFull;

/// Odd powers of x and y in the bases 1..15, together: their coefficients change sign when both
/// axes turn round.
constexpr std::array<bool, 15> kShFlipsXY = {true, false, true, false, true, false, true, false,
                                             true, false, true, false, true, false, true};

struct Attribute {
    std::string name;
    const char* type;
    int floats;
    int plane;  // of coefficients; else what it is goes by its name
};

// Sequences of floats, one attribute after the other, and the fallback colour as bytes.
std::vector<Attribute> attributes_of(const GaussianModel& model) {
    std::vector<Attribute> out = {{"POSITION", "VEC3", 3, kMeans},
                                  {"COLOR_0", "VEC4", 1, -1},
                                  {"KHR_gaussian_splatting:ROTATION", "VEC4", 4, kQuats},
                                  {"KHR_gaussian_splatting:SCALE", "VEC3", 3, kLogScales},
                                  {"KHR_gaussian_splatting:OPACITY", "SCALAR", 1, kOpacityLogits},
                                  {"KHR_gaussian_splatting:SH_DEGREE_0_COEF_0", "VEC3", 3, kSh0}};
    for (int degree = 1, k = 0; degree <= model.sh_degree; ++degree)
        for (int n = 0; n < 2 * degree + 1; ++n, ++k)
            out.push_back({fmt::format("KHR_gaussian_splatting:SH_DEGREE_{}_COEF_{}", degree, n),
                           "VEC3", 3, kShRest + 3 * k});
    return out;
}

void encode(const GaussianModel& model, const Attribute& attribute, std::size_t i, std::byte* out) {
    float values[4] = {};
    const auto at = [&](int plane) { return model.at(plane, i); };
    switch (attribute.plane) {
        case -1:
            for (int c = 0; c < 3; ++c) out[c] = std::byte{byte_of(color_of_sh0(at(kSh0 + c)))};
            out[3] = std::byte{byte_of_logit(at(kOpacityLogits))};
            return;
        case kMeans:
            values[0] = -at(kMeans), values[1] = -at(kMeans + 1), values[2] = at(kMeans + 2);
            break;
        case kQuats: {
            // Half a turn about z, then this rotation; x y z w.
            const UnitQuat q =
                unit_quat(-at(kQuats + 3), -at(kQuats + 2), at(kQuats + 1), at(kQuats));
            const bool none = at(kQuats) == 0 && at(kQuats + 1) == 0 && at(kQuats + 2) == 0 &&
                              at(kQuats + 3) == 0;
            for (int c = 0; c < 4; ++c)
                values[c] = none ? (c == 2 ? 1.0f : 0.0f) : q.q[(c + 1) % 4];
            break;
        }
        case kLogScales:
            for (int c = 0; c < 3; ++c) values[c] = std::exp(at(kLogScales + c));
            break;
        case kOpacityLogits:
            values[0] = sigmoid(at(kOpacityLogits));
            break;
        default: {
            const bool flip = attribute.plane >= kShRest &&
                              kShFlipsXY[static_cast<std::size_t>((attribute.plane - kShRest) / 3)];
            for (int c = 0; c < 3; ++c)
                values[c] = flip ? -at(attribute.plane + c) : at(attribute.plane + c);
        }
    }
    std::memcpy(out, values, sizeof(float) * static_cast<std::size_t>(attribute.floats));
}

// POSITION must say its bounds.
void add_bounds(const GaussianModel& model, const SplatRows& rows, OrderedJson& accessor) {
    float lo[3] = {kInfinite, kInfinite, kInfinite}, hi[3] = {-kInfinite, -kInfinite, -kInfinite};
    for (const std::uint32_t i : rows)
        for (int axis = 0; axis < 3; ++axis) {
            const float value = axis < 2 ? -model.at(axis, i) : model.at(axis, i);
            lo[axis] = std::min(lo[axis], value);
            hi[axis] = std::max(hi[axis], value);
        }
    if (rows.empty()) return;
    accessor["min"] = OrderedJson::array({lo[0], lo[1], lo[2]});
    accessor["max"] = OrderedJson::array({hi[0], hi[1], hi[2]});
}

OrderedJson describe(const GaussianModel& model, const SplatRows& rows,
                     const std::vector<Attribute>& attributes, const std::string& buffer_name,
                     std::uint64_t& bytes) {
    OrderedJson views = OrderedJson::array(), accessors = OrderedJson::array(),
                names = OrderedJson::object();
    bytes = 0;
    for (const Attribute& attribute : attributes) {
        const std::uint64_t length = 4 * static_cast<std::uint64_t>(attribute.floats) * rows.size();
        const bool color = attribute.plane == -1;
        names[attribute.name] = accessors.size();
        OrderedJson accessor{{"bufferView", views.size()},
                             {"componentType", color ? 5121 : 5126},
                             {"count", rows.size()},
                             {"type", attribute.type}};
        if (color) accessor["normalized"] = true;
        if (attribute.plane == kMeans) add_bounds(model, rows, accessor);
        accessors.push_back(std::move(accessor));
        views.push_back(
            {{"buffer", 0}, {"byteOffset", bytes}, {"byteLength", length}, {"target", 34962}});
        bytes += length;
    }
    OrderedJson buffer{{"byteLength", bytes}};
    if (!buffer_name.empty()) buffer["uri"] = buffer_name;
    const OrderedJson extension{{"kernel", "ellipse"},
                                {"colorSpace", "srgb_rec709_display"},
                                {"projection", "perspective"},
                                {"sortingMethod", "cameraDistance"}};
    OrderedJson primitive{{"mode", 0},
                          {"attributes", names},
                          {"extensions", {{"KHR_gaussian_splatting", extension}}}};
    OrderedJson node{{"mesh", 0}};
    if (!is_zero(model.origin))
        node["translation"] = {-model.origin.x, -model.origin.y, model.origin.z};
    return {{"asset", {{"version", "2.0"}, {"generator", "gausscope"}}},
            {"extensionsUsed", OrderedJson::array({"KHR_gaussian_splatting"})},
            {"scene", 0},
            {"scenes", OrderedJson::array({OrderedJson{{"nodes", OrderedJson::array({0})}}})},
            {"nodes", OrderedJson::array({node})},
            {"meshes",
             OrderedJson::array({OrderedJson{{"primitives", OrderedJson::array({primitive})}}})},
            {"accessors", accessors},
            {"bufferViews", views},
            {"buffers", OrderedJson::array({buffer})}};
}

Result<void> write_buffer(AtomicFile& file, const fs::path& path, const GaussianModel& model,
                          const SplatRows& rows, const std::vector<Attribute>& attributes,
                          const Progress& progress) {
    for (std::size_t a = 0; a < attributes.size(); ++a) {
        const std::size_t record = 4 * static_cast<std::size_t>(attributes[a].floats);
        const Progress part = [&](std::string_view what, std::size_t done, std::size_t) {
            return !progress ||
                   progress(what, a * rows.size() + done, attributes.size() * rows.size());
        };
        auto done =
            write_records(file, path, record, rows.size(), part,
                          [&](std::byte* out, std::size_t first, std::size_t n) {
                              for (std::size_t r = 0; r < n; ++r)
                                  encode(model, attributes[a], rows[first + r], out + r * record);
                          });
        if (!done) return done;
    }
    return {};
}

std::string percent_escaped(const std::string& name) {
    std::string out;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
            std::string_view("-_.~").find(c) != std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return out;
}

}  // namespace

Result<SplatNotes> write_splat_gltf(const fs::path& path, const GaussianModel& model,
                                    const SplatWriteOptions& options) {
    SplatNotes notes;
    const SplatRows rows = drawable_rows(model, notes);
    const std::vector<Attribute> attributes = attributes_of(model);
    const bool binary = path.extension() != ".gltf" && path.extension() != ".GLTF";
    fs::path buffer_path = path;
    buffer_path.replace_extension(".bin");
    std::uint64_t bytes = 0;
    std::string json =
        json_text(describe(model, rows, attributes,
                           binary ? "" : percent_escaped(buffer_path.filename().string()), bytes));
    json.resize((json.size() + 3) / 4 * 4, ' ');
    const std::uint64_t whole = 12 + 8 + json.size() + 8 + bytes;
    if (binary && whole > kLargestGlb)
        return fail(ErrorKind::unsupported, path.string(),
                    "would be larger than the 4 GiB a .glb can be",
                    "write a .gltf, whose buffer is a separate file");
    GS_TRY(auto file, AtomicFile::create(path));
    if (binary) {
        const std::uint32_t head[5] = {kGltfMagic, 2, static_cast<std::uint32_t>(whole),
                                       static_cast<std::uint32_t>(json.size()), kGltfJsonChunk};
        const std::uint32_t chunk[2] = {static_cast<std::uint32_t>(bytes), kGltfBinaryChunk};
        GS_TRY_VOID(file.append(std::as_bytes(std::span(head))));
        GS_TRY_VOID(file.append(json));
        GS_TRY_VOID(file.append(std::as_bytes(std::span(chunk))));
        GS_TRY_VOID(write_buffer(file, path, model, rows, attributes, options.progress));
    } else {
        GS_TRY(auto buffer, AtomicFile::create(buffer_path));
        GS_TRY_VOID(write_buffer(buffer, path, model, rows, attributes, options.progress));
        GS_TRY_VOID(buffer.commit());
        GS_TRY_VOID(file.append(json));
    }
    GS_TRY_VOID(file.commit());
    if (model.antialiased)
        notes.emplace_back("glTF does not say that the Gaussians were trained antialiased");
    return notes;
}

}  // namespace gs
