// Everything that people measure of a cluster, whatever tool wrote it: collectives (Series), bandwidth and latency
// between GPUs (matrices), tests between two hosts (perftest, OSU), and single figures ("186 GB/s all_reduce"). What
// `calibrate fit`, `calibrate check` and `diagnose` take. Knows no model and no prediction.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkcast/calibration/series.hpp"

namespace linkcast::calibration {

enum class Engine : unsigned char { unknown, copy_engine, sm };
enum class MemoryKind : unsigned char { unknown, host, gpu };

/// p2pBandwidthLatencyTest, nvbandwidth, `calibrate measure`: one number for each ordered pair. The diagonal (a GPU's
/// own memory) is kept where the tool prints it. Nothing: not measured.
struct PairMatrix {
  std::string id, source, title;
  std::optional<std::string> system;  // catalog name
  std::string gpu;                    // as the tool names it, may be empty
  bool latency = false;               // cells in us; else GB/s
  bool bidirectional = false;         // cells count both directions together
  std::optional<bool> peer_access;    // P2P=Enabled / Disabled; nothing: the tool does not say
  bool read = false;                  // the destination pulls (nvbandwidth read); else the source pushes
  bool to_host = false;               // one row, GPU against host memory (device to host), not GPU against GPU
  bool from_host = false;             // one row, host to device
  Engine engine = Engine::unknown;
  sim::Bytes size{0};  // of a copy; 0: not stated
  bool healthy = true;
  std::string cause;
  std::vector<std::vector<std::optional<double>>> cells;  // [from][to]
};

/// perftest's ib_*_bw / ib_*_lat, OSU: between two hosts, by size.
struct PairTest {
  std::string id, source, title;
  std::string tool;  // "ib_write_bw", "ib_send_lat", "osu_bw", …
  std::optional<std::string> system;
  std::string from, to;  // host names, where known
  std::string fabric;    // ib, roce, slingshot, …; empty: not stated
  double nic_gbps = 0;   // of one NIC, Gb/s; 0: not stated
  int nics = 1;          // that took part together
  int qps = 0;           // 0: not stated
  bool latency = false;  // values in us; else GB/s (1e9 bytes a second)
  bool bidirectional = false;
  MemoryKind memory = MemoryKind::unknown;
  bool healthy = true;
  std::string cause;
  struct Row {
    sim::Bytes size{0};  // 0: not stated (a single figure)
    double value = 0;
  };
  std::vector<Row> rows;
};

/// What `calibrate measure` finds out about one part at a time; the other tools have no word for it.
struct Probe {
  enum class Kind : unsigned char {
    launch_kernel,  // an empty kernel on `gpus` GPUs in turn by one thread; time until all have ended
    launch_graph,   // the same as a captured graph
    chase,          // one dependent load from `from`'s SM in the memory of `to`
    sm_copy,        // `blocks` thread blocks of `from` copy `size` bytes to `to` (which may be itself)
    sm_reduce,      // the same, of the sum of two buffers
    pattern,        // copies side by side; `time` is that of the slowest
  };
  Kind kind = Kind::launch_kernel;
  std::string id, source, title;
  std::optional<std::string> system;
  std::string gpu;
  Engine engine = Engine::unknown;  // of patterns
  struct Copy {
    int from = 0, to = 0;  // GPUs by number; -1: host memory
  };
  struct Row {
    int gpus = 1, blocks = 0;
    sim::Bytes size{0};
    std::vector<Copy> copies;  // side by side; chase: the one way
    sim::Time time, spread;
  };
  std::vector<Row> rows;
};

/// One number that somebody quotes.
struct Figure {
  enum class Metric : unsigned char { busbw, algbw, unknown, average_busbw, p2p, p2p_bidirectional, host_copy };
  Metric metric = Metric::busbw;
  std::optional<models::nccl::Op> op;
  std::optional<sim::Bytes> size;
  std::optional<int> ranks;
  double GBps = 0;
  std::string what;  // in the source's words
  std::map<std::string, std::string> env;
};

/// What a person says about the machine without a topology file. Empty and 0: not stated.
struct Hardware {
  std::string gpu;  // "H100 SXM", as written
  int gpus_per_node = 0, nodes = 0;
  int nics_per_node = 0;
  double nic_gbps = 0;
  std::string fabric;  // as written
  std::string cpu;
};

/// A case file (`hardware` and `measurements`), or what the command line says. The answer that a case file may hold is
/// kept apart: only tests look at it.
struct Case {
  std::string id, source;
  Hardware hardware;
  std::optional<models::nccl::Version> nccl;
  std::vector<Series> series;
  std::vector<PairMatrix> matrices;
  std::vector<PairTest> tests;
  std::vector<Figure> figures;
  struct Answer {
    std::string verdict, cause;  // "normal" | "degraded"
  };
  std::optional<Answer> answer;
};

struct Measurements {
  std::vector<Series> series;
  std::vector<PairMatrix> matrices;
  std::vector<PairTest> tests;
  std::vector<Figure> figures;
  std::vector<Case> cases;
  std::vector<Probe> probes;
  std::vector<std::string> notes;  // what was left out, and why
  bool empty() const {
    return series.empty() && matrices.empty() && tests.empty() && figures.empty() && cases.empty() && probes.empty();
  }
};

/// Files and folders of any format that is known: nccl-tests text and JSON, the corpus's kinds (collective, p2p_matrix,
/// perftest, osu, points, diagnosis cases), perftest, nvbandwidth and p2pBandwidthLatencyTest output, NCCL inspector
/// JSONL, and `calibrate measure`'s own file. Throws sim::InputError with every problem of every file.
Measurements read_everything(std::span<const std::filesystem::path> paths, const Hints& hints = {});

}  // namespace linkcast::calibration
