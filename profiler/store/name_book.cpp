#include "profiler/store/name_book.h"

#include <algorithm>

#include "profiler/store/iteration_name.h"
#include "profiler/store/kernel_kinds.h"

namespace gs {

NameBook::NameBook() {
    for (const char* text : kStageNames) intern(text);
    unknown_ = intern("?");
}

namespace {

std::string key_of(std::string_view text, std::string_view domain) {
    std::string key(text);
    if (!domain.empty()) key.append(1, '\x1f').append(domain);
    return key;
}

}  // namespace

std::uint32_t NameBook::intern(std::string_view text, std::string_view domain) {
    const auto [place, added] =
        index_of_.try_emplace(key_of(text, domain), static_cast<std::uint32_t>(names_.size()));
    if (!added) return place->second;
    Name name{.text = std::string(text), .domain = std::string(domain)};
    name.iteration_rank = static_cast<std::int16_t>(iteration_name(text).rank);
    name.words = words_in(text);
    numbers_.add(text);
    const auto stage = std::find(std::begin(kStageNames), std::end(kStageNames), text);
    if (stage != std::end(kStageNames))
        name.stage = static_cast<Stage>(stage - std::begin(kStageNames));
    if (name.stage == Stage::view_frame) name.iteration_rank = kPictureRank;
    names_.push_back(std::move(name));
    return place->second;
}

const NameBook::Category* NameBook::category_of(std::uint32_t name, std::uint32_t number) const {
    if (number == 0) return nullptr;
    const auto found = categories_.find({std::string(domain(name)), number});
    return found == categories_.end() ? nullptr : &found->second;
}

std::string_view NameBook::category(std::uint32_t name, std::uint32_t number) const {
    const Category* const found = category_of(name, number);
    return found == nullptr ? std::string_view() : std::string_view(found->text);
}

Stage NameBook::gpu_stage(std::uint32_t name) const {
    if (name >= names_.size()) return Stage::other;
    if (gpu_stages_.size() < names_.size()) gpu_stages_.resize(names_.size(), kStageCount);
    std::uint16_t& known = gpu_stages_[name];
    if (known == kStageCount)
        known = static_cast<std::uint16_t>(names_[name].stage != Stage::other
                                               ? names_[name].stage
                                               : stage_map_.stage_of(names_[name].text));
    return static_cast<Stage>(known);
}

std::string_view NameBook::gpu_kind(std::uint32_t name) const {
    if (name >= names_.size()) return "other";
    if (gpu_kinds_.size() < names_.size()) gpu_kinds_.resize(names_.size());
    if (gpu_kinds_[name].empty()) gpu_kinds_[name] = kernel_kind(names_[name].text);
    return gpu_kinds_[name];
}

std::string_view NameBook::range_kind(std::uint32_t name, std::uint32_t category_number) const {
    if (name >= names_.size()) return {};
    if (const Category* const of = category_of(name, category_number);
        of != nullptr && !of->range_kind.empty())
        return of->range_kind;
    if (range_kinds_.size() < names_.size()) range_kinds_.resize(names_.size());
    std::string_view& known = range_kinds_[name];
    if (known.data() == nullptr) known = gs::range_kind(names_[name].text);
    if (known.data() == nullptr) known = "";
    return known;
}

void NameBook::set_stage_map(StageMap map) {
    stage_map_ = std::move(map);
    gpu_stages_.clear();
}

void NameBook::renumber(const NewNumbers& number) {
    if (number.all_stay()) return;
    keep_those(names_, number);
    numbers_.renumber(number);
    gpu_stages_.clear();
    gpu_kinds_.clear();
    range_kinds_.clear();
    index_of_.clear();
    for (const Name& name : names_)
        index_of_.emplace(key_of(name.text, name.domain),
                          static_cast<std::uint32_t>(index_of_.size()));
}

std::size_t NameBook::bytes() const {
    constexpr std::size_t kNode = 64;  // of the index: its own text, number and pointers
    std::size_t total = 0;
    for (const Name& name : names_)
        total += sizeof(Name) + kNode + 2 * (name.text.size() + name.domain.size());
    return total + numbers_.bytes();
}

}  // namespace gs
