// See input_hash.hpp.
#include "input_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "linkcast/workloads/scenario_machine.hpp"

namespace linkcast::planning {
namespace {

namespace fs = std::filesystem;

// Traces may be larger than memory: of larger files the beginning, the size and the time of the last change count.
constexpr std::uintmax_t most_read = std::uintmax_t{64} << 20;

std::string beginning_of(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (in && text.size() < most_read) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

/// The values of the keys `extends`, wherever they stand.
void extended_by(const workloads::trace::Value& v, std::vector<std::string>& out) {
  for (const auto& item : v.items) extended_by(item, out);
  for (const auto& [key, value] : v.entries) {
    if (key.text == "extends" && value.is_scalar()) out.push_back(value.text);
    extended_by(value, out);
  }
}

void add_file(Hash& hash, const fs::path& path, int depth) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return;
  const auto text = beginning_of(path);
  hash.add(text).add(fmt::format("{}", size));
  if (size > most_read) hash.add(fmt::format("{}", fs::last_write_time(path, error).time_since_epoch().count()));
  if (depth >= 8 || text.find("extends") == std::string::npos || text.size() > (1 << 24)) return;
  auto source = std::make_shared<workloads::SourceText>();
  source->text = text;
  workloads::trace::Problems problems;
  std::vector<std::string> names;
  extended_by(workloads::trace::parse_yaml(source, problems), names);
  for (const auto& name : names) add_file(hash, path.parent_path() / name, depth + 1);
}

}  // namespace

std::string Hash::text() const { return fmt::format("{:016x}", value()); }

const std::string& FileHashes::of(const std::string& path) {
  const std::scoped_lock lock{mutex_};
  const auto [at, fresh] = known_.try_emplace(path);
  if (!fresh) return at->second;
  std::error_code error;
  Hash hash;
  if (fs::is_regular_file(path, error)) {
    add_file(hash, path, 0);
    at->second = hash.text();
  } else if (fs::is_directory(path, error)) {
    std::vector<fs::path> files;
    for (fs::recursive_directory_iterator it{path, error}, end; !error && it != end && files.size() < 100'000;
         it.increment(error))
      if (it->is_regular_file(error)) files.push_back(it->path());
    std::ranges::sort(files);
    for (const auto& file : files) {
      hash.add(file.lexically_relative(path).string());  // wherever the folder lies
      add_file(hash, file, 8);
    }
    at->second = hash.text();
  }
  return at->second;
}

void FileHashes::add(Hash& hash, const workloads::trace::Value& v) {
  if (v.is_scalar() && v.text.size() < 4096 && v.text.find_first_not_of("0123456789. ") != std::string::npos) {
    const auto& known = of(workloads::beside(folder_, v.text));
    if (!known.empty()) hash.add(known);
  }
  for (const auto& item : v.items) add(hash, item);
  for (const auto& [key, value] : v.entries) add(hash, value);
}

}  // namespace linkcast::planning
