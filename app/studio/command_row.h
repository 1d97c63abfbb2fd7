// CommandRow: one command: its name, place and help, the function that runs it, and its parameters.
// The function's first parameter says where it runs: the StudioState (or its FilmEditor or Notes)
// at once, the Studio or its StudioUi after the frame, an Engine or a part of it on the engine's
// thread. The others take the parsed values. A member of the view's or a panel's settings is set to
// the value.
#pragma once

#include <functional>
#include <numeric>
#include <type_traits>

#include "app/studio/parameter.h"
#include "app/studio/studio_state.h"

namespace gs {

class StudioUi;  // app/studio/studio_ui.h
struct Shown;    // app/session/loading.h

namespace row {

template <class>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// A parsed value as the function takes it: itself, or numbers and choices of its own types.
template <class To, class From>
decltype(auto) as(From& value) {
    if constexpr (std::is_same_v<To, From>) {
        return std::move(value);
    } else if constexpr (is_optional<To> && is_optional<From>) {
        if (!value) return To();
        return To(as<typename To::value_type>(*value));
    } else if constexpr (std::is_same_v<To, Vec3f> && std::is_same_v<From, Vec3d>) {
        return narrow(value);
    } else {
        return static_cast<To>(std::move(value));
    }
}

/// Calls a function that may return nothing, or something that only its other callers need.
template <class F, class... T>
Result<void> done(const F& f, T&&... values) {
    if constexpr (std::is_same_v<std::invoke_result_t<F, T...>, Result<void>>) {
        return std::invoke(f, std::forward<T>(values)...);
    } else {
        (void)std::invoke(f, std::forward<T>(values)...);
        return {};
    }
}

template <class Settings>
Settings& settings_of(StudioState& state) {
    if constexpr (std::is_same_v<Settings, ViewSettings>) return state.view;
    if constexpr (std::is_same_v<Settings, ColorBy>) return state.view.color_by;
    if constexpr (std::is_same_v<Settings, ToolState>) return state.tools;
    if constexpr (std::is_same_v<Settings, SheetSettings>) return state.sheet_settings;
    if constexpr (std::is_same_v<Settings, ProblemsSettings>) return state.problems_settings;
    if constexpr (std::is_same_v<Settings, FilmEditor>) return state.film;
    if constexpr (std::is_same_v<Settings, Notes>) return state.notes;
}
template <class Owner, bool shown, class... P, class F, class... T>
Result<void> act_on(StudioState& state, F f, T&... values) {
    if constexpr (std::is_same_v<Owner, StudioState>) {
        return done(f, state, as<std::remove_cvref_t<P>>(values)...);
    } else if constexpr (std::is_same_v<Owner, FilmEditor> || std::is_same_v<Owner, Notes>) {
        return done(f, settings_of<Owner>(state), as<std::remove_cvref_t<P>>(values)...);
    } else if constexpr (std::is_same_v<Owner, Studio>) {
        return ask(state, [f, ... v = as<std::remove_cvref_t<P>>(values)](auto& studio) {
            return done(f, studio, v...);
        });
    } else if constexpr (std::is_same_v<Owner, StudioUi>) {
        return ask(state, [f, ... v = as<std::remove_cvref_t<P>>(values)](auto& studio) {
            return done(f, studio.ui(), v...);
        });
    } else {
        return send(state, [f, ... v = as<std::remove_cvref_t<P>>(values)](auto& engine) {
            if constexpr (std::is_same_v<Owner, Engine>) {
                std::invoke(f, engine, v...);
            } else if constexpr (shown) {
                if (const auto scene = engine.open_scene())
                    std::invoke(f, engine.template part<Owner>(), *scene, v...);
            } else {
                std::invoke(f, engine.template part<Owner>(), v...);
            }
        });
    }
}

template <class R, class Owner, class... P, class... T>
Result<void> act(StudioState& state, R (Owner::*f)(P...), T&... values) {
    return act_on<Owner, false, P...>(state, f, values...);
}
template <class R, class Owner, class... P, class... T>
Result<void> act(StudioState& state, R (Owner::*f)(const Shown&, P...), T&... values) {
    return act_on<Owner, true, P...>(state, f, values...);
}
template <class R, class Owner, class... P, class... T>
Result<void> act(StudioState& state, R (*f)(Owner&, P...), T&... values) {
    return act_on<Owner, false, P...>(state, f, values...);
}
template <class R, class Owner, class... P, class... T>
Result<void> act(StudioState& state, R (*f)(Owner&, const Shown&, P...), T&... values) {
    return act_on<Owner, true, P...>(state, f, values...);
}

template <class Value, class Settings, class T>
requires(!std::is_function_v<Value>) Result<void> act(StudioState& state, Value Settings::*field,
                                                      T& value) {
    Value& into = settings_of<Settings>(state).*field;
    if constexpr (std::is_same_v<T, std::optional<bool>>)
        into = value.value_or(!into);
    else
        into = as<Value>(value);
    return {};
}

}  // namespace row

struct CommandRow : CommandInfo {
    /// `action`: a function, a lambda that captures nothing, a method, a member of settings; null:
    /// the command works in scripts only.
    template <class Action, class... T>
    CommandRow(const char* id, const char* words, const char* place, const char* sentence,
               Action action, Parameter<T>... parameters)
        : CommandInfo{id, words, place, "", "", sentence} {
        (add(parameters), ...);
        if constexpr (!std::is_null_pointer_v<Action>)
            run = [action, usage = name + " " + arguments, least = least(),
                   ... p = std::move(parameters)](StudioState& state,
                                                  const Arguments& given) -> Result<void> {
                Reading reading(state, given, least);
                std::tuple<T...> values{reading.take(p)...};
                if (auto read = reading.finish(usage); !read) return read;
                return std::apply(
                    [&](T&... v) {
                        if constexpr (std::is_class_v<Action>)
                            return row::act(state, +action, v...);
                        else
                            return row::act(state, action, v...);
                    },
                    values);
            };
    }
    std::function<Result<void>(StudioState&, const Arguments&)> run;
    /// The number of words it takes.
    std::size_t least() const { return count(&ArgumentInfo::least); }
    std::size_t most() const { return count(&ArgumentInfo::most); }
    bool takes_words(std::size_t given) const { return given >= least() && given <= most(); }

  private:
    void add(const ArgumentInfo& info) {
        if (info.most == 0) return;
        arguments += (arguments.empty() ? "" : " ") + info.usage;
        takes.push_back(info);
    }
    std::size_t count(std::size_t ArgumentInfo::*words) const {
        return std::accumulate(takes.begin(), takes.end(), std::size_t{0},
                               [=](std::size_t n, const auto& a) { return n + a.*words; });
    }
};

}  // namespace gs
