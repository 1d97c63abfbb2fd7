// glTF 2.0 with KHR_gaussian_splatting. Axes are y up: the world is that of PLY turned by 180
// degrees about z. Sizes are linear; drafts of the extension stored their logarithms.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/json_text.h"
#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/io/splats/gltf_document.h"
#include "renderer/io/splats/limits.h"
#include "renderer/io/splats/rows.h"
#include "renderer/io/splats/splat_origin.h"
#include "renderer/io/splats/values.h"
#include "renderer/scene/camera.h"
#include "renderer/scene/transform.h"

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr const char* kExtension = "KHR_gaussian_splatting";
constexpr std::size_t kMostPlacements = 1 << 16;  // of primitives by nodes

// One primitive where a node puts it.
struct Placement {
    const Json* primitive;
    Affine place;
    std::size_t first = 0, count = 0;
    int degree = 0;
    std::shared_ptr<const GaussianModel> packed{};  // from an SPZ; null: accessors hold it
};

Mat3d scaled(Mat3d m, const double* scale) {
    for (auto& row : m.m)
        for (int c = 0; c < 3; ++c) row[c] *= scale[c];
    return m;
}

// A node's matrix, or translation, rotation (x y z w) and scale.
Affine local_place(const Json& node) {
    Affine out;
    if (const auto m = number_list<double>(member(node, "matrix"), 16, 16)) {
        for (std::size_t r = 0; r < 3; ++r)
            for (std::size_t c = 0; c < 3; ++c) out.linear.m[r][c] = (*m)[4 * c + r];
        out.translation = {(*m)[12], (*m)[13], (*m)[14]};
        return out;
    }
    if (const auto r = number_list<double>(member(node, "rotation"), 4, 4))
        out.linear = rotation_from_quat(Quatd{(*r)[3], (*r)[0], (*r)[1], (*r)[2]});
    if (const auto s = number_list<double>(member(node, "scale"), 3, 3)) {
        const double scale[3] = {(*s)[0], (*s)[1], (*s)[2]};
        out.linear = scaled(out.linear, scale);
    }
    if (const auto t = number_list<double>(member(node, "translation"), 3, 3))
        out.translation = {(*t)[0], (*t)[1], (*t)[2]};
    return out;
}

// The buffer view of the SPZ that holds the primitive, by the names that drafts gave the extension.
std::optional<std::uint64_t> spz_view_of(const Json& primitive) {
    const Json& extensions = member(primitive, "extensions");
    for (const Json* holder : {&member(member(extensions, kExtension), "extensions"), &extensions})
        for (const char* name :
             {"KHR_gaussian_splatting_compression_spz_2", "KHR_gaussian_splatting_compression_spz",
              "KHR_spz_gaussian_splats_compression"})
            if (const auto view =
                    whole_number(member(member(*holder, name), "bufferView"), 1ull << 32))
                return view;
    return {};
}

class Walk {
  public:
    explicit Walk(const GltfDocument& document)
        : document_(document), nodes_(member(document.json(), "nodes")) {}

    Result<std::vector<Placement>> run() {
        // PLY's y and x point the other way.
        Affine turn{.linear = {{{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}}}};
        seen_.assign(nodes_.is_array() ? nodes_.size() : 0, false);
        const Json& json = document_.json();
        const auto scene = whole_number(member(json, "scene"), 1 << 20);
        const Json& roots = member(element(member(json, "scenes"), scene.value_or(0)), "nodes");
        if (roots.is_array()) {
            for (auto root = roots.rbegin(); root != roots.rend(); ++root)
                open_.push_back({&*root, turn});
            while (!open_.empty()) GS_TRY_VOID(visit());
        } else {
            // A library without a scene: every mesh once.
            const Json& meshes = member(json, "meshes");
            for (std::size_t i = 0; meshes.is_array() && i < meshes.size(); ++i)
                add_mesh(meshes[i], turn);
        }
        return std::move(out_);
    }

  private:
    struct Open {
        const Json* index;
        Affine parent;
    };
    Result<void> visit() {
        const Open open = open_.back();
        open_.pop_back();
        const auto index = whole_number(*open.index, 1ull << 32);
        if (!index || *index >= seen_.size())
            return fail(ErrorKind::malformed, document_.path(), "names a missing node",
                        "the file is damaged");
        if (seen_[*index])
            return fail(ErrorKind::malformed, document_.path(),
                        fmt::format("node {} has two parents", *index), "the file is damaged");
        seen_[*index] = true;
        const Json& node = nodes_[*index];
        const Affine place = open.parent * local_place(node);
        if (const auto mesh = whole_number(member(node, "mesh"), 1ull << 32))
            add_mesh(element(member(document_.json(), "meshes"), *mesh), place);
        const Json& children = member(node, "children");
        for (std::size_t i = children.is_array() ? children.size() : 0; i-- > 0;)
            open_.push_back({&children[i], place});
        if (out_.size() > kMostPlacements)
            return fail(ErrorKind::unsupported, document_.path(), "places too many primitives");
        return {};
    }
    void add_mesh(const Json& mesh, const Affine& place) {
        const Json& primitives = member(mesh, "primitives");
        for (std::size_t i = 0; primitives.is_array() && i < primitives.size(); ++i)
            if (member(member(primitives[i], "extensions"), kExtension).is_object() ||
                spz_view_of(primitives[i]))
                out_.push_back({&primitives[i], place, 0, 0, 0, {}});
    }

    const GltfDocument& document_;
    const Json& nodes_;
    std::vector<bool> seen_;
    std::vector<Open> open_;
    std::vector<Placement> out_;
};

// The accessor of an attribute by its name in the extension or in drafts of it.
Result<std::optional<GltfDocument::Accessor>> attribute(const GltfDocument& document,
                                                        const Json& primitive,
                                                        const std::string& name, int least,
                                                        int most) {
    const Json& attributes = member(primitive, "attributes");
    for (const std::string& key : {name, std::string(kExtension) + ":" + name, "_" + name}) {
        const Json& index = member(attributes, key.c_str());
        if (index.is_null()) continue;
        const auto number = whole_number(index, 1ull << 32);
        if (!number)
            return fail(ErrorKind::malformed, document.path(),
                        fmt::format("attribute {} is not an accessor", key), "");
        GS_TRY(auto accessor, document.accessor(*number));
        if (accessor.components < least || accessor.components > most)
            return fail(ErrorKind::malformed, document.path(),
                        fmt::format("attribute {} has {} numbers a row", key, accessor.components),
                        "the file is damaged");
        return std::optional(accessor);
    }
    return std::optional<GltfDocument::Accessor>();
}

std::string sh_name(int degree, int n) { return fmt::format("SH_DEGREE_{}_COEF_{}", degree, n); }

// The highest degree of which all coefficients are there.
int degree_of(const Json& primitive) {
    const Json& attributes = member(primitive, "attributes");
    int degree = 0;
    while (degree < 3) {
        for (int n = 0; n < 2 * degree + 3; ++n) {
            const std::string name = sh_name(degree + 1, n);
            if (!attributes.contains(std::string(kExtension) + ":" + name) &&
                !attributes.contains("_" + name))
                return degree;
        }
        ++degree;
    }
    return degree;
}

class Reader {
  public:
    Reader(const GltfDocument& document, std::vector<Placement>& placements,
           const Progress& progress)
        : document_(document), placements_(placements), progress_(progress) {}

    Result<SplatFile> run() {
        std::size_t count = 0;
        int degree = 0;
        for (Placement& placement : placements_) {
            placement.first = count;
            GS_TRY_VOID(measure(placement));
            count += placement.count;
            degree = std::max(degree, placement.degree);
            GS_TRY_VOID(check_plausible_count(count, document_.bytes(), document_.path(), 0));
        }
        out_.model = GaussianModel::to_fill(count, degree);
        out_.format = placements_.front().packed ? "glTF (KHR_gaussian_splatting, SPZ)"
                                                 : "glTF (KHR_gaussian_splatting)";
        for (const Placement& placement : placements_) GS_TRY_VOID(read(placement));
        finish_sizes();
        settle_places();
        for (const Placement& p : placements_)
            transform_rows(out_.model, p.first, p.count, p.place);
        note_extension();
        note_not_finite(out_.model, out_.notes);
        return std::move(out_);
    }

  private:
    tl::unexpected<Error> missing(const std::string& name) const {
        return fail(ErrorKind::malformed, document_.path(),
                    fmt::format("has Gaussians without {}", name),
                    "the file is damaged, or follows an old draft of the extension");
    }
    // How many Gaussians of which degree it places; those of an SPZ are unpacked, each once.
    Result<void> measure(Placement& placement) {
        if (const auto view = spz_view_of(*placement.primitive)) {
            std::shared_ptr<const GaussianModel>& known = unpacked_[*view];
            if (!known) {
                GS_TRY(auto bytes, document_.view_bytes(*view));
                const InputFile inside = InputFile::of_bytes(std::move(bytes), document_.path());
                GS_TRY(SplatFile spz, read_spz_in(inside, true, progress_));
                for (std::string& note : spz.notes)
                    if (!note.ends_with(kNotFiniteNote)) out_.notes.push_back(std::move(note));
                known = std::make_shared<const GaussianModel>(std::move(spz.model));
            }
            placement.packed = known;
            placement.count = known->count;
            placement.degree = known->sh_degree;
            return {};
        }
        GS_TRY(const auto position, attribute(document_, *placement.primitive, "POSITION", 3, 3));
        if (!position) return missing("POSITION");
        placement.count = position->count;
        if (!position->has_data && placement.count > 0)
            return fail(ErrorKind::unsupported, document_.path(),
                        "stores its Gaussians compressed, but not as SPZ",
                        "export it without a compression extension");
        placement.degree = degree_of(*placement.primitive);
        return {};
    }
    void unpack(const Placement& p) {
        const GaussianModel& from = *p.packed;
        for (int plane = 0; plane < out_.model.planes(); ++plane) {
            float* to = out_.model.plane(plane) + p.first;
            if (plane < from.planes())
                std::copy_n(from.plane(plane), p.count, to);
            else
                std::fill_n(to, p.count, 0.0f);
        }
        out_.model.antialiased |= from.antialiased;
    }
    // Components of an attribute into consecutive planes, in the order `planes`. False: there is no
    // such attribute.
    Result<bool> read_planes(const Placement& placement, const std::string& name,
                             std::initializer_list<int> planes, int most) {
        GS_TRY(const auto found, attribute(document_, *placement.primitive, name,
                                           static_cast<int>(planes.size()), most));
        if (!found) return false;
        if (found->count != placement.count)
            return fail(
                ErrorKind::malformed, document_.path(),
                fmt::format("has {} positions but {} of {}", placement.count, found->count, name),
                "the file is damaged");
        std::vector<float*> targets;
        for (const int plane : planes) targets.push_back(out_.model.plane(plane) + placement.first);
        GS_TRY_VOID(document_.read(*found, targets, progress_));
        if (name == "SCALE" && found->is_signed_integer()) logarithms_ = true;
        return true;
    }
    Result<void> need(const Placement& placement, const std::string& name,
                      std::initializer_list<int> planes) {
        GS_TRY(const auto done,
               read_planes(placement, name, planes, static_cast<int>(planes.size())));
        if (!done) return missing(name);
        return {};
    }
    Result<void> read(const Placement& p) {
        if (p.packed) {
            unpack(p);
            return {};
        }
        GS_TRY_VOID(need(p, "POSITION", {kMeans, kMeans + 1, kMeans + 2}));
        GS_TRY_VOID(need(p, "SCALE", {kLogScales, kLogScales + 1, kLogScales + 2}));
        GS_TRY_VOID(need(p, "ROTATION", {kQuats + 1, kQuats + 2, kQuats + 3, kQuats}));
        GS_TRY_VOID(read_opacity(p));
        GS_TRY_VOID(read_color(p));
        for (int degree = 1, k = 0; degree <= out_.model.sh_degree; ++degree)
            for (int n = 0; n < 2 * degree + 1; ++n, ++k) {
                const int plane = kShRest + 3 * k;
                if (degree > p.degree) {
                    for (int c = 0; c < 3; ++c)
                        std::fill_n(out_.model.plane(plane + c) + p.first, p.count, 0.0f);
                } else if (auto done = need(p, sh_name(degree, n), {plane, plane + 1, plane + 2});
                           !done) {
                    return done;
                }
            }
        return {};
    }
    Result<void> read_opacity(const Placement& p) {
        GS_TRY(bool there, read_planes(p, "OPACITY", {kOpacityLogits}, 1));
        if (!there) {
            // Drafts had it as the alpha of the colour.
            GS_TRY(there, read_planes(p, "COLOR_0", {kSh0, kSh0 + 1, kSh0 + 2, kOpacityLogits}, 4));
            if (!there) return missing("OPACITY");
        }
        parallel_for(p.count, 16384, [&](std::size_t i) {
            float& value = out_.model.at(kOpacityLogits, p.first + i);
            value = logit_of(value);
        });
        return {};
    }
    Result<void> read_color(const Placement& p) {
        GS_TRY(bool there, read_planes(p, sh_name(0, 0), {kSh0, kSh0 + 1, kSh0 + 2}, 3));
        if (there) return {};
        GS_TRY(there, read_planes(p, "COLOR_0", {kSh0, kSh0 + 1, kSh0 + 2}, 4));
        if (!there) return missing(sh_name(0, 0));
        for (int c = 0; c < 3; ++c)
            for (std::size_t i = p.first; i < p.first + p.count; ++i)
                out_.model.at(kSh0 + c, i) = sh0_of_color(out_.model.at(kSh0 + c, i));
        if (!noted_color_)
            out_.notes.emplace_back(
                "colours are those of COLOR_0: there are no coefficients of degree 0");
        noted_color_ = true;
        return {};
    }
    // Nodes may put Gaussians far from zero: places are less an origin then, before they are added
    // to positions in single precision.
    void settle_places() {
        constexpr std::size_t kMostLookedAt = 1u << 16;
        std::vector<Vec3d> sample;
        for (const Placement& p : placements_)
            for (std::size_t i = 0; i < p.count; i += out_.model.count / kMostLookedAt + 1)
                sample.push_back(p.place.linear * world_position(out_.model.mean(p.first + i), {}) +
                                 p.place.translation);
        const Vec3d origin = origin_for({}, sample);
        if (is_zero(origin)) return;
        for (Placement& p : placements_) p.place.translation = p.place.translation - origin;
        out_.model.origin = origin;
        out_.notes.push_back(origin_note(origin));
    }
    // Linear sizes are never negative, and not all zero: where they are, the file holds logarithms.
    void finish_sizes() {
        GaussianModel& model = out_.model;
        std::atomic<bool> negative{false}, positive{false};
        std::size_t linear = 0;
        const auto each = [&](const auto& value_of) {
            for (const Placement& placement : placements_) {
                if (placement.packed) continue;
                parallel_ranges(placement.count, 16384, [&](std::size_t begin, std::size_t end) {
                    for (int p = kLogScales; p < kQuats; ++p)
                        for (std::size_t i = begin; i < end; ++i)
                            value_of(model.at(p, placement.first + i));
                });
            }
        };
        for (const Placement& placement : placements_)
            if (!placement.packed) linear += placement.count;
        each([&](float value) {
            if (value < 0) negative = true;
            if (value > 0) positive = true;
        });
        if (linear == 0) return;
        if (logarithms_ || negative || !positive) {
            out_.notes.emplace_back("sizes are logarithms, as in drafts of the extension");
            return;
        }
        each([](float& value) { value = std::log(value); });
    }
    // Kernels and colour spaces that are not drawn as they ask for.
    void note_extension() {
        std::vector<std::string> said;
        const auto say = [&](std::string line) {
            if (std::ranges::find(said, line) == said.end()) said.push_back(std::move(line));
        };
        for (const Placement& placement : placements_) {
            const Json& extension = member(member(*placement.primitive, "extensions"), kExtension);
            const Json &kernel = member(extension, "kernel"),
                       &space = member(extension, "colorSpace");
            if (kernel.is_string() && kernel != "ellipse")
                say(fmt::format("kernel \"{}\" is unknown: drawn as ellipses",
                                kernel.get<std::string>()));
            if (space.is_string() && space != "srgb_rec709_display" && space != "BT.709-sRGB")
                say(fmt::format("colour space \"{}\" is shown as if it were sRGB",
                                space.get<std::string>()));
            if (said.size() > 8) break;
        }
        out_.notes.insert(out_.notes.end(), said.begin(), said.end());
    }

    const GltfDocument& document_;
    std::vector<Placement>& placements_;
    const Progress& progress_;
    SplatFile out_{GaussianModel(0, 0), {}, {}};
    std::map<std::uint64_t, std::shared_ptr<const GaussianModel>> unpacked_;  // by buffer view
    bool logarithms_ = false, noted_color_ = false;
};

}  // namespace

bool recognises_splat_gltf(FirstBytes first_bytes, const fs::path& path) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                first_bytes.size());
    if (text.starts_with("glTF")) return true;
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '{') return false;
    return text.find(kExtension) != std::string_view::npos || path.extension() == ".gltf";
}

Result<SplatFile> read_splat_gltf(const fs::path& path, const SplatReadOptions& options) {
    GS_TRY(const auto document, GltfDocument::open(path));
    GS_TRY(auto placements, Walk(document).run());
    if (placements.empty())
        return fail(ErrorKind::unsupported, path.string(), "has no Gaussian splats in its scene",
                    "it is a glTF of meshes");
    return Reader(document, placements, options.progress).run();
}

}  // namespace gs
