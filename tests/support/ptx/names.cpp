#include "tests/support/ptx/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "tests/support/ptx/forms.h"

namespace gs::ptx {
namespace {

bool starts_number(std::string_view text) {
    return !text.empty() &&
           (std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-');
}

}  // namespace

std::uint8_t width_of(std::string_view type) {
    if (type == "pred") return kPredicate;
    if (type == "f16x2" || type == "bf16x2" || type.ends_with("32")) return 4;
    if (type.ends_with("64")) return 8;
    if (type.ends_with("16")) return 2;
    return 1;
}

Names::Names(const ModuleText& text, Program& program)
    : text_(text), program_(program), registers_(program) {}

void Names::begin(const Function& entry) {
    add_module_arrays();
    open();
    std::size_t at = 0;
    for (const Declared& parameter : entry.parameters) {
        const std::size_t align = std::max(parameter.align, parameter.element_bytes());
        at = (at + align - 1) / align * align;
        Named named;
        named.kind = Named::Kind::parameter;
        named.address = kParameterWindow + at;
        scopes_.back()[std::string(parameter.name)] = named;
        at += parameter.bytes();
    }
    program_.parameter_bytes = at;
}

std::vector<Scope> Names::enter(Scope parameters) {
    std::vector<Scope> outer{scopes_.front(), std::move(parameters)};
    std::swap(outer, scopes_);
    return outer;
}

void Names::add_passed(std::string_view name) {
    Named named;
    named.kind = Named::Kind::passed;
    named.passed = std::make_shared<Passed>();
    scopes_.back()[std::string(name)] = named;
}

void Names::bad(std::string message) {
    if (!error_) {
        error_ = fail_at_line(text_.path, static_cast<std::uint64_t>(line), std::move(message),
                              "tests/support/ptx does not know it")
                     .value();
    }
}

void Names::add_module_arrays() {
    scopes_.emplace_back();
    std::uint64_t address = kStaticWindow;
    for (const Declared& d : text_.statics) {
        Array array{std::string(d.name), address, d.bytes(), 0, {}};
        array.values.resize(d.bytes());
        std::size_t at = 0;
        for (std::string_view value : split_operands(d.values)) {
            const auto bits = static_cast<std::uint64_t>(whole_number(value).value_or(0));
            if (at + d.element_bytes() > array.values.size()) break;
            std::memcpy(array.values.data() + at, &bits, d.element_bytes());
            at += d.element_bytes();
        }
        Named named;
        named.kind = Named::Kind::fixed;
        named.address = address;
        scopes_.back()[array.name] = named;
        address += (d.bytes() + 0xffff) / 0x10000 * 0x10000 + 0x10000;
        program_.statics.push_back(std::move(array));
    }
    for (const Declared& d : text_.shared) add_array(d, Named::Kind::shared);
}

void Names::add_array(const Declared& d, Named::Kind kind) {
    const bool shared = kind == Named::Kind::shared;
    auto& arrays = shared ? program_.shared : program_.local;
    std::size_t& used = shared ? program_.shared_bytes : program_.local_bytes;
    used = (used + d.align - 1) / d.align * d.align;
    // Apart from one another, on the banks where they would lie together.
    const std::uint64_t address = ((std::uint64_t{arrays.size()} + 1) << kArrayShift) + used % 128;
    Named named;
    named.kind = kind;
    named.address = shared ? address : kLocalWindow + address;
    arrays.push_back({std::string(d.name), address, d.bytes(), used, {}});
    used += d.bytes();
    scopes_.back()[std::string(d.name)] = named;
    if (d.bytes() >= (1u << kArrayShift)) bad("an array of over 1 MiB");
}

const Named* Names::find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    }
    return nullptr;
}

std::optional<Slot> Names::register_named(std::string_view name) {
    if (const Named* one = find(name); one != nullptr && one->kind == Named::Kind::reg) {
        return one->slot;
    }
    std::size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) {
        --digits;
    }
    const Named* range = find(name.substr(0, digits));
    if (range == nullptr || range->kind != Named::Kind::range || digits == name.size()) {
        return registers_.special(name);
    }
    std::size_t number = 0;
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (number >= range->slots.size()) return std::nullopt;
    return range->slots[number];
}

void Names::declare_registers(std::string_view text) {
    const auto parts = split_operands(text);
    std::string_view type;
    for (std::string_view part : parts) {
        if (part.starts_with('.')) {
            const std::size_t blank = part.find_first_of(" \t");
            type = part.substr(1, blank - 1);
            part = trimmed(part.substr(std::min(blank, part.size())));
        }
        const std::size_t open = part.find('<');
        Named named;
        if (open == part.npos) {
            named.slot = registers_.add(width_of(type));
            scopes_.back()[std::string(part)] = named;
            continue;
        }
        const auto count = whole_number(part.substr(open + 1, part.find('>') - open - 1));
        named.kind = Named::Kind::range;
        for (long long n = 0; n < count.value_or(0); ++n) {
            named.slots.push_back(registers_.add(width_of(type)));
        }
        scopes_.back()[std::string(part.substr(0, open))] = std::move(named);
    }
}

std::optional<std::uint64_t> Names::fixed_value(std::string_view text, std::uint8_t width) {
    if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") ||
        text.starts_with("0D")) {
        std::uint64_t bits = 0;
        std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
        const bool is_single = text[1] == 'f' || text[1] == 'F';
        if (is_single && width == 8) {
            const auto value =
                static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            bits = std::bit_cast<std::uint64_t>(value);
        }
        return bits;
    }
    if (starts_number(text)) {
        const auto number = whole_number(text);
        if (!number) return std::nullopt;
        return static_cast<std::uint64_t>(*number);
    }
    const std::size_t plus = text.find('+');
    const Named* symbol = find(trimmed(text.substr(0, plus)));
    if (symbol == nullptr || symbol->kind == Named::Kind::range ||
        symbol->kind == Named::Kind::reg || symbol->kind == Named::Kind::passed) {
        return std::nullopt;
    }
    const long long more = plus == text.npos ? 0 : whole_number(text.substr(plus + 1)).value_or(0);
    return symbol->address + static_cast<std::uint64_t>(more);
}

Slot Names::operand(std::string_view text, std::uint8_t width, std::uint8_t otherwise) {
    bool negated = false;
    if (text.starts_with('!')) {
        negated = true;
        text = trimmed(text.substr(1));
    }
    if (const auto slot = register_named(text)) {
        if (width != kAnyWidth && slot->width != width) {
            bad(fmt::format("operand {} is {} bytes wide, not {}", text, slot->width, width));
        }
        Slot read = *slot;
        read.negated = negated;
        return read;
    }
    const std::uint8_t wide = width == kAnyWidth ? otherwise : width;
    const auto value = fixed_value(text, wide);
    if (!value) {
        bad(fmt::format("'{}' is not declared", text));
        return {};
    }
    return registers_.constant(wide, *value);
}

void Names::elements(Instruction& i, std::string_view text, std::uint8_t bytes) {
    std::vector<std::string_view> parts{text};
    if (text.starts_with('{')) parts = split_operands(text.substr(1, text.size() - 2));
    if (parts.size() > i.elements.size()) return bad("a vector of over four");
    i.count = static_cast<std::uint8_t>(parts.size());
    for (std::size_t n = 0; n < parts.size(); ++n) {
        i.elements[n].width = kNoOperand;
        if (parts[n] != "_") i.elements[n] = operand(parts[n], kAnyWidth, bytes);
    }
}

void Names::address(Instruction& i, std::string_view text) {
    if (!text.starts_with('[') || !text.ends_with(']')) return bad("no address");
    text = trimmed(text.substr(1, text.size() - 2));
    const std::size_t plus = text.find('+');
    const std::string_view base = trimmed(text.substr(0, plus));
    if (const auto slot = register_named(base)) {
        i.a = *slot;
        i.offset = plus == text.npos ? 0 : whole_number(text.substr(plus + 1)).value_or(0);
        return;
    }
    const auto value = fixed_value(text, 8);
    if (!value) return bad(fmt::format("'{}' is not declared", text));
    i.a = registers_.constant(8, *value);
}

Slot Registers::add(std::uint8_t width) {
    const std::size_t bytes = width == kPredicate ? 4 : std::size_t{width} * kLanes;
    if (width != kPredicate) program_.register_bytes = (program_.register_bytes + 63) / 64 * 64;
    Slot slot;
    slot.at = static_cast<std::uint32_t>(program_.register_bytes);
    slot.index = static_cast<std::uint32_t>(program_.registers++);
    slot.width = width;
    program_.register_bytes += bytes;
    return slot;
}

Slot Registers::constant(std::uint8_t width, std::uint64_t value) {
    if (width < 8 && width > 0) value &= (std::uint64_t{1} << (8 * width)) - 1;
    const auto [found, fresh] = constants_.try_emplace({width, value});
    if (fresh) {
        found->second = add(width);
        program_.constants.push_back({found->second, value});
    }
    return found->second;
}

std::optional<Slot> Registers::special(std::string_view name) {
    static const std::map<std::string, std::pair<Special, int>, std::less<>> kNames{
        {"%tid.x", {Special::tid, 4}},
        {"%tid.y", {Special::zero, 4}},
        {"%tid.z", {Special::zero, 4}},
        {"%ntid.x", {Special::ntid, 4}},
        {"%ntid.y", {Special::one, 4}},
        {"%ntid.z", {Special::one, 4}},
        {"%ctaid.x", {Special::ctaid, 4}},
        {"%ctaid.y", {Special::zero, 4}},
        {"%ctaid.z", {Special::zero, 4}},
        {"%nctaid.x", {Special::nctaid, 4}},
        {"%nctaid.y", {Special::one, 4}},
        {"%nctaid.z", {Special::one, 4}},
        {"%laneid", {Special::lane, 4}},
        {"%warpid", {Special::warp, 4}},
        {"%lanemask_lt", {Special::lanemask_lt, 4}},
        {"%lanemask_le", {Special::lanemask_le, 4}},
        {"%lanemask_gt", {Special::lanemask_gt, 4}},
        {"%lanemask_ge", {Special::lanemask_ge, 4}},
        {"%lanemask_eq", {Special::lanemask_eq, 4}},
        {"%clock64", {Special::clock, 8}},
        {"%clock", {Special::clock, 4}},
        {"%globaltimer", {Special::clock, 8}}};
    if (const auto known = specials_.find(name); known != specials_.end()) return known->second;
    const auto found = kNames.find(name);
    if (found == kNames.end()) return std::nullopt;
    const Slot slot = add(static_cast<std::uint8_t>(found->second.second));
    program_.specials.push_back({slot, found->second.first});
    specials_.emplace(name, slot);
    return slot;
}

}  // namespace gs::ptx
