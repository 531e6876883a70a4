// A timeline as Perfetto's TracePackets: a process for each rank, a thread for each stream, slices with what a call was
// and took, a flow through the ranks of one call, and a counter of each communicator's bandwidth. Field numbers are
// those of perfetto's protos/perfetto/trace (trace_packet.proto, track_event/*.proto, interned_data.proto).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_map>

#include "output.hpp"
#include "protobuf.hpp"
#include "writer.hpp"

namespace linkcast::workloads::timelines {
namespace {

namespace trace_field {
constexpr std::uint32_t packet = 1;
}
namespace packet_field {
constexpr std::uint32_t timestamp = 8, sequence = 10, track_event = 11, interned = 12, flags = 13, descriptor = 60;
}
namespace descriptor_field {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
}
namespace event_field {
constexpr std::uint32_t category_iid = 3, annotation = 4, type = 9, name_iid = 10, track = 11, name = 23,
                        double_counter = 44, flow = 47;
}
enum EventType : std::uint64_t { slice_begin = 1, slice_end = 2, counter_value = 4 };

enum Category : std::uint64_t { compute = 1, collective, message, gap, waiting };
constexpr std::array categories{"compute", "collective", "message", "gap", "waiting"};

enum Note : std::uint64_t {
  communicator = 1,
  group,
  ranks,
  bytes,
  algorithm,
  protocol,
  GBps,
  measured,
  peer,
  tag,
  work
};
constexpr std::array notes{"communicator", "group",       "ranks", "bytes", "algorithm", "protocol",
                           "GB/s",         "recorded us", "peer",  "tag",   "work"};

constexpr std::size_t most_interned = 65'536;  // names beyond are written out
constexpr std::uint64_t wait_name = 1;         // iid

/// Texts of one sequence, each written once.
class Interned {
 public:
  /// 0: there are too many already. `fresh`: to be written.
  std::uint64_t of(std::string_view text, bool& fresh) {
    fresh = false;
    if (const auto found = ids_.find(std::string{text}); found != ids_.end()) return found->second;
    if (ids_.size() >= most_interned) return 0;
    fresh = true;
    return ids_[std::string{text}] = ++last_;
  }
  explicit Interned(std::uint64_t taken) : last_{taken} {}

 private:
  std::unordered_map<std::string, std::uint64_t> ids_;
  std::uint64_t last_;
};

/// One file: what has been declared in it.
struct File {
  File(std::string path, bool gzip, std::size_t piece) : out{std::move(path), gzip, piece} {}
  Output out;
  Interned names{wait_name}, values{0};
  std::unordered_map<std::uint64_t, bool> declared;  // tracks
  bool begun = false;
};

class Perfetto final : public Writer {
 public:
  Perfetto(const Target& target, const Recording& recording, const TimelineFileOptions& options)
      : target_{target}, recording_{recording}, options_{options} {
    split_ = target.path.find("%r") != target.path.npos;
    calls_.resize(recording.communicators.size());
    recorded_.insert(recording.ranks.begin(), recording.ranks.end());
  }

  void add(const ReplayedOperation& x) override {
    const auto& o = *x.operation;
    auto& file = file_of(x.rank);
    const auto process = declare_process(file, x.rank);
    const auto begin = x.communicator == nullptr ? x.start : x.arrived;
    const auto lane = lanes_.take(x.rank, o.stream, begin, x.end);
    const auto track = declare_thread(file, x, process, lane);

    interned_.clear();
    event_.clear();
    const bool is_message = o.kind == Operation::Kind::send || o.kind == Operation::Kind::receive;
    event_.varint(event_field::category_iid, x.communicator == nullptr ? (o.work == Work::gap ? gap : compute)
                                             : is_message              ? message
                                                                       : collective);
    event_.varint(event_field::type, slice_begin);
    event_.varint(event_field::track, track);
    name(file, x);
    if (x.communicator == nullptr) {
      if (o.work != Work::other) text_note(file, work, name_of(o.work));
    } else {
      describe(file, x, is_message);
      if (const auto flow = flow_of(x); flow != 0) event_.fixed64(event_field::flow, flow);
    }
    put_event(file, begin);
    if (x.communicator != nullptr && x.start > begin) {  // within the call, as a profiler counts it
      bare(file, begin, slice_begin, track, waiting, wait_name);
      bare(file, x.start, slice_end, track, 0, 0);
    }
    bare(file, x.end, slice_end, track, 0, 0);
    if (x.communicator != nullptr && !is_message) count(file, x, process);
  }

  std::vector<std::string> close() override {
    std::vector<std::string> out;
    if (files_.empty() && !split_) file_of(0);
    for (auto& [rank, file] : files_) {
      file->out.flush();
      out.push_back(file->out.path());
    }
    return out;
  }

 private:
  static std::uint64_t nanoseconds(sim::Time t) { return static_cast<std::uint64_t>(t.ps() / 1000); }
  static std::uint64_t process_track(int rank) { return (static_cast<std::uint64_t>(rank) + 1) << 32; }

  File& file_of(int rank) {
    auto& file = files_[split_ ? rank : 0];
    if (!file) {
      const auto many = split_ ? recording_.ranks.size() : 1;
      const auto piece = std::clamp<std::size_t>((std::size_t{64} << 20) / std::max<std::size_t>(many, 1),
                                                 std::size_t{1} << 12, std::size_t{1} << 20);
      file = std::make_unique<File>(split_ ? path_of_rank(target_.path, rank) : target_.path, target_.gzip, piece);
      begin(*file);
    }
    return *file;
  }

  void put(File& file, const Message& packet) {
    Message m;
    m.message(trace_field::packet, packet);
    file.out.append(m.bytes());
  }

  void begin(File& file) {
    Message interned;
    const auto list = [&](std::uint32_t field, std::uint64_t iid, std::string_view text) {
      Message entry;
      entry.varint(1, iid);
      entry.text(2, text);
      interned.message(field, entry);
    };
    for (std::size_t i = 0; i < categories.size(); ++i) list(1, i + 1, categories[i]);
    list(2, wait_name, "waiting for peers");
    for (std::size_t i = 0; i < notes.size(); ++i) list(3, i + 1, notes[i]);
    Message packet;
    packet.varint(packet_field::sequence, 1);
    packet.message(packet_field::interned, interned);
    packet.varint(packet_field::flags, 1);  // SEQ_INCREMENTAL_STATE_CLEARED
    put(file, packet);
  }

  void put_descriptor(File& file, const Message& descriptor) {
    Message packet;
    packet.varint(packet_field::sequence, 1);
    packet.message(packet_field::descriptor, descriptor);
    put(file, packet);
  }

  std::uint64_t declare_process(File& file, int rank) {
    const auto uuid = process_track(rank);
    if (!file.declared.emplace(uuid, true).second) return uuid;
    Message process, descriptor;
    process.varint(1, static_cast<std::uint64_t>(rank) + 1);  // pid 0 is the kernel's
    const auto node = rank / std::max(options_.gpus_per_node, 1);
    process.text(6, fmt::format("rank {} (node {}, GPU {})", rank, node, rank % std::max(options_.gpus_per_node, 1)));
    descriptor.varint(descriptor_field::uuid, uuid);
    descriptor.message(descriptor_field::process, process);
    put_descriptor(file, descriptor);
    return uuid;
  }

  std::uint64_t declare_thread(File& file, const ReplayedOperation& x, std::uint64_t process, std::size_t lane) {
    const auto place = static_cast<std::uint64_t>(x.operation->stream) + 1;
    const auto uuid = process | (place & 0xfffff) << 11 | std::min<std::uint64_t>(lane, 0x3ff);
    if (!file.declared.emplace(uuid, true).second) return uuid;
    Message thread, descriptor;
    const auto pid = static_cast<std::uint64_t>(x.rank) + 1;
    thread.varint(1, pid);
    thread.varint(2, pid * 1024 + threads_[x.rank]++ % 1024);  // of all ranks: ids of threads are the machine's
    thread.text(5, lane == 0 ? fmt::format("stream {}", x.stream) : fmt::format("stream {} ({})", x.stream, lane + 1));
    descriptor.varint(descriptor_field::uuid, uuid);
    descriptor.varint(descriptor_field::parent, process);
    descriptor.message(descriptor_field::thread, thread);
    put_descriptor(file, descriptor);
    return uuid;
  }

  void entry(std::uint32_t field, std::uint64_t iid, std::string_view text) {
    Message e;
    e.varint(1, iid);
    e.text(2, text);
    interned_.message(field, e);
  }

  void name(File& file, const ReplayedOperation& x) {
    const auto& o = *x.operation;
    std::string made;
    std::string_view text = x.name;
    if (text.empty() && x.communicator == nullptr) text = name_of(o.work);
    if (text.empty()) {
      made = o.kind == Operation::Kind::send      ? "send"
             : o.kind == Operation::Kind::receive ? "receive"
                                                  : std::string{models::nccl::name_of(o.op)};
      text = made;
    }
    bool fresh = false;
    if (const auto iid = file.names.of(text, fresh); iid != 0) {
      if (fresh) entry(2, iid, text);
      event_.varint(event_field::name_iid, iid);
    } else {
      event_.text(event_field::name, text);
    }
  }

  void text_note(File& file, Note note, std::string_view text) {
    Message m;
    m.varint(1, note);
    bool fresh = false;
    if (const auto iid = file.values.of(text, fresh); iid != 0) {
      if (fresh) entry(29, iid, text);
      m.varint(17, iid);
    } else {
      m.text(6, text);
    }
    event_.message(event_field::annotation, m);
  }
  void whole_note(Note note, std::int64_t value) {
    Message m;
    m.varint(1, note);
    m.varint(4, static_cast<std::uint64_t>(value));
    event_.message(event_field::annotation, m);
  }
  void number_note(Note note, double value) {
    Message m;
    m.varint(1, note);
    m.number(5, value);
    event_.message(event_field::annotation, m);
  }

  static double gigabytes_per_second(const ReplayedOperation& x) {
    const auto ns = static_cast<double>((x.end - x.start).ps()) / 1e3;
    return ns > 0 ? static_cast<double>(x.operation->bytes.count()) / ns : 0;
  }

  void describe(File& file, const ReplayedOperation& x, bool is_message) {
    const auto& o = *x.operation;
    text_note(file, communicator, x.communicator->name);
    if (!x.communicator->description.empty()) text_note(file, group, x.communicator->description);
    text_note(file, ranks, ranks_text(x.communicator->ranks, 30));
    whole_note(bytes, o.bytes.count());
    if (!x.algorithm.empty()) text_note(file, algorithm, x.algorithm);
    if (!x.protocol.empty()) text_note(file, protocol, x.protocol);
    number_note(GBps, gigabytes_per_second(x));
    if (o.measured > sim::Time{}) number_note(measured, o.measured.us());
    if (is_message) {
      whole_note(peer, o.peer);
      whole_note(tag, o.tag);
    }
  }

  /// The n-th call of a communicator is one call for all its ranks; the n-th send meets the n-th receive of the same
  /// pair and tag. 0: nobody else's operation is in the recording.
  std::uint64_t flow_of(const ReplayedOperation& x) {
    const auto& o = *x.operation;
    const auto c = static_cast<std::uint64_t>(o.communicator);
    if (o.kind == Operation::Kind::collective) return (c + 1) << 40 | ++calls_[c][x.rank];
    const auto& members = x.communicator->ranks;
    if (o.peer < 0 || static_cast<std::size_t>(o.peer) >= members.size()) return 0;
    const int other = members[static_cast<std::size_t>(o.peer)];
    if (!recorded_.contains(other)) return 0;
    const bool sends = o.kind == Operation::Kind::send;
    const Pair key{c, sends ? x.rank : other, sends ? other : x.rank, o.tag};
    auto& met = messages_[key];
    if (auto& there = sends ? met.receives : met.sends; !there.empty()) {
      const auto id = there.front();
      there.pop_front();
      if (met.sends.empty() && met.receives.empty()) messages_.erase(key);
      return id;
    }
    const auto id = ++message_count_;
    (sends ? met.sends : met.receives).push_back(id);
    return id;
  }

  void put_event(File& file, sim::Time at) {
    Message packet;
    packet.varint(packet_field::timestamp, nanoseconds(at));
    packet.varint(packet_field::sequence, 1);
    packet.message(packet_field::track_event, event_);
    if (!interned_.empty()) packet.message(packet_field::interned, interned_);
    packet.varint(packet_field::flags, 2);  // SEQ_NEEDS_INCREMENTAL_STATE
    put(file, packet);
  }

  void bare(File& file, sim::Time at, EventType type, std::uint64_t track, std::uint64_t category, std::uint64_t iid) {
    interned_.clear();
    event_.clear();
    if (category != 0) event_.varint(event_field::category_iid, category);
    event_.varint(event_field::type, type);
    if (iid != 0) event_.varint(event_field::name_iid, iid);
    event_.varint(event_field::track, track);
    put_event(file, at);
  }

  /// Calls of one communicator come one after the other: the counter is up while one runs.
  void count(File& file, const ReplayedOperation& x, std::uint64_t process) {
    if (x.end == x.start || x.operation->bytes.count() == 0) return;
    const auto uuid = process | 0x8000'0000u | x.operation->communicator;
    if (file.declared.emplace(uuid, true).second) {
      Message counter, descriptor;
      counter.text(6, "GB/s");
      descriptor.varint(descriptor_field::uuid, uuid);
      const auto& c = *x.communicator;
      descriptor.text(descriptor_field::name,
                      fmt::format("{} bandwidth", c.description.empty() ? c.name : c.description));
      descriptor.varint(descriptor_field::parent, process);
      descriptor.message(descriptor_field::counter, counter);
      put_descriptor(file, descriptor);
    }
    for (const auto& [at, value] : {std::pair{x.start, gigabytes_per_second(x)}, std::pair{x.end, 0.0}}) {
      interned_.clear();
      event_.clear();
      event_.varint(event_field::type, counter_value);
      event_.varint(event_field::track, uuid);
      event_.number(event_field::double_counter, value);
      put_event(file, at);
    }
  }

  Target target_;
  const Recording& recording_;
  TimelineFileOptions options_;
  bool split_ = false;
  std::map<int, std::unique_ptr<File>> files_;
  Lanes lanes_;
  std::map<int, std::uint64_t> threads_;
  std::vector<std::unordered_map<int, std::uint64_t>> calls_;
  using Pair = std::tuple<std::uint64_t, int, int, std::int64_t>;  // communicator, from, to, tag
  struct Met {
    std::deque<std::uint64_t> sends, receives;
  };
  std::map<Pair, Met> messages_;
  std::uint64_t message_count_ = 0;
  std::set<int> recorded_;
  Message event_, interned_;
};

}  // namespace

std::unique_ptr<Writer> perfetto_writer(const Target& target, const Recording& recording,
                                        const TimelineFileOptions& options) {
  return std::make_unique<Perfetto>(target, recording, options);
}

}  // namespace linkcast::workloads::timelines
