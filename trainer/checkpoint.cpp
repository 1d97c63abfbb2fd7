// Checkpoints: one file with everything a run consists of, so that resuming gives the same bits as
// never having stopped. Layout: magic, then sections of {tag, CRC-32 of the payload, payload bytes,
// payload}, little-endian as in memory. Sections come in a fixed order. Files may come from
// anywhere: every size is checked before it is believed.
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>

#include "base/record/scope.h"
#include "base/rng.h"
#include "base/try.h"
#include "renderer/scene/origin.h"
#include "trainer/checkpoint.h"
#include "trainer/settings/schedule.h"
#include "trainer/trainer_state.h"

namespace gs {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are copies of memory");
constexpr char kMagic[8] = {'G', 'S', 'C', 'K', 'P', 'T', '0', '1'};
// Opens a regular file: opening a pipe would wait for its writer.
bool begins_with_magic(const fs::path& path, std::ifstream& file) {
    if (file_exists(path)) file.open(path, std::ios::binary);
    char magic[sizeof kMagic] = {};
    return file.read(magic, sizeof magic) && std::memcmp(magic, kMagic, sizeof magic) == 0;
}
/// Of the sections that hold no per-Gaussian array: each_row_array() has the others.
enum class Tag : std::uint32_t {
    settings = 1,
    capture,
    run,
    adam_tables = 5,  // after the model
    births = 10,      // after identity, also not in older files
    appearance,       // this and the next: where exposure and colour are learned
    appearance_moments,
    sky = 56,  // the last: where the model has one, and its moments where it is learned
    sky_moments,
    origin = 48,  // after the run's numbers, where the capture has one
    poses = 32,   // after the run's numbers, where poses are corrected
    intrinsics    // likewise
};

/// `before`: of the bytes before these.
std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
    if (bytes.empty()) return before;
    return static_cast<std::uint32_t>(
        crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

/// Numbers of the run that are one of a kind.
struct RunNumbers {
    double extent;
    std::uint64_t drawn, count, capacity;
    std::uint32_t sh_degree, antialiased, steps, base, planes, reserved;
    double highest[kLearningGroups];
};
struct CaptureNumbers {
    std::uint64_t views, fingerprint;
};

/// Changes when a photo is added, renamed, resized or changes sides between training and test.
CaptureNumbers numbers_of(const Capture& capture) {
    CaptureNumbers n{capture.views.size(), 0};
    const auto mix = [&](std::uint64_t value) { n.fingerprint = hash64(n.fingerprint ^ value); };
    for (const View& view : capture.views) {
        for (const char c : view.name) mix(static_cast<unsigned char>(c));
        // The camera's size is the photo's, and known where no photo was read.
        mix(static_cast<std::uint64_t>(view.camera.width) << 33 |
            static_cast<std::uint64_t>(view.camera.height) << 1 | (view.test ? 1u : 0u));
    }
    return n;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<const std::byte> bytes_of(const Buffer<T>& buffer) {
    return std::as_bytes(buffer.span());
}

/// Appends sections; remembers the first failure.
class Writer {
  public:
    explicit Writer(AtomicFile& file) : file_(file) {}
    void section(Tag tag, std::span<const std::byte> payload) {
        section(tag, [&](const RunPieces::Take& take) { take(payload); });
    }
    /// `give(take)`: takes the payload, piece by piece; twice, as its checksum comes first.
    template <class Give>
    void section(Tag tag, Give&& give) requires std::invocable<Give, const RunPieces::Take&> {
        struct Header {
            std::uint32_t tag, crc = 0;
            std::uint64_t bytes = 0;
        } header{static_cast<std::uint32_t>(tag)};
        give([&](std::span<const std::byte> piece) {
            header.crc = crc_of(piece, header.crc);
            header.bytes += piece.size();
        });
        raw(bytes_of(header));
        give([&](std::span<const std::byte> piece) { raw(piece); });
    }
    void raw(std::span<const std::byte> bytes) {
        if (result) result = file_.append(bytes);
    }
    Result<void> result;

  private:
    AtomicFile& file_;
};

/// Walks the sections of a file in memory.
class Reader {
  public:
    Reader(std::string path, std::span<const std::byte> bytes)
        : path_(std::move(path)), bytes_(bytes) {}

    Result<void> magic() {
        if (bytes_.size() < sizeof(kMagic) ||
            std::memcmp(bytes_.data(), kMagic, sizeof(kMagic)) != 0)
            return fail_at_byte(path_, 0, "not a gausscope checkpoint, or one of another version");
        at_ = sizeof(kMagic);
        return {};
    }
    Result<std::span<const std::byte>> section(Tag tag, const char* what) {
        constexpr std::size_t kHeader = 16;
        std::uint32_t head[2];
        std::uint64_t size = 0;
        if (bytes_.size() - at_ < kHeader) return broken(what, "is missing: the file ends early");
        std::memcpy(head, bytes_.data() + at_, sizeof(head));
        std::memcpy(&size, bytes_.data() + at_ + sizeof(head), sizeof(size));
        if (head[0] != static_cast<std::uint32_t>(tag))
            return broken(what, "is not where it belongs");
        if (size > bytes_.size() - at_ - kHeader) return broken(what, "ends early");
        const auto payload = bytes_.subspan(at_ + kHeader, static_cast<std::size_t>(size));
        if (crc_of(payload) != head[1]) return broken(what, "is damaged (checksum)");
        at_ += kHeader + payload.size();
        return payload;
    }
    template <class T>
    Result<void> numbers(Tag tag, const char* what, T& out) {
        GS_TRY(const auto payload, section(tag, what));
        if (payload.size() != sizeof(T)) return broken(what, "has the wrong size");
        std::memcpy(&out, payload.data(), sizeof(T));
        return {};
    }
    /// Whether the next section is this one.
    bool next_is(Tag tag) const {
        std::uint32_t next = 0;
        if (bytes_.size() - at_ < sizeof next) return false;
        std::memcpy(&next, bytes_.data() + at_, sizeof next);
        return next == static_cast<std::uint32_t>(tag);
    }
    /// Exactly `count` values.
    template <class T>
    Result<void> array(Tag tag, const char* what, std::size_t count, Buffer<T>& out) {
        GS_TRY(const auto payload, section(tag, what));
        if (payload.size() / sizeof(T) != count || payload.size() % sizeof(T) != 0)
            return broken(what, "has the wrong size");
        out.resize_discard(count);
        std::memcpy(out.data(), payload.data(), payload.size());
        return {};
    }
    tl::unexpected<Error> broken(const char* what, const char* how) const {
        return fail_at_byte(path_, at_, fmt::format("the {} section {}", what, how),
                            "use an older checkpoint");
    }
    std::size_t size() const { return bytes_.size(); }
    bool at_end() const { return at_ == bytes_.size(); }

  private:
    std::string path_;
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

std::string settings_text(const TrainingSettings& settings) {
    std::string text;
    for (const SettingField& field : setting_fields())
        text += fmt::format("{}={:.17g}\n", field.name, field.of(settings));
    return text;
}

/// Fields that the file does not name keep their defaults; unknown names are skipped.
Result<TrainingSettings> read_settings(Reader& reader) {
    GS_TRY(const auto payload, reader.section(Tag::settings, "settings"));
    std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    TrainingSettings settings;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return reader.broken("settings", "has a line without a value");
        if (find_setting(line.substr(0, equals)) == nullptr) continue;
        const std::string value(line.substr(equals + 1));
        char* parsed = nullptr;
        const double number = std::strtod(value.c_str(), &parsed);
        if (value.empty() || *parsed != '\0' ||
            !set_setting(settings, line.substr(0, equals), number))
            return reader.broken("settings", "has a value out of range");
    }
    return settings;
}

bool plausible(const RunNumbers& n, std::size_t file_size) {
    if (n.sh_degree > 3 || n.count == 0 || n.capacity < n.count || n.capacity % kBlock != 0)
        return false;
    const int planes = plane_count(static_cast<int>(n.sh_degree));
    if (n.capacity > file_size / (sizeof(float) * static_cast<std::size_t>(planes))) return false;
    if (n.planes < static_cast<std::uint32_t>(kShRest) ||
        n.planes > static_cast<std::uint32_t>(planes))
        return false;
    return n.base <= n.steps && n.steps - n.base <= (1u << 20) && std::isfinite(n.extent) &&
           n.extent > 0;
}

Result<void> read_births(Reader& reader, const RunNumbers& n, RowIdentity& identity) {
    GS_TRY(const auto payload, reader.section(Tag::births, "births"));
    // The id to be given next, then {first id, step} of every birth.
    if (payload.size() % sizeof(Birth) != sizeof(std::uint32_t))
        return reader.broken("births", "has the wrong size");
    IdBook& book = identity.book;
    std::memcpy(&book.next, payload.data(), sizeof(book.next));
    book.births.resize(payload.size() / sizeof(Birth));
    if (!book.births.empty())
        std::memcpy(book.births.data(), payload.data() + sizeof(book.next),
                    book.births.size() * sizeof(Birth));
    if (!identity.plausible(static_cast<std::size_t>(n.count), n.steps))
        return reader.broken("births", "names Gaussians that do not exist");
    std::fill(identity.tags.begin() + n.count, identity.tags.end(), 0u);
    return {};
}

Result<void> read_appearance(Reader& reader, AppearanceState& appearance) {
    Reader ahead = reader;
    GS_TRY(const auto payload, ahead.section(Tag::appearance, "exposure and colour"));
    const std::size_t values = payload.size() / sizeof(float);
    GS_TRY_VOID(reader.array(Tag::appearance, "exposure and colour", values, appearance.values));
    GS_TRY_VOID(reader.array(Tag::appearance_moments, "exposure and colour's moments", 2 * values,
                             appearance.moments));
    for (const Buffer<float>* part : {&appearance.values, &appearance.moments})
        for (const float x : *part)
            if (!std::isfinite(x))
                return reader.broken("exposure and colour", "has values that are not finite");
    return {};
}

/// How many rows there are, the rows, then gradients.
template <class Row, class Gradient>
std::vector<std::byte> bytes_of(const Learned<Row, Gradient>& learned) {
    static_assert(std::is_trivially_copyable_v<Row> && std::is_trivially_copyable_v<Gradient>);
    std::vector<std::byte> out;
    const std::uint64_t rows = learned.rows.size();
    for (const auto part : {bytes_of(rows), std::as_bytes(std::span(learned.rows)),
                            std::as_bytes(std::span(learned.gradients))})
        out.insert(out.end(), part.begin(), part.end());
    return out;
}
template <class Row, class Gradient>
Result<void> read_learned(Reader& reader, Tag tag, const char* what, Learned<Row, Gradient>& out) {
    GS_TRY(const auto payload, reader.section(tag, what));
    std::uint64_t rows = 0;
    if (payload.size() < sizeof rows) return reader.broken(what, "ends early");
    std::memcpy(&rows, payload.data(), sizeof rows);
    const auto left = payload.subspan(sizeof rows);
    if (rows > left.size() / sizeof(Row) ||
        (left.size() - rows * sizeof(Row)) % sizeof(Gradient) != 0)
        return reader.broken(what, "has the wrong size");
    out.rows.resize(rows);
    out.gradients.resize((left.size() - rows * sizeof(Row)) / sizeof(Gradient));
    const auto first = left.first(rows * sizeof(Row)), rest = left.subspan(first.size());
    std::ranges::copy(first, std::as_writable_bytes(std::span(out.rows)).begin());
    std::ranges::copy(rest, std::as_writable_bytes(std::span(out.gradients)).begin());
    return {};
}

/// Zero where there is no section of it.
Result<void> read_origin(Reader& reader, Vec3d& origin) {
    if (!reader.next_is(Tag::origin)) return {};
    GS_TRY_VOID(reader.numbers(Tag::origin, "origin", origin));
    if (!std::isfinite(origin.x + origin.y + origin.z))
        return reader.broken("origin", "has values that are not finite");
    return {};
}

Result<void> read_sky(Reader& reader, bool learned, Sky& sky, Buffer<float>& moments) {
    if (!learned && !reader.next_is(Tag::sky)) return {};
    GS_TRY_VOID(reader.numbers(Tag::sky, "sky", sky));
    if (learned) GS_TRY_VOID(reader.array(Tag::sky_moments, "sky's moments", kSkyMoments, moments));
    const auto finite = [](float x) { return std::isfinite(x); };
    if (sky.degree >= 0 && sky.degree <= 3 && std::ranges::all_of(sky.sh, finite) &&
        std::ranges::all_of(moments, finite))
        return {};
    return reader.broken("sky", "has values that are not valid");
}

Result<void> read_adam_tables(Reader& reader, const RunNumbers& n, AdamClock& adam) {
    const std::size_t entries = n.steps - n.base + 1;
    Buffer<double> tables;
    GS_TRY_VOID(
        reader.array(Tag::adam_tables, "optimizer table", entries * kLearningGroups, tables));
    for (std::size_t g = 0; g < adam.pending.size(); ++g)
        adam.pending[g].assign(tables.data() + g * entries, tables.data() + (g + 1) * entries);
    return {};
}

/// The sections after the numbers, in order.
Result<void> read_arrays(Reader& reader, const RunNumbers& n, const TrainingSettings& settings,
                         RunArrays& arrays) {
    GaussianModel& model = arrays.model;
    model.count = static_cast<std::size_t>(n.count);
    model.capacity = static_cast<std::size_t>(n.capacity);
    model.sh_degree = static_cast<int>(n.sh_degree);
    model.antialiased = n.antialiased != 0;
    AdamState& adam = arrays.adam;
    adam.steps = n.steps;
    adam.base = n.base;
    adam.batch = batch_of(settings);
    adam.seed = static_cast<std::uint64_t>(settings.seed);
    adam.planes = static_cast<int>(n.planes);
    std::copy_n(n.highest, kLearningGroups, adam.highest.begin());
    const Result<void> rows = try_each_row_array(
        [&](const RowArray& array, auto& values) -> Result<void> {
            const auto tag = static_cast<Tag>(array.section);
            if (!array.used(settings) || (!array.since_first && !reader.next_is(tag))) return {};
            GS_TRY_VOID(reader.array(tag, array.name,
                                     array.columns(model.planes()) * model.capacity, values));
            if (const char* wrong = wrong_values(array, values, adam))
                return reader.broken(array.name, wrong);
            if (array.section == kModelSection) return read_adam_tables(reader, n, adam);
            if (array.section == kIdentitySection) return read_births(reader, n, arrays.identity);
            return {};
        },
        arrays);
    GS_TRY_VOID(rows);
    if (arrays.identity.tags.empty()) arrays.identity = RowIdentity(model.count, model.capacity);
    add_missing_rows(arrays, settings);
    if (settings.appearance != AppearanceMode::none)
        GS_TRY_VOID(read_appearance(reader, arrays.appearance));
    GS_TRY_VOID(read_sky(reader, settings.sky != SkyKind::none, model.sky, arrays.sky_moments));
    if (!reader.at_end()) return reader.broken("last", "is followed by unknown data");
    return {};
}

void write_adam_tables(Writer& out, const AdamClock& adam) {
    std::vector<double> tables;
    for (const auto& table : adam.pending) tables.insert(tables.end(), table.begin(), table.end());
    out.section(Tag::adam_tables, std::as_bytes(std::span<const double>(tables)));
}
void write_births(Writer& out, const IdBook& book) {
    std::vector<std::uint32_t> births{book.next};
    for (const Birth& birth : book.births) {
        births.push_back(birth.first_id);
        births.push_back(birth.step);
    }
    out.section(Tag::births, std::as_bytes(std::span<const std::uint32_t>(births)));
}

void write_contents(Writer& out, const Capture& capture, const TrainingSettings& settings,
                    RunNumbers n, const LearnedCameras& cameras, const RunPieces& run) {
    const GaussianModel& model = run.about.model;
    const AdamState& adam = run.about.adam;
    out.raw(std::as_bytes(std::span(kMagic)));
    out.section(Tag::settings, std::as_bytes(std::span<const char>(settings_text(settings))));
    out.section(Tag::capture, bytes_of(numbers_of(capture)));
    n.count = run.count;
    n.capacity = run.capacity;
    n.sh_degree = static_cast<std::uint32_t>(model.sh_degree);
    n.antialiased = model.antialiased ? 1 : 0;
    n.steps = adam.steps;
    n.base = adam.base;
    n.planes = static_cast<std::uint32_t>(adam.planes);
    std::copy(adam.highest.begin(), adam.highest.end(), n.highest);
    out.section(Tag::run, bytes_of(n));
    if (!is_zero(capture.origin)) out.section(Tag::origin, bytes_of(capture.origin));
    if (settings.refine_poses) out.section(Tag::poses, bytes_of(cameras.poses));
    if (settings.refine_intrinsics) out.section(Tag::intrinsics, bytes_of(cameras.intrinsics));
    std::size_t number = 0;
    each_row_array([&](const RowArray& array) {
        const std::size_t own = number++;
        if (!array.used(settings)) return;
        out.section(static_cast<Tag>(array.section),
                    [&](const RunPieces::Take& take) { run.array(own, take); });
        if (array.section == kModelSection) write_adam_tables(out, adam);
        if (array.section == kIdentitySection) write_births(out, run.about.identity.book);
    });
    const AppearanceState& appearance = run.about.appearance;
    if (!appearance.empty()) {
        out.section(Tag::appearance, bytes_of(appearance.values));
        out.section(Tag::appearance_moments, bytes_of(appearance.moments));
    }
    const auto& moments = run.about.sky_moments;
    if (const Sky& sky = run.about.model.sky; !sky.empty()) out.section(Tag::sky, bytes_of(sky));
    if (!moments.empty()) out.section(Tag::sky_moments, bytes_of(moments));
}

}  // namespace

Result<TrainingSnapshot> read_checkpoint(const fs::path& path, const Capture* capture) {
    GS_TRY(const auto bytes, read_file(path));
    Reader reader(path.string(), bytes);
    GS_TRY_VOID(reader.magic());
    TrainingSnapshot out;
    GS_TRY(const auto settings, read_settings(reader));
    out.settings = settings;
    CaptureNumbers from{};
    GS_TRY_VOID(reader.numbers(Tag::capture, "capture", from));
    const CaptureNumbers given = capture ? numbers_of(*capture) : from;
    if (from.views != given.views || from.fingerprint != given.fingerprint)
        return fail(
            ErrorKind::usage, path.string(),
            "the checkpoint was made with a capture other than " + capture->path,
            "load the same photos, with the same downscale and test views, and --undistort if "
            "they were resampled to pinholes");
    RunNumbers numbers{};
    GS_TRY_VOID(reader.numbers(Tag::run, "run", numbers));
    if (!plausible(numbers, reader.size())) return reader.broken("run", "has impossible numbers");
    out.extent = numbers.extent;
    out.drawn = numbers.drawn;
    GS_TRY_VOID(read_origin(reader, out.arrays.model.origin));
    if (capture != nullptr && !same_place(capture->origin, out.arrays.model.origin))
        return fail(
            ErrorKind::usage, path.string(),
            fmt::format("the checkpoint's origin is {}, the capture's is {}",
                        text_of_origin(out.arrays.model.origin), text_of_origin(capture->origin)),
            "load the capture with the run's own loading options (its run.json)");
    auto& [poses, intrinsics] = out.cameras;
    if (settings.refine_poses) GS_TRY_VOID(read_learned(reader, Tag::poses, "poses", poses));
    if (settings.refine_intrinsics)
        GS_TRY_VOID(read_learned(reader, Tag::intrinsics, "intrinsics", intrinsics));
    GS_TRY_VOID(read_arrays(reader, numbers, settings, out.arrays));
    if (capture != nullptr && settings.appearance != AppearanceMode::none &&
        !fit_appearance(out.arrays.appearance, *capture))
        return fail(ErrorKind::usage, path.string(),
                    "the checkpoint has exposure and colour of other cameras than " + capture->path,
                    "load the same photos with the same lenses");
    return out;
}

Result<void> Trainer::save_checkpoint(const fs::path& path) const {
    const Span span(Stage::checkpoint, steps_done());
    GS_TRY(auto file, AtomicFile::create(path));
    Writer out(file);
    const LearnedCameras cameras = state_->refined.learned(*state_->backend);
    state_->backend->look_at_pieces([&](const RunPieces& run) {
        RunNumbers numbers{};
        numbers.extent = state_->extent;
        numbers.drawn = state_->sampler.drawn();
        write_contents(out, *state_->capture, state_->settings, numbers, cameras, run);
    });
    if (!out.result) return out.result;
    return file.commit();
}

bool is_checkpoint(const fs::path& path) {
    std::ifstream file;
    return path.extension() == ".gsc" || begins_with_magic(path, file);
}

std::optional<CheckpointHead> read_checkpoint_head(const fs::path& checkpoint) {
    // Of the other files in a folder only the first bytes are read.
    std::ifstream file;
    if (!begins_with_magic(checkpoint, file)) return std::nullopt;
    file.seekg(0);
    std::vector<std::byte> bytes(64 << 10);  // the sections before the model are small
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    Reader reader(checkpoint.string(), bytes);
    CaptureNumbers capture{};
    RunNumbers run{};
    if (!reader.magic()) return std::nullopt;
    const auto settings = read_settings(reader);
    if (!settings || !reader.numbers(Tag::capture, "capture", capture) ||
        !reader.numbers(Tag::run, "run", run))
        return std::nullopt;
    if (Vec3d origin; read_origin(reader, origin))
        return CheckpointHead{*settings, run.steps, run.count, origin};
    return std::nullopt;
}

std::optional<std::uint64_t> checkpoint_steps(const fs::path& checkpoint) {
    const auto head = read_checkpoint_head(checkpoint);
    return head ? std::optional(head->steps) : std::nullopt;
}

}  // namespace gs
