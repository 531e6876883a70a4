// See nccl_log_line.hpp. The texts: NCCL, src/enqueue.cc, src/init.cc, src/debug.cc; RCCL the same.
#include "nccl_log_line.hpp"

#include <array>
#include <charconv>

namespace linkcast::workloads::readers {
namespace {

constexpr std::string_view marker = "NCCL INFO ";

bool digit(char c) { return c >= '0' && c <= '9'; }
bool host(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

struct Head {
  std::size_t begin = 0;
  std::string_view process;
  int device = 0;
};

/// The last "host:pid:tid [device]" before `end`.
std::optional<Head> head_of(std::string_view line, std::size_t from, std::size_t end) {
  for (auto close = line.rfind(']', end); close != std::string_view::npos && close > from;
       close = line.rfind(']', close - 1)) {
    auto i = close;
    while (i > from && digit(line[i - 1])) --i;
    if (i == close || i == from || line[i - 1] != '[') continue;
    Head out;
    std::from_chars(line.data() + i, line.data() + close, out.device);
    --i;
    while (i > from && line[i - 1] == ' ') --i;
    const auto after_thread = i;
    while (i > from && digit(line[i - 1])) --i;
    if (i == after_thread || i == from || line[i - 1] != ':') continue;
    const auto after_pid = --i;
    while (i > from && digit(line[i - 1])) --i;
    if (i == after_pid || i == from || line[i - 1] != ':') continue;
    const auto after_host = --i;
    while (i > from && host(line[i - 1])) --i;
    if (i == after_host) continue;
    out.begin = i;
    out.process = line.substr(i, after_pid - i);
    return out;
  }
  return std::nullopt;
}

/// Words between blanks; brackets and commas are blanks too.
class Words {
 public:
  explicit Words(std::string_view text) : text_{text} {}
  bool next(std::string_view& word) {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
    if (at_ == text_.size()) return false;
    const auto from = at_;
    while (at_ < text_.size() && !blank(text_[at_])) ++at_;
    word = text_.substr(from, at_ - from);
    return true;
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '[' || c == ']' || c == ','; }
  std::string_view text_;
  std::size_t at_ = 0;
};

template <class T>
bool decimal(std::string_view w, T& out) {
  const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), out);
  return error == std::errc{} && end == w.data() + w.size();
}

bool hexadecimal(std::string_view w, std::uint64_t& out) {
  if (w == "(nil)") {
    out = 0;
    return true;
  }
  if (w.starts_with("0x")) w.remove_prefix(2);
  const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), out, 16);
  return error == std::errc{} && end == w.data() + w.size();
}

}  // namespace

void messages_of(std::string_view line, std::vector<LogMessage>& out) {
  out.clear();
  auto at = line.find(marker);
  std::size_t from = 0;
  while (at != std::string_view::npos) {
    LogMessage m;
    if (const auto head = head_of(line, from, at)) {
      m.process = head->process;
      m.device = head->device;
      // What the one before it said ends where this one's head begins.
      if (!out.empty()) out.back().text = out.back().text.substr(0, head->begin - from);
    }
    from = at + marker.size();
    m.text = line.substr(from);
    out.push_back(m);
    at = line.find(marker, from);
    if (at != std::string_view::npos) out.back().text = line.substr(from, at - from);
  }
}

bool is_call(std::string_view text) { return text.find(" opCount ") != std::string_view::npos; }

std::optional<LogCall> log_call(std::string_view text) {
  LogCall out;
  const auto colon = text.find(": opCount ");
  if (colon == std::string_view::npos || colon == 0 || colon > 40) return std::nullopt;
  out.verb = text.substr(0, colon);
  if (out.verb.find(' ') != std::string_view::npos) return std::nullopt;
  Words words{text.substr(colon + 1)};
  unsigned seen = 0;
  std::string_view word, value;
  while (words.next(word)) {
    if (word.starts_with("nranks=")) {
      if (!decimal(word.substr(7), out.ranks)) return std::nullopt;
      continue;
    }
    // The last of NCCL's: where the next message begins at once, it is taken for the beginning of the host's name.
    if (word == "stream") {
      out.has_stream = words.next(value) && hexadecimal(value, out.stream);
      continue;
    }
    const auto take = [&](std::string_view key, unsigned bit, auto&& read) {
      if (word != key) return true;
      if ((seen & bit) != 0 || !words.next(value) || !read(value)) return false;
      seen |= bit;
      return true;
    };
    const bool good = take("opCount", 1, [&](auto w) { return hexadecimal(w, out.count_of_operations); }) &&
                      take("count", 2, [&](auto w) { return decimal(w, out.count); }) &&
                      take("datatype", 4, [&](auto w) { return decimal(w, out.type); }) &&
                      take("root", 8, [&](auto w) { return decimal(w, out.root); }) &&
                      take("comm", 16, [&](auto w) { return hexadecimal(w, out.communicator); }) &&
                      take("globalrank", 64, [&](auto w) { return decimal(w, out.global_rank); });
    if (!good) return std::nullopt;
  }
  if ((seen & 31) != 31) return std::nullopt;
  return out;
}

std::optional<LogInit> log_init(std::string_view text) {
  if (text.find(" comm 0x") == std::string_view::npos && !text.starts_with("comm 0x")) return std::nullopt;
  if (text.find(" nranks ") == std::string_view::npos) return std::nullopt;
  LogInit out;
  Words words{text};
  std::string_view word, value;
  bool good = true, comm = false, init = false;
  while (good && words.next(word)) {
    if (word == "comm" && !comm) good = comm = words.next(value) && hexadecimal(value, out.communicator);
    if (word == "rank") good = words.next(value) && decimal(value, out.rank);
    if (word == "nranks") good = words.next(value) && decimal(value, out.ranks);
    if (word == "cudaDev") good = words.next(value) && decimal(value, out.device);
    if (word == "color") good = words.next(value) && decimal(value, out.color);
    if (word == "commId") good = out.has_id = words.next(value) && hexadecimal(value, out.id);
    if (word == "parent") good = out.has_parent = words.next(value) && hexadecimal(value, out.parent);
    if (word == "Init") init = true;
    if (word == "COMPLETE") out.complete = true;
  }
  if (!good || !comm || (!init && !out.has_id) || out.rank < 0 || out.ranks < 1 || out.rank >= out.ranks)
    return std::nullopt;
  return out;
}

std::optional<LogTuning> log_tuning(std::string_view text) {
  const auto arrow = text.find(" Bytes -> Algo ");
  if (arrow == std::string_view::npos) return std::nullopt;
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || colon > arrow) return std::nullopt;
  LogTuning out;
  out.verb = text.substr(0, colon);
  Words words{text.substr(arrow + 10)};
  std::string_view word;
  while (words.next(word)) {
    if (word == "Algo" && !words.next(out.algorithm)) return std::nullopt;
    if (word == "proto" && !words.next(out.protocol)) return std::nullopt;
  }
  constexpr std::array<std::string_view, 7> algorithms{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                       "NVLS_TREE", "PAT"};
  constexpr std::array<std::string_view, 3> protocols{"LL", "LL128", "SIMPLE"};
  const auto named = [](std::string_view& w, const auto& names) {
    std::size_t n = 0;
    if (decimal(w, n) && n < names.size()) w = names[n];
  };
  named(out.algorithm, algorithms);
  named(out.protocol, protocols);
  if (out.algorithm.empty() || out.protocol.empty()) return std::nullopt;
  return out;
}

}  // namespace linkcast::workloads::readers
