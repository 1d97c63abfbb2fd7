// Options of subcommands that take a value: name, word for the value, check and help in one call.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace gs::cli {

/// `name` ends with the word for the value: "-o,--output DIR".
template <class T>
CLI::Option* add_value(CLI::App& app, std::string_view name, T& value, const std::string& help) {
    const std::size_t space = name.find(' ');
    return app.add_option(std::string(name.substr(0, space)), value, help)
        ->option_text(std::string(name.substr(space + 1)));
}
template <class T>
CLI::Option* add_value(CLI::App& app, std::string_view name, T& value, CLI::Validator check,
                       const std::string& help) {
    return add_value(app, name, value, help)->check(std::move(check));
}

/// The same whose `value` keeps the 0 that means "not given" until it is given. CLI11 knows no
/// default of it, so `check` may refuse 0.
template <class T>
CLI::Option* add_given(CLI::App& app, std::string_view name, T& value, CLI::Validator check,
                       const std::string& help) {
    const std::size_t space = name.find(' ');
    const auto take = [&value](const T& given) { value = given; };
    return app.add_option_function<T>(std::string(name.substr(0, space)), take, help)
        ->option_text(std::string(name.substr(space + 1)))
        ->check(std::move(check));
}

}  // namespace gs::cli
