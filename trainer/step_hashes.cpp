#include "trainer/step_hashes.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/machine.h"
#include "base/try.h"

namespace gs {
namespace {

constexpr std::string_view kHashTitle = "# gausscope hashes 1, ";
constexpr std::string_view kHashColumns =
    "# step view gaussians lists picture loss gradients adam density";
constexpr std::string_view kHashSeparator = " | ";
constexpr std::string_view kNoHash = "-";

std::string hash_line(const StepHashes& row) {
    std::string out = fmt::format("{} {} {}", row.step, row.view, row.gaussians);
    for (const std::uint64_t hash : row.of)
        out += hash == 0 ? fmt::format(" {}", kNoHash) : fmt::format(" {:016x}", hash);
    return out + "\n";
}

/// The next word of a line; empty: none is left.
std::string_view next_word(std::string_view& line) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(first);
    const std::string_view word = line.substr(0, std::min(line.find(' '), line.size()));
    line.remove_prefix(word.size());
    return word;
}

bool parse_word(std::string_view word, int base, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out, base);
    return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

bool parse_hash_line(std::string_view line, StepHashes& out) {
    for (std::uint64_t* number : {&out.step, &out.view, &out.gaussians})
        if (!parse_word(next_word(line), 10, *number)) return false;
    for (std::uint64_t& hash : out.of) {
        const std::string_view word = next_word(line);
        if (word == kNoHash)
            hash = 0;
        else if (!parse_word(word, 16, hash))
            return false;
    }
    return next_word(line).empty();
}

}  // namespace

Result<HashFile> read_hashes(const fs::path& path) {
    auto text = read_text_file(path);
    if (!text && text.error().kind == ErrorKind::not_found)
        return fail(ErrorKind::not_found, path.string(), "this run has no hashes of its steps",
                    "train with --hashes");
    if (!text) return tl::unexpected(text.error());
    HashFile out;
    std::string_view rest = *text;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) break;  // a line that a crash cut
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (number == 1) {
            if (!line.starts_with(kHashTitle))
                return fail_at_line(path.string(), 1, "is not a hash file of this version",
                                    "train again with --hashes");
            std::string_view names = line.substr(kHashTitle.size());
            for (std::string* name : {&out.backend, &out.program, &out.machine}) {
                *name = names.substr(0, std::min(names.find(kHashSeparator), names.size()));
                names.remove_prefix(std::min(name->size() + kHashSeparator.size(), names.size()));
            }
            continue;
        }
        if (line.starts_with('#')) continue;
        StepHashes row;
        if (!parse_hash_line(line, row))
            return fail_at_line(path.string(), number, "is not a line of hashes",
                                "the file is damaged");
        if (!out.rows.empty() && row.step <= out.rows.back().step)
            return fail_at_line(path.string(), number, "repeats a step", "the file is damaged");
        out.rows.push_back(row);
    }
    if (out.backend.empty())
        return fail_at_line(path.string(), 1, "is not a hash file", "train with --hashes");
    return out;
}

Result<HashLog> HashLog::open(const fs::path& path, const std::string& backend,
                              std::uint64_t last_step) {
    std::string text =
        fmt::format("{}{}{}{}{}{}\n{}\n", kHashTitle, backend, kHashSeparator, GAUSSCOPE_VERSION,
                    kHashSeparator, processor_name(), kHashColumns);
    if (last_step > 0)
        if (const auto earlier = read_hashes(path))
            for (const StepHashes& row : earlier->rows)
                if (row.step <= last_step) text += hash_line(row);
    GS_TRY_VOID(write_text_file(path, text));
    HashLog out;
    out.path_ = path.string();
    out.file_.reset(std::fopen(path.c_str(), "a"));
    if (!out.file_) return fail(ErrorKind::unwritable, out.path_, std::strerror(errno));
    return out;
}

Result<void> HashLog::add(const StepHashes& row) {
    const std::string line = hash_line(row);
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()) return {};
    return fail(ErrorKind::unwritable, path_, std::strerror(errno));
}

Result<void> HashLog::flush() {
    if (std::fflush(file_.get()) == 0) return {};
    return fail(ErrorKind::unwritable, path_, std::strerror(errno));
}

}  // namespace gs
