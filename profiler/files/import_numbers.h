// ImportNumbers: a number for every process or thread of a file, whatever the file calls it. Small
// numbers stay as they are; texts and numbers too large for the store get one that no other has,
// and keep what they are called as their name. Used by import_chrome and import_perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gs {

class ImportNumbers {
  public:
    /// Numbers from here on are made up. They fit the formats' signed 32 bits.
    static constexpr std::uint32_t kFirstMadeUp = 1u << 30;
    static bool is_made_up(std::uint32_t number) { return number >= kFirstMadeUp; }

    /// `written`: as the file has it, empty: 0. `scope`: threads of different processes may be
    /// called the same.
    std::uint32_t of(std::string_view written, std::uint32_t scope = 0);
    /// A number that no other has, even if `written` is a small one.
    std::uint32_t made_up(std::string_view written, std::uint32_t scope = 0);
    /// What the file calls the owner of a number that was made up.
    const std::string& written(std::uint32_t number) const;

  private:
    std::unordered_map<std::string, std::uint32_t> made_up_;
    std::unordered_map<std::uint32_t, std::string> written_;
};

}  // namespace gs
