#include "profiler/store/name_words.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace gs {
namespace {

struct Meaning {
    std::string_view word;
    NameWord part;
};
constexpr Meaning kMeanings[] = {
    {"optimizer", kUpdateWord}, {"optim", kUpdateWord},      {"opt", kUpdateWord},
    {"adam", kUpdateWord},      {"adamw", kUpdateWord},      {"sgd", kUpdateWord},
    {"update", kUpdateWord},    {"apply", kUpdateWord},      {"dataloader", kDataWord},
    {"loader", kDataWord},      {"load", kDataWord},         {"data", kDataWord},
    {"fetch", kDataWord},       {"next", kDataWord},         {"batch", kDataWord},
    {"collate", kDataWord},     {"decode", kDataWord},       {"augment", kDataWord},
    {"prefetch", kDataWord},    {"read", kDataWord},         {"shard", kDataWord},
    {"backward", kTrainWord},   {"bwd", kTrainWord},         {"loss", kTrainWord},
    {"train", kTrainWord},      {"grad", kTrainWord},        {"gradients", kTrainWord},
    {"eval", kSideWord},        {"evaluate", kSideWord},     {"evaluation", kSideWord},
    {"val", kSideWord},         {"valid", kSideWord},        {"validate", kSideWord},
    {"validation", kSideWord},  {"test", kSideWord},         {"save", kSideWord},
    {"checkpoint", kSideWord},  {"ckpt", kSideWord},         {"log", kSideWord},
    {"logging", kSideWord},     {"print", kSideWord},        {"epoch", kSideWord},
    {"summary", kSideWord},     {"warmup", kSideWord},       {"gc", kSideWord},
    {"request", kRequestWord},  {"handle", kRequestWord},    {"handler", kRequestWord},
    {"serve", kRequestWord},    {"query", kRequestWord},     {"rpc", kRequestWord},
    {"infer", kRequestWord},    {"inference", kRequestWord}, {"http", kRequestWord},
};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::uint16_t meaning_of(const std::string& word) {
    for (const Meaning& m : kMeanings)
        if (m.word == word) return m.part;
    return 0;
}

}  // namespace

std::uint16_t words_in(std::string_view name) {
    std::uint16_t out = 0;
    if (name.starts_with("Optimizer.step#")) out |= kOptimizerHook;
    if (name.starts_with("enumerate(DataLoader)#")) out |= kLoaderHook;
    std::string word;
    char before = 0;
    for (const char c : name) {
        const bool letter = is_lower(c) || is_upper(c);
        if (!letter || (is_upper(c) && is_lower(before))) {  // "trainStep" is two words
            out |= meaning_of(word);
            word.clear();
        }
        if (letter) word += lower_case(c);
        before = c;
    }
    return out | meaning_of(word);
}

std::string starred(std::string_view name, Digits which) {
    std::string out;
    for (std::size_t at = 0; at < name.size();) {
        if (!is_digit(name[at])) {
            out += name[at++];
            continue;
        }
        std::size_t end = at;
        while (end < name.size() && is_digit(name[end])) ++end;
        constexpr std::string_view kBefore = "#[( =:,", kAfter = ",)]";
        const bool counts = (at > 0 && kBefore.find(name[at - 1]) != std::string_view::npos) ||
                            (end < name.size() && kAfter.find(name[end]) != std::string_view::npos);
        if (which == Digits::all || counts)
            out += '*';
        else
            out.append(name.substr(at, end - at));
        at = end;
    }
    return out;
}

std::string_view name_stem(std::string_view name) {
    name = name.substr(0, name.find_first_of("0123456789#[(:="));
    return name.substr(0, name.find_last_not_of(" _-./:") + 1);
}

void NameNumbers::add(std::string_view text) {
    const std::string spelling = starred(text, Digits::counting);
    const std::string bare = starred(text, Digits::all);
    Name& name = names_.emplace_back();
    name.key = std::hash<std::string>()(spelling);
    if (bare == spelling) return;
    const std::uint64_t key = std::hash<std::string>()(bare);
    name.numbered =
        index_of_.try_emplace(key, static_cast<std::uint32_t>(numbered_.size())).first->second;
    if (name.numbered == numbered_.size()) numbered_.push_back({key, {}});
    numbered_[name.numbered].add(name.key);
}

void NameNumbers::Numbered::add(std::uint64_t spelling) {
    if (spellings.size() <= kMostSpellings &&
        std::find(spellings.begin(), spellings.end(), spelling) == spellings.end())
        spellings.push_back(spelling);
}

/// Digits that counted still do; else the names that are left decide.
void NameNumbers::renumber(const NewNumbers& number) {
    keep_those(names_, number);
    const std::vector<Numbered> before = std::exchange(numbered_, {});
    index_of_.clear();
    for (Name& name : names_) {
        if (name.numbered == kNone) continue;
        const Numbered& of = before[name.numbered];
        name.numbered = index_of_.try_emplace(of.key, static_cast<std::uint32_t>(numbered_.size()))
                            .first->second;
        if (name.numbered == numbered_.size()) {
            numbered_.push_back(of);
            if (of.spellings.size() <= kMostSpellings) numbered_.back().spellings.clear();
        }
        numbered_[name.numbered].add(name.key);
    }
}

std::size_t NameNumbers::bytes() const {
    constexpr std::size_t kNode = 48;  // of the index
    std::size_t total =
        names_.capacity() * sizeof(Name) + numbered_.size() * (sizeof(Numbered) + kNode);
    for (const Numbered& n : numbered_) total += n.spellings.capacity() * sizeof(std::uint64_t);
    return total;
}

}  // namespace gs
