// Facts about the software of a run. See software_facts.hpp.
#include "software_facts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace linkcast::calibration {

std::optional<models::nccl::Version> nccl_version_of_code(long code) {
  models::nccl::Version v;
  if (code >= 10'000 && code < 1'000'000) {
    v.major = static_cast<int>(code / 10'000);
    v.minor = static_cast<int>(code / 100 % 100);
  } else if (code >= 1'000 && code < 10'000) {
    v.major = static_cast<int>(code / 1'000);
    v.minor = static_cast<int>(code / 100 % 10);
  } else {
    return std::nullopt;
  }
  v.patch = static_cast<int>(code % 100);
  return v;
}

std::optional<models::nccl::Version> nccl_version_in(std::string_view text) {
  if (!text.empty() && text.front() == 'v') text.remove_prefix(1);
  std::array<int, 3> part{0, 0, 0};
  std::size_t parts = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (parts < part.size()) {
    const auto [stop, error] = std::from_chars(p, end, part[parts]);
    if (error != std::errc{} || part[parts] < 0 || part[parts] > 99) break;
    ++parts;
    p = stop;
    if (p == end || *p != '.') break;
    ++p;
  }
  if (parts < 2) return std::nullopt;
  models::nccl::Version v;
  v.major = part[0];
  v.minor = part[1];
  v.patch = part[2];
  return v;
}

void note_nccl_version(std::string_view text, Series& series) {
  series.nccl = nccl_version_in(text);
  if (!series.nccl) series.remarks.push_back(fmt::format("the NCCL version '{}' is not understood", text));
}

void note_launch(std::string_view text, Series& series) {
  if (text == "single_process")
    series.launch = models::LaunchMode::single_process;
  else if (text == "multi_process")
    series.launch = models::LaunchMode::multi_process;
  else if (text == "graph")
    series.cuda_graph = true;
  else if (text != "unknown")
    series.remarks.push_back(fmt::format("the launch mode '{}' is not understood", text));
}

}  // namespace linkcast::calibration
