#include "profiler/predict/kernel_costs.h"

#include <algorithm>
#include <map>

#include "base/assets.h"
#include "base/check.h"

namespace gs {
namespace {

constexpr std::string_view kWholeKernel = "kernel", kOutsideLoops = "0";  ///< under "loop"

/// What one row's columns mean.
struct CostColumn {
    const char* name;
    double CodeCost::*value;
};
constexpr CostColumn kCostColumns[] = {
    {"issue", &CodeCost::issue},      {"fp32", &CodeCost::fp32},
    {"half", &CodeCost::half},        {"int", &CodeCost::integer},
    {"mufu", &CodeCost::special},     {"lds", &CodeCost::shared_load},
    {"sts", &CodeCost::shared_store}, {"ldg", &CodeCost::global_load},
    {"stg", &CodeCost::global_store}, {"shfl", &CodeCost::shuffle},
    {"vote", &CodeCost::vote},        {"atomic", &CodeCost::atomic},
    {"control", &CodeCost::control},  {"other", &CodeCost::other},
    {"stall", &CodeCost::stall},      {"rounds", &CodeCost::rounds},
    {"least", &CodeCost::least},
};

/// A line's fields; quotes keep commas.
std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            out.emplace_back();
        else if (c != '\r')
            out.back() += c;
    }
    return out;
}

/// One line as fields by the names of the first.
class CostRow {
  public:
    CostRow(const std::map<std::string, std::size_t>& columns, std::vector<std::string> fields)
        : columns_(columns), fields_(std::move(fields)) {}
    std::string text(const char* name) const {
        const auto found = columns_.find(name);
        return found != columns_.end() && found->second < fields_.size() ? fields_[found->second]
                                                                         : std::string();
    }
    /// 0 where there is nothing; `wrong` where there is something else.
    double number(const char* name, std::string& wrong) const {
        const std::string field = text(name);
        double value = 0;
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (!field.empty() && (error != std::errc() || end != field.data() + field.size()))
            wrong = fmt::format("\"{}\" under \"{}\" is not a number", field, name);
        return value;
    }
    CodeCost code(std::string& wrong) const {
        CodeCost out;
        for (const CostColumn& column : kCostColumns)
            out.*column.value = number(column.name, wrong);
        return out;
    }

  private:
    const std::map<std::string, std::size_t>& columns_;
    std::vector<std::string> fields_;
};

/// Which loops hold others.
void find_innermost(KernelCost& kernel) {
    for (const LoopCost& loop : kernel.loops)
        for (LoopCost& outer : kernel.loops)
            if (outer.number == loop.parent) outer.innermost = false;
}

}  // namespace

CodeCost& CodeCost::operator+=(const CodeCost& more) {
    for (const CostColumn& column : kCostColumns) this->*column.value += more.*column.value;
    return *this;
}
CodeCost CodeCost::operator*(double times) const {
    CodeCost out = *this;
    for (const CostColumn& column : kCostColumns) out.*column.value *= times;
    return out;
}

Result<KernelCosts> KernelCosts::parse(std::string_view text, const std::string& origin) {
    KernelCosts out;
    std::map<std::string, std::size_t> columns;
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        ++number;
        if (line.empty() || line.front() == '#') continue;
        std::vector<std::string> fields = fields_of(line);
        if (columns.empty()) {
            for (std::size_t i = 0; i < fields.size(); ++i) columns[fields[i]] = i;
            for (const char* needed : {"architecture", "kernel", "loop", "issue"})
                if (!columns.contains(needed))
                    return fail_at_line(origin, number,
                                        fmt::format("there is no column \"{}\"", needed));
            continue;
        }
        const CostRow row(columns, std::move(fields));
        std::string wrong;
        const std::string loop = row.text("loop");
        if (loop == kWholeKernel) {
            KernelCost& kernel = out.kernels_.emplace_back();
            kernel.architecture = row.text("architecture");
            kernel.file = row.text("file");
            kernel.kernel = row.text("kernel");
            kernel.registers = static_cast<int>(row.number("registers", wrong));
            kernel.shared_bytes = static_cast<int>(row.number("shared", wrong));
            kernel.code = row.code(wrong);
        } else if (out.kernels_.empty() || out.kernels_.back().kernel != row.text("kernel")) {
            return fail_at_line(origin, number, "a loop without a kernel");
        } else if (loop == kOutsideLoops) {
            out.kernels_.back().outside = row.code(wrong);
        } else {
            LoopCost& at_loop = out.kernels_.back().loops.emplace_back();
            at_loop.number = static_cast<int>(row.number("loop", wrong));
            at_loop.parent = static_cast<int>(row.number("parent", wrong));
            at_loop.depth = static_cast<int>(row.number("depth", wrong));
            at_loop.line = row.text("line");
            at_loop.code = row.code(wrong);
        }
        if (!wrong.empty()) return fail_at_line(origin, number, wrong);
    }
    for (KernelCost& kernel : out.kernels_) find_innermost(kernel);
    return out;
}

KernelCosts KernelCosts::built_in() {
    constexpr const char* kPath = "gpu/kernel_costs.csv";
    auto read = parse(embedded_asset(kPath), kPath);
    CHECK(read.has_value(), "{}", read.error().text());
    return *std::move(read);
}

const KernelCost* KernelCosts::find(std::string_view architecture, std::string_view kernel) const {
    const bool prefix = kernel.ends_with('*');
    if (prefix) kernel.remove_suffix(1);
    for (const KernelCost& k : kernels_)
        if (k.architecture == architecture &&
            (prefix ? k.kernel.starts_with(kernel) : k.kernel == kernel))
            return &k;
    return nullptr;
}

}  // namespace gs
