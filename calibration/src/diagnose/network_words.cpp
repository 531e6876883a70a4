// What people call a network: one table for what files say and for what an option may say. Knows no machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "../text_scan.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "machine.hpp"

namespace linkcast::calibration::diagnosis {
namespace {

/// A word that begins so names the network: "NDR400", "RoCEv2", "sockets". Rows in the order in which they count where
/// several are named: "RDMA over Converged Ethernet" is RoCE, "IPoIB over HDR" is TCP.
struct Row {
  std::string_view word, kind;
  bool whole = false;
};
constexpr std::string_view nvlink = "nvlink";
constexpr std::array table{
    Row{"tcpxo", "tcpxo"},   Row{"fastrak", "tcpxo"}, Row{"tcpx", "tcpx"},  Row{"slingshot", "slingshot"},
    Row{"efa", "efa"},       Row{"ipoib", "tcp"},     Row{"roce", "roce"},  Row{"ethernet", "roce"},
    Row{"spectrum", "roce"}, Row{"infiniband", "ib"}, Row{"ndr", "ib"},     Row{"hdr", "ib"},
    Row{"edr", "ib"},        Row{"fdr", "ib"},        Row{"xdr", "ib"},     Row{"rdma", "ib"},
    Row{"ib", "ib", true},   Row{"tcp", "tcp"},       Row{"socket", "tcp"}, Row{"nvlink", nvlink},
    Row{"nvl", nvlink},      Row{"nvswitch", nvlink}, Row{"mnnvl", nvlink},
};

/// "4xEDR", "200GbE": the name without the number before it.
std::string_view without_count(std::string_view word) {
  std::size_t at = 0;
  while (at < word.size() && std::isdigit(static_cast<unsigned char>(word[at])) != 0) ++at;
  if (at > 0 && at < word.size() && word[at] == 'x') ++at;
  return word.substr(at);
}

bool named(const Row& row, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& w) {
    const auto name = without_count(w);
    return row.whole ? name == row.word : name.starts_with(row.word);
  });
}

/// Null: none of the words names a network.
const Row* row_of(const std::string& text) {
  const auto words = words_in(text);
  const auto it = std::find_if(table.begin(), table.end(), [&](const Row& row) { return named(row, words); });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

std::string kind_of_network(const std::string& words) {
  const auto* row = row_of(words);
  return row == nullptr || row->kind == nvlink ? std::string{} : std::string(row->kind);
}

bool names_nvlink(const std::string& words) {
  const auto split = words_in(words);
  return std::any_of(table.begin(), table.end(), [&](const Row& r) { return r.kind == nvlink && named(r, split); });
}

std::string network_named(const std::string& words) {
  if (words.empty() || row_of(words) != nullptr) return kind_of_network(words);
  std::vector<std::string> known;
  for (const auto& row : table) known.emplace_back(row.word);
  const auto near = sim::nearest(lower(words), known);
  throw sim::InputError(
      fmt::format("unknown network '{}'", words),
      near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
}

}  // namespace linkcast::calibration::diagnosis
