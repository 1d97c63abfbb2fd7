// Splat files and captures for Python: the readers and writers of renderer/io behind C functions.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/parallel.h"
#include "base/try.h"
#include "python/native/gausscope_files.h"
#include "renderer/io/captures/capture_io.h"
#include "renderer/io/splats/splat_io.h"
#include "renderer/scene/camera_names.h"

using nlohmann::json;

struct gausscope_splats {
    gs::SplatFile file;
    std::string description, notes;
};
struct gausscope_capture {
    gs::Capture capture;
    std::string description;
};

namespace gs {
namespace {

template <std::size_t N>
void put(char (&to)[N], std::string_view text) {
    const std::size_t n = std::min(text.size(), N - 1);
    std::memcpy(to, text.data(), n);
    to[n] = 0;
}

const char* name_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::not_found:
            return "not_found";
        case ErrorKind::unreadable:
            return "unreadable";
        case ErrorKind::malformed:
            return "malformed";
        case ErrorKind::unsupported:
            return "unsupported";
        case ErrorKind::unwritable:
            return "unwritable";
        case ErrorKind::usage:
            return "usage";
        case ErrorKind::cancelled:
            return "cancelled";
    }
    return "failed";
}

void report(gausscope_failure* to, const Error& error) {
    if (to == nullptr) return;
    Error place = error;
    place.path.clear();
    place.advice.clear();
    put(to->kind, name_of(error.kind));
    put(to->path, error.path);
    put(to->message, place.text());
    put(to->advice, error.advice);
}

/// What f() returns; null where it fails, or throws, with the reason in `failure`.
template <class T, class F>
T guarded(gausscope_failure* failure, F&& f) {
    Error error{ErrorKind::usage, "", "not enough memory", "", {}, {}};
    try {
        Result<T> result = f();
        if (result) return *result;
        error = result.error();
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& e) {
        error.message = e.what();
    }
    report(failure, error);
    return nullptr;
}

json numbers(const Vec3d& v) { return {v.x, v.y, v.z}; }
std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string describe(const SplatFile& file) {
    const Sky& sky = file.model.sky;
    const auto numbers_of_sky = sky.empty() ? 0 : 3 * sh_bases(sky.degree);
    return dump({{"count", file.model.count},
                 {"sh_degree", file.model.sh_degree},
                 {"antialiased", file.model.antialiased},
                 {"origin", numbers(file.model.origin)},
                 {"sky", std::vector(sky.sh.begin(), sky.sh.begin() + numbers_of_sky)},
                 {"format", file.format},
                 {"notes", file.notes}});
}

json pose(const Mat3d& r, const Vec3d& t) {
    return {{r.m[0][0], r.m[0][1], r.m[0][2], t.x},
            {r.m[1][0], r.m[1][1], r.m[1][2], t.y},
            {r.m[2][0], r.m[2][1], r.m[2][2], t.z},
            {0.0, 0.0, 0.0, 1.0}};
}

json describe(const View& view) {
    const Camera& c = view.camera;
    json out{{"name", view.name},
             {"test", view.test},
             {"width", c.width},
             {"height", c.height},
             {"model", text_of(c.model)},
             {"fx", c.fx},
             {"fy", c.fy},
             {"cx", c.cx},
             {"cy", c.cy},
             {"distortion", c.distortion},
             {"viewmat", pose(c.rotation, c.translation)}};
    if (c.rolling())
        out.update({{"shutter", text_of(c.shutter)},
                    {"viewmat_first", pose(c.first.rotation, c.first.translation)},
                    {"viewmat_last", pose(c.last.rotation, c.last.translation)}});
    return out;
}

std::string describe(const Capture& capture) {
    json views = json::array();
    for (const View& view : capture.views) views.push_back(describe(view));
    return dump({{"name", capture.name},
                 {"path", capture.path},
                 {"format", capture.format},
                 {"model", capture.model},
                 {"models", capture.models},
                 {"split", capture.split},
                 {"origin", numbers(capture.origin)},
                 {"points", capture.points.size()},
                 {"points_are_random", capture.points_are_random},
                 {"skipped", capture.skipped},
                 {"notes", texts_of(capture.notes)},
                 {"views", std::move(views)}});
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

Result<CaptureOptions> options_from(const gausscope_capture_options& from) {
    CaptureOptions out{.downscale = from.downscale, .max_side = from.max_side};
    if (from.test_every >= 0) {
        out.test_every = from.test_every;
        out.listed_split = ListedSplit::ignored;
    }
    out.undistort = from.undistort != 0;
    out.photos = from.photos != 0;
    out.photo_memory = from.photo_memory;
    out.model = text_or_empty(from.model);
    out.masks = text_or_empty(from.masks);
    std::istringstream names(text_or_empty(from.test_views));
    for (std::string name; std::getline(names, name);) out.test_views.push_back(name);
    if (out.downscale < 0 || out.max_side < 0)
        return fail(ErrorKind::usage, "", "downscale and max_side are not negative");
    return out;
}

/// Rows of planes as gausscope_get_rows() gives them; f(plane's value, row's value).
template <class Plane, class Row, class F>
std::int32_t walk_rows(Plane* splats, int first, int planes, Row* rows, F&& f) {
    if (splats == nullptr || rows == nullptr || first < 0 || planes < 0 || planes > kMaxPlanes ||
        first + planes > splats->file.model.planes())
        return 1;
    auto& model = splats->file.model;
    parallel_for(model.count, 4096, [&](std::size_t i) {
        for (int p = 0; p < planes; ++p)
            f(model.plane(first + p)[i],
              rows[i * static_cast<std::size_t>(planes) + static_cast<std::size_t>(p)]);
    });
    return 0;
}

Result<SplatNotes> write_to(const SplatFile& file, const char* path, int spz_version) {
    const SplatWriteOptions options{.spz_version = spz_version, .trained = file.trained};
    return write_splats(fs::path(path), file.model, options);
}

Result<int> copy_photo(const Capture& capture, std::uint64_t number, std::uint8_t* photo,
                       std::uint8_t* mask) {
    if (number >= capture.views.size()) return fail(ErrorKind::usage, "", "there is no such view");
    const View& view = capture.views[number];
    const LentPhoto lent = lend_photo(view);
    const auto pixels =
        static_cast<std::size_t>(view.camera.width) * static_cast<std::size_t>(view.camera.height);
    if (photo != nullptr) {
        if (lent.photo().bytes.size() != 3 * pixels)
            return fail(ErrorKind::usage, view.name, "the capture was opened without photos");
        std::memcpy(photo, lent.photo().bytes.data(), 3 * pixels);
    }
    if (mask == nullptr) return 0;
    if (lent.mask().bytes.size() == pixels)
        std::memcpy(mask, lent.mask().bytes.data(), pixels);
    else
        std::memset(mask, 255, pixels);
    return 0;
}

}  // namespace
}  // namespace gs

gausscope_splats* gausscope_read_splats(const char* path, int32_t lod, gausscope_failure* failure) {
    return gs::guarded<gausscope_splats*>(failure, [&]() -> gs::Result<gausscope_splats*> {
        const gs::SplatReadOptions options{.lod = lod};
        GS_TRY(gs::SplatFile file, gs::read_splats(gs::fs::path(path), options));
        auto out = std::make_unique<gausscope_splats>();
        out->file = std::move(file);
        out->description = gs::describe(out->file);
        return out.release();
    });
}

gausscope_splats* gausscope_make_splats(uint64_t count, int32_t sh_degree, int32_t antialiased,
                                        const double origin[3], gausscope_failure* failure) {
    return gs::guarded<gausscope_splats*>(failure, [&]() -> gs::Result<gausscope_splats*> {
        if (sh_degree < 0 || sh_degree > 3)
            return gs::fail(gs::ErrorKind::usage, "", "sh_degree is not from 0 to 3");
        if (count > 0xffffffffu) return gs::fail(gs::ErrorKind::usage, "", "too many Gaussians");
        auto out = std::make_unique<gausscope_splats>();
        out->file.model = gs::GaussianModel(count, sh_degree);
        out->file.model.antialiased = antialiased != 0;
        if (origin != nullptr) out->file.model.origin = {origin[0], origin[1], origin[2]};
        out->description = gs::describe(out->file);
        return out.release();
    });
}

void gausscope_release_splats(gausscope_splats* splats) { delete splats; }

const char* gausscope_describe_splats(const gausscope_splats* splats) {
    return splats->description.c_str();
}

int32_t gausscope_get_rows(const gausscope_splats* splats, int32_t first, int32_t planes,
                           float* rows) {
    return gs::walk_rows(splats, first, planes, rows, [](float from, float& to) { to = from; });
}
int32_t gausscope_set_rows(gausscope_splats* splats, int32_t first, int32_t planes,
                           const float* rows) {
    return gs::walk_rows(splats, first, planes, rows, [](float& to, float from) { to = from; });
}

int32_t gausscope_set_sky(gausscope_splats* splats, int32_t degree, const float* sh) {
    if (splats == nullptr || sh == nullptr || degree < 0 || degree > 3) return 1;
    gs::Sky& sky = splats->file.model.sky = {.degree = degree};
    std::copy_n(sh, 3 * gs::sh_bases(degree), sky.sh.begin());
    return 0;
}

const char* gausscope_write_splats(gausscope_splats* splats, const char* path, int32_t spz_version,
                                   gausscope_failure* failure) {
    return gs::guarded<const char*>(failure, [&]() -> gs::Result<const char*> {
        GS_TRY(const gs::SplatNotes notes, gs::write_to(splats->file, path, spz_version));
        splats->notes = gs::dump(notes);
        return splats->notes.c_str();
    });
}

gausscope_capture* gausscope_open_capture(const char* path,
                                          const gausscope_capture_options* options,
                                          gausscope_failure* failure) {
    return gs::guarded<gausscope_capture*>(failure, [&]() -> gs::Result<gausscope_capture*> {
        GS_TRY(const gs::CaptureOptions asked, gs::options_from(*options));
        GS_TRY(gs::Capture capture, gs::load_capture(gs::fs::path(path), asked));
        auto out = std::make_unique<gausscope_capture>();
        out->capture = std::move(capture);
        out->description = gs::describe(out->capture);
        return out.release();
    });
}

void gausscope_release_capture(gausscope_capture* capture) { delete capture; }

const char* gausscope_describe_capture(const gausscope_capture* capture) {
    return capture->description.c_str();
}

int32_t gausscope_get_points(const gausscope_capture* capture, float* positions, uint8_t* colors) {
    for (const gs::SparsePoint& point : capture->capture.points) {
        const float xyz[3] = {point.position.x, point.position.y, point.position.z};
        positions = std::copy_n(xyz, 3, positions);
        colors = std::copy_n(point.rgb, 3, colors);
    }
    return 0;
}

int32_t gausscope_get_photo(const gausscope_capture* capture, uint64_t view, uint8_t* photo,
                            uint8_t* mask, gausscope_failure* failure) {
    const bool done = gs::guarded<const void*>(failure, [&]() -> gs::Result<const void*> {
                          return gs::copy_photo(capture->capture, view, photo, mask).map([&](int) {
                              return static_cast<const void*>(capture);
                          });
                      }) != nullptr;
    return done ? 0 : 1;
}
