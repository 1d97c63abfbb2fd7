// Parameters: what a row of the command table says of one argument: its name, its range or choices,
// and how its words are read. A parameter of no words is a value from the studio or the row itself.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/studio/arguments.h"
#include "panels/state/command.h"
#include "renderer/scene/clip_box.h"

namespace gs {

struct StudioState;  // app/studio/studio_state.h
struct ViewRequest;
using Arguments = std::vector<std::string>;

/// The words of a command that are not read yet.
struct Words {
    std::span<const std::string> left;
    std::size_t reserved = 0;  ///< for the parameters after this one

    bool has(std::size_t count) const { return left.size() >= reserved + count; }
    const std::string& next() const { return left.front(); }
    const std::string& take() {
        const std::string& word = left.front();
        left = left.subspan(1);
        return word;
    }
};

template <class T>
struct Parameter : ArgumentInfo {
    std::function<Result<T>(StudioState&, Words&)> read;
};

inline Vec3f narrow(Vec3d v) {
    return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}

namespace args {

/// A finite number within the bounds.
Parameter<double> number(const std::string& name, double least, double most);
/// One number for each name in "X0 Y0 X1 Y1".
Parameter<std::vector<double>> numbers(const std::string& names, double least, double most);
Parameter<Vec3d> vector(const std::string& names, double least, double most);
/// A whole number within the bounds.
Parameter<std::int64_t> whole(const std::string& name, std::int64_t least, std::int64_t most);
/// Any text: a path, a name.
Parameter<std::string> word(const std::string& name);
/// The same, empty if it is not given.
Parameter<std::string> optional_word(const std::string& name);
/// From `least` to `most` words, read by the command itself.
Parameter<Arguments> rest(const std::string& names, std::size_t least, std::size_t most);
/// The index of a name in a list; commands take it as a number or an enumeration.
Parameter<std::size_t> choice(const std::string& name, std::span<const char* const> names);
/// The same for "frame|step": the names are the text.
Parameter<std::size_t> choice(const std::string& names);
Parameter<bool> on_off();
/// Without an argument, the command toggles.
Parameter<std::optional<bool>> toggle();
/// Whether this last word is given.
Parameter<bool> flag(const std::string& name);
/// x, y, z, -x, -y or -z.
Parameter<Vec3d> axis();
Parameter<ClipBox> box();
/// A Gaussian by its id: 7 or #7.
Parameter<std::uint64_t> gaussian(const std::string& name = "ROW");
/// "3,#7,9", one at least.
Parameter<std::vector<std::uint64_t>> gaussians();
/// The same, or none: the selection.
Parameter<std::vector<std::uint64_t>> some_gaussians();

/// Takes no word: the request for the viewport's picture.
Parameter<ViewRequest> shown_view();
/// A column or row of the shown picture, as a fraction of its size.
Parameter<double> pixel_x(const std::string& name = "X");
Parameter<double> pixel_y(const std::string& name = "Y");
/// The same, but pixels outside the picture are allowed, where a drag may end.
Parameter<double> any_x(const std::string& name);
Parameter<double> any_y(const std::string& name);

/// Takes no word: always the same value.
template <class T>
Parameter<T> always(T value) {
    return {{"", 0, 0, {}, {}}, [value](StudioState&, Words&) -> Result<T> { return value; }};
}
/// Nothing if its words are not given.
template <class T>
Parameter<std::optional<T>> optional(Parameter<T> p) {
    ArgumentInfo info = p;
    info.usage = "[" + info.usage + "]";
    info.least = 0;
    return {std::move(info),
            [p = std::move(p)](StudioState& state, Words& words) -> Result<std::optional<T>> {
                if (!words.has(std::max<std::size_t>(p.least, 1))) return std::optional<T>();
                return p.read(state, words).map([](T&& v) { return std::optional(std::move(v)); });
            }};
}
template <class T>
Parameter<T> optional(Parameter<T> p, T otherwise) {
    auto maybe = optional(std::move(p));
    return {maybe, [read = std::move(maybe.read), otherwise = std::move(otherwise)](
                       StudioState& state, Words& words) {
                return read(state, words).map([&](auto&& v) { return v.value_or(otherwise); });
            }};
}
/// The first of the choices if none is given.
inline Parameter<std::size_t> or_first(Parameter<std::size_t> p) {
    return optional(std::move(p), std::size_t{0});
}
/// The same once `check`, a function of the state, has no objection.
template <class Check, class T>
Parameter<T> when(Check check, Parameter<T> p) {
    return {p, [check, read = p.read](StudioState& state, Words& words) -> Result<T> {
                if (auto good = check(state); !good) return tl::unexpected<Error>(good.error());
                return read(state, words);
            }};
}
/// Nothing for the word: "DISTANCE|auto".
template <class T>
Parameter<std::optional<T>> either(Parameter<T> p, const std::string& name) {
    ArgumentInfo info = p;
    info.usage = p.most > 1 ? name + "|" + p.usage : p.usage + "|" + name;
    info.least = 1;
    info.choices.push_back(name);
    return {std::move(info),
            [p = std::move(p), name](StudioState& state, Words& words) -> Result<std::optional<T>> {
                if (words.next() == name) return words.take(), std::optional<T>();
                return p.read(state, words).map([](T&& v) { return std::optional(std::move(v)); });
            }};
}
/// Two that are given or left out as one: optional(both(pixel_x(), pixel_y())).
template <class T, class U>
Parameter<std::pair<T, U>> both(Parameter<T> p, Parameter<U> q) {
    ArgumentInfo info{p.usage + " " + q.usage, p.least + q.least, p.most + q.most, p.range, {}};
    return {std::move(info),
            [p = std::move(p), q = std::move(q)](StudioState& state,
                                                 Words& words) -> Result<std::pair<T, U>> {
                auto first = p.read(state, words);
                if (!first) return tl::unexpected<Error>(first.error());
                return q.read(state, words).map([&](U&& second) {
                    return std::pair(*std::move(first), std::move(second));
                });
            }};
}

}  // namespace args

/// Reads the words of one command, parameter after parameter; keeps the first error.
class Reading {
  public:
    Reading(StudioState& state, const Arguments& words, std::size_t least)
        : state_(state), words_{words, least} {}
    template <class T>
    T take(const Parameter<T>& p) {
        words_.reserved -= p.least;
        if (error_) return T();
        if (words_.left.size() < p.least + words_.reserved) return lack(p), T();
        auto value = p.read(state_, words_);
        if (value) return *std::move(value);
        error_ = std::move(value).error();
        return T();
    }
    /// Errors (usage): what was wrong with a word; words that no parameter has taken.
    Result<void> finish(const std::string& usage);

  private:
    void lack(const ArgumentInfo& p);

    StudioState& state_;
    Words words_;
    std::optional<Error> error_;
};

}  // namespace gs
