// See sweep.hpp.
#include "linkcast/planning/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

/// Variants that a thread takes at once: neighbours share a machine, which is made once for them.
constexpr std::size_t at_once = 8;

/// `limit` of them, spread evenly.
std::vector<std::int64_t> chosen(std::int64_t count, std::int64_t limit) {
  const auto n = limit > 0 ? std::min(limit, count) : count;
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    __extension__ using Wide = __int128;
    out[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(static_cast<Wide>(i) * count / n);
  }
  return out;
}

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} minutes", seconds / 60);
  if (seconds < 3 * 86400) return fmt::format("{:.0f} hours", seconds / 3600);
  if (seconds < 2 * 365 * 86400.0) return fmt::format("{:.0f} days", seconds / 86400);
  return fmt::format("{:.0f} years", seconds / (365 * 86400.0));
}

[[noreturn]] void too_many(const Study& study, int threads) {
  Evaluator evaluator{study.profile()};
  // The second one has the first one's machine at hand, as most of a grid have.
  static_cast<void>(study.row(0, evaluator));
  const auto begun = std::chrono::steady_clock::now();
  static_cast<void>(study.row(std::min<std::int64_t>(1, study.variants().count() - 1), evaluator));
  const double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const auto count = study.variants().count();
  throw sim::InputError(
      fmt::format("{} variants: about {} on {} cores, and more than the {} that are run without being asked twice",
                  count, duration_text(each * static_cast<double>(count) / threads), threads, most_variants),
      "take fewer values, or say --limit N for N of them, spread evenly over the grid");
}

}  // namespace

std::vector<std::int64_t> chosen_variants(const Study& study, std::int64_t limit, int workers) {
  const auto count = study.variants().count();
  if (count > most_variants && limit <= 0) too_many(study, std::max(workers, 1));
  return chosen(count, limit);
}

std::vector<std::size_t> by_machine(const Study& study, const std::vector<std::int64_t>& variants,
                                    std::vector<std::size_t> places) {
  std::vector<std::string> machines(variants.size());
  for (const auto i : places) machines.at(i) = study.machine_key(variants[i]);
  std::ranges::stable_sort(places, [&](auto a, auto b) { return machines[a] < machines[b]; });
  return places;
}

SweepResult sweep(const Study& study, const SweepOptions& options) {
  const int threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto variants = chosen_variants(study, options.limit, threads);
  std::vector<std::string> keys;
  for (const auto v : variants) keys.push_back(study.key(v));

  SweepResult result;
  result.variants = static_cast<std::int64_t>(variants.size());
  std::optional<ResultFile> file;
  if (!options.out.empty()) file.emplace(options.out, study);
  std::vector<Row> rows(variants.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (const auto* known = file ? file->find(keys[i]) : nullptr) {
      rows[i] = *known;
      ++result.resumed;
    } else {
      open.push_back(i);
    }
  }
  open = by_machine(study, variants, std::move(open));

  std::mutex mutex;  // of all below
  std::exception_ptr failed;
  std::atomic<bool> end{false};
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    Evaluator evaluator{study.profile(), options.stop};
    while (!end && !options.stop.stop_requested()) {
      const auto begin = next.fetch_add(at_once);
      for (auto at = begin; at < std::min(begin + at_once, open.size()); ++at) {
        if (end || options.stop.stop_requested()) return;
        try {
          auto row = study.row(variants[open[at]], evaluator);
          const std::scoped_lock lock{mutex};
          if (options.stop.stop_requested()) return;  // what was interrupted is not finished
          if (end) return;
          if (file) file->append(row);
          rows[open[at]] = std::move(row);
          ++result.computed;
          if (options.progress) options.progress(result.resumed + result.computed, result.variants);
        } catch (...) {
          const std::scoped_lock lock{mutex};
          if (!failed) failed = std::current_exception();
          end = true;
          return;
        }
      }
      if (begin >= open.size()) return;
    }
  };
  {
    std::vector<std::jthread> pool;
    const auto most = std::max<std::size_t>(1, std::min<std::size_t>(static_cast<std::size_t>(threads), open.size()));
    for (std::size_t t = 1; t < most; ++t) pool.emplace_back(work);
    work();
  }
  if (failed) std::rethrow_exception(failed);
  result.interrupted = options.stop.stop_requested();
  if (file && !result.interrupted) file->arrange(keys);
  for (auto& row : rows)
    if (!row.empty()) result.rows.push_back(std::move(row));
  return result;
}

}  // namespace linkcast::planning
