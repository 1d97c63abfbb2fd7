#include "tests/support/ptx/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/support/ptx/forms.h"
#include "tests/support/ptx/names.h"

namespace gs::ptx {
namespace {

class Decoder {
  public:
    Decoder(const ModuleText& text, Program& program)
        : text_(text), program_(program), names_(text, program) {}

    Result<void> run(const Function& entry) {
        names_.begin(entry);
        body(entry, false);
        if (names_.error()) return tl::unexpected(*names_.error());
        return {};
    }

  private:
    // ---- statements
    /// The toolkit's own headers, in which no line is ours.
    bool foreign(int file) const {
        if (file < 0 || static_cast<std::size_t>(file) >= text_.files.size()) return false;
        const std::string& name = text_.files[static_cast<std::size_t>(file)];
        return name.starts_with("/usr/") || name.find("/targets/") != std::string::npos;
    }

    /// ".loc file line column, function_name f, inlined_at file line column": the innermost line of
    /// ours, which for an intrinsic is its caller's.
    void location(std::string_view text) {
        int file = 0, line = 0;
        const std::string whole(text);
        if (std::sscanf(whole.c_str(), ".loc %d %d", &file, &line) != 2) {
            return names_.bad("a .loc without file and line");
        }
        if (foreign(file)) {
            const std::size_t at = whole.find("inlined_at");
            // Else the caller is foreign, too, and its own caller's line stands right above.
            if (at == whole.npos ||
                std::sscanf(whole.c_str() + at, "inlined_at %d %d", &file, &line) != 2 ||
                foreign(file)) {
                return;
            }
        }
        if (line == 0) return;  // the compiler's own: counts to the line before
        file_ = file;
        source_line_ = line;
    }

    void directive(std::string_view text) {
        if (text.starts_with(".reg")) {
            names_.declare_registers(trimmed(text.substr(4)));
        } else if (text.starts_with(".shared") || text.starts_with(".local")) {
            const bool shared = text.starts_with(".shared");
            const auto d = declared(text.substr(shared ? 7 : 6));
            if (!d) return names_.bad("an array without a name");
            names_.add_array(*d, shared ? Named::Kind::shared : Named::Kind::local);
        } else if (text.starts_with(".param")) {
            const auto d = declared(text.substr(6));
            if (!d) return names_.bad("a parameter without a name");
            names_.add_passed(d->name);
        } else if (!text.starts_with(".pragma")) {
            names_.bad(fmt::format("directive {}", text.substr(0, 30)));
        }
    }

    void body(const Function& f, bool called) {
        std::map<std::string_view, int> labels;
        std::vector<std::pair<std::size_t, std::string_view>> jumps;
        std::vector<std::size_t> returns;
        const std::size_t depth = names_.depth();
        names_.open();
        Statements statements(f.body, f.line);
        for (Statement s; !names_.error() && statements.next(s);) {
            names_.line = s.line;
            switch (s.kind) {
                case StatementKind::open:
                    names_.open();
                    break;
                case StatementKind::close:
                    if (names_.depth() > depth + 1) names_.close();
                    break;
                case StatementKind::label:
                    labels[s.text] = static_cast<int>(program_.code.size());
                    break;
                case StatementKind::directive:
                    directive(s.text);
                    break;
                case StatementKind::location:
                    location(s.text);
                    break;
                case StatementKind::instruction: {
                    const std::size_t before = program_.code.size();
                    const std::string_view target = instruction(s.text);
                    if (!target.empty()) jumps.emplace_back(before, target);
                    if (called && program_.code.size() == before + 1 &&
                        program_.code[before].flow == Flow::end) {
                        returns.push_back(before);
                    }
                    break;
                }
            }
        }
        while (names_.depth() > depth) names_.close();
        for (const auto& [at, label] : jumps) {
            const auto found = labels.find(label);
            if (found == labels.end()) return names_.bad(fmt::format("no label {}", label));
            program_.code[at].target = found->second;
        }
        for (std::size_t at : returns) {
            program_.code[at].flow = Flow::branch;
            program_.code[at].target = static_cast<int>(program_.code.size());
        }
    }

    /// Returns the label that a branch goes to, or nothing.
    std::string_view instruction(std::string_view text) {
        Instruction i;
        const std::string_view whole = text;
        if (text.starts_with('@')) {
            const std::size_t end = text.find_first_of(" \t");
            i.guarded = true;
            i.guard = names_.operand(text.substr(1, end - 1), kPredicate);
            text = trimmed(text.substr(std::min(end, text.size())));
        }
        const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        const std::string_view opcode = text.substr(0, end);
        const std::string_view rest = trimmed(text.substr(end));
        if (opcode.starts_with("call")) {
            call(rest);
            return {};
        }
        const auto parts = split_operands(rest);
        const auto words = split_dots(opcode);
        std::string_view target;
        if (words[0] == "bra") {
            i.flow = Flow::branch;
            target = rest;
        } else if (words[0] == "ret" || words[0] == "exit") {
            i.flow = Flow::end;
        } else if (words[0] == "trap" || words[0] == "brkpt") {
            i.flow = Flow::trap;
        } else if (words[0] == "bar" || words[0] == "barrier") {
            barrier(i, words, parts);
        } else if (words[0] == "shfl" || words[0] == "vote") {
            collective(i, words, parts);
        } else if (words[0] == "ld" || words[0] == "ldu" || words[0] == "st") {
            if (!access(i, words, parts)) return {};
        } else if (words[0] == "atom" || words[0] == "red") {
            atomic(i, words, parts);
        } else if (is_nothing(words[0])) {
            i.run = [](Warp&, const Instruction&) {};
        } else {
            by_form(i, opcode, parts);
        }
        push(i, opcode, whole);
        return target;
    }

    /// What orders or hints, and changes no value.
    static bool is_nothing(std::string_view word) {
        constexpr std::array kNothing{"membar",   "fence",     "griddepcontrol", "nanosleep",
                                      "prefetch", "prefetchu", "discard",        "applypriority"};
        return std::find(kNothing.begin(), kNothing.end(), word) != kNothing.end();
    }

    void push(const Instruction& i, std::string_view opcode, std::string_view whole) {
        program_.code.push_back(i);
        program_.locations.push_back({names_.line, file_, source_line_, opcode, whole});
    }

    void by_form(Instruction& i, std::string_view opcode,
                 const std::vector<std::string_view>& parts) {
        std::string name;
        bool ftz = false;
        for (std::string_view word : split_dots(opcode)) {
            if (word == "ftz")
                ftz = true;
            else
                name += (name.empty() ? "" : ".") + std::string(word);
        }
        if (parts.size() == 2 && name.starts_with("mov.b") &&
            (parts[0].starts_with('{') || parts[1].starts_with('{'))) {
            return vector_move(i, width_of(name.substr(4)), parts);
        }
        const Form* form = find_form(name);
        if (form == nullptr) return names_.bad(fmt::format("instruction {}", opcode));
        i.run = ftz ? form->run_ftz : form->run;
        i.mode = form->mode;
        if (i.run == nullptr) return names_.bad(fmt::format("instruction {}", opcode));
        i.e.width = kNoOperand;
        const std::array<Slot*, 4> to{&i.d, &i.a, &i.b, &i.c};
        // The width of a constant that is converted: its type is the last word.
        const std::uint8_t otherwise = width_of(name.substr(name.rfind('.') + 1));
        for (std::size_t n = 0; n < parts.size(); ++n) {
            if (n == 4) {  // bfi, lop3
                i.elements[0] = names_.operand(parts[n], 4);
                continue;
            }
            if (n > 4 || form->widths[n] == kNoOperand) return names_.bad("too many operands");
            std::string_view part = parts[n];
            if (const std::size_t bar = part.find('|'); n == 0 && bar != part.npos) {
                i.e = names_.operand(trimmed(part.substr(bar + 1)), kPredicate);
                part = trimmed(part.substr(0, bar));
            }
            *to[n] = names_.operand(part, form->widths[n], otherwise);
        }
        if (parts.size() < 4 && form->widths[parts.size()] != kNoOperand)
            names_.bad("too few operands");
    }

    void vector_move(Instruction& i, std::uint8_t width,
                     const std::vector<std::string_view>& parts) {
        const bool packs = parts[1].starts_with('{');
        names_.elements(i, packs ? parts[1] : parts[0], 4);
        i.bytes = static_cast<std::uint8_t>(width / std::max<int>(i.count, 1));
        (packs ? i.d : i.a) = names_.operand(packs ? parts[0] : parts[1], width);
        i.run = packs ? pack : unpack;
    }

    void barrier(Instruction& i, const std::vector<std::string_view>& words,
                 const std::vector<std::string_view>& parts) {
        if (words.size() > 2 && words[1] == "warp") {
            i.run = warp_barrier;
            i.elements[0] = names_.operand(parts.at(0), 4);
            return;
        }
        i.flow = Flow::barrier;
        const bool reduces = std::find(words.begin(), words.end(), "red") != words.end();
        const std::size_t id = reduces ? 1 : 0;
        if (parts.size() <= id || parts[id] != "0" || parts.size() != (reduces ? 3 : 1)) {
            return names_.bad("a barrier other than the whole block's");
        }
        if (!reduces) return;
        const bool counts = std::find(words.begin(), words.end(), "popc") != words.end();
        const bool all = std::find(words.begin(), words.end(), "and") != words.end();
        i.barrier = counts ? BarrierKind::popc : all ? BarrierKind::all : BarrierKind::any;
        i.d = names_.operand(parts[0], counts ? 4 : kPredicate);
        i.a = names_.operand(parts[2], kPredicate);
    }

    void collective(Instruction& i, const std::vector<std::string_view>& words,
                    std::vector<std::string_view> parts) {
        if (words.size() < 4 || words[1] != "sync") return names_.bad("a collective without .sync");
        constexpr std::array kShuffles{"up", "down", "bfly", "idx"};
        constexpr std::array kVotes{"all", "any", "uni", "ballot"};
        const bool is_shuffle = words[0] == "shfl";
        const auto& modes = is_shuffle ? kShuffles : kVotes;
        const auto found = std::find(modes.begin(), modes.end(), words[2]);
        if (found == modes.end() || parts.size() != (is_shuffle ? 5u : 3u)) {
            return names_.bad(fmt::format("{}.{}", words[0], words[2]));
        }
        i.mode = static_cast<int>(found - modes.begin());
        i.run = is_shuffle ? shuffle : vote;
        i.e.width = kNoOperand;
        i.elements[0] = names_.operand(parts.back(), 4);
        if (!is_shuffle) {
            i.d = names_.operand(parts[0], words[2] == "ballot" ? 4 : kPredicate);
            i.a = names_.operand(parts[1], kPredicate);
            return;
        }
        if (const std::size_t bar = parts[0].find('|'); bar != parts[0].npos) {
            i.e = names_.operand(trimmed(parts[0].substr(bar + 1)), kPredicate);
            parts[0] = trimmed(parts[0].substr(0, bar));
        }
        i.d = names_.operand(parts[0], 4);
        i.a = names_.operand(parts[1], 4);
        i.b = names_.operand(parts[2], 4);
        i.c = names_.operand(parts[3], 4);
    }

    /// The space, the type and the number of elements of ld, st, atom and red.
    void space_and_type(Instruction& i, const std::vector<std::string_view>& words) {
        const auto has = [&](std::string_view word) {
            return std::find(words.begin(), words.end(), word) != words.end();
        };
        i.space = has("global") || has("const")         ? Space::global
                  : has("shared") || has("shared::cta") ? Space::shared
                  : has("local")                        ? Space::local
                  : has("param")                        ? Space::parameter
                                                        : Space::generic;
        i.bytes = width_of(words.back());
        i.is_signed = words.back().starts_with('s');
        if (i.space == Space::shared) {
            program_.shared_granule = std::min(program_.shared_granule, static_cast<int>(i.bytes));
        }
    }

    /// ld and st. False where it became a move between caller and called function.
    bool access(Instruction& i, const std::vector<std::string_view>& words,
                const std::vector<std::string_view>& parts) {
        if (parts.size() != 2) return names_.bad("ld and st have two operands"), true;
        const bool stores = words[0] == "st";
        space_and_type(i, words);
        const std::string_view place = parts[stores ? 0 : 1], values = parts[stores ? 1 : 0];
        if (i.space == Space::parameter && passes(i, place, values, stores)) return false;
        names_.elements(i, values, i.bytes);
        names_.address(i, place);
        i.run = stores ? store_form(i.space) : load_form(i.space);
        if (i.run == nullptr) names_.bad("st.param to a parameter of the kernel");
        return true;
    }

    bool passes(const Instruction& like, std::string_view place, std::string_view value,
                bool stores) {
        place = trimmed(place.substr(1, place.size() - 2));
        const std::size_t plus = place.find('+');
        const Named* name = names_.find(trimmed(place.substr(0, plus)));
        if (name == nullptr || name->kind != Named::Kind::passed) return false;
        const long long at =
            plus == place.npos ? 0 : whole_number(place.substr(plus + 1)).value_or(0);
        auto [found, fresh] = name->passed->try_emplace(at);
        if (fresh) found->second = names_.fresh(like.bytes);
        if (value.starts_with('{') || found->second.width != like.bytes) {
            names_.bad("a parameter of a call in parts");
            return true;
        }
        Instruction i = like;
        const Form* move = find_form(like.bytes == 8   ? "mov.b64"
                                     : like.bytes == 4 ? "mov.b32"
                                                       : "mov.b16");
        i.run = move->run;
        (stores ? i.a : i.d) = names_.operand(value, like.bytes);
        (stores ? i.d : i.a) = found->second;
        push(i, stores ? "st.param" : "ld.param", place);
        return true;
    }

    void atomic(Instruction& i, const std::vector<std::string_view>& words,
                const std::vector<std::string_view>& parts) {
        space_and_type(i, words);
        const bool gives = words[0] == "atom";
        constexpr std::array kOperations{"add", "min",  "max", "and", "or",
                                         "xor", "exch", "cas", "inc", "dec"};
        std::string_view operation;
        for (std::string_view word : words) {
            if (std::find(kOperations.begin(), kOperations.end(), word) != kOperations.end()) {
                operation = word;
            }
        }
        const std::size_t first = gives ? 1 : 0;
        if (parts.size() < first + 2) return names_.bad("an atomic with too few operands");
        i.d.width = kNoOperand;
        if (gives && parts[0] != "_") i.d = names_.operand(parts[0], i.bytes);
        names_.address(i, parts[first]);
        i.b = names_.operand(parts[first + 1], i.bytes);
        i.c = parts.size() > first + 2 ? names_.operand(parts[first + 2], i.bytes) : i.b;
        i.count = 1;
        i.run = atomic_form(operation, words.back());
        if (i.run == nullptr) names_.bad(fmt::format("atomic {} of {}", operation, words.back()));
    }

    /// (results), function, (parameters): the function's body takes the place of the call.
    void call(std::string_view text) {
        auto parts = split_operands(text);
        const auto inside = [](std::string_view list) {
            return split_operands(list.substr(1, list.size() - 2));
        };
        std::vector<std::string_view> results, given;
        if (!parts.empty() && parts[0].starts_with('(')) {
            results = inside(parts[0]);
            parts.erase(parts.begin());
        }
        if (parts.empty()) return names_.bad("a call of nothing");
        if (parts.size() > 1 && parts[1].starts_with('(')) given = inside(parts[1]);
        const Function* f = text_.function(parts[0]);
        if (f == nullptr || f->entry) return names_.bad(fmt::format("no function {}", parts[0]));
        if (++depth_ > 16) return names_.bad("functions that call themselves");
        Scope scope;
        const auto bind = [&](const std::vector<Declared>& inner,
                              const std::vector<std::string_view>& outer) {
            for (std::size_t n = 0; n < std::min(inner.size(), outer.size()); ++n) {
                const Named* passed = names_.find(outer[n]);
                if (passed == nullptr || passed->kind != Named::Kind::passed) {
                    return names_.bad(fmt::format("'{}' is not declared", outer[n]));
                }
                scope[std::string(inner[n].name)] = *passed;
            }
        };
        bind(f->results, results);
        bind(f->parameters, given);
        const int line = names_.line;
        auto outer = names_.enter(std::move(scope));
        body(*f, true);
        names_.leave(std::move(outer));
        names_.line = line;
        --depth_;
    }

    const ModuleText& text_;
    Program& program_;
    Names names_;
    int file_ = -1, source_line_ = 0, depth_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const ModuleText> text,
                                              const Function& entry) {
    auto program = std::make_shared<Program>();
    program->keeps_text = text;
    program->name = entry.name;
    program->path = text->path;
    program->most_threads = entry.most_threads;
    program->files = text->files;
    if (auto made = Decoder(*text, *program).run(entry); !made) {
        return tl::unexpected(made.error());
    }
    if (program->code.empty() || program->code.back().flow == Flow::none ||
        program->code.back().guarded) {  // a body may end without `ret`
        Instruction end;
        end.flow = Flow::end;
        program->code.push_back(end);
        program->locations.push_back({0, -1, 0, "ret", "ret"});
    }
    find_reconvergence(*program);
    return program;
}

Result<Kernel> Module::find(std::string_view mangled) const {
    const Function* entry = text_->function(mangled);
    if (entry == nullptr || !entry->entry) {
        return fail(ErrorKind::not_found, text_->path, fmt::format("no entry {}", mangled));
    }
    auto program = decode(text_, *entry);
    if (!program) return tl::unexpected(program.error());
    return Kernel(std::move(*program));
}

}  // namespace gs::ptx
