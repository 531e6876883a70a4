// See anonymise.hpp. Two passes: a host is known by the line that names it, and stands on others before.
#include "linkcast/workloads/anonymise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "../readers/byte_source.hpp"
#include "../readers/formats.hpp"
#include "../timelines/output.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "walk_text.hpp"

namespace linkcast::workloads {
namespace {

namespace fs = std::filesystem;
using anonymising::TextWalk;

/// Text has no zeros, and hardly any other control characters.
void refuse_binary(const readers::Probe& probe) {
  const auto control = std::ranges::count_if(
      probe.head, [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0x1b; });
  if (probe.head.starts_with("SQLite format 3") || probe.head.find('\0') != probe.head.npos ||
      static_cast<std::size_t>(control) * 50 > probe.head.size())
    throw sim::InputError(fmt::format("{}: is not text", probe.path),
                          "turn it into text first: linkcast trace convert FILE -o FILE.jsonl");
}

/// "rank_3.json.gz": what the name says of the rank and the kind of file, and nothing else.
std::string plain_name(const std::string& path, std::size_t number) {
  const auto name = fs::path{path}.filename().string();
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string rank;
  if (auto at = lower.find("rank"); at != lower.npos) {
    for (at += 4; at < lower.size() && (lower[at] == '_' || lower[at] == '-' || lower[at] == '.');) ++at;
    for (; at < lower.size() && std::isdigit(static_cast<unsigned char>(lower[at])) != 0; ++at) rank += lower[at];
  }
  std::string ending;
  for (const std::string_view e : {".json.gz", ".json", ".jsonl", ".log.gz", ".log", ".txt", ".csv", ".xml", ".yaml"})
    if (lower.ends_with(e)) {
      ending = e;
      break;
    }
  return (rank.empty() ? fmt::format("file_{}", number) : "rank_" + rank) + ending;
}

std::vector<AnonymiseReport::File> targets(const std::vector<std::string>& inputs, const std::string& output) {
  std::vector<AnonymiseReport::File> out;
  std::error_code error;
  if (inputs.size() == 1 && !output.ends_with('/') && !fs::is_directory(output, error)) {
    out.push_back({inputs[0], output});
  } else {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto name = plain_name(inputs[i], i);
      if (std::ranges::find(names, name) != names.end()) name = fmt::format("{}_{}", i, name);
      names.push_back(name);
      out.push_back({inputs[i], (fs::path{output} / name).string()});
    }
  }
  for (const auto& f : out) {
    for (const auto& i : inputs)
      if (fs::equivalent(i, f.to, error))
        throw sim::InputError(fmt::format("{}: is an input as well", f.to), "write to another file or folder");
    timelines::make_folders(f.to);
  }
  return out;
}

}  // namespace

AnonymiseReport anonymise(const std::vector<std::string>& paths, const std::string& output,
                          const AnonymiseOptions& options) {
  std::vector<std::string> inputs;
  for (const auto& p : paths)
    for (auto& f : readers::files_of(p)) inputs.push_back(std::move(f));
  if (inputs.empty()) throw sim::InputError("no trace given", "name files or a folder of them");
  std::vector<bool> json;
  std::uint64_t all = 0;
  for (const auto& path : inputs) {
    const auto head = readers::probe(path);
    refuse_binary(head);
    json.push_back(TextWalk::looks_like_json(head.head));
    all += readers::ByteSource{path}.file_size();
  }

  AnonymiseReport report;
  report.files = targets(inputs, output);
  anonymising::Pseudonyms names{options.key};
  anonymising::Scrubber scrubber{names};
  std::vector<char> piece(std::size_t{1} << 18);
  std::uint64_t done = 0;
  const auto pass = [&](std::size_t i, const TextWalk::Out& out) {
    readers::ByteSource source{inputs[i]};
    TextWalk walk{scrubber, out, json[i]};
    while (const auto n = source.read(piece.data(), piece.size())) {
      if (options.stop.stop_requested()) return false;
      walk.give({piece.data(), n});
      if (options.progress) options.progress(done + source.file_position(), 2 * all);
    }
    walk.end();
    done += source.file_size();
    return true;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (pass(i, [](std::string_view) {})) continue;
    report.interrupted = true;
    report.files.clear();
    return report;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    timelines::Output file{report.files[i].to, report.files[i].to.ends_with(".gz"), std::size_t{1} << 20};
    const bool whole = pass(i, [&](std::string_view text) { file.append(text); });
    file.flush();
    if (whole) continue;
    report.interrupted = true;  // half a file is no trace
    std::error_code ignored;
    fs::remove(report.files[i].to, ignored);
    report.files.resize(i);
    break;
  }
  report.replaced = names.count();
  return report;
}

}  // namespace linkcast::workloads
