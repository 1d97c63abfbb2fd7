#include "app/studio/measures.h"

#include <fmt/format.h>

#include "app/studio/arguments.h"
#include "base/format.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr std::uint64_t kLargestMeasures = 1 << 20;
constexpr double kFarthestMeasured = 1e9;  // world units

/// All words of `text` as numbers; empty: one of them is none.
std::vector<double> numbers_in(const std::string& text) {
    std::vector<double> out;
    for (const std::string& word : split_words(text)) {
        const auto number =
            number_argument(word, -kFarthestMeasured, kFarthestMeasured, "a coordinate");
        if (!number) return {};
        out.push_back(*number);
    }
    return out;
}

void take_measure(const std::string& name, const std::vector<double>& v, MeasureState& out) {
    if (name == "metres_per_unit" && v.size() == 1 && v[0] > 0) out.metres_per_unit = v[0];
    if (name == "up" && v.size() == 3) {
        const Vec3d up{v[0], v[1], v[2]};
        if (const double length = std::sqrt(dot(up, up)); length > 1e-9) out.up = 1 / length * up;
    }
    if (name == "distance" && v.size() == 6) {
        out.points.push_back({v[0], v[1], v[2]});
        out.points.push_back({v[3], v[4], v[5]});
    }
}

}  // namespace

fs::path measures_file(const fs::path& views_file) {
    const fs::path name = views_file.filename() == "views.txt"
                              ? fs::path("measures.txt")
                              : fs::path(views_file.stem().string() + ".measures.txt");
    return views_file.parent_path() / name;
}

MeasureState read_measures(const fs::path& file) {
    MeasureState out;
    const auto text = read_text_file(file, kLargestMeasures);
    for (std::size_t begin = 0; text && begin < text->size();) {
        const std::size_t end = std::min(text->find('\n', begin), text->size());
        const std::string line = text->substr(begin, end - begin);
        begin = end + 1;
        const std::size_t equals = line.find(" = ");
        if (equals != std::string::npos)
            take_measure(line.substr(0, equals), numbers_in(line.substr(equals + 3)), out);
    }
    return out;
}

Result<void> write_measures(const fs::path& file, const MeasureState& measured) {
    std::error_code ignored;
    std::string text;
    if (measured.metres_per_unit > 0)
        text += fmt::format("metres_per_unit = {:.9g}\n", measured.metres_per_unit);
    if (measured.up)
        text += fmt::format("up = {:.9g} {:.9g} {:.9g}\n", measured.up->x, measured.up->y,
                            measured.up->z);
    for (std::size_t i = 0; i < measured.distances(); ++i) {
        const Vec3d a = measured.points[2 * i], b = measured.points[2 * i + 1];
        text += fmt::format("distance = {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g}\n", a.x, a.y, a.z,
                            b.x, b.y, b.z);
    }
    if (text.empty()) {
        fs::remove(file, ignored);
        return {};
    }
    GS_TRY_VOID(make_folder(file.parent_path()));
    return write_text_file(file, text);
}

}  // namespace gs
