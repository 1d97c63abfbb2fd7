#include <algorithm>

#include "base/try.h"
#include "renderer/io/captures/colmap.h"
#include "renderer/io/files/text_reader.h"

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
        if (camera.model < 0)
            return fail_at_line(path.string(), lines.number(),
                                fmt::format("unknown camera model \"{}\"", name), kDamaged);
        if (!parse_next(line, camera.width) || !parse_next(line, camera.height))
            return fail_at_line(path.string(), lines.number(),
                                "width and height must be whole numbers", kDamaged);
        const int wanted = colmap_lens(camera.model)->params;
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
    while (next_record(lines, line)) {
        ColmapImage image;
        std::uint32_t id = 0;
        bool good = parse_next(line, id);
        for (double* q :
             {&image.rotation.w, &image.rotation.x, &image.rotation.y, &image.rotation.z})
            good = good && parse_next(line, *q);
        for (double* t : {&image.translation.x, &image.translation.y, &image.translation.z})
            good = good && parse_next(line, *t);
        good = good && parse_next(line, image.camera);
        image.name = trimmed(line);  // names may hold blanks
        if (!good || image.name.empty())
            return fail_at_line(path.string(), lines.number(),
                                "an image line needs ID QW QX QY QZ TX TY TZ CAMERA_ID NAME",
                                kDamaged);
        // The key points: three words each, possibly none, possibly missing on the very last line.
        // Counting is enough.
        std::string_view key_points;
        if (lines.next(key_points)) {
            std::size_t words = 0;
            for (bool inside = false; const char c : key_points) {
                words += !is_blank(c) && !inside;
                inside = !is_blank(c);
            }
            if (words % 3 != 0)
                return fail_at_line(path.string(), lines.number(),
                                    "key points come as X Y POINT3D_ID, but a number is left over",
                                    kDamaged);
        }
        model.images.push_back(std::move(image));
    }
    return {};
}

Result<void> read_points_text(const fs::path& path, ColmapModel& model) {
    GS_TRY(const auto text, read_text_file(path));
    LineReader lines(text);
    std::string_view line;
    while (next_record(lines, line)) {
        std::uint64_t id = 0;
        double x = 0, y = 0, z = 0, error = 0;
        std::uint8_t rgb[3];
        const bool good = parse_next(line, id) && parse_next(line, x) && parse_next(line, y) &&
                          parse_next(line, z) && parse_next(line, rgb[0]) &&
                          parse_next(line, rgb[1]) && parse_next(line, rgb[2]) &&
                          parse_next(line, error);
        if (!good)
            return fail_at_line(path.string(), lines.number(),
                                "a point line needs ID X Y Z R G B ERROR TRACK", kDamaged);
        add_point(model, x, y, z, rgb, error);
    }
    return {};
}

}  // namespace gs
