// Words about numbers. See figure_words.hpp.
#include "figure_words.hpp"

#include <algorithm>
#include <cctype>

#include "pair_test_rows.hpp"
#include "secrets.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr long kMostRanks = 10'000'000;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The whole number that ends before `at` (blanks and " x " aside), when it is no part of a range or of a longer
/// word.
int number_before(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] == ' ') --at;
  auto from = at;
  while (from > 0 && is_digit(text[from - 1])) --from;
  if (from == at) return 0;
  const auto before = text.substr(0, from);
  if (from > 0 &&
      (std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == '.' || text[from - 1] == '-'))
    return 0;
  for (const std::string_view range : {" to ", " or ", "/"}) {
    if (before.size() > range.size() && before.substr(before.size() - range.size()) == range) return 0;
  }
  const auto n = whole_in(text.substr(from, at - from)).value_or(0);
  return n > 0 && n <= kMostRanks ? static_cast<int>(n) : 0;
}

}  // namespace

int count_before(std::string_view original, std::string_view word) {
  const auto text = lower(original);
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if (const int n = number_before(text, at); n > 0) return n;
  }
  return 0;
}

std::optional<models::nccl::Op> op_in_words(std::string_view original) {
  const auto text = lower(original);
  std::optional<models::nccl::Op> found;
  auto first = std::string::npos;
  for (const auto& name : models::nccl::op_names()) {
    auto plain = name;
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    auto hyphened = name;
    std::replace(hyphened.begin(), hyphened.end(), '_', '-');
    for (const auto& spelling : {name, plain, hyphened}) {
      const auto at =
          has_word(text, spelling) || has_word(text, spelling + "_perf") ? text.find(spelling) : std::string::npos;
      if (at < first) first = at, found = models::nccl::op_from(name);
    }
  }
  return found;
}

Figure::Metric metric_in_words(std::string_view original, bool names_op, bool names_size) {
  const auto text = lower(original);
  const auto holds = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const bool average = has_word(text, "average") || has_word(text, "avg");
  if (holds("algbw") || holds("algorithm bandwidth") || holds("algorithmic bandwidth")) return Figure::Metric::algbw;
  // The mean over a sweep; of one size it is the mean of out-of-place and in-place, which is its bus bandwidth.
  if (average && (names_op || holds("busbw") || holds("bus bandwidth")) && !names_size)
    return Figure::Metric::average_busbw;
  if (holds("busbw") || holds("bus bandwidth")) return Figure::Metric::busbw;
  if (names_op || holds("dispatch") || holds("combine") || holds("per link")) return Figure::Metric::unknown;
  if (holds("host to device") || holds("device to host") || holds("h2d") || holds("d2h"))
    return Figure::Metric::host_copy;
  if (holds("bidirectional") || holds("both directions")) return Figure::Metric::p2p_bidirectional;
  if (has_word(text, "p2p") || holds("peer") || holds("one direction") || holds("unidirectional") || holds("nvlink"))
    return Figure::Metric::p2p;
  return Figure::Metric::unknown;
}

int nodes_in_words(std::string_view original) {
  const auto text = lower(original);
  for (const std::string_view one : {"single node", "single-node", "one node"}) {
    if (text.find(one) != std::string::npos) return 1;
  }
  if (text.find("two nodes") != std::string::npos) return 2;
  const auto nvl = text.find(" x nvl");
  return nvl == std::string::npos ? count_before(text, "node") : number_before(text, nvl);
}

std::optional<int> ranks_in_words(std::string_view original, const MachineSize& machine) {
  const auto text = lower(original);
  const int nodes = nodes_in_words(text) > 0 ? nodes_in_words(text) : machine.nodes;
  for (const std::string_view word : {"ranks", "rank", "gpus", "gpu"}) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const int n = number_before(text, at);
      if (n == 0) continue;
      const auto clause = text.substr(at, text.find_first_of(",;:", at) - at);
      const bool per_node = clause.find("per node") != std::string::npos || clause.find("/node") != std::string::npos;
      if (!per_node) return n;
      if (nodes == 0 || n > kMostRanks / nodes) return std::nullopt;
      return n * nodes;
    }
  }
  if (nodes_in_words(text) > 0 && machine.gpus_per_node > 0 && nodes <= kMostRanks / machine.gpus_per_node)
    return nodes * machine.gpus_per_node;
  return std::nullopt;
}

std::map<std::string, std::string> env_in_words(std::string_view original) {
  std::map<std::string, std::string> env;
  for (auto at = original.find("NCCL_"); at != std::string_view::npos; at = original.find("NCCL_", at + 1)) {
    auto end = at;
    while (end < original.size() &&
           (std::isalnum(static_cast<unsigned char>(original[end])) != 0 || original[end] == '_'))
      ++end;
    if (end == original.size() || original[end] != '=') continue;
    const auto value = original.substr(end + 1, original.find_first_of(" ,;)", end) - end - 1);
    const auto name = original.substr(at, end - at);
    if (!value.empty()) env[std::string(name)] = shown_value_of(name, value);
  }
  const auto text = lower(original);
  const auto holds = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const auto set = [&](const char* name, const char* value) { env.try_emplace(name, value); };
  // "NVLS by default" and "ring (default)" say what NCCL chose, not what was forced.
  if (holds("default")) return env;
  const bool nvls_off = holds("nvls off") || holds("nvls disabled") || holds("without nvls") || holds("no nvls");
  if (nvls_off) set("NCCL_NVLS_ENABLE", "0");
  if (holds("p2p off") || holds("p2p disabled") || holds("without p2p") || has_word(text, "shm"))
    set("NCCL_P2P_DISABLE", "1");
  if (has_word(text, "ring"))
    set("NCCL_ALGO", "Ring");
  else if (has_word(text, "nvlstree"))
    set("NCCL_ALGO", "NVLSTree");
  else if (has_word(text, "tree"))
    set("NCCL_ALGO", "Tree");
  else if (has_word(text, "nvls") && !nvls_off && !holds("nvls on"))
    set("NCCL_ALGO", "NVLS");
  return env;
}

void read_test_words(std::string_view text, PairTest& test) {
  if (auto tool = tool_in(text); !tool.empty()) test.tool = std::move(tool);
  const auto words = lower(text);
  const auto holds = [&](std::string_view word) { return words.find(word) != std::string::npos; };
  if (holds("one nic") || holds("per nic") || holds("single nic"))
    test.nics = 1;
  else if (const int nics = count_before(words, "nic"); nics > 0)
    test.nics = nics;
  else if (const int hcas = count_before(words, "hcas"); hcas > 0)
    test.nics = hcas;
  if (const int qps = count_before(words, "qp"); qps > 0) test.qps = qps;
  test.bidirectional = test.bidirectional || holds("bidirectional");
  test.memory = memory_in(words);
}

}  // namespace linkcast::calibration
