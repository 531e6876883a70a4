// Anonymising: any text is taken, and gives as many lines, the same ones under the same key; what is not text is
// refused.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/anonymise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  const auto base = std::filesystem::temp_directory_path() / ("linkcast-fuzz-" + std::to_string(getpid()));
  const auto in = base.string() + ".in", out = base.string() + ".out";
  std::ofstream{in, std::ios::binary} << text;
  const auto once = [&] {
    linkcast::workloads::AnonymiseOptions options;
    options.key = "key";
    linkcast::workloads::anonymise({in}, out, options);
    std::ifstream file{out, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  try {
    const auto whole = once();
    if (whole != once()) std::abort();
    const bool packed = text.starts_with("\x1f\x8b") || text.starts_with("\x28\xb5\x2f\xfd");
    if (!packed && std::count(whole.begin(), whole.end(), '\n') != std::count(text.begin(), text.end(), '\n'))
      std::abort();
  } catch (const linkcast::sim::InputError& e) {
    if (e.diagnostics().empty()) std::abort();
  }
  std::filesystem::remove(in);
  std::filesystem::remove(out);
  return 0;
}
