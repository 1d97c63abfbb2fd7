#include "app/cli/common.h"

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/full_disk.h"
#include "base/json_write.h"
#include "base/shortened.h"
#include "base/try.h"

namespace gs::cli {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void on_interrupt(int signal) {
    interrupt_count = interrupt_count + 1;
    std::signal(signal, SIG_DFL);
}

}  // namespace

int report(const Error& error) {
    fmt::print(stderr, "error: {}\n", gs::shortened(error.text()));
    switch (error.kind) {
        case ErrorKind::cancelled:
            return kFailed;
        case ErrorKind::unwritable:
            return is_of_disk(error) ? kFailed : kUsage;
        default:
            return kUsage;
    }
}

void print_json(const nlohmann::ordered_json& object) {
    fmt::print("{}\n", json_text(object));
    std::fflush(stdout);
}

nlohmann::ordered_json number(double value) { return json_number(value); }

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        std::string_view part = text.substr(0, end);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        if (!part.empty()) out.emplace_back(part);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

NewFolders::~NewFolders() {
    std::error_code not_empty;
    for (const fs::path& folder : folders_) fs::remove(folder, not_empty);
}

Result<NewFolders> prepare_output_folder(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> missing;
    for (fs::path part = folder; !part.empty() && !fs::exists(part, error);
         part = part.parent_path())
        missing.push_back(part);
    NewFolders made(std::move(missing));
    GS_TRY_VOID(make_folder(folder, "choose another folder with -o"));
    if (auto tried = prepare_output_file(folder / ".gausscope-write-test"); !tried) {
        tried.error().path = folder.string();
        return tl::unexpected(tried.error());
    }
    return made;
}

Result<void> prepare_output_file(const fs::path& file) {
    if (fs::is_directory(file))
        return fail(ErrorKind::unwritable, file.string(), "this is a folder, not a file",
                    "add a file name");
    // A few kilobytes, so that a full disk shows too; without commit() nothing stays.
    GS_TRY(auto probe, AtomicFile::create(file));
    return probe.append(std::string(8192, ' '));
}

void catch_interrupts() {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    // nohup and daemons have it ignored: it stays so.
    if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

bool interrupted() { return interrupt_count > 0; }

}  // namespace gs::cli
