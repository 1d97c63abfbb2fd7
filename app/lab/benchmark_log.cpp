#include "app/lab/benchmark_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "app/sample/sample_capture.h"
#include "base/json_text.h"
#include "base/json_write.h"
#include "base/try.h"
#include "profiler/store/statistics.h"

namespace gs::lab {
namespace {

constexpr int kLogVersion = 2;
constexpr std::size_t kSeedsWanted = 3;
constexpr std::uint64_t kLargestBenchmarkLog = 16 << 20;  // bytes
constexpr std::size_t kHoldOutEvery = 8;
constexpr double kSameDb = 1e-9;

/// Reads one event after another and knows what came before.
class LogChecker {
  public:
    LogChecker(std::string path, const Suite& suite) : path_(std::move(path)), suite_(suite) {}

    /// `before`: the text of the lines above it.
    Result<void> take(const nlohmann::json& event, std::uint64_t line, std::string_view before) {
        line_ = line;
        const std::string name = text(event, "event");
        const double time_ms = number(event, "time_ms");
        if (ended_) return broken("something follows the event \"end\"");
        if (!begun_ && name != "begin") return broken("the first event is not \"begin\"");
        if (!(time_ms >= last_ms_)) return broken("time_ms is missing or decreases");
        last_ms_ = time_ms;
        if (name == "begin") return begin(event);
        if (name == "loaded") return loaded();
        if (name == "eval") return evaluated(event);
        if (name == "end") return end(event, before);
        return broken(fmt::format("unknown event \"{}\"", name));
    }
    Result<BenchmarkResult> result() {
        if (!ended_) return broken("the event \"end\" is missing: the run was cut off");
        return out_;
    }

  private:
    tl::unexpected<Error> broken(std::string what) const {
        return fail_at_line(path_, line_, std::move(what), "docs/benchmark.md has the rules");
    }
    static std::string text(const nlohmann::json& event, const char* key) {
        const auto& value = member(event, key);
        return value.is_string() ? value.get<std::string>() : std::string();
    }
    static double number(const nlohmann::json& event, const char* key) {
        const auto& value = member(event, key);
        return value.is_number() ? value.get<double>() : std::nan("");
    }

    Result<void> begin(const nlohmann::json& event) {
        if (begun_) return broken("duplicate event \"begin\"");
        begun_ = true;
        if (number(event, "version") != kLogVersion)
            return broken(fmt::format("the format's version is not {}", kLogVersion));
        if (last_ms_ != 0) return broken("the clock does not begin at 0");
        for (const char* key : {"commit", "backend", "processor", "host", "photos_hash",
                                "masks_hash", "points_hash", "cameras_hash"})
            if (text(event, key).empty()) return broken(fmt::format("{} is missing", key));
        out_.threads = number(event, "threads");
        if (!(out_.threads >= 1)) return broken("threads is missing");
        if (!member(event, "settings").is_object()) return broken("settings is missing");
        const auto seed = whole_number(member(event, "seed"), 1ull << 53);
        if (!seed) return broken("seed is missing");
        out_.commit = text(event, "commit"), out_.backend = text(event, "backend");
        out_.processor = text(event, "processor"), out_.host = text(event, "host");
        out_.settings = json_text(event["settings"]);
        out_.seed = *seed;
        out_.target_db = number(event, "target_psnr");
        return known_scene(event);
    }

    Result<void> known_scene(const nlohmann::json& event) {
        const double photos = number(event, "photos"), width = number(event, "width"),
                     height = number(event, "height");
        const SuiteScene* known = nullptr;
        for (const SuiteScene& scene : suite_.scenes) {
            if (!scene.sample || !scene.target_db) continue;
            if (scene.sample->views != photos || scene.sample->width != width ||
                scene.sample->height != height)
                continue;
            if (std::abs(*scene.target_db - out_.target_db) > kSameDb)
                return broken(fmt::format("the target of {} is {} dB, not {}", scene.name,
                                          *scene.target_db, out_.target_db));
            known = &scene;
        }
        if (known == nullptr)
            return broken(fmt::format("no scene of {} has {} photos of {} x {}", suite_.name,
                                      photos, width, height));
        out_.scene = known->name;
        GS_TRY_VOID(same_capture(event, *known));
        return held_out(event, static_cast<std::size_t>(known->sample->views));
    }

    /// It learned from the suite's own photos, whole, and from nothing else.
    Result<void> same_capture(const nlohmann::json& event, const SuiteScene& scene) {
        if (text(event, "masks_hash") != "none")
            return broken(fmt::format("{} photos are masked: scores are of whole photos",
                                      number(event, "masked")));
        const std::pair<const char*, const char*> kNames[] = {
            {"photos_hash", "photos"}, {"points_hash", "points"}, {"cameras_hash", "cameras"}};
        for (const auto& [key, what] : kNames) {
            out_.hashes.emplace_back(key, text(event, key));
            const auto wanted = scene.hashes.find(key);
            if (wanted == scene.hashes.end()) {
                out_.unchecked = true;
                continue;
            }
            const bool no_points =
                std::string_view(what) == "points" && text(event, key) == "random";
            if (wanted->second != text(event, key) && !no_points)
                return broken(fmt::format("its {} differ from those of {}: {} is {}, not {}", what,
                                          scene.name, key, text(event, key), wanted->second));
        }
        return {};
    }

    /// Every eighth photo by name, the first among them, and no other.
    Result<void> held_out(const nlohmann::json& event, std::size_t photos) {
        std::vector<std::string> names, wanted;
        for (const auto& name : member(event, "held_out"))
            names.push_back(name.is_string() ? name.get<std::string>() : std::string());
        for (std::size_t i = 0; i < photos; i += kHoldOutEvery)
            wanted.push_back(sample_photo_name(i));
        std::sort(names.begin(), names.end());
        held_out_ = names.size();
        if (names != wanted)
            return broken(fmt::format("the {} held-out photos are not every eighth of {}",
                                      held_out_, photos));
        if (number(event, "trained_on") != static_cast<double>(photos - held_out_))
            return broken("held-out photos were trained on, or photos are missing");
        return {};
    }

    Result<void> loaded() {
        if (loaded_) return broken("duplicate event \"loaded\"");
        loaded_ = true;
        return {};
    }

    Result<void> evaluated(const nlohmann::json& event) {
        if (!loaded_) return broken("a score before the photos were loaded");
        if (reached_) return broken("the run continued after the target was reached");
        const double step = number(event, "step");
        if (!(step > static_cast<double>(out_.steps))) return broken("step does not increase");
        if (number(event, "photos") != static_cast<double>(held_out_))
            return broken("the score does not cover all held-out photos");
        out_.steps = static_cast<std::uint64_t>(step);
        out_.psnr = number(event, "psnr");
        if (!std::isfinite(out_.psnr)) return broken("the score is missing");
        out_.seconds = last_ms_ / 1000;
        reached_ = out_.psnr >= out_.target_db;
        return {};
    }

    Result<void> end(const nlohmann::json& event, std::string_view before) {
        ended_ = true;
        if (text(event, "seal") != fingerprint_of(before))
            return broken("its seal does not match the lines above it: the log was changed");
        out_.status = text(event, "status");
        if (out_.status != "reached" && out_.status != "missed" && out_.status != "stopped")
            return broken("unknown status");
        if ((out_.status == "reached") != reached_)
            return broken(reached_ ? "the target was reached but the status does not say so"
                                   : "the status says reached but no score did");
        return {};
    }

    std::string path_;
    const Suite& suite_;
    std::uint64_t line_ = 0;
    BenchmarkResult out_;
    std::size_t held_out_ = 0;
    double last_ms_ = 0;
    bool begun_ = false, loaded_ = false, reached_ = false, ended_ = false;
};

}  // namespace

BenchmarkLog::BenchmarkLog(Clock::time_point begin, double target_db,
                           const nlohmann::ordered_json& about)
    : begin_(begin), target_db_(target_db) {
    nlohmann::ordered_json more{{"version", kLogVersion}, {"target_psnr", target_db}};
    more.update(about);
    add("begin", begin, more);
}

void BenchmarkLog::add(const char* event, Clock::time_point at,
                       const nlohmann::ordered_json& more) {
    const double ms = std::chrono::duration<double, std::milli>(at - begin_).count();
    nlohmann::ordered_json line{{"event", event}, {"time_ms", std::round(ms * 1000) / 1000}};
    line.update(more);
    text_ += json_text(line) + "\n";
}

void BenchmarkLog::loaded(Clock::time_point at) {
    add("loaded", at, nlohmann::ordered_json::object());
}

bool BenchmarkLog::evaluated(std::uint64_t step, double psnr, double ssim, std::size_t photos) {
    add("eval", Clock::now(),
        {{"step", step},
         {"psnr", json_number(psnr)},
         {"ssim", json_number(ssim)},
         {"photos", photos}});
    return reached_ = psnr >= target_db_;
}

void BenchmarkLog::end(const char* status) {
    const std::string seal = fingerprint_of(text_);
    add("end", Clock::now(), {{"status", status}, {"seal", seal}});
}

Result<void> BenchmarkLog::write(const fs::path& file) const {
    return write_text_file(file, text_);
}

Result<BenchmarkResult> check_benchmark_log(const fs::path& file, const Suite& suite) {
    GS_TRY(const std::string text, read_text_file(file, kLargestBenchmarkLog));
    LogChecker checker(file.string(), suite);
    std::uint64_t line = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto event = json_or_discarded(std::string_view(text).substr(begin, end - begin));
        ++line;
        if (!event.is_object())
            return fail_at_line(file.string(), line, "this line is not a JSON object");
        GS_TRY_VOID(checker.take(event, line, std::string_view(text).substr(0, begin)));
        begin = end + 1;
    }
    return checker.result();
}

Result<double> benchmark_score(std::span<const BenchmarkResult> results) {
    std::set<std::uint64_t> seeds;
    std::vector<double> seconds;
    const auto bad = [](std::string what) {
        return fail(ErrorKind::malformed, "", std::move(what));
    };
    for (const BenchmarkResult& r : results) {
        const BenchmarkResult& first = results.front();
        if (r.status != "reached") return bad(fmt::format("seed {} {}", r.seed, r.status));
        if (r.scene != first.scene) return bad("the logs are of several scenes");
        if (r.commit != first.commit || r.backend != first.backend || r.settings != first.settings)
            return bad("the logs are of several programs, backends or settings");
        if (r.processor != first.processor || r.host != first.host || r.threads != first.threads)
            return bad("the logs are of several machines, or numbers of threads");
        if (r.hashes != first.hashes) return bad("the logs are of different photos or points");
        if (!seeds.insert(r.seed).second) return bad(fmt::format("seed {} appears twice", r.seed));
        seconds.push_back(r.seconds);
    }
    if (seeds.size() < kSeedsWanted)
        return bad(fmt::format("{} of {} seeds that a result needs", seeds.size(), kSeedsWanted));
    return median_of(seconds);
}

}  // namespace gs::lab
