// Makes traces fit to be handed on: names of hosts, users, files and functions, addresses, ids of processes and of
// communicators, and what stands in environments, are replaced by pseudonyms; structure, sizes and times stay. Works
// on text, so that it needs no reader of the format. Knows no option of a command.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace linkcast::workloads {

struct AnonymiseOptions {
  std::string key;  // the same key gives the same pseudonyms; empty: a random one, which is forgotten
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // bytes of files, of both passes
  std::stop_token stop;
};

struct AnonymiseReport {
  struct File {
    std::string from, to;
  };
  std::vector<File> files;
  std::map<std::string, std::int64_t> replaced;  // "host" -> how many different ones
  bool interrupted = false;
};

/// One file to a file, several into the folder `output`, under names that say no more than the rank. Throws
/// sim::InputError: a binary file, an output that is an input, what cannot be read or written.
AnonymiseReport anonymise(const std::vector<std::string>& paths, const std::string& output,
                          const AnonymiseOptions& options = {});

}  // namespace linkcast::workloads
