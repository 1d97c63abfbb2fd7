// Tables of typed cells as text, CSV and JSON, and their order.
#include "base/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace gs::test {
namespace {

struct Kernel {
    std::string name;
    double ms = 0;
    std::optional<std::uint64_t> bytes;
};

Table kernels_table(const std::vector<Kernel>& kernels) {
    return table_of<Kernel>(kernels,
                            {{"name", "kernel", nullptr, &Kernel::name},
                             {"ms", "time, ms", fixed<2>, &Kernel::ms, 0, {}, {}, fixed<4>},
                             {"bytes", "size", format_bytes, &Kernel::bytes},
                             {"slow", "", nullptr, [](const Kernel& k) { return k.ms > 1; }},
                             {"", "", nullptr, [](const Kernel&) { return "nowhere"; }}});
}

const std::vector<Kernel> kKernels{{"blend <a>", 12.345, 2048}, {"sort, \xC3\xA9", NAN, {}}};

TEST(Table, IsTextForTerminals) {
    EXPECT_EQ(table_text(kernels_table(kKernels), "  "),
              "  kernel     time, ms      size\n"
              "  blend <a>     12.35  2.00 KiB\n"
              "  sort, \xC3\xA9           -\n");
    EXPECT_EQ(table_text(kernels_table(kKernels), "", 1),
              "kernel     time, ms      size\nblend <a>     12.35  2.00 KiB\nand 1 more\n");
    EXPECT_EQ(table_text(kernels_table({})), "");
}

TEST(Table, IsCsvWithNumbersInFull) {
    EXPECT_EQ(table_csv(kernels_table(kKernels)),
              "name,ms,bytes,slow\nblend <a>,12.3450,2048,yes\n\"sort, \xC3\xA9\",,,no\n");
}

TEST(Table, IsJsonWithTypes) {
    EXPECT_EQ(table_json(kernels_table(kKernels)).dump(),
              R"([{"name":"blend <a>","ms":12.345,"bytes":2048,"slow":true},)"
              "{\"name\":\"sort, \xC3\xA9\",\"ms\":null,\"bytes\":null,\"slow\":false}]");
}

TEST(Table, RowsMayBePointers) {
    std::vector<const Kernel*> rows{&kKernels[1], &kKernels[0]};
    const Table table = table_of<Kernel>(rows, {{"name", "kernel", nullptr, &Kernel::name}});
    EXPECT_EQ(cell_text(table.columns[0].cell(1), nullptr), "blend <a>");
}

TEST(Table, AbsentCellsComeLastInEitherDirection) {
    for (const bool descending : {false, true}) {
        EXPECT_TRUE(sorts_before(1.0, NAN, descending));
        EXPECT_FALSE(sorts_before(TableCell(), 1.0, descending));
        EXPECT_EQ(sorts_before(1, 2.5, descending), !descending);
        EXPECT_EQ(sorts_before("a", "b", descending), !descending);
    }
}

}  // namespace
}  // namespace gs::test
