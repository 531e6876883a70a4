// See goal_rank.hpp.
#include "goal_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers::goal {
namespace {

constexpr std::uint64_t cookie = 4223, node_size = 39, most_kept = std::uint64_t{1} << 30;
constexpr std::uint32_t most_ranks = 1u << 22;

template <class T>
T load(std::string_view s, std::size_t at) {
  T out{};
  std::memcpy(&out, s.data() + at, sizeof out);
  return out;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos && out.size() < 16) {
    auto end = std::min(line.find_first_of(" \t\r", at), line.size());
    // "l1:send" and "rank 0{" are written too.
    if (const auto colon = line.find(':', at); colon < end) end = colon + 1;
    if (const auto brace = line.find_first_of("{}", at); brace < end) end = std::max(brace, at + 1);
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

bool number(std::string_view s, std::int64_t& out) {
  if (s.ends_with('b')) s.remove_suffix(1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  return error == std::errc{} && end == s.data() + s.size() && !s.empty();
}

/// Lines without their comments, which may go over several of them.
class Lines {
 public:
  explicit Lines(std::string_view text, std::uint32_t line = 0) : rest_{text}, line_{line} {}
  bool next(std::string& out) {
    if (rest_.empty()) return false;
    begin_ = position_;
    const auto end = std::min(rest_.find('\n'), rest_.size());
    const auto raw = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    position_ += std::min(end + 1, raw.size() + 1);
    ++line_;
    out.clear();
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto two = raw.substr(i, 2);
      if (comment_) {
        if (two == "*/") comment_ = false, ++i;
      } else if (two == "/*") {
        comment_ = true, ++i;
      } else if (two == "//") {
        break;
      } else {
        out += raw[i];
      }
    }
    return true;
  }
  std::uint32_t line() const { return line_; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return position_; }

 private:
  std::string_view rest_;
  std::uint32_t line_ = 0;
  std::uint64_t position_ = 0, begin_ = 0;
  bool comment_ = false;
};

}  // namespace

bool Schedule::is_binary(std::string_view head) { return head.size() >= 14 && load<std::uint64_t>(head, 0) == cookie; }

Schedule::Schedule(const std::string& path, ReadReport& report) : path_{path} {
  ByteSource source{path};
  std::string head(64, '\0');
  head.resize(source.read(head.data(), head.size()));
  binary_ = is_binary(head);
  size_ = source.file_size();
  std::ifstream plain{path, std::ios::binary};
  std::string first(4, '\0');
  plain.read(first.data(), 4);
  if (!binary_ || head.substr(0, 4) != first) {
    // Text is indexed in one go, and compressed files cannot be entered in the middle.
    auto text = std::make_shared<std::string>(read_whole(path, most_kept));
    size_ = text->size();
    kept_ = std::move(text);
  }
  if (binary_)
    index_binary();
  else
    index_text(report);
}

std::string Schedule::bytes(std::uint64_t begin, std::uint64_t size) const {
  if (begin > size_ || size > size_ - begin)
    throw sim::InputError(fmt::format("{}: byte {}: {} bytes of a rank are missing", path_, begin, size),
                          "the file was cut off");
  if (kept_) return kept_->substr(begin, size);
  std::ifstream in{path_, std::ios::binary};
  in.seekg(static_cast<std::streamoff>(begin));
  std::string out(size, '\0');
  in.read(out.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uint64_t>(in.gcount()) != size)
    throw sim::InputError(fmt::format("{}: byte {}: {} bytes of a rank cannot be read", path_, begin, size));
  return out;
}

void Schedule::index_binary() {
  const auto head = bytes(8, 6);
  const auto ranks = load<std::uint32_t>(head, 0);
  if (ranks == 0 || ranks > most_ranks || std::uint64_t{ranks} * 16 + 14 > size_)
    throw sim::InputError(fmt::format("{}: byte 8: {} ranks in a GOAL file of {} bytes", path_, ranks, size_));
  const auto table = bytes(14, std::uint64_t{ranks} * 16);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto begin = load<std::uint64_t>(table, r * 16), end = load<std::uint64_t>(table, r * 16 + 8);
    if (end < begin || end > size_ - 8)
      throw sim::InputError(
          fmt::format("{}: byte {}: rank {} ends where the file does not reach", path_, 14 + r * 16, r),
          "the file was cut off");
    places_.push_back({begin + 8, end - begin, 0});
  }
  has_any_ = true;  // told only by reading the nodes
}

void Schedule::index_text(ReadReport& report) {
  Lines lines{*kept_};
  std::string line;
  std::int64_t ranks = 0, current = -1;
  while (lines.next(line)) {
    const auto w = words(line);
    if (w.empty()) continue;
    const auto fail = [&](std::string problem, std::string help) {
      throw sim::InputError({{{path_, static_cast<int>(lines.line()), 1, 1}, std::move(problem), std::move(help)}},
                            *kept_);
    };
    if (w[0] == "num_ranks") {
      if (w.size() < 2 || !number(w[1], ranks) || ranks < 1 || ranks > most_ranks)
        fail("'num_ranks' without a number of ranks", "as in: num_ranks 32");
      places_.assign(static_cast<std::size_t>(ranks), {});
    } else if (w[0] == "rank") {
      std::int64_t r = 0;
      if (w.size() < 2 || !number(w[1], r) || r < 0 || r >= ranks)
        fail(fmt::format("'{}' is not a rank of {}", w.size() > 1 ? w[1] : "", ranks),
             "rank 0 { ... }, after num_ranks");
      current = r;
      places_[static_cast<std::size_t>(r)] = {lines.end(), 0, lines.line()};
    } else if (w[0] == "}") {
      current = -1;
    } else if (current >= 0) {
      auto& place = places_[static_cast<std::size_t>(current)];
      place.size = lines.end() - place.begin;
      if (std::ranges::find(w, "-1") != w.end()) has_any_ = true;
    } else {
      ++report.records;
      report.skip("a line outside of a rank", fmt::format("{}:{}", path_, lines.line()));
    }
  }
  if (ranks == 0) throw sim::InputError(fmt::format("{}: no num_ranks", path_), "num_ranks 2, then rank 0 { ... }");
  if (current >= 0)
    report.skip("a rank without its closing bracket: the file was cut off", fmt::format("{}:{}", path_, lines.line()));
}

Rank Schedule::read(int r, ReadReport* report) const {
  const auto& p = places_[static_cast<std::size_t>(r)];
  if (p.size == 0) return {};
  return binary_ ? read_binary(p, report) : read_text(p, report);
}

Rank Schedule::read_text(const Place& p, ReadReport* report) const {
  Rank out;
  std::unordered_map<std::string, std::uint32_t> places;
  struct Wish {
    std::string who, whom;
    bool begun;
    std::uint32_t line;
  };
  std::vector<Wish> wishes;
  const std::string_view text{*kept_};
  Lines lines{text.substr(p.begin, std::min<std::uint64_t>(p.size, text.size() - p.begin)), p.line};
  std::string line;
  const auto skip = [&](std::string_view why) {
    if (report != nullptr) report->skip(why, fmt::format("{}:{}", path_, lines.line()));
  };
  while (lines.next(line)) {
    auto w = words(line);
    if (w.empty() || w[0] == "}") continue;
    if (report != nullptr) ++report->records;
    if (w.size() >= 3 && (w[1] == "requires" || w[1] == "irequires")) {
      wishes.push_back({std::string{w[0]}, std::string{w[2]}, w[1] == "irequires", lines.line()});
      continue;
    }
    std::string label;
    if (w[0].ends_with(':')) {
      label = w[0].substr(0, w[0].size() - 1);
      w.erase(w.begin());
    }
    Node n;
    n.line = lines.line();
    std::size_t at = 2;
    bool good = w.size() >= 2 && number(w[1], n.size) && n.size >= 0;
    if (good && w[0] != "calc") {
      n.kind = w[0] == "send" ? Node::Kind::send : Node::Kind::receive;
      if (w.size() > 2 && w[2] == "b") at = 3;  // "8 b" as well as "8b"
      good = (w[0] == "send" || w[0] == "recv") && w.size() >= at + 2 && w[at] == (w[0] == "send" ? "to" : "from") &&
             number(w[at + 1], n.peer);
      at += 2;
    }
    for (; good && at + 1 < w.size(); at += 2) {
      std::int64_t value = 0;
      good = number(w[at + 1], value);
      if (w[at] == "tag") n.tag = value;
      if (w[at] == "cpu") n.cpu = static_cast<std::uint8_t>(value);
      if (w[at] == "nic") n.nic = static_cast<std::uint8_t>(value);
    }
    if (!good) {
      skip("a line that is not send, recv, calc, requires or irequires");
      continue;
    }
    if (!label.empty()) places[label] = static_cast<std::uint32_t>(out.nodes.size());
    out.labels.push_back(label.empty() ? fmt::format("line {}", n.line) : label);
    out.nodes.push_back(std::move(n));
  }
  for (const auto& wish : wishes) {
    const auto who = places.find(wish.who), whom = places.find(wish.whom);
    if (who == places.end() || whom == places.end()) {
      if (report != nullptr)
        report->skip("a dependency on a label that is not there", fmt::format("{}:{}", path_, wish.line));
      continue;
    }
    auto& n = out.nodes[who->second];
    (wish.begun ? n.begins_ : n.requires_).push_back(whom->second);
    if (report != nullptr) ++report->used;
  }
  return out;
}

Rank Schedule::read_binary(const Place& p, ReadReport* report) const {
  const auto data = bytes(p.begin, p.size);
  const auto fail = [&](std::uint64_t at) -> void {
    throw sim::InputError(fmt::format("{}: byte {}: the nodes of a rank do not fit into it", path_, p.begin + at),
                          "the file was cut off, or is not GOAL");
  };
  if (data.size() < 8) fail(0);
  const std::uint64_t nodes = load<std::uint32_t>(data, 0), roots = load<std::uint32_t>(data, 4);
  const auto first = 8 + roots * 4, appendix = first + nodes * node_size;
  if (appendix > data.size()) fail(0);
  Rank out;
  out.nodes.resize(nodes);
  std::uint64_t dependencies = 0;  // no more than there are places: ranges that overlap are not GOAL
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const auto at = first + i * node_size;
    auto& n = out.nodes[i];
    const auto kind = static_cast<unsigned char>(data[at + 4]);
    if (report != nullptr) ++report->records;
    if (kind >= 1 && kind <= 3) {
      n.kind = static_cast<Node::Kind>(kind);
    } else if (report != nullptr) {
      report->skip("a node of an unknown type", fmt::format("{}: byte {}", path_, p.begin + at));
    }
    const auto peer = load<std::uint32_t>(data, at + 5), tag = load<std::uint32_t>(data, at + 17);
    n.peer = peer == 0xffffffffu ? any : std::int64_t{peer};
    n.tag = tag == 0xffffffffu ? any : std::int64_t{tag};
    n.size = static_cast<std::int64_t>(std::min<std::uint64_t>(load<std::uint64_t>(data, at + 9), 1ull << 62));
    n.cpu = static_cast<std::uint8_t>(data[at + 21]);
    n.nic = static_cast<std::uint8_t>(data[at + 22]);
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t count = load<std::uint32_t>(data, at + 23 + static_cast<std::uint64_t>(k) * 8);
      const std::uint64_t begin = load<std::uint32_t>(data, at + 27 + static_cast<std::uint64_t>(k) * 8);
      if (count == 0) continue;
      dependencies += count;
      if (appendix + (begin + count) * 4 > data.size() || appendix + dependencies * 4 > data.size()) fail(at);
      for (std::uint64_t j = begin; j < begin + count; ++j) {
        const auto who = load<std::uint32_t>(data, appendix + j * 4);
        if (who >= nodes) fail(appendix + j * 4);
        auto& list = k == 0 ? out.nodes[who].requires_ : out.nodes[who].begins_;
        list.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }
  return out;
}

}  // namespace linkcast::workloads::readers::goal
