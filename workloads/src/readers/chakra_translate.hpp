// Chakra nodes of one rank, in order of their dependencies, as operations. Knows no file.
//   compute on the GPU: stream "main", or the traced stream; on the CPU: a gap on its thread
//   collectives: a stream per communicator; messages: a stream per peer (of 32)
// A send is buffered: who depends on it waits for what it waited for. Rings of send-then-receive, which ASTRA-sim's
// custom collectives are, would otherwise wait for each other forever.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "chakra_node.hpp"
#include "linkcast/workloads/recording.hpp"
#include "stream_names.hpp"

namespace linkcast::workloads::readers::chakra {

/// What all ranks of a recording share.
struct Shared {
  int world = 0;
  const std::vector<RecordedCommunicator>* communicators = nullptr;
  std::shared_ptr<Names> names;
  std::shared_ptr<ReadReport> report;
  StreamNames streams;
  std::unordered_map<std::string, std::uint32_t> short_names;  // at most `most_names` of them
  static constexpr std::size_t most_names = std::size_t{1} << 16;

  std::uint32_t name(const std::string& text, NodeType type);
};

class Translator {
 public:
  Translator(std::shared_ptr<Shared> shared, int rank, std::string path, std::map<std::string, std::uint32_t> groups);
  /// False: nothing to do for this node.
  bool operator()(const Node& n, Operation& out);

 private:
  bool collective(const Node& n, Operation& out);
  bool message(const Node& n, Operation& out);
  void skip(std::string_view why, const Node& n, std::string_view what = {});
  /// Who depends on `id` waits for `after` instead.
  void pass_on(std::uint64_t id, const std::vector<std::uint64_t>& after);

  std::shared_ptr<Shared> shared_;
  int rank_;
  std::string path_;
  std::map<std::string, std::uint32_t> groups_;                             // pg_name -> communicator
  std::vector<bool> member_;                                                // by communicator
  std::map<std::int64_t, std::uint32_t> sends_, receives_;                  // peer -> stream
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> buffered_;  // what it waited for
  std::deque<std::uint64_t> buffered_order_;
};

}  // namespace linkcast::workloads::readers::chakra
