// NameBook: every name of a trace once, with its domain, colour and stage. All else in a TraceStore
// names things by an index into it. The same text in two NVTX domains is two names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/store/kernel_kinds.h"
#include "profiler/store/name_words.h"
#include "profiler/store/renumbering.h"
#include "profiler/store/stage_map.h"

namespace gs {

class NameBook {
  public:
    /// Begins with the names of the stages, so that a stage's name has its number, and "?".
    NameBook();

    std::size_t size() const { return names_.size(); }
    /// "?" for an index that is none.
    std::string_view text(std::uint32_t name) const { return at(name).text; }
    std::string_view domain(std::uint32_t name) const { return at(name).domain; }
    /// 0xRRGGBB | 1 << 24 where the program chose a colour, else 0.
    std::uint32_t color(std::uint32_t name) const { return at(name).color; }
    /// What the program calls category `number` of the ranges of this name's domain; empty when it
    /// calls it nothing. Number 0 is no category.
    std::string_view category(std::uint32_t name, std::uint32_t number) const;
    /// The stage a range's name stands for, `other` when none.
    Stage stage(std::uint32_t name) const { return at(name).stage; }
    /// True for a worker's share of a loop within a stage (kTasksOf): the stage's own span gives
    /// the time; this one shows which worker took part.
    bool is_share(std::uint32_t name) const { return text(name).starts_with(kTasksOf); }
    /// The stage of GPU work: of its own name, or of the kernel of that name by the stage map.
    Stage gpu_stage(std::uint32_t name) const;
    /// What a kernel of this name does in any deep learning program (kernel_kinds.h).
    std::string_view gpu_kind(std::uint32_t name) const;
    /// What a range of this name and category is for in any training program; empty when no rule
    /// says it.
    std::string_view range_kind(std::uint32_t name, std::uint32_t category) const;
    /// Of iteration_name.h; 0: it names no iteration.
    int iteration_rank(std::uint32_t name) const { return at(name).iteration_rank; }
    /// Of name_words.h.
    std::uint16_t words(std::uint32_t name) const { return at(name).words; }
    /// Which names are one but for their number.
    const NameNumbers& numbers() const { return numbers_; }
    std::uint32_t unknown() const { return unknown_; }  ///< "?"

    /// The index of a name, made when there is none.
    std::uint32_t intern(std::string_view text, std::string_view domain = {});
    void set_color(std::uint32_t name, std::uint32_t color) { names_[name].color = color; }
    void set_category(const std::string& domain, std::uint32_t number, const std::string& text) {
        categories_[{domain, number}] = {text, gs::range_kind(text)};
    }
    void set_stage_map(StageMap map);
    /// Those that are always here, used or not: the stages' and "?".
    bool is_fixed(std::uint32_t name) const { return name <= unknown_; }
    void renumber(const NewNumbers& number);
    std::size_t bytes() const;

  private:
    struct Name {
        std::string text, domain;
        std::uint32_t color = 0;
        Stage stage = Stage::other;
        std::int16_t iteration_rank = 0;
        std::uint16_t words = 0;
    };
    const Name& at(std::uint32_t name) const {
        return names_[name < names_.size() ? name : unknown_];
    }

    std::vector<Name> names_;
    std::unordered_map<std::string, std::uint32_t> index_of_;  // by text and domain
    struct Category {
        std::string text;
        std::string_view range_kind;
    };
    const Category* category_of(std::uint32_t name, std::uint32_t number) const;

    std::map<std::pair<std::string, std::uint32_t>, Category> categories_;  // by domain, number
    NameNumbers numbers_;
    std::uint32_t unknown_ = 0;
    StageMap stage_map_;
    mutable std::vector<std::uint16_t> gpu_stages_;      // by name; kStageCount: not asked yet
    mutable std::vector<std::string_view> gpu_kinds_;    // by name; empty: not asked yet
    mutable std::vector<std::string_view> range_kinds_;  // by name; null: not asked yet
};

}  // namespace gs
