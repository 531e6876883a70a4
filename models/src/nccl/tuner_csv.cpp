// Reads and writes the CSV files of NCCL's example tuner plugin: rules, and the measured data that its scripts take.
// The plugin takes a word that it does not know for a default without saying so (all_reduce, Ring, Simple); here that
// is a mistake with its place. Knows no communicator.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "linkcast/models/nccl/tuner.hpp"

namespace linkcast::models::nccl {
namespace {

constexpr std::size_t most_problems = 100;
constexpr std::size_t longest_line = 254;  // the plugin reads lines into 256 bytes

constexpr std::array<std::string_view, 5> collective_words{"broadcast", "reduce", "allgather", "reducescatter",
                                                           "allreduce"};
constexpr std::array ops{Op::broadcast, Op::reduce, Op::all_gather, Op::reduce_scatter, Op::all_reduce};
constexpr std::array<std::string_view, 7> algorithm_words{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, 3> protocol_words{"ll", "ll128", "simple"};

struct Field {
  std::string_view text;  // without the blanks around it
  int column = 1;
};

struct Line {
  int number = 0;
  std::string_view text;
  std::vector<Field> fields;
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::vector<Field> split(std::string_view line) {
  std::vector<Field> fields;
  for (std::size_t at = 0;;) {
    const auto comma = std::min(line.find(',', at), line.size());
    auto from = at, to = comma;
    while (from < to && blank(line[from])) ++from;
    while (to > from && blank(line[to - 1])) --to;
    fields.push_back({line.substr(from, to - from), static_cast<int>(from) + 1});
    if (comma == line.size()) return fields;
    at = comma + 1;
  }
}

/// Lines that are neither comments nor empty.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    auto first = line.begin();
    while (first != line.end() && blank(*first)) ++first;
    if (first == line.end() || *first == '#') continue;
    lines.push_back({number, line, split(line)});
  }
  return lines;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_{text}, file_{file} {}

  void report(const Line& line, const Field& field, std::string problem, std::string help) {
    if (problems_.size() >= most_problems) return;
    problems_.push_back({{file_, line.number, field.column, std::max(1, static_cast<int>(field.text.size()))},
                         std::move(problem),
                         std::move(help)});
  }

  template <std::size_t N>
  std::size_t word(const Line& line, const Field& field, const std::array<std::string_view, N>& known,
                   std::string_view what) {
    const auto it = std::find(known.begin(), known.end(), field.text);
    if (it != known.end()) return static_cast<std::size_t>(it - known.begin());
    std::vector<std::string> names{known.begin(), known.end()};
    auto near = sim::nearest(field.text, names);
    // Spelled as elsewhere: all_reduce, AllReduce, NVLSTree.
    const auto plain = [](std::string_view s) {
      std::string out;
      for (const char c : s)
        if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      return out;
    };
    for (const auto& n : names)
      if (plain(n) == plain(field.text)) near = n;
    std::string all;
    for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
    report(line, field, "unknown " + std::string{what} + " '" + std::string{field.text} + "'",
           near.empty() ? "one of: " + all : "did you mean '" + near + "'?");
    return 0;
  }

  std::int64_t whole(const Line& line, const Field& field, std::string_view what, std::int64_t least,
                     std::int64_t most) {
    std::uint64_t value = 0;
    auto digits = field.text;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool number =
        !digits.empty() && r.ptr == digits.data() + digits.size() && r.ec != std::errc::invalid_argument;
    if (!number) {
      report(line, field, std::string{what} + " '" + std::string{field.text} + "' is not a whole number",
             least < 0 ? "a count, or -1 for any" : "a number of bytes");
      return least;
    }
    // Sizes up to 2^64 - 1 are the plugin's; no machine holds more than 2^63 - 1.
    if (!negative && (r.ec == std::errc::result_out_of_range || value > static_cast<std::uint64_t>(most))) {
      if (most == TunerRule::no_limit && r.ec == std::errc{}) return most;
      report(line, field, std::string{what} + " " + std::string{field.text} + " is too large",
             "at most " + std::to_string(most));
      return most;
    }
    if (negative && (value != 1 || least >= 0)) {
      report(line, field, std::string{what} + " " + std::string{field.text} + " is negative",
             least < 0 ? "a count, or -1 for any" : "0 or more");
      return least;
    }
    if (!negative && static_cast<std::int64_t>(value) < std::max<std::int64_t>(0, least)) {
      report(line, field, std::string{what} + " must be positive", "a count, or -1");
      return least;
    }
    return negative ? -1 : static_cast<std::int64_t>(value);
  }

  int count(const Line& line, const Field& field, std::string_view what, int most, bool zero = false) {
    const auto v = whole(line, field, what, -1, most);
    if (v == 0 && !zero) report(line, field, std::string{what} + " must not be 0", "1 or more, or -1");
    return static_cast<int>(v);
  }

  double real(const Line& line, const Field& field, std::string_view what) {
    double value = 0;
    const auto r = std::from_chars(field.text.data(), field.text.data() + field.text.size(), value);
    if (field.text.empty() || r.ec != std::errc{} || r.ptr != field.text.data() + field.text.size() ||
        !(value >= 0 && value < 1e18)) {
      report(line, field, std::string{what} + " '" + std::string{field.text} + "' is not a number of 0 or more",
             "as in 52.1");
      return 0;
    }
    return value;
  }

  void finish() {
    if (!problems_.empty()) throw sim::InputError{std::move(problems_), text_};
  }

 private:
  std::string_view text_;
  const std::string& file_;
  std::vector<sim::Diagnostic> problems_;
};

const std::vector<std::string>& columns() {
  static const std::vector<std::string> names{"collective", "size_bytes",  "algorithm",      "protocol",
                                              "channels",   "nodes",       "ranks",          "pipeOps",
                                              "regBuff",    "cost_metric", "bandwidth_gbps", "latency_us"};
  return names;
}

constexpr int most_channels = 64, most_ranks = 10'000'000;

TunerRule rule_of(Reader& read, const Line& line) {
  const auto& f = line.fields;
  TunerRule r;
  r.line = line.number;
  r.op = ops[read.word(line, f[0], collective_words, "collective")];
  r.min_bytes = read.whole(line, f[1], "min_bytes", 0, TunerRule::no_limit);
  r.max_bytes = read.whole(line, f[2], "max_bytes", 0, TunerRule::no_limit);
  if (r.max_bytes < r.min_bytes)
    read.report(line, f[2], "max_bytes is less than min_bytes: no call matches", "write the smaller first");
  r.algorithm = static_cast<Algorithm>(read.word(line, f[3], algorithm_words, "algorithm"));
  r.protocol = static_cast<Protocol>(read.word(line, f[4], protocol_words, "protocol"));
  r.channels = read.count(line, f[5], "channels", most_channels);
  r.nodes = read.count(line, f[6], "nNodes", most_ranks);
  r.ranks = read.count(line, f[7], "nRanks", most_ranks);
  if (f.size() > 8) r.pipe_ops = read.count(line, f[8], "numPipeOps", most_ranks);
  if (f.size() > 9) r.registered = read.count(line, f[9], "regBuff", 1, true);
  return r;
}

}  // namespace

std::vector<std::size_t> Tuner::matching(Op op, std::int64_t bytes, int nodes, int ranks, bool registered) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& r = rules[i];
    const auto any_or = [](int wanted, int is) { return wanted < 0 || wanted == is; };
    if (r.op == op && bytes >= r.min_bytes && bytes <= r.max_bytes && any_or(r.nodes, nodes) &&
        any_or(r.ranks, ranks) && any_or(r.pipe_ops, 1) && any_or(r.registered, registered ? 1 : 0))
      found.push_back(i);
  }
  return found;
}

bool is_measured_tuning(std::string_view text) {
  const auto lines = lines_of(text);
  return !lines.empty() && lines[0].fields[0].text == columns()[0];
}

std::vector<TunerRule> read_tuner_rules(std::string_view text, const std::string& file) {
  Reader read{text, file};
  std::vector<TunerRule> rules;
  const auto lines = lines_of(text);
  for (const auto& line : lines) {
    if (line.text.size() > longest_line)
      read.report(line, {line.text, 1}, "the line is longer than 254 characters", "NCCL's plugin reads no more of it");
    if (line.fields.size() < 8 || line.fields.size() > 10) {
      read.report(
          line, {line.text, 1}, std::to_string(line.fields.size()) + " fields",
          "a rule has 8 to 10: "
          "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]");
      continue;
    }
    rules.push_back(rule_of(read, line));
  }
  read.finish();
  if (rules.empty())
    throw sim::InputError{{{{file, 0, 0, 1},
                            "no rule in this file",
                            "write lines such as "
                            "allreduce,0,65536,tree,ll,2,1,-1,-1,-1"}},
                          text};
  return rules;
}

std::vector<TunerMeasurement> read_tuner_measurements(std::string_view text, const std::string& file) {
  Reader read{text, file};
  std::vector<TunerMeasurement> rows;
  const auto lines = lines_of(text);
  if (lines.empty() || lines[0].fields[0].text != columns()[0])
    throw sim::InputError{{{{file, lines.empty() ? 0 : lines[0].number, 1, 1},
                            "the head of measured data is missing",
                            "the first line is collective,size_bytes,algorithm,protocol,…"}},
                          text};
  // Columns by name: later versions may add or move some.
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < lines[0].fields.size(); ++i) {
    const auto& f = lines[0].fields[i];
    if (std::find(columns().begin(), columns().end(), f.text) == columns().end()) {
      const auto near = sim::nearest(f.text, columns());
      read.report(lines[0], f, "unknown column '" + std::string{f.text} + "'",
                  near.empty() ? "known are collective, size_bytes, …, latency_us" : "did you mean '" + near + "'?");
    } else if (!place.emplace(std::string{f.text}, i).second) {
      read.report(lines[0], f, "the column '" + std::string{f.text} + "' stands here twice", "keep one");
    }
  }
  for (const auto* needed : {"collective", "size_bytes", "algorithm", "protocol", "cost_metric"})
    if (!place.contains(needed))
      read.report(lines[0], {lines[0].text, 1}, std::string{"the column '"} + needed + "' is missing",
                  "without it no row says what is best");
  read.finish();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto& line = lines[i];
    if (line.fields.size() != lines[0].fields.size()) {
      read.report(line, {line.text, 1}, std::to_string(line.fields.size()) + " fields",
                  "the head has " + std::to_string(lines[0].fields.size()));
      continue;
    }
    const auto field = [&](const char* name) -> const Field* {
      const auto it = place.find(name);
      return it == place.end() ? nullptr : &line.fields[it->second];
    };
    const auto count = [&](const char* name, int most, bool zero = false) {
      const auto* f = field(name);
      return f ? read.count(line, *f, name, most, zero) : -1;
    };
    TunerMeasurement m;
    m.line = line.number;
    m.op = ops[read.word(line, *field("collective"), collective_words, "collective")];
    m.bytes = read.whole(line, *field("size_bytes"), "size_bytes", 0, TunerRule::no_limit);
    m.algorithm = static_cast<Algorithm>(read.word(line, *field("algorithm"), algorithm_words, "algorithm"));
    m.protocol = static_cast<Protocol>(read.word(line, *field("protocol"), protocol_words, "protocol"));
    m.channels = count("channels", most_channels);
    m.nodes = count("nodes", most_ranks);
    m.ranks = count("ranks", most_ranks);
    m.pipe_ops = count("pipeOps", most_ranks);
    m.registered = count("regBuff", 1, true);
    m.cost = read.real(line, *field("cost_metric"), "cost_metric");
    if (const auto* f = field("bandwidth_gbps")) m.bandwidth_GBps = read.real(line, *f, "bandwidth_gbps");
    if (const auto* f = field("latency_us")) m.latency_us = read.real(line, *f, "latency_us");
    rows.push_back(m);
  }
  read.finish();
  if (rows.empty()) throw sim::InputError{{{{file, 0, 0, 1}, "no row below the head", "measure something"}}, text};
  return rows;
}

std::vector<TunerRule> rules_of(const std::vector<TunerMeasurement>& measured) {
  using Where = std::tuple<Op, int, int, int, int>;
  std::map<Where, std::map<std::int64_t, const TunerMeasurement*>> best;
  for (const auto& m : measured) {
    auto& at = best[{m.op, m.nodes, m.ranks, m.pipe_ops, m.registered}][m.bytes];
    if (!at || m.cost < at->cost) at = &m;
  }
  std::vector<TunerRule> rules;
  for (const auto& [_, sizes] : best) {
    for (auto it = sizes.begin(); it != sizes.end(); ++it) {
      const auto& m = *it->second;
      TunerRule r{m.op,
                  it == sizes.begin() ? 0 : it->first,
                  TunerRule::no_limit,
                  m.algorithm,
                  m.protocol,
                  m.channels,
                  m.nodes,
                  m.ranks,
                  m.pipe_ops,
                  m.registered,
                  m.line};
      if (const auto next = std::next(it); next != sizes.end()) r.max_bytes = next->first - 1;
      rules.push_back(r);
    }
  }
  std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return rules;
}

Tuner read_tuner(std::string_view text, const std::string& file) {
  if (is_measured_tuning(text)) return {file, rules_of(read_tuner_measurements(text, file))};
  return {file, read_tuner_rules(text, file)};
}

std::string csv_line(const TunerRule& r) {
  const auto op = std::find(ops.begin(), ops.end(), r.op);
  if (op == ops.end()) throw sim::InternalError("a tuner decides nothing about " + std::string{name_of(r.op)});
  std::string out{collective_words[static_cast<std::size_t>(op - ops.begin())]};
  for (const auto n : {r.min_bytes, r.max_bytes}) out += "," + std::to_string(n);
  out += "," + std::string{algorithm_words[static_cast<std::size_t>(r.algorithm)]};
  out += "," + std::string{protocol_words[static_cast<std::size_t>(r.protocol)]};
  for (const int n : {r.channels, r.nodes, r.ranks, r.pipe_ops, r.registered}) out += "," + std::to_string(n);
  return out;
}

}  // namespace linkcast::models::nccl
