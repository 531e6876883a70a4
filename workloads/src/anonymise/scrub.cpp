// See scrub.hpp. One pass over the text; at every beginning of a word the patterns are asked one after the other.
#include "scrub.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace linkcast::workloads::anonymising {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) { return is_word(c) || c == '.' || c == '-'; }
bool is_path(char c) { return is_name(c) || c == '/' || c == '~' || c == '+' || c == '@' || c == '%'; }

template <typename Is>
std::string_view run(std::string_view text, std::size_t at, Is is) {
  auto end = at;
  while (end < text.size() && is(text[end])) ++end;
  return text.substr(at, end - at);
}

constexpr std::array roots{"usr", "lib", "lib64", "dev", "proc", "sys",  "tmp", "home",
                           "opt", "mnt", "var",   "etc", "bin",  "root", "run"};
constexpr std::array endings{".py",  ".so",   ".cpp", ".cu",  ".h",  ".hpp", ".cc", ".c",
                             ".cuh", ".json", ".log", ".txt", ".gz", ".pt",  ".xml"};
// Variables that say how communication was set up; all others may hold anything.
constexpr std::array kept_variables{
    "NCCL_", "RCCL_",      "CUDA_", "TORCH_",     "PYTORCH_",         "UCX_",       "FI_",      "OMP_", "GLOO_",
    "HSA_",  "WORLD_SIZE", "RANK",  "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK"};
constexpr std::array secret_words{"TOKEN",      "SECRET",  "PASSW",      "APIKEY", "API_KEY",
                                  "ACCESS_KEY", "PRIVATE", "CREDENTIAL", "COOKIE", "AUTH"};
constexpr std::array secret_prefixes{"hf_", "sk-", "ghp_", "gho_", "github_pat_", "AKIA", "xoxb-", "glpat-", "eyJ"};
// Words of the formats themselves, which no host or user takes away.
constexpr std::array common_words{"root",  "user",  "users", "home", "local", "localhost", "none",
                                  "null",  "rank",  "node",  "host", "test",  "data",      "main",
                                  "train", "admin", "info",  "nccl", "ring",  "tree"};

template <std::size_t n>
bool contains(const std::array<const char*, n>& list, std::string_view text) {
  return std::ranges::any_of(list, [&](std::string_view w) { return w == text; });
}

/// Length of a dotted quad, 0 where there is none.
std::size_t ipv4_length(std::string_view text) {
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    const auto digits = run(text, at, is_digit);
    int n = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (digits.empty() || digits.size() > 3 || n > 255) return 0;
    at += digits.size();
    if (part == 3) break;
    if (at >= text.size() || text[at] != '.') return 0;
    ++at;
  }
  if (at < text.size() && (is_word(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]))))
    return 0;
  return at;
}

/// Length of what is hexadecimal groups with colons: MAC addresses (6 of two), GUIDs (8 of two, 4 of four), IPv6.
std::size_t colons_length(std::string_view text, bool& address) {
  std::size_t at = 0, groups = 0, colons = 0, longest = 0, shortest = 99;
  bool doubled = false, digit = false;
  while (at < text.size()) {
    const auto g = run(text, at, is_hex);
    if (g.size() > 4 || groups > 20) return 0;
    if (!g.empty()) {
      ++groups;
      longest = std::max(longest, g.size()), shortest = std::min(shortest, g.size());
      digit = digit || std::ranges::any_of(g, is_digit);
      at += g.size();
    }
    if (at + 1 < text.size() && text[at] == ':' && (is_hex(text[at + 1]) || text[at + 1] == ':')) {
      if (text[at + 1] == ':') {
        if (doubled) return 0;
        doubled = true;
        at += 2, colons += 2;
        continue;
      }
      ++at, ++colons;
      continue;
    }
    break;
  }
  if (at < text.size() && is_word(text[at])) return 0;
  const bool mac = !doubled && longest == 2 && shortest == 2 && (groups == 6 || groups == 8 || groups == 20);
  const bool guid = !doubled && longest == 4 && shortest == 4 && groups == 4;
  // Two groups may be a name of C++; what begins as global, unique local, link local or multicast addresses do is not.
  constexpr std::array beginnings{"2", "3", "fc", "fd", "fe8", "fe9", "fea", "feb", "ff"};
  std::string first{run(text, 0, is_hex)};
  std::ranges::transform(first, first.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool routed =
      first.size() == 4 && std::ranges::any_of(beginnings, [&](std::string_view b) { return first.starts_with(b); });
  address = (doubled && digit && (groups >= 3 || (groups == 2 && routed))) || (!doubled && groups == 8 && longest > 2);
  return mac || guid || address ? at : 0;
}

std::size_t uuid_length(std::string_view text) {
  std::size_t at = 0;
  for (const std::size_t n : {8u, 4u, 4u, 4u, 12u}) {
    if (at > 0) {
      if (at >= text.size() || text[at] != '-') return 0;
      ++at;
    }
    if (run(text, at, is_hex).size() != n) return 0;
    at += n;
  }
  return at < text.size() && is_word(text[at]) ? 0 : at;
}

bool begins_secret(std::string_view t) {
  if (t.size() < 16) return false;
  return std::ranges::any_of(secret_prefixes, [&](std::string_view p) { return t.starts_with(p); });
}

}  // namespace

/// The run of characters of paths and of names around a place, gone through once however many words are in it.
struct Runs {
  explicit Runs(std::string_view text) : text_{text}, amp_{std::min(text.find('@'), text.size())} {}

  /// What of the run of a path is left from `at`, without full stops and hyphens at its end.
  std::string_view path(std::size_t at) {
    if (at >= path_end_) {
      path_end_ = at + run(text_, at, is_path).size();
      path_trimmed_ = path_end_;
      while (path_trimmed_ > at && (text_[path_trimmed_ - 1] == '.' || text_[path_trimmed_ - 1] == '-'))
        --path_trimmed_;
      slash_ = dot_ = letters_[0] = letters_[1] = none;
      for (std::size_t i = at; i < path_trimmed_; ++i) {
        if (text_[i] == '/') slash_ = i;
        if (text_[i] == '.') dot_ = i;
        if (is_letter(text_[i])) letters_[1] = letters_[0], letters_[0] = i;
      }
    }
    return at < path_trimmed_ ? text_.substr(at, path_trimmed_ - at) : std::string_view{};
  }
  // Of path(at), whose places these are.
  bool has_slash(std::size_t at) const { return slash_ != none && slash_ >= at; }
  bool looks_like_path(std::size_t at, std::string_view t) const {
    if (!has_slash(at) || letters_[1] == none || letters_[1] < at) return false;
    if (t.front() == '/' || t.starts_with("~/") || t.starts_with("./") || t.starts_with("../")) return true;
    return std::ranges::any_of(endings, [&](std::string_view e) { return t.ends_with(e); });
  }
  bool looks_like_email(std::size_t at, std::string_view t) {
    if (has_slash(at) || dot_ == none || dot_ < at) return false;
    if (amp_ < at) amp_ = std::min(text_.find('@', at), text_.size());
    return amp_ > at && amp_ < dot_ && amp_ < at + t.size();
  }

  std::string_view name(std::size_t at) {
    if (at >= name_end_) {
      name_end_ = at + run(text_, at, is_name).size();
      name_trimmed_ = name_end_;
      while (name_trimmed_ > at && !is_word(text_[name_trimmed_ - 1])) --name_trimmed_;
      digit_ = none;
      for (std::size_t i = at; i < name_trimmed_; ++i)
        if (is_digit(text_[i])) digit_ = i;
    }
    return at < name_trimmed_ ? text_.substr(at, name_trimmed_ - at) : std::string_view{};
  }
  bool name_has_digit(std::size_t at) const { return digit_ != none && digit_ >= at; }

 private:
  static constexpr std::size_t none = std::string_view::npos;
  std::string_view text_;
  std::size_t path_end_ = 0, path_trimmed_ = 0, slash_ = none, dot_ = none, letters_[2] = {none, none};  // the last
  std::size_t amp_ = 0;                                                                                  // the next
  std::size_t name_end_ = 0, name_trimmed_ = 0, digit_ = none;
};

bool digits_only(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

void Scrubber::learn(std::string_view text, const std::string& pseudonym) {
  words_.try_emplace(std::string{text}, pseudonym);
  longest_ = std::max(longest_, text.size());
}

std::string Scrubber::host(std::string_view text) {
  if (text.empty() || text == "localhost" || digits_only(text)) return std::string{text};
  if (ipv4_length(text) == text.size()) return names_.ipv4(text);
  const auto shortened = text.substr(0, text.find('.'));  // with and without its domain it is one host
  auto out = names_.word("host", shortened);
  if (text.size() >= 3 && !contains(common_words, text)) learn(text, out);
  if (shortened.size() >= 3 && !contains(common_words, shortened) && !digits_only(shortened)) learn(shortened, out);
  return out;
}

std::string Scrubber::user(std::string_view text) {
  if (text.empty() || text == "root") return std::string{text};
  auto out = names_.word("user", text);
  if (text.size() >= 4 && !contains(common_words, text) && !digits_only(text)) learn(text, out);
  return out;
}

std::string Scrubber::component(std::string_view text) {
  if (text.empty() || text == "." || text == ".." || text == "~") return std::string{text};
  const auto dot = text.rfind('.');
  const auto ending = dot == text.npos || dot == 0 ? std::string_view{} : text.substr(dot);
  const auto stem = text.substr(0, text.size() - ending.size());
  const bool known_ending =
      ending.size() >= 2 && ending.size() <= 6 && std::all_of(ending.begin() + 1, ending.end(), is_word);
  const auto whole = known_ending ? stem : text;
  if (const auto found = words_.find(std::string{whole}); found != words_.end())
    return found->second + std::string{known_ending ? ending : ""};
  return names_.word("path", whole) + std::string{known_ending ? ending : ""};
}

std::string Scrubber::path(std::string_view text) {
  if (text.empty()) return {};
  std::string out;
  bool first = true, home = false;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('/', at), text.size());
    const auto part = text.substr(at, end - at);
    if (home && !part.empty())
      out += user(part);
    else if (first && text.front() == '/' && contains(roots, part))
      out += part;
    else
      out += component(part);
    home = !part.empty() && first && (part == "home" || part == "Users");
    if (!part.empty()) first = false;
    if (end < text.size()) out += '/';
    at = end + 1;
  }
  return out;
}

std::string Scrubber::process(std::string_view digits) {
  if (!digits_only(digits) || digits.size() < 4 || (digits.size() == 4 && digits < "1024")) return std::string{digits};
  return names_.number("process", digits);
}

std::string Scrubber::communicator(std::string_view digits) {
  if (!digits_only(digits) || digits.size() < 6) return std::string{digits};
  return names_.number("communicator", digits);
}

std::string Scrubber::variable(std::string_view name, std::string_view value) {
  std::string upper{name};
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool secret = std::ranges::any_of(secret_words, [&](const char* w) { return upper.find(w) != upper.npos; });
  const bool kept = std::ranges::any_of(
      kept_variables, [&](std::string_view k) { return k.ends_with('_') ? upper.starts_with(k) : upper == k; });
  if (kept && !secret && depth_ < 8) {  // deeper, as any other value
    ++depth_;
    auto out = scrub(value);
    --depth_;
    return out;
  }
  if (value.empty() || digits_only(value))
    return secret && !value.empty() ? names_.word("redacted", value) : std::string{value};
  return names_.word("redacted", value);
}

/// "train.py(12): forward": a frame of Python.
std::size_t Scrubber::match_frame(std::string_view text, std::string& out) {
  const auto open = text.find("): ");
  if (open == text.npos) return 0;
  const auto begin = text.rfind('(', open);
  if (begin == text.npos || begin == 0 || !digits_only(text.substr(begin + 1, open - begin - 1))) return 0;
  const auto file = text.substr(0, begin);
  if (!std::ranges::all_of(file, [](char c) { return is_path(c) || c == '<' || c == '>' || c == ' '; })) return 0;
  out += path(file);
  out += text.substr(begin, open + 3 - begin);
  const auto name = text.substr(open + 3);
  out += function(name);
  return text.size();
}

std::size_t Scrubber::match(std::string_view text, std::size_t at, Runs& runs, std::string& out) {
  const auto rest = text.substr(at);
  const char c = rest.front();
  if (c == '/' || c == '~' || c == '.' || is_word(c)) {
    const auto t = runs.path(at);
    // What follows a word is a path only from the root, and "://" is the middle of an address.
    if (runs.looks_like_path(at, t) && !t.starts_with("//")) return out += path(t), t.size();
    if (is_word(c) && runs.looks_like_email(at, t)) return out += names_.word("email", t), t.size();
  }
  if (c == ':' && rest.starts_with("://")) {
    const auto before = run(rest, 3, [](char x) { return is_name(x) || x == ':' || x == '%'; });
    std::size_t begin = 3;
    out += "://";
    if (begin + before.size() < rest.size() && rest[begin + before.size()] == '@') {  // user:password@
      out += names_.word("redacted", before) + "@";
      begin += before.size() + 1;
    }
    const auto h = run(rest, begin, is_name);
    out += host(h);
    return begin + h.size();
  }
  if (!is_word(c)) return 0;
  if (rest.starts_with("0x") || rest.starts_with("0X")) {
    const auto digits = run(rest, 2, is_hex);
    const auto significant = digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.size() >= 8 && significant.size() > 4 &&
        (2 + digits.size() == rest.size() || !is_word(rest[2 + digits.size()])))
      return out += names_.hex("id", rest.substr(0, 2 + digits.size())), 2 + digits.size();
  }
  if (is_digit(c))
    if (const auto n = ipv4_length(rest); n > 0 && !rest.starts_with("0.0.0.0") && !rest.starts_with("127."))
      return out += names_.ipv4(rest.substr(0, n)), n;
  if (is_hex(c)) {
    bool address = false;
    if (const auto n = colons_length(rest, address); n > 0)
      return out += names_.hex(address ? "address" : "guid", rest.substr(0, n)), n;
    // A GUID without colons; sixteen decimal digits are a time.
    const auto bare = run(rest, 0, is_word);
    if (bare.size() == 16 && std::ranges::all_of(bare, is_hex) && std::ranges::any_of(bare, is_letter) &&
        std::ranges::any_of(bare, is_digit))
      return out += names_.hex("guid", bare), bare.size();
    if (const auto n = uuid_length(rest); n > 0) return out += names_.hex("guid", rest.substr(0, n)), n;
  }
  const auto word = run(rest, 0, is_word);
  if (word.size() > 2 && word.size() < rest.size() && rest[word.size()] == '=' &&
      std::ranges::all_of(
          word, [](char x) { return std::isupper(static_cast<unsigned char>(x)) != 0 || is_digit(x) || x == '_'; }) &&
      std::ranges::any_of(word, is_letter)) {
    const auto value =
        run(rest, word.size() + 1, [](char x) { return x != ' ' && x != '\t' && x != '"' && x != '\'' && x != ','; });
    out += word;
    out += '=';
    out += variable(word, value);
    return word.size() + 1 + value.size();
  }
  const auto name = runs.name(at);
  if (begins_secret(name) && runs.name_has_digit(at)) return out += names_.word("redacted", name), name.size();
  // host:pid:tid, as NCCL begins its lines.
  if (const auto n = name.size(); n < rest.size() && rest[n] == ':' && !digits_only(name) && is_word(c)) {
    const auto pid = run(rest, n + 1, is_digit);
    const auto second = n + 1 + pid.size();
    if (!pid.empty() && second < rest.size() && rest[second] == ':') {
      const auto tid = run(rest, second + 1, is_digit);
      const auto end = second + 1 + tid.size();
      const bool date = name.size() > 10 && name[4] == '-' && name[7] == '-' && name[10] == 'T';
      if (!tid.empty() && !date && pid.size() >= 3 && (end == rest.size() || rest[end] == ' ')) {
        out += host(name) + ":" + process(pid) + ":" + process(tid);
        return end;
      }
    }
  }
  for (const auto part : {name, word}) {
    if (part.size() > longest_) continue;
    if (const auto found = words_.find(std::string{part}); found != words_.end())
      return out += found->second, part.size();
  }
  // "pid 4711", "thread 4711 (python)"
  for (const std::string_view key : {"pid", "Pid", "PID", "tid", "process", "thread"}) {
    if (word != key) continue;
    const auto gap = run(rest, word.size(), [](char x) { return x == ' ' || x == ':' || x == '='; });
    const auto digits = run(rest, word.size() + gap.size(), is_digit);
    if (gap.empty() || digits.empty()) break;
    out += word;
    out += gap;
    out += process(digits);
    auto length = word.size() + gap.size() + digits.size();
    // "Pid 4711 on gpu17 device 0", as nccl-tests says it.
    if (const auto after = rest.substr(length); word == "Pid" && after.starts_with(" on ")) {
      const auto blanks = run(after, 3, [](char x) { return x == ' '; });
      const auto there = run(after, 3 + blanks.size(), is_name);
      if (after.substr(3 + blanks.size() + there.size()).starts_with(" device")) {
        out += " on";
        out += blanks;
        out += host(there);
        length += 3 + blanks.size() + there.size();
      }
    }
    return length;
  }
  return 0;
}

std::string Scrubber::scrub(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (match_frame(text, out) > 0) return out;
  if (text.starts_with("nn.Module: ")) return "nn.Module: " + function(text.substr(11));
  Runs runs{text};
  for (std::size_t at = 0; at < text.size();) {
    if (const auto n = match(text, at, runs, out); n > 0) {
      at += n;
      continue;
    }
    const auto word = run(text, at, is_word);
    const auto n = std::max<std::size_t>(word.size(), 1);
    out += text.substr(at, n);
    at += n;
    // A slash after a word belongs to it: "GB/s", "P2P/IPC".
    if (!word.empty() && at < text.size() && text[at] == '/') out += text[at++];
  }
  return out;
}

}  // namespace linkcast::workloads::anonymising
