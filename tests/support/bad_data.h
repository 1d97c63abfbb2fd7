// REQUIRE_DATA: a reference file that lacks what a test asks for fails that test alone. (A CHECK
// would end the program, and the tests behind it would not run.)
#pragma once

#include <fmt/format.h>

#include <stdexcept>

namespace gs::test {

class BadData : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace gs::test

#define REQUIRE_DATA(condition, ...)                                           \
    do {                                                                       \
        if (!(condition)) throw ::gs::test::BadData(fmt::format(__VA_ARGS__)); \
    } while (false)
