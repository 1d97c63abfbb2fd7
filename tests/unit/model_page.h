// A table of docs/model.md that the program makes, between two marks of the page.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"

namespace gs::test {

/// What the page shows from `begin` to `end`. With GAUSSCOPE_STORE_MODEL_TABLE in the environment
/// it shows `table` from now on.
inline std::string table_of_model_page(std::string_view begin, std::string_view end,
                                       const std::string& table) {
    auto page = read_text_file(GAUSSCOPE_MODEL_PAGE, 1u << 20);
    const std::size_t at = page ? page->find(begin) : std::string::npos,
                      last = page ? page->find(end) : std::string::npos;
    EXPECT_NE(at, std::string::npos);
    EXPECT_NE(last, std::string::npos);
    if (at == std::string::npos || last == std::string::npos) return {};
    const std::size_t first = at + begin.size();
    if (std::getenv("GAUSSCOPE_STORE_MODEL_TABLE") == nullptr)
        return page->substr(first, last - first);
    EXPECT_TRUE(write_text_file(GAUSSCOPE_MODEL_PAGE, page->replace(first, last - first, table)));
    return table;
}

}  // namespace gs::test
