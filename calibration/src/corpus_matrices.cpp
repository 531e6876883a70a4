// Reader of the corpus's kind `p2p_matrix`: matrices as p2pBandwidthLatencyTest and nvbandwidth printed them. Knows no
// topology.
#include <fmt/format.h>

#include <cmath>

#include "corpus_machine.hpp"
#include "corpus_tables.hpp"
#include "linkcast/calibration/readers.hpp"
#include "text_scan.hpp"

namespace linkcast::calibration {
namespace {

constexpr std::size_t kLargestFile = 16u << 20;

}  // namespace

Measurements read_corpus_matrices(std::string_view text, const std::string& where) {
  require_text(text, where, kLargestFile);
  YamlDocument yaml(text, where);
  Measurements out;
  if (yaml.load(std::string(text))) {
    CorpusMachine machine;
    machine.id = stem_of(where);
    YAML::Node matrices;
    yaml.each(yaml.root, [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (key == "matrices")
        matrices = value;
      else if (!machine.read(key, value, yaml))
        report_unknown_key(key, at, {"matrices"}, yaml);
    });
    if (!matrices || !matrices.IsSequence() || matrices.size() == 0) {
      yaml.problem(yaml.root, "no list 'matrices'", "expected '- name: …', 'unit: GB/s', 'matrix:' and its rows");
    } else {
      for (const auto& node : matrices) {
        PairMatrix matrix;
        const auto why = read_matrix(node, "name", matrix, yaml);
        if (!why.empty()) {
          out.notes.push_back(fmt::format("{}: '{}' is left out: {}", where, matrix.title, why));
          continue;
        }
        matrix.id = fmt::format("{}#{}", machine.id, out.matrices.size() + 1);
        matrix.source = machine.source;
        matrix.system = machine.system;
        matrix.gpu = machine.gpu;
        matrix.healthy = machine.healthy;
        matrix.cause = machine.cause;
        out.matrices.push_back(std::move(matrix));
      }
    }
  }
  yaml.problems.throw_if_any();
  return out;
}

}  // namespace linkcast::calibration
