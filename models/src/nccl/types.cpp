// Names of operations, algorithms, protocols; versions; the list grammar of NCCL_ALGO and NCCL_PROTO; datatypes.
// Knows no topology.
#include "linkcast/models/nccl/types.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "nccl/rules.hpp"

namespace linkcast::models::nccl {

namespace {
constexpr std::string_view op_words[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                         "alltoall",   "sendrecv",   "gather",         "scatter"};
constexpr std::string_view nccl_ops[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",
                                         "AlltoAll",  "SendRecv",  "Gather",        "Scatter"};
constexpr std::string_view algorithm_words[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                "NVLSTree", "PAT",  "P2P",           "Symmetric",    "CopyEngine"};
constexpr std::string_view protocol_words[] = {"LL", "LL128", "Simple"};
constexpr std::string_view list_collectives[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

template <std::size_t N>
int index_of(const std::string_view (&words)[N], std::string_view word, std::size_t limit = N) {
  for (std::size_t i = 0; i < limit; ++i) {
    if (same_word(words[i], word)) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(by);
    if (at != 0 && !text.empty()) parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct Clause {
  int collective = -1;  // -1: all
  bool negated = false;
  std::vector<int> members;
};

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  std::string lower{word};
  std::vector<std::string> lowered = names;
  const auto lower_all = [](std::string& s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  };
  lower_all(lower);
  for (auto& n : lowered) lower_all(n);
  const auto near = sim::nearest(lower, lowered);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!near.empty() && lowered[i] == near) return names[i];
  }
  return {};
}

// list[;collective:list]...; a list is comma-separated and may begin with ^ (everything but these).
std::vector<Clause> parse_list(std::string_view variable, std::string_view value) {
  const bool algo = variable == "NCCL_ALGO";
  const auto fail = [&](const std::string& problem, const std::string& help) {
    throw sim::InputError{std::string{variable} + "=" + std::string{value} + ": " + problem, help};
  };
  std::vector<std::string> names;
  for (int i = 0; i < (algo ? algorithms : protocols); ++i)
    names.emplace_back(algo ? algorithm_words[i] : protocol_words[i]);
  std::vector<Clause> clauses;
  for (const auto part : split(value, ';')) {
    Clause clause;
    auto list = part;
    const auto colon = part.find(':');
    if (colon != std::string_view::npos) {
      const auto prefix = part.substr(0, colon);
      clause.collective = index_of(list_collectives, prefix);
      if (clause.collective < 0) {
        const std::vector<std::string> all{std::begin(list_collectives), std::end(list_collectives)};
        const auto near = nearest_of(prefix, all);
        fail("unknown collective '" + std::string{prefix} + "'",
             near.empty() ? "one of Broadcast, Reduce, AllGather, ReduceScatter, AllReduce"
                          : "did you mean '" + near + "'?");
      }
      list = part.substr(colon + 1);
    } else if (!clauses.empty()) {
      fail("only the first list may stand without a collective", "write for example 'Ring;AllReduce:Tree'");
    }
    if (list.starts_with('^')) {
      clause.negated = true;
      list.remove_prefix(1);
    }
    for (const auto word : split(list, ',')) {
      const int i = algo ? index_of(algorithm_words, word, algorithms) : index_of(protocol_words, word, protocols);
      if (i < 0) {
        const auto near = nearest_of(word, names);
        std::string all;
        for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
        fail(std::string{"unknown "} + (algo ? "algorithm" : "protocol") + " '" + std::string{word} + "'",
             near.empty() ? "one of " + all : "did you mean '" + near + "'?");
      }
      clause.members.push_back(i);
    }
    if (clause.members.empty()) fail("an empty list", "name at least one");
    clauses.push_back(std::move(clause));
  }
  if (clauses.empty()) fail("an empty list", "name at least one");
  return clauses;
}

template <int N>
void apply(const Environment& env, std::string_view variable, AllowTable<N>& table) {
  const auto value = env.get(variable);
  if (!value) return;
  for (const auto& clause : parse_list(variable, *value)) {
    for (int c = 0; c < collectives; ++c) {
      if (clause.collective >= 0 && clause.collective != c) continue;
      table[c].fill(clause.negated ? Allowed::yes : Allowed::no);
      for (const int m : clause.members) table[c][m] = clause.negated ? Allowed::no : Allowed::yes;
    }
  }
}
}  // namespace

std::string_view name_of(Op o) { return op_words[static_cast<std::size_t>(o)]; }
std::string_view nccl_name_of(Op o) { return nccl_ops[static_cast<std::size_t>(o)]; }
std::string_view name_of(Algorithm a) { return algorithm_words[static_cast<std::size_t>(a)]; }
std::string_view name_of(Protocol p) { return protocol_words[static_cast<std::size_t>(p)]; }

std::optional<Op> op_from(std::string_view name) {
  for (std::size_t i = 0; i < std::size(op_words); ++i) {
    if (name == op_words[i] || same_word(name, nccl_ops[i])) return static_cast<Op>(i);
  }
  return std::nullopt;
}

std::vector<std::string> op_names() { return {std::begin(op_words), std::end(op_words)}; }

Version Version::parse(std::string_view text) {
  Version v{0, 0, -1};
  int* parts[] = {&v.major, &v.minor, &v.patch};
  int found = 0;
  auto rest = text;
  while (found < 3) {
    const auto r = std::from_chars(rest.data(), rest.data() + rest.size(), *parts[found]);
    if (r.ec != std::errc{} || *parts[found] < 0) break;
    ++found;
    rest.remove_prefix(static_cast<std::size_t>(r.ptr - rest.data()));
    if (rest.empty() || rest.front() != '.') break;
    rest.remove_prefix(1);
  }
  if (found < 2 || !rest.empty() || text.ends_with('.')) {
    throw sim::InputError{"'" + std::string{text} + "' is not a version of NCCL", "such as 2.18 or 2.30.7"};
  }
  if (v < Version{2, 12, -1} || v.major != 2 || v.minor > 30) {
    throw sim::InputError{"NCCL " + std::string{text} + " is not modelled", "versions 2.12 to 2.30 are"};
  }
  // A minor version alone means its last release.
  constexpr int last_patch[] = {12, 4, 3, 5, 5, 1, 6, 4, 5, 5, 3, 4, 3, 1, 6, 7, 9, 7, 7};
  if (v.patch < 0) v.patch = last_patch[v.minor - 12];
  return v;
}

std::string Version::str() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::optional<PathType> path_level(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(PathType::sys); ++i) {
    if (text == name_of(static_cast<PathType>(i))) return static_cast<PathType>(i);
  }
  int old = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), old);
  if (text.empty() || r.ec != std::errc{} || r.ptr != text.data() + text.size() || old < 0) return std::nullopt;
  constexpr PathType levels[] = {PathType::loc, PathType::pix, PathType::pxb,
                                 PathType::phb, PathType::sys, PathType::sys};
  return levels[std::min(old, 5)];
}

void check_list(std::string_view variable, std::string_view value) { parse_list(variable, value); }

int collective_index(Op op) {
  switch (op) {
    case Op::broadcast:
      return 0;
    case Op::reduce:
      return 1;
    case Op::all_gather:
      return 2;
    case Op::reduce_scatter:
      return 3;
    case Op::all_reduce:
      return 4;
    default:
      return -1;
  }
}

AllowTable<algorithms> allowed_algorithms(const Environment& env) {
  AllowTable<algorithms> table;
  for (auto& row : table) row.fill(Allowed::yes);
  apply<algorithms>(env, "NCCL_ALGO", table);
  return table;
}

AllowTable<protocols> allowed_protocols(const Environment& env) {
  AllowTable<protocols> table;
  for (auto& row : table) row = {Allowed::yes, Allowed::if_safe, Allowed::yes};
  apply<protocols>(env, "NCCL_PROTO", table);
  return table;
}

Datatype datatype(std::string_view name) {
  if (name == "float" || name == "float32") return {4, false, true, true, true};
  if (name == "half" || name == "float16" || name == "bfloat16") return {2, false, true, true, true};
  if (name == "double" || name == "float64") return {8, false, true, true, false};
  if (name == "int32" || name == "uint32") return {4, false, true, true, false};
  if (name == "int64" || name == "uint64") return {8, false, true, true, false};
  if (name == "int8" || name == "uint8") return {1, false, false, false, false};
  if (name == "fp8_e4m3" || name == "fp8_e5m2" || name == "f8e4m3" || name == "f8e5m2") {
    return {1, true, false, true, true};
  }
  const std::vector<std::string> known{"int8", "uint8", "int32",  "uint32",   "int64",    "uint64",
                                       "half", "float", "double", "bfloat16", "fp8_e4m3", "fp8_e5m2"};
  const auto near = sim::nearest(name, known);
  throw sim::InputError{
      "unknown datatype '" + std::string{name} + "'",
      near.empty() ? "nccl-tests' names: float, half, bfloat16, double, int8, …" : "did you mean '" + near + "'?"};
}

}  // namespace linkcast::models::nccl
