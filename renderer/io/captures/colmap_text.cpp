#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/io/files/text_reader.h"
#include "renderer/io/splats/ply.h"
#include "renderer/io/splats/values.h"

namespace gs {
namespace {

constexpr const char* kDamaged = "the file is cut or damaged; export the model again";

// The next line that holds a record: not empty, not a comment.
bool next_record(LineReader& lines, std::string_view& line) {
    while (lines.next(line)) {
        line = trimmed(line);
        if (!line.empty() && line.front() != '#') return true;
    }
    return false;
}

// "ID QW QX QY QZ TX TY TZ CAMERA_ID NAME"; names may hold blanks.
bool parse_image(std::string_view line, ColmapImage& image) {
    bool good = parse_next(line, image.number);
    for (double* q : {&image.rotation.w, &image.rotation.x, &image.rotation.y, &image.rotation.z})
        good = good && parse_next(line, *q);
    for (double* t : {&image.translation.x, &image.translation.y, &image.translation.z})
        good = good && parse_next(line, *t);
    good = good && parse_next(line, image.camera);
    image.name = trimmed(line);
    return good && !image.name.empty();
}

std::size_t words_in(std::string_view line) {
    std::size_t words = 0;
    while (!next_word(line).empty()) ++words;
    return words;
}

// Programs other than COLMAP leave lines of key points out. A line of them is numbers only, three
// a point; that of an image has a name, and where the name is a number a rotation that is one.
bool is_next_image(std::string_view line, const ColmapModel& model) {
    ColmapImage image;
    if (!parse_image(line, image)) return false;
    double number = 0;
    std::string_view rest = image.name;
    bool numbers = true;
    while (!trimmed(rest).empty()) numbers = parse_next(rest, number) && numbers;
    if (!numbers) return true;
    const Quatd q = image.rotation;
    const double length = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    return words_in(line) % 3 != 0 && model.cameras.count(image.camera) > 0 &&
           std::abs(length - 1) < 0.01;
}

struct TextPoint {
    double x = 0, y = 0, z = 0, error = 0, rgb[3]{};
};

// "ID X Y Z R G B ERROR TRACK"; what comes after the colour may be left out.
bool parse_point(std::string_view line, TextPoint& point) {
    std::uint64_t id = 0;
    bool good = parse_next(line, id) && parse_next(line, point.x) && parse_next(line, point.y) &&
                parse_next(line, point.z);
    for (double& channel : point.rgb) good = good && parse_next(line, channel);
    return good && (trimmed(line).empty() || parse_next(line, point.error));
}

}  // namespace

Result<void> read_cameras_text(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto text, read_text_file(path));
    LineReader lines(text);
    std::string_view line;
    while (next_record(lines, line)) {
        std::uint32_t id = 0;
        ColmapCamera camera;
        if (!parse_next(line, id))
            return fail_at_line(path.string(), lines.number(), "the camera number is not a number",
                                kDamaged);
        const std::string_view name = next_word(line);
        camera.model = colmap_lens_number(name);
        if (!parse_next(line, camera.width) || !parse_next(line, camera.height))
            return fail_at_line(path.string(), lines.number(),
                                "width and height must be whole numbers", kDamaged);
        if (camera.model < 0) camera.unknown = fmt::format("unknown model {}", name);
        const int wanted = camera.model < 0 ? 0 : colmap_lens(camera.model)->params;
        for (int p = 0; p < wanted; ++p) {
            double value = 0;
            if (!parse_next(line, value))
                return fail_at_line(path.string(), lines.number(),
                                    fmt::format("{} needs {} parameters", name, wanted), kDamaged);
            camera.params.push_back(value);
        }
        model.cameras[id] = std::move(camera);
    }
    return {};
}

Result<void> read_images_text(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto text, read_text_file(path));
    LineReader lines(text);
    std::string_view line;
    bool more = next_record(lines, line);
    while (more) {
        ColmapImage image;
        if (!parse_image(line, image))
            return fail_at_line(path.string(), lines.number(),
                                "an image line needs ID QW QX QY QZ TX TY TZ CAMERA_ID NAME",
                                kDamaged);
        model.images.push_back(std::move(image));
        // The key points: three words each, possibly none. Counting is enough.
        more = lines.next(line);
        while (more && line.starts_with('#')) more = lines.next(line);
        if (!more) break;
        line = trimmed(line);
        if (!line.empty() && is_next_image(line, model)) continue;
        if (words_in(line) % 3 != 0)
            return fail_at_line(path.string(), lines.number(),
                                "key points come as X Y POINT3D_ID, but a number is left over",
                                kDamaged);
        more = next_record(lines, line);
    }
    return {};
}

Result<void> read_points_text(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto text, read_text_file(path));
    LineReader lines(text);
    std::string_view line;
    std::vector<TextPoint> points;
    std::vector<float> color[3];
    while (next_record(lines, line)) {
        TextPoint point;
        if (!parse_point(line, point))
            return fail_at_line(path.string(), lines.number(),
                                "a point line needs ID X Y Z R G B ERROR TRACK", kDamaged);
        for (std::size_t c = 0; c < 3; ++c) color[c].push_back(static_cast<float>(point.rgb[c]));
        points.push_back(point);
    }
    const double full = full_ply_color({color[0], color[1], color[2]}, PlyType::i32);
    for (std::size_t i = 0; i < points.size(); ++i) {
        std::uint8_t rgb[3];
        for (int c = 0; c < 3; ++c) rgb[c] = byte_of(color[c][i] / static_cast<float>(full));
        add_point(model, points[i].x, points[i].y, points[i].z, rgb, points[i].error);
    }
    return {};
}

}  // namespace gs
