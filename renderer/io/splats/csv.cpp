// .csv: every parameter of every Gaussian as text that gives the same float again; columns as in
// 3DGS files. For spreadsheets and scripts; not read back.
#include <fmt/compile.h>

#include <cstring>

#include "base/try.h"
#include "renderer/io/files/records.h"
#include "renderer/io/splats/formats.h"
#include "renderer/scene/origin.h"

namespace gs {
namespace {

struct Column {
    std::string name;
    int plane;
};

std::vector<Column> columns_of(const GaussianModel& model) {
    std::vector<Column> out = {{"x", kMeans}, {"y", kMeans + 1}, {"z", kMeans + 2}};
    for (int i = 0; i < 3; ++i) out.push_back({fmt::format("scale_{}", i), kLogScales + i});
    for (int i = 0; i < 4; ++i) out.push_back({fmt::format("rot_{}", i), kQuats + i});
    out.push_back({"opacity", kOpacityLogits});
    for (int i = 0; i < 3; ++i) out.push_back({fmt::format("f_dc_{}", i), kSh0 + i});
    const int per_channel = sh_bases(model.sh_degree) - 1;
    for (int i = 0; i < 3 * per_channel; ++i)
        out.push_back(
            {fmt::format("f_rest_{}", i), kShRest + 3 * (i % per_channel) + i / per_channel});
    return out;
}

}  // namespace

bool recognises_splat_csv(FirstBytes first_bytes, const fs::path&) {
    return first_bytes.size() > 6 && std::memcmp(first_bytes.data(), "x,y,z,", 6) == 0;
}

Result<SplatNotes> write_splat_csv(const fs::path& path, const GaussianModel& model,
                                   const SplatWriteOptions& options) {
    GS_TRY(auto file, AtomicFile::create(path));
    const std::vector<Column> columns = columns_of(model);
    std::string header;
    for (const Column& column : columns) header += (header.empty() ? "" : ",") + column.name;
    GS_TRY_VOID(file.append(header + "\n"));
    const bool far = !is_zero(model.origin);
    const double origin[3] = {model.origin.x, model.origin.y, model.origin.z};
    constexpr std::size_t kRows = 2048, kPieces = 16;
    std::vector<std::string> pieces(kPieces);
    for (std::size_t start = 0; start < model.count; start += kRows * kPieces) {
        const std::size_t batch = std::min(kRows * kPieces, model.count - start);
        parallel_ranges(batch, kRows, [&](std::size_t begin, std::size_t end) {
            std::string& text = pieces[begin / kRows];
            text.clear();
            for (std::size_t i = start + begin; i < start + end; ++i)
                for (std::size_t c = 0; c < columns.size(); ++c) {
                    const auto out = std::back_inserter(text);
                    const char separator = c + 1 == columns.size() ? '\n' : ',';
                    const float value = model.at(columns[c].plane, i);
                    if (far && c < 3)
                        fmt::format_to(out, FMT_COMPILE("{}{}"),
                                       origin[c] + static_cast<double>(value), separator);
                    else
                        fmt::format_to(out, FMT_COMPILE("{}{}"), value, separator);
                }
        });
        for (std::size_t p = 0; p * kRows < batch; ++p) GS_TRY_VOID(file.append(pieces[p]));
        if (!keep_going(options.progress, start + batch, model.count))
            return writing_cancelled(path);
    }
    GS_TRY_VOID(file.commit());
    SplatNotes notes;
    if (model.antialiased)
        notes.emplace_back("a CSV does not say that the Gaussians were trained antialiased");
    return notes;
}

}  // namespace gs
