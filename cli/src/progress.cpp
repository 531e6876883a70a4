// See progress.hpp.
#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::cli {
namespace {

constexpr int width = 24;
constexpr auto at_most_every = std::chrono::milliseconds{200};

std::string left_text(double seconds) {
  const auto s = static_cast<int>(seconds + 0.5);
  return s < 60 ? fmt::format("{} s", s) : fmt::format("{} min {:02} s", s / 60, s % 60);
}

}  // namespace

bool Progress::due() {
  if (!log_.on_terminal()) return false;
  const auto now = Clock::now();
  if (now - shown_ < at_most_every) return false;
  shown_ = now;
  return true;
}

void Progress::part(std::uint64_t done, std::uint64_t all) {
  if (all == 0 || !due()) return;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
  const double spent = std::chrono::duration<double>(Clock::now() - begun_).count();
  const int full = static_cast<int>(share * width);
  log_.status(fmt::format("[{:#<{}}{:.<{}}] {} {:.0f} %{}", "", full, "", width - full, what_, 100 * share,
                          share > 0.01 ? ", " + left_text(spent / share - spent) + " left" : ""));
}

void Progress::count(std::int64_t done, const char* things) {
  if (!due()) return;
  const double spent = std::chrono::duration<double>(Clock::now() - begun_).count();
  log_.status(fmt::format("{}: {} {}, {:.0f} a second", what_, done, things,
                          spent > 0 ? static_cast<double>(done) / spent : 0));
}

}  // namespace linkcast::cli
