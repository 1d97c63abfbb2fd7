#include "app/bundle/notes_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/choice.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"

namespace gs {
namespace {

using NoteJson = nlohmann::ordered_json;
constexpr std::uint64_t kLargestNotes = 16 << 20;  // bytes
constexpr int kNotesVersion = 1;
constexpr const char* kNotesFormat = "gausscope notes";

bool take_whole(const nlohmann::json& from, const char* key, std::uint64_t& into) {
    const auto& value = member(from, key);
    if (!value.is_number_unsigned()) return value.is_null();
    into = value.get<std::uint64_t>();
    return true;
}
bool take_time(const nlohmann::json& from, const char* key, std::int64_t& into) {
    const auto& value = member(from, key);
    if (!value.is_number_integer()) return false;
    into = value.get<std::int64_t>();
    return true;
}
bool take_point(const nlohmann::json& from, Vec3d& into) {
    const auto& value = member(from, "point");
    if (!value.is_array() || value.size() != 3) return false;
    double v[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!value[i].is_number()) return false;
        v[i] = value[i].get<double>();
        if (!std::isfinite(v[i])) return false;
    }
    into = {v[0], v[1], v[2]};
    return true;
}

/// Empty: it is a note.
std::string take_note(const nlohmann::json& from, Note& note) {
    const auto& on = member(from, "on");
    const auto kind = choice_named<NoteOn>(
        kNoteOnNames, on.is_string() ? on.get_ref<const std::string&>() : std::string());
    if (!kind) return "\"on\" is not place, gaussian or span";
    note.on = *kind;
    const auto& text = member(from, "text");
    if (!text.is_string()) return "its text is missing";
    note.text = text.get<std::string>();
    if (std::string problem = problem_of_note(note.text); !problem.empty()) return problem;
    if (!take_whole(from, "step", note.step)) return "its step is not a whole number";
    if (note.on == NoteOn::span) {
        const auto& span = member(from, "span");
        note.span = span.is_string() ? span.get<std::string>().substr(0, 200) : "";
        const bool times =
            take_time(from, "begin_ns", note.begin_ns) && take_time(from, "end_ns", note.end_ns);
        return times && note.begin_ns >= 0 && note.begin_ns <= note.end_ns
                   ? ""
                   : "its span has no begin and end";
    }
    if (!take_point(from, note.point)) return "its point is not three numbers";
    if (note.on == NoteOn::gaussian && !take_whole(from, "row", note.row))
        return "its row is not a whole number";
    const auto& id = member(from, "id");
    constexpr std::uint64_t kMostId = 0xffffffff;
    if (id.is_number_unsigned())
        note.id = static_cast<std::int64_t>(std::min(id.get<std::uint64_t>(), kMostId));
    return {};
}

}  // namespace

std::string problem_of_note(const std::string& text) {
    if (text.find_first_not_of(" \t\n") == std::string::npos) return "a note needs a text";
    if (text.size() > kLongestNote)
        return fmt::format("a note can have {} bytes, this one has {}", kLongestNote, text.size());
    return {};
}

std::string note_line(const Note& note) {
    const std::string where = place_of(note);
    return where.empty() ? note.text : fmt::format("{} ({})", note.text, where);
}

std::string notes_json(const std::vector<Note>& notes) {
    NoteJson list = NoteJson::array();
    for (const Note& note : notes) {
        NoteJson one{{"on", kNoteOnNames[static_cast<std::size_t>(note.on)]},
                     {"text", note.text},
                     {"step", note.step}};
        if (note.on == NoteOn::span)
            one.update(NoteJson{
                {"span", note.span}, {"begin_ns", note.begin_ns}, {"end_ns", note.end_ns}});
        else
            one["point"] = {note.point.x, note.point.y, note.point.z};
        if (note.on == NoteOn::gaussian) one["row"] = note.row;
        if (note.id >= 0) one["id"] = note.id;
        list.push_back(std::move(one));
    }
    return json_text(NoteJson{{"format", kNotesFormat},
                              {"version", kNotesVersion},
                              {"notes", std::move(list)}},
                     2) +
           "\n";
}

Result<std::vector<Note>> parse_notes(std::string_view text, const std::string& name) {
    GS_TRY(const auto json, parse_json_object(std::as_bytes(std::span(text)), name));
    const auto& format = member(json, "format");
    if (!format.is_string() || format.get_ref<const std::string&>() != kNotesFormat)
        return fail(ErrorKind::malformed, name, "contains no notes");
    const auto& version = member(json, "version");
    if (!version.is_number_integer() || version.get<std::int64_t>() != kNotesVersion)
        return fail(ErrorKind::unsupported, name, "notes of another version of gausscope",
                    "open it with a newer one");
    const auto& list = member(json, "notes");
    if (!list.is_array()) return fail(ErrorKind::malformed, name, "contains no list of notes");
    if (list.size() > kMostNotes)
        return fail(
            ErrorKind::unsupported, name,
            fmt::format("contains {} notes; at most {} can be shown", list.size(), kMostNotes));
    std::vector<Note> out(list.size());
    for (std::size_t i = 0; i < list.size(); ++i)
        if (const std::string problem = take_note(list[i], out[i]); !problem.empty())
            return fail(ErrorKind::malformed, name, fmt::format("note {}: {}", i + 1, problem));
    return out;
}

Result<std::vector<Note>> read_notes(const fs::path& file) {
    if (!path_exists(file)) return std::vector<Note>();
    GS_TRY(const std::string text, read_text_file(file, kLargestNotes));
    return parse_notes(text, file.string());
}

}  // namespace gs
