// JsonTokens: JSON one token at a time, for traces as programs really write them. It reads NaN and
// Infinity as numbers, allows a comma before an end, and continues after a damaged object: one bad
// event costs that event, not the file. Nesting is limited, and nothing recurses. Used by
// import_chrome.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gs {

class JsonTokens {
  public:
    enum class Kind : std::uint8_t {
        object,      ///< one begins; depth() counts it
        object_end,  ///< depth() no longer counts it
        array,
        array_end,
        key,
        text,
        number,  ///< finite or not: raw() may be "1e999" or "NaN"
        word,    ///< true, false, null
        end,     ///< no more bytes; depth() says whether something is still open
        fault    ///< fault() says what; resume() may continue
    };
    static constexpr std::size_t kMaxDepth = 128;

    explicit JsonTokens(std::string_view bytes) : bytes_(bytes) {}

    Kind next();
    /// A number or word as it is written; a key or text between its quotes, escapes as they are.
    std::string_view raw() const { return raw_; }
    /// A key or text with its escapes resolved.
    std::string text() const;
    /// How many objects and arrays are open.
    std::size_t depth() const { return depth_; }
    /// Where the token begins; after a fault, what cannot be read.
    std::size_t byte() const { return token_; }
    /// How far it has read.
    std::size_t reached() const { return at_; }
    const char* fault() const { return fault_; }
    /// After a fault: continues at the next thing that looks like an object in the list at `depth`.
    /// False: there is none.
    bool resume(std::size_t depth);
    /// What follows is not read: next() is end.
    void stop() { at_ = token_ = bytes_.size(); }

  private:
    /// What may come next.
    enum class State : std::uint8_t { value, value_or_end, key, key_or_end, comma_or_end };

    void skip_blanks();
    Kind open(bool object);
    Kind close(bool object);
    Kind take_text();
    Kind take_number();
    Kind take_word();
    Kind take_value(Kind kind);
    Kind fail(const char* what);

    std::string_view bytes_, raw_;
    std::size_t at_ = 0, token_ = 0, depth_ = 0;
    std::bitset<kMaxDepth + 1> is_object_;
    State state_ = State::value;
    bool escaped_ = false;
    const char* fault_ = "";
};

}  // namespace gs
