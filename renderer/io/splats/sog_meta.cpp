#include "renderer/io/splats/sog_meta.h"

#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "renderer/io/splats/limits.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kLargestSogMeta = 16 << 20;

// Collects the first thing that is wrong, so that parsing reads as a list.
class MetaReader {
  public:
    MetaReader(const Json& meta, std::string name) : meta_(meta), name_(std::move(name)) {}

    const Json& part(const char* key) const { return member(meta_, key); }
    std::vector<float> numbers(const Json& json, const std::string& what, std::size_t least,
                               std::size_t most) {
        if (const auto list = number_list(json, least, most)) return *list;
        note(fmt::format("{} is not a list of {} to {} numbers", what, least, most));
        return std::vector<float>(most, 0.0f);
    }
    std::string file(const char* key, std::size_t index) {
        const Json& name = element(member(part(key), "files"), index);
        if (name.is_string()) return name.get<std::string>();
        note(fmt::format("{}.files has no file {}", key, index));
        return {};
    }
    std::size_t whole(const Json& json, const std::string& what, std::uint64_t largest) {
        if (const auto value = whole_number(json, largest)) return *value;
        note(fmt::format("{} is not a whole number up to {}", what, largest));
        return 0;
    }
    float number(const Json& json, const std::string& what) {
        if (json.is_number()) return static_cast<float>(json.get<double>());
        note(what + " is not a number");
        return 0;
    }
    void note(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
    }
    bool ok() const { return problem_.empty(); }
    tl::unexpected<Error> failure() const {
        return fail(ErrorKind::malformed, name_, problem_, "the file is damaged, or not SOG");
    }

  private:
    const Json& meta_;
    std::string name_, problem_;
};

ByteTable spread_between(float lo, float hi) {
    ByteTable out;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = lo + (hi - lo) * (static_cast<float>(i) / 255.0f);
    return out;
}
// A short codebook's last entry stands for all bytes beyond.
ByteTable codebook_of(MetaReader& reader, const char* key) {
    const auto list = reader.numbers(member(reader.part(key), "codebook"),
                                     fmt::format("{}.codebook", key), 1, 256);
    ByteTable out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = list[std::min(i, list.size() - 1)];
    return out;
}

void read_tables_1(MetaReader& reader, SogMeta& out) {
    const auto tables = [&](const char* key, ByteTable* to, std::size_t n) {
        const auto lo =
            reader.numbers(member(reader.part(key), "mins"), fmt::format("{}.mins", key), n, n);
        const auto hi =
            reader.numbers(member(reader.part(key), "maxs"), fmt::format("{}.maxs", key), n, n);
        for (std::size_t c = 0; c < n; ++c) to[c] = spread_between(lo[c], hi[c]);
    };
    tables("scales", out.scales.data(), 3);
    tables("sh0", out.sh0.data(), 4);
    if (out.has_shn)
        out.shn = spread_between(reader.number(member(reader.part("shN"), "mins"), "shN.mins"),
                                 reader.number(member(reader.part("shN"), "maxs"), "shN.maxs"));
}

void read_tables_2(MetaReader& reader, SogMeta& out) {
    out.scales.fill(codebook_of(reader, "scales"));
    out.sh0.fill(codebook_of(reader, "sh0"));
    for (std::size_t i = 0; i < 256; ++i)
        out.sh0[3][i] = logit_of_byte(static_cast<std::uint8_t>(i));
    if (!out.has_shn) return;
    out.shn = codebook_of(reader, "shN");
    out.bands = static_cast<int>(reader.whole(member(reader.part("shN"), "bands"), "shN.bands", 3));
    out.palette_size =
        reader.whole(member(reader.part("shN"), "count"), "shN.count", kSogLargestPalette);
    out.has_shn = out.bands > 0;
}

}  // namespace

Result<SogMeta> read_sog_meta(const FileSet& files, const std::string& meta_name) {
    GS_TRY(const auto bytes, files.read(meta_name, kLargestSogMeta));
    const std::string name = files.describe(meta_name);
    GS_TRY(const auto json, parse_json_object(bytes, name, JsonBy::anyone));
    MetaReader reader(json, name);
    SogMeta out;
    const Json& version = reader.part("version");
    out.version = version.is_null() ? 1 : static_cast<int>(whole_number(version, 1000).value_or(0));
    if (out.version != 1 && out.version != 2)
        return fail(ErrorKind::unsupported, name,
                    fmt::format("is SOG version {}; 1 and 2 are read", json_text(version)));
    const Json& means = reader.part("means");
    out.count = out.version == 1
                    ? reader.whole(element(member(means, "shape"), 0), "means.shape[0]", 1ull << 32)
                    : reader.whole(reader.part("count"), "count", 1ull << 32);
    const auto mins = reader.numbers(member(means, "mins"), "means.mins", 3, 3),
               maxs = reader.numbers(member(means, "maxs"), "means.maxs", 3, 3);
    std::copy(mins.begin(), mins.end(), out.mins.begin());
    std::copy(maxs.begin(), maxs.end(), out.maxs.begin());
    out.means_files = {reader.file("means", 0), reader.file("means", 1)};
    out.quats_file = reader.file("quats", 0);
    out.scales_file = reader.file("scales", 0);
    out.sh0_file = reader.file("sh0", 0);
    out.has_shn = reader.part("shN").is_object();
    const Json& antialias = reader.part("antialias");
    out.antialiased = antialias.is_boolean() && antialias.get<bool>();
    const Json &projection = member(reader.part("asset"), "projection"),
               &angle = member(reader.part("asset"), "widest_angle");
    out.trained.unscented = projection.is_string() && projection.get<std::string>() == "ut";
    const double degrees = angle.is_number() ? angle.get<double>() : 0;
    out.trained.widest_angle = degrees > 0 && degrees <= 180 ? degrees : 0;
    if (const auto o = number_list<double>(member(reader.part("asset"), "origin"), 3, 3))
        out.origin = {(*o)[0], (*o)[1], (*o)[2]};
    if (out.version == 1)
        read_tables_1(reader, out);
    else
        read_tables_2(reader, out);
    if (out.has_shn) {
        out.centroids_file = reader.file("shN", 0);
        out.labels_file = reader.file("shN", 1);
    }
    if (!reader.ok()) return reader.failure();
    GS_TRY_VOID(check_plausible_count(out.count, files.size(), name, 0));
    return out;
}

}  // namespace gs
