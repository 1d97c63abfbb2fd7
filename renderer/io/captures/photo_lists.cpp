// Files in which captures list their training and test photos: a name a line, or JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/try.h"
#include "renderer/io/captures/test_split.h"
#include "renderer/io/files/capture_json.h"
#include "renderer/io/files/file_finder.h"
#include "renderer/io/files/text_reader.h"

namespace gs {
namespace {

using ListJson = nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::uint64_t kLargestList = 16 << 20;

constexpr char kSeparators[] = {'\t', ';', ','};

// INRIA's test.txt, nerfbaselines' test_list.txt; ScanNet++, NeRF On-the-go, nerfies.
constexpr const char* kEnds[] = {".txt", "_list.txt", "_images.txt", "_files.txt"};
constexpr const char* kJsons[] = {"train_test_split.json",
                                  "train_test_lists.json",
                                  "train_test_list.json",
                                  "train_test.json",
                                  "split.json",
                                  "splits.json",
                                  "dataset.json"};

Result<Names> read_names(const fs::path& path) {
    GS_TRY(const std::string text, read_text_file(path, kLargestList));
    Names out;
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
        std::string name = portable_name(line);
        if (!name.empty() && name.front() != '#') out.push_back(std::move(name));
    }
    return out;
}

void add_names(const ListJson& json, Names& out) {
    if (!json.is_array()) return;
    for (const ListJson& one : json) {
        const ListJson* name = &one;
        if (one.is_object() && one.contains("file_path")) name = &one["file_path"];
        if (name->is_string()) out.push_back(name->get<std::string>());
    }
}

Names* list_called(const std::string& key, PhotoLists& lists) {
    if (key.starts_with("train")) return &lists.train;
    if (key.starts_with("test") || key.starts_with("eval")) return &lists.test;
    return key.starts_with("val") ? &lists.val : nullptr;
}

// {"train": [names], "test": [names]}, also with longer keys ("test_filenames", "val_ids") or in
// an object below, or {"name": "train"}.
void add_lists(const ListJson& json, PhotoLists& lists, int depth = 0) {
    if (!json.is_object()) return;
    for (const auto& [key, value] : json.items()) {
        if (value.is_object() && depth < 2) add_lists(value, lists, depth + 1);
        if (Names* names = list_called(lower_case(key), lists); names != nullptr)
            add_names(value, *names);
        if (value.is_string() && has_photo_name(key))
            if (Names* names = list_called(lower_case(value.get<std::string>()), lists);
                names != nullptr)
                names->push_back(key);
    }
}

// The next field of a line of a table.
std::string_view next_field(std::string_view& line, char separator) {
    const std::size_t end = std::min(line.find(separator), line.size());
    std::string_view field = trimmed(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
    if (field.size() > 1 && field.front() == '"' && field.back() == '"')
        field = field.substr(1, field.size() - 2);
    return field;
}

// A table with columns "filename" and "split", as of Phototourism (NeRF in the wild).
PhotoLists read_table(const fs::path& path) {
    PhotoLists out;
    const auto text = read_text_file(path, kLargestList);
    if (!text) return out;
    LineReader lines(*text);
    std::string_view line;
    if (!lines.next(line)) return out;
    const auto separator =
        std::find_if(std::begin(kSeparators), std::end(kSeparators),
                     [&](char c) { return line.find(c) != std::string_view::npos; });
    if (separator == std::end(kSeparators)) return out;
    std::size_t name_at = ~std::size_t{0}, split_at = name_at;
    for (std::size_t i = 0; !line.empty(); ++i) {
        const std::string title = lower_case(next_field(line, *separator));
        if (title == "filename" || title == "image" || title == "name") name_at = i;
        if (title == "split") split_at = i;
    }
    while (lines.next(line) && name_at != split_at) {
        std::string_view name, split;
        for (std::size_t i = 0; !line.empty(); ++i) {
            const std::string_view field = next_field(line, *separator);
            if (i == name_at) name = field;
            if (i == split_at) split = field;
        }
        if (Names* names = list_called(lower_case(split), out); names != nullptr && !name.empty())
            names->emplace_back(name);
    }
    return out;
}

std::string name_in(const fs::path& path, const fs::path& root) {
    std::string name = name_below(path, root);
    return name.empty() || name.starts_with("..") ? path.string() : name;
}

void add_file(const fs::path& path, const fs::path& root, Names* names, PhotoLists& lists,
              std::vector<std::string>& notes) {
    const std::string name = name_in(path, root);
    if (names != nullptr) {
        auto read = read_names(path);
        if (!read) return notes.push_back("cannot read " + read.error().text());
        names->insert(names->end(), read->begin(), read->end());
        if (read->empty()) return;
    } else {
        const auto json = read_capture_json(path);
        if (!json) return notes.push_back("cannot read " + json.error().text());
        PhotoLists found;
        add_lists(*json, found);
        if (!found.any()) return;
        lists = std::move(found);
    }
    lists.from += (lists.from.empty() ? "" : ", ") + name;
}

}  // namespace

PhotoLists find_photo_lists(const std::vector<fs::path>& folders, const fs::path& root,
                            std::vector<std::string>& notes) {
    std::error_code ignored;
    for (const fs::path& folder : folders) {
        PhotoLists out;
        for (const auto& [stem, names] :
             {std::pair("test", &out.test), std::pair("train", &out.train),
              std::pair("val", &out.val)})
            for (const char* end : kEnds)
                if (const fs::path path = folder / (std::string(stem) + end);
                    names->empty() && fs::is_regular_file(path, ignored))
                    add_file(path, root, names, out, notes);
        for (const char* name : kJsons)
            if (const fs::path path = folder / name; !out.any() &&
                                                     fs::is_regular_file(path, ignored) &&
                                                     fs::file_size(path, ignored) <= kLargestList)
                add_file(path, root, nullptr, out, notes);
        if (out.any()) return out;
        std::vector<fs::path> tables;
        for (auto it = fs::directory_iterator(folder, ignored); it != fs::end(it);
             it.increment(ignored))
            if (const fs::path end = it->path().extension(); end == ".tsv" || end == ".csv")
                tables.push_back(it->path());
        std::sort(tables.begin(), tables.end());
        for (const fs::path& table : tables)
            if (out = read_table(table); out.any()) {
                out.from = name_in(table, root);
                return out;
            }
    }
    return {};
}

}  // namespace gs
