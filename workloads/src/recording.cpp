// See recording.hpp: what all readers share.
#include "linkcast/workloads/recording.hpp"

#include <algorithm>

namespace linkcast::workloads {
namespace {

constexpr std::size_t most_reasons = 200;  // a damaged file has as many as it has lines

}  // namespace

std::string_view name_of(Work w) {
  switch (w) {
    case Work::gemm:
      return "gemm";
    case Work::attention:
      return "attention";
    case Work::elementwise:
      return "elementwise";
    case Work::copy:
      return "copy";
    case Work::gap:
      return "gap";
    case Work::other:
      break;
  }
  return "other";
}

std::uint32_t Names::add(std::string_view text) {
  if (text.empty()) return 0;
  const auto [at, fresh] = index_.try_emplace(std::string{text}, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.emplace_back(text);
  return at->second;
}

void ReadReport::skip(std::string_view why, const std::string& where) {
  auto found = std::ranges::find(skipped, why, &Skipped::why);
  if (found == skipped.end() && skipped.size() >= most_reasons) {
    why = "other reasons";
    found = std::ranges::find(skipped, why, &Skipped::why);
  }
  if (found == skipped.end())
    skipped.push_back({std::string{why}, 1, where});
  else
    ++found->count;
}

}  // namespace linkcast::workloads
