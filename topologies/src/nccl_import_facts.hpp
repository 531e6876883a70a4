// What NCCL's XML says of PCI devices beyond the bandwidth that NCCL makes of it. Knows no machine.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linkcast::topologies {

struct PciFacts {
  std::string bus, pci_class, vendor, device;  // as written; empty: not said
  int generation = 0, width = 0;               // 0: not said
};

struct XmlFacts {
  std::map<std::pair<int, std::string>, PciFacts> pci;  // by host (in the order of the file) and address
  std::vector<std::string> notes;                       // links that are narrower or slower than their likes'
};
XmlFacts facts_of_xml(std::string_view text);

}  // namespace linkcast::topologies
