// MSCCL's algorithm XML, as topo.cc of microsoft/msccl reads it and ir.py of msccl-tools writes it:
// <algo><gpu><tb><step/></tb></gpu></algo>. A thread block has at most one peer to send to and one to receive from;
// both sides of a connection name it by the same chan. Knows the format only.
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include <pugixml.hpp>

#include "readers.hpp"

namespace linkcast::workloads::algorithms {
namespace {

using Plan = AlgorithmPlan;
using Xml = pugi::xml_node;

struct Dependency {
  int block, step;  // as the file counts: of the same GPU
  Place at;
};

class Reader {
 public:
  Reader(Problems& problems, const std::string& file) : problems_{problems} {
    plan_.file = file;
    plan_.format = "MSCCL";
    plan_.loops = true;
  }

  Plan read() {
    const auto text = problems_.text();
    const auto parsed = document_.load_buffer(text.data(), text.size());
    if (!parsed) {
      problems_.add(problems_.place(static_cast<std::size_t>(parsed.offset)),
                    std::string{"this is not well-formed XML: "} + parsed.description(),
                    "msccl-tools writes such a file: XML(program)");
      problems_.finish();
    }
    const auto algo = document_.child("algo");
    if (!algo) {
      problems_.add(place(document_.first_child()), "no <algo> element",
                    "an MSCCL algorithm begins with <algo name=…>");
      problems_.finish();
    }
    head(algo);
    int index = 0;
    for (const auto gpu : algo.children()) {
      if (gpu.type() != pugi::node_element) continue;
      if (!is(gpu, "gpu")) continue;
      read_gpu(gpu, index++);
    }
    if (index != plan_.ranks() && index < plan_.ranks())
      report(
          algo, "ngpus",
          "ngpus is " + std::to_string(plan_.ranks()) + ", but there are " + std::to_string(index) + " <gpu> elements",
          "each GPU has its own");
    if (!problems_.any()) check_shape(problems_, place(algo), plan_);
    problems_.finish();
    connect();
    depend();
    return std::move(plan_);
  }

 private:
  Place place(Xml e) const {
    return problems_.place(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, e.offset_debug())));
  }
  /// The value of an attribute; of the element where it is missing.
  Place place(Xml e, const char* name) const {
    const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, e.offset_debug()));
    const auto text = problems_.text();
    const auto end = text.find('>', from);
    const auto at = text.find(std::string{" "} + name + "=", from);
    return at == std::string_view::npos || at > end ? place(e) : problems_.place(at + 1);
  }
  void report(Xml e, const char* name, std::string problem, std::string help) {
    problems_.add(place(e, name), std::move(problem), std::move(help), static_cast<int>(std::string_view{name}.size()));
  }
  bool is(Xml e, const std::string& expected) {
    if (e.name() == expected) return true;
    problems_.add(place(e), std::string{"unexpected element <"} + e.name() + ">", "expected here: <" + expected + ">");
    return false;
  }

  std::int64_t number(Xml e, const char* name, std::int64_t least, std::int64_t most,
                      std::optional<std::int64_t> otherwise = std::nullopt) {
    const auto a = e.attribute(name);
    if (!a) {
      if (otherwise) return *otherwise;
      report(e, name, std::string{"<"} + e.name() + "> has no '" + name + "'", "a whole number");
      return least;
    }
    const std::string_view s = a.value();
    std::int64_t value = 0;
    const auto r = std::from_chars(s.data(), s.data() + s.size(), value);
    if (s.empty() || r.ec != std::errc{} || r.ptr != s.data() + s.size()) {
      report(e, name, std::string{name} + "=\"" + std::string{s} + "\" is not a whole number",
             "from " + std::to_string(least) + " to " + std::to_string(most));
      return least;
    }
    if (value < least || value > most) {
      report(e, name, std::string{name} + "=\"" + std::string{s} + "\" is out of range",
             "from " + std::to_string(least) + " to " + std::to_string(most));
      return least;
    }
    return value;
  }
  int whole(Xml e, const char* name, int least, int most, std::optional<std::int64_t> otherwise = std::nullopt) {
    return static_cast<int>(number(e, name, least, most, otherwise));
  }
  std::string_view word(Xml e, const char* name) {
    if (const auto a = e.attribute(name)) return a.value();
    report(e, name, std::string{"<"} + e.name() + "> has no '" + name + "'", "MSCCL needs it");
    return {};
  }

  void head(Xml algo) {
    plan_.name = algo.attribute("name").value();
    if (const auto w = word(algo, "coll"); !w.empty()) plan_.op = collective(problems_, place(algo, "coll"), w);
    if (const auto w = word(algo, "proto"); !w.empty()) plan_.protocol = protocol(problems_, place(algo, "proto"), w);
    plan_.channels = whole(algo, "nchannels", 1, 1024);
    plan_.chunks = whole(algo, "nchunksperloop", 1, most_chunks);
    plan_.gpus.resize(static_cast<std::size_t>(whole(algo, "ngpus", 1, most_ranks)));
    plan_.in_place = whole(algo, "inplace", 0, 1, 0) == 1;
    plan_.root = whole(algo, "root", 0, plan_.ranks() - 1, 0);
    plan_.min_bytes = number(algo, "minBytes", 0, std::numeric_limits<std::int64_t>::max(), 0);
    // MSCCL takes 0 for no limit.
    if (const auto most = number(algo, "maxBytes", 0, std::numeric_limits<std::int64_t>::max(), 0); most > 0)
      plan_.max_bytes = most;
    if (plan_.max_bytes < plan_.min_bytes)
      report(algo, "maxBytes", "maxBytes is less than minBytes: no call fits", "write the smaller first");
    check_shape(problems_, place(algo), plan_);
    problems_.finish();
  }

  void read_gpu(Xml e, int index) {
    const int id = whole(e, "id", 0, plan_.ranks() - 1, index);
    auto& gpu = plan_.gpus[static_cast<std::size_t>(id)];
    if (!seen_gpus_.insert(id).second) {
      report(e, "id", "GPU " + std::to_string(id) + " is described twice", "each has one <gpu>");
      return;
    }
    const auto at = place(e);
    gpu = {whole(e, "i_chunks", 0, most_chunks), whole(e, "o_chunks", 0, most_chunks),
           whole(e, "s_chunks", 0, most_chunks), at.line, at.column};
    if (plan_.op) {
      gpu.input = std::max(gpu.input, plan_.input_chunks(*plan_.op));
      gpu.output = std::max(gpu.output, plan_.output_chunks(*plan_.op));
    }
    std::map<int, int> ids;
    for (const auto tb : e.children()) {
      if (tb.type() != pugi::node_element || !is(tb, "tb")) continue;
      const int tb_id = whole(tb, "id", 0, most_blocks - 1);
      if (!ids.emplace(tb_id, 0).second)
        report(tb, "id", "GPU " + std::to_string(id) + " has two thread blocks " + std::to_string(tb_id),
               "count them 0, 1, …");
      if (plan_.blocks.size() >= static_cast<std::size_t>(most_blocks)) {
        report(tb, "id", "more than " + std::to_string(most_blocks) + " thread blocks",
               "no published algorithm has so many");
        return;
      }
      read_block(tb, id, tb_id);
    }
  }

  void read_block(Xml e, int rank, int id) {
    const auto at = place(e);
    Ends ends;
    ends.element = e;
    ends.send = whole(e, "send", -1, plan_.ranks() - 1);
    ends.receive = whole(e, "recv", -1, plan_.ranks() - 1);
    const int channel = whole(e, "chan", 0, plan_.channels - 1);
    for (const auto& [peer, name] : {std::pair{ends.send, "send"}, std::pair{ends.receive, "recv"}})
      if (peer == rank)
        report(e, name, "a thread block of GPU " + std::to_string(rank) + " has itself as peer",
               "copies on one GPU are steps of type cpy");
    Plan::Block block{rank, id, channel, at.line, at.column, {}};
    std::vector<std::vector<Dependency>> waits;
    int expected = 0;
    for (const auto s : e.children()) {
      if (s.type() != pugi::node_element || !is(s, "step")) continue;
      if (const int n = whole(s, "s", 0, 1 << 24); n != expected)
        report(s, "s", "step " + std::to_string(n) + " stands where step " + std::to_string(expected) + " is expected",
               "MSCCL counts the steps of a thread block 0, 1, …");
      ++expected;
      read_step(s, block, ends, waits.emplace_back());
    }
    index_[{rank, id}] = static_cast<int>(plan_.blocks.size());
    plan_.blocks.push_back(std::move(block));
    ends_.push_back(std::move(ends));
    waits_.push_back(std::move(waits));
  }

  struct Kind {
    bool receives, sends, reads, writes;
  };
  const Kind* kind(Xml s) {
    static const std::map<std::string, Kind, std::less<>> kinds{
        {"s", {false, true, true, false}},   {"r", {true, false, false, true}},  {"rcs", {true, true, false, true}},
        {"rrc", {true, false, true, true}},  {"rrs", {true, true, true, false}}, {"rrcs", {true, true, true, true}},
        {"cpy", {false, false, true, true}}, {"re", {false, false, true, true}}, {"nop", {false, false, false, false}}};
    const auto w = word(s, "type");
    if (const auto it = kinds.find(w); it != kinds.end()) return &it->second;
    if (!w.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, _] : kinds) names.push_back(name);
      const auto near = sim::nearest(w, names);
      report(s, "type", "unknown type of step '" + std::string{w} + "'",
             near.empty() ? "one of: s, r, rcs, rrc, rrs, rrcs, cpy, re, nop" : "did you mean '" + near + "'?");
    }
    return nullptr;
  }

  Plan::Range range(Xml s, const char* buffer, const char* offset, int rank, int count) {
    Plan::Range r{rank, Plan::Buffer::input, 0};
    const auto w = word(s, buffer);
    const auto& gpu = plan_.gpus[static_cast<std::size_t>(rank)];
    int size = gpu.input;
    if (w == "o") {
      r.buffer = Plan::Buffer::output;
      size = gpu.output;
    } else if (w == "s") {
      r.buffer = Plan::Buffer::scratch;
      size = gpu.scratch;
    } else if (w != "i" && !w.empty()) {
      report(s, buffer, "unknown buffer '" + std::string{w} + "'", "i (input), o (output) or s (scratch)");
      return r;
    }
    r.offset = whole(s, offset, 0, most_chunks);
    if (r.offset + count > size)
      report(s, offset,
             "chunks " + std::to_string(r.offset) + " to " + std::to_string(r.offset + count - 1) + " of buffer " +
                 std::string{w} + " of GPU " + std::to_string(rank) + ": it has " + std::to_string(size),
             "raise " + std::string{w} + "_chunks, or correct the offset");
    return r;
  }

  struct Ends {
    Xml element;
    int send = -1, receive = -1;
    int out = -1, in = -1;                        // queues
    std::vector<std::size_t> sending, receiving;  // steps
  };

  void read_step(Xml s, Plan::Block& block, Ends& ends, std::vector<Dependency>& waits) {
    const auto at = place(s);
    Plan::Step step;
    step.line = at.line;
    step.column = at.column;
    const auto* k = kind(s);
    if (k) {
      step.type = s.attribute("type").value();
      const bool moves = k->receives || k->sends || k->reads || k->writes;
      if (moves) {
        step.count = whole(s, "cnt", 1, most_chunks);
        moves_ += step.count;
        if (moves_ > most_moves) {
          if (moves_ - step.count <= most_moves)
            report(s, "cnt", "the steps handle more than 4 million chunks", "no published algorithm does");
          step.count = 0;
        }
      }
      if (k->reads) step.reads.push_back(range(s, "srcbuf", "srcoff", block.rank, step.count));
      if (k->writes) step.writes.push_back(range(s, "dstbuf", "dstoff", block.rank, step.count));
      if (step.type == "re") step.reads.push_back(step.writes.front());
      if (k->sends) {
        ends.sending.push_back(block.steps.size());
        if (ends.send < 0)
          report(s, "type", "a step that sends in a thread block without a peer to send to", "name it in <tb send=…>");
      }
      if (k->receives) {
        ends.receiving.push_back(block.steps.size());
        if (ends.receive < 0)
          report(s, "type", "a step that receives in a thread block without a peer to receive from",
                 "name it in <tb recv=…>");
      }
    }
    const int on = whole(s, "depid", -1, most_blocks, -1), of = whole(s, "deps", -1, 1 << 24, -1);
    if (on >= 0 && of >= 0) waits.push_back({on, of, place(s, "depid")});
    block.steps.push_back(std::move(step));
  }

  /// Both ends of each connection, by (sender, receiver, channel).
  void connect() {
    std::map<std::tuple<int, int, int>, std::pair<int, int>> ways;  // blocks
    const auto claim = [&](std::size_t b, int from, int to, int peer, bool sending) {
      if (peer < 0) return;
      auto& way = ways.emplace(std::tuple{from, to, plan_.blocks[b].channel}, std::pair{-1, -1}).first->second;
      int& end = sending ? way.first : way.second;
      if (end >= 0)
        report(ends_[b].element, sending ? "send" : "recv",
               std::string{"two thread blocks "} + (sending ? "send" : "receive") + " from GPU " +
                   std::to_string(from) + " to GPU " + std::to_string(to) + " on channel " +
                   std::to_string(plan_.blocks[b].channel),
               "give one of them another chan");
      else
        end = static_cast<int>(b);
    };
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      const auto& e = ends_[b];
      claim(b, plan_.blocks[b].rank, e.send, e.send, true);
      claim(b, e.receive, plan_.blocks[b].rank, e.receive, false);
    }
    for (const auto& [key, way] : ways) {
      const auto [from, to, channel] = key;
      const auto [sender, receiver] = way;
      if (sender < 0 || receiver < 0) {
        const auto b = static_cast<std::size_t>(std::max(sender, receiver));
        const auto& uses = sender < 0 ? ends_[b].receiving : ends_[b].sending;
        if (uses.empty()) continue;  // named, never used
        report(ends_[b].element, sender < 0 ? "recv" : "send",
               "GPU " + std::to_string(sender < 0 ? from : to) + " has no thread block that " +
                   (sender < 0 ? "sends to GPU " + std::to_string(to) : "receives from GPU " + std::to_string(from)) +
                   " on channel " + std::to_string(channel),
               "the two ends of a connection have the same chan");
        continue;
      }
      const int queue = static_cast<int>(plan_.queues.size());
      plan_.queues.push_back({sender, receiver, true});
      auto& s = plan_.blocks[static_cast<std::size_t>(sender)];
      auto& r = plan_.blocks[static_cast<std::size_t>(receiver)];
      for (const auto i : ends_[static_cast<std::size_t>(sender)].sending) s.steps[i].give.push_back(queue);
      for (const auto i : ends_[static_cast<std::size_t>(receiver)].receiving) r.steps[i].take.push_back(queue);
    }
    problems_.finish();
  }

  /// depid/deps as flags. A step is passed for good: what an earlier step of the block has waited for needs no flag.
  void depend() {
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      std::map<int, int> passed;  // block -> the latest step waited for
      for (std::size_t i = 0; i < waits_[b].size(); ++i) {
        for (const auto& d : waits_[b][i]) {
          const int rank = plan_.blocks[b].rank;
          const auto found = index_.find({rank, d.block});
          if (found == index_.end()) {
            problems_.add(
                d.at,
                "depid " + std::to_string(d.block) + ": GPU " + std::to_string(rank) + " has no such thread block",
                "a step waits for another block of its own GPU");
            continue;
          }
          auto& on = plan_.blocks[static_cast<std::size_t>(found->second)];
          if (d.step >= static_cast<int>(on.steps.size())) {
            problems_.add(d.at,
                          "deps " + std::to_string(d.step) + ": thread block " + std::to_string(d.block) + " has " +
                              std::to_string(on.steps.size()) + " steps",
                          "they count from 0");
            continue;
          }
          if (found->second == static_cast<int>(b)) {
            if (d.step >= static_cast<int>(i))
              problems_.add(d.at, "a step waits for itself or a later one of its own thread block",
                            "the steps of a block run in their order anyway");
            continue;
          }
          const auto [last, fresh] = passed.emplace(found->second, d.step);
          if (!fresh && d.step <= last->second) continue;
          last->second = d.step;
          auto [queue, added] =
              flags_.emplace(std::pair{found->second, static_cast<int>(b)}, static_cast<int>(plan_.queues.size()));
          if (added) plan_.queues.push_back({found->second, static_cast<int>(b), false});
          on.steps[static_cast<std::size_t>(d.step)].give.push_back(queue->second);
          plan_.blocks[b].steps[i].take.push_back(queue->second);
        }
      }
    }
  }

  Problems& problems_;
  pugi::xml_document document_;
  Plan plan_;
  std::set<int> seen_gpus_;
  std::int64_t moves_ = 0;
  std::map<std::pair<int, int>, int> index_;                 // (rank, id) -> block
  std::map<std::pair<int, int>, int> flags_;                 // (from, to) -> queue
  std::vector<Ends> ends_;                                   // by block
  std::vector<std::vector<std::vector<Dependency>>> waits_;  // by block and step
};

}  // namespace

AlgorithmPlan read_msccl_xml(Problems& problems, const std::string& file) { return Reader{problems, file}.read(); }

}  // namespace linkcast::workloads::algorithms
