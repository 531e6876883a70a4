// YAML text -> Fabric. What load(), load_cluster() and the fuzzer share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fabric_data.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/fabric.hpp"
#include "yaml_value.hpp"

namespace linkcast::topologies {

/// `name`: of the fabric where the file gives none. Files that it extends are looked up beside it.
Fabric load_yaml(const Source& file, const std::string& name, const LoadOptions& options);
Cluster load_cluster_yaml(const Source& file, const std::string& name, const ClusterOptions& options);

/// What a name stands for: an entry of the catalog, or a file with YAML or XML in it. Throws sim::InputError.
struct NamedTopology {
  Source file;
  std::string name;
  bool xml = false;
};
NamedTopology find_topology(std::string_view name_or_path);

/// A file with what it extends merged below it and its parameters chosen, before anything is built. Values point into
/// `document`.
struct TopologyFile {
  Problems problems;
  Value document;
  std::string name, title;
  std::vector<SourcedNumber> numbers;
  std::vector<std::pair<std::string, std::string>> params;
  const Value* parts = nullptr;
  const Value* node = nullptr;
  const Value* overrides = nullptr;
  const Value* nodes = nullptr;
  const Value* network = nullptr;

  const Profile* profile = nullptr;

  ReadContext context() { return {&problems, &numbers, profile}; }
  bool cluster() const { return nodes || network; }
  /// As one file: what it extends and what its parameters chose is written out.
  std::string self_contained() const;
};
std::unique_ptr<TopologyFile> read_topology_file(const Source& file, const std::string& name,
                                                 const std::map<std::string, std::string>& params,
                                                 const Profile* profile = nullptr);

/// The machine of the file with those `overrides` (null: none).
std::shared_ptr<Fabric::Data> build_machine(TopologyFile& file, const Value* overrides);
/// One that differs from `machine` by further overrides.
std::shared_ptr<Fabric::Data> changed_machine(TopologyFile& file, const Fabric::Data& machine, const Value& overrides);

}  // namespace linkcast::topologies
