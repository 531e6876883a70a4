// See sequences.hpp.
#include "sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace linkcast::workloads::readers {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

struct Tally {
  std::uint64_t count = 0, keyed = 0, plain = 0, first = 0, last = 0;
};

/// One rank's calls of one sequence.
struct Filtered {
  CallStore::Cursor cursor;
  std::uint32_t sequence;
  std::optional<StoredCall> head;
  std::uint64_t ordinal = 0;

  Filtered(const CallStore& store, std::size_t rank, std::uint32_t s) : cursor{store, rank}, sequence{s} { load(); }
  void load() {
    head.reset();
    while (const auto* c = cursor.next()) {
      if (c->sequence != sequence) continue;
      head = *c;
      return;
    }
  }
  void advance() {
    ++ordinal;
    load();
  }
};

std::string ranks_text(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) out += fmt::format("{}{}", i ? ", " : "", ranks[i]);
  if (ranks.size() > 8) out += fmt::format(" and {} more", ranks.size() - 8);
  return out;
}

}  // namespace

Agreement::Agreement(const CallStore& store, const std::vector<Sequence>& sequences, const std::vector<int>& world,
                     ReadReport& report) {
  std::map<std::pair<std::size_t, std::uint32_t>, Tally> tallies;
  for (std::size_t r = 0; r < store.ranks(); ++r) {
    CallStore::Cursor cursor{store, r};
    while (const auto* c = cursor.next()) {
      if (c->sequence == StoredCall::none) continue;
      auto& t = tallies[{r, c->sequence}];
      if (t.count++ == 0) t.first = c->key;
      t.last = c->key;
      t.keyed = mixed(mixed(t.keyed, c->key), static_cast<std::uint64_t>(c->op));
      t.plain = mixed(mixed(t.plain, static_cast<std::uint64_t>(c->op)), static_cast<std::uint64_t>(c->bytes));
    }
  }
  for (std::uint32_t i = 0; i < sequences.size(); ++i) {
    const auto& s = sequences[i];
    if (s.ranks.size() < 2) continue;
    const auto head = tallies[{s.ranks[0], i}];
    bool keyed = true, plain = true;
    std::vector<std::uint64_t> counts;
    for (const auto r : s.ranks) {
      const auto& t = tallies[{r, i}];
      counts.push_back(t.count);
      keyed = keyed && t.count == head.count && t.keyed == head.keyed;
      plain = plain && t.count == head.count && t.plain == head.plain;
    }
    if (s.counting == Sequence::Counting::keyed ? keyed : plain) continue;
    if (s.counting == Sequence::Counting::ordinal)
      cut(s, i, counts, report);
    else
      merge(store, s, i, world, report);
  }
}

void Agreement::cut(const Sequence& s, std::uint32_t index, const std::vector<std::uint64_t>& counts,
                    ReadReport& report) {
  const auto least = *std::ranges::min_element(counts);
  for (std::size_t m = 0; m < s.ranks.size(); ++m) {
    if (counts[m] == least) continue;
    edits_[{s.ranks[m], index}].until = least;
    for (auto n = least; n < counts[m]; ++n) report.skip("a call at the end that not all recorded ranks have", s.label);
  }
}

void Agreement::merge(const CallStore& store, const Sequence& s, std::uint32_t index, const std::vector<int>& world,
                      ReadReport& report) {
  // What lies between the latest beginning and the earliest end is common to all.
  std::uint64_t low = 0, high = std::numeric_limits<std::uint64_t>::max();
  std::vector<int> absent;
  for (const auto r : s.ranks) {
    Filtered f{store, r, index};
    if (!f.head) {
      absent.push_back(world[r]);
      continue;
    }
    low = std::max(low, f.head->key);
    auto last = f.head->key;
    for (; f.head; f.advance()) last = f.head->key;
    high = std::min(high, last);
  }
  if (!absent.empty() && !s.lossy) {
    high = 0;
    low = 1;
    report.notes.push_back(fmt::format("{}: rank {} made none of its calls", s.label, ranks_text(absent)));
  }
  std::vector<Filtered> walks;
  std::vector<Edits> edits(s.ranks.size());
  for (const auto r : s.ranks) walks.emplace_back(store, r, index);
  for (std::size_t m = 0; m < walks.size(); ++m) {
    while (walks[m].head && walks[m].head->key < low) {
      report.skip("a call at the beginning that not all recorded ranks have", s.label);
      walks[m].advance();
    }
    edits[m].from = walks[m].ordinal;
  }
  std::vector<std::int64_t> filled(walks.size(), 0);
  bool apart = false;
  while (!apart) {
    auto key = std::numeric_limits<std::uint64_t>::max();
    for (const auto& w : walks)
      if (w.head) key = std::min(key, w.head->key);
    if (key > high || key == std::numeric_limits<std::uint64_t>::max()) break;
    std::optional<std::size_t> donor;
    std::size_t missing = 0;
    for (std::size_t m = 0; m < walks.size(); ++m) {
      if (!walks[m].head || walks[m].head->key != key) {
        ++missing;
        continue;
      }
      if (!donor) donor = m;
      if (!s.messages && walks[m].head->op != walks[*donor].head->op) {
        report.notes.push_back(fmt::format("{}: rank {} calls {} where rank {} calls {}: nothing after it is replayed",
                                           s.label, world[s.ranks[m]], models::nccl::name_of(walks[m].head->op),
                                           world[s.ranks[*donor]], models::nccl::name_of(walks[*donor].head->op)));
        apart = true;
        break;
      }
    }
    if (apart) break;
    for (std::size_t m = 0; m < walks.size(); ++m) {
      if (walks[m].head && walks[m].head->key == key) continue;
      if (s.messages) continue;
      auto call = *walks[*donor].head;
      call.measured = 0;
      call.after = 0;
      edits[m].before.emplace_back(walks[m].ordinal, call);
      ++filled[m];
    }
    for (auto& w : walks) {
      if (!w.head || w.head->key != key) continue;
      if (s.messages && missing > 0) {
        edits[static_cast<std::size_t>(&w - walks.data())].without.push_back(w.ordinal);
        report.skip("a message of which only one side was recorded", s.label);
      }
      w.advance();
    }
  }
  for (std::size_t m = 0; m < walks.size(); ++m) {
    edits[m].until = walks[m].ordinal;
    for (; walks[m].head; walks[m].advance())
      report.skip("a call at the end that not all recorded ranks have", s.label);
    if (filled[m] > 0)
      report.notes.push_back(fmt::format("{}: {} calls of rank {} were not recorded and are as on other ranks", s.label,
                                         filled[m], world[s.ranks[m]]));
    edits_[{s.ranks[m], index}] = std::move(edits[m]);
  }
}

const Agreement::Edits* Agreement::edits(std::size_t rank, std::uint32_t sequence) const {
  const auto found = edits_.find({rank, sequence});
  return found == edits_.end() ? nullptr : &found->second;
}

namespace {

class Reader final : public OperationReader {
 public:
  Reader(std::shared_ptr<const Collected> collected, std::shared_ptr<const Agreement> agreement,
         const std::vector<std::size_t>& places)
      : collected_{std::move(collected)}, agreement_{std::move(agreement)} {
    for (const auto place : places) ranks_.push_back({place, CallStore::Cursor{collected_->store, place}, 0, {}, {}});
  }

  bool next(std::size_t r, Operation& out) override {
    auto& rank = ranks_[r];
    while (true) {
      if (!rank.held) {
        const auto* c = rank.cursor.next();
        if (c == nullptr) return ending(rank, out);
        rank.held = *c;
        ++rank.read;
      }
      const auto& call = *rank.held;
      if (call.sequence != StoredCall::none) {
        auto& s = state(rank, call.sequence);
        if (s.edits != nullptr) {
          if (s.inserted < s.edits->before.size() && s.edits->before[s.inserted].first <= s.ordinal) {
            give(s.edits->before[s.inserted++].second, 0, out);
            return true;
          }
          const auto n = s.ordinal++;
          const auto& e = *s.edits;
          if (n < e.from || n >= e.until || std::ranges::binary_search(e.without, n)) {
            rank.held.reset();
            continue;
          }
        }
      }
      give(call, rank.read, out);
      rank.held.reset();
      return true;
    }
  }

 private:
  struct State {
    const Agreement::Edits* edits = nullptr;
    std::uint64_t ordinal = 0;
    std::size_t inserted = 0;
    bool known = false;
  };
  struct Rank {
    std::size_t place;
    CallStore::Cursor cursor;
    std::uint64_t read = 0;
    std::optional<StoredCall> held;
    std::vector<State> states;
    std::uint32_t ending = 0;
  };

  State& state(Rank& rank, std::uint32_t sequence) const {
    if (rank.states.size() <= sequence) rank.states.resize(sequence + 1);
    auto& s = rank.states[sequence];
    if (!s.known) {
      s.known = true;
      s.edits = agreement_->edits(rank.place, sequence);
    }
    return s;
  }

  /// What was filled in behind the last recorded call.
  bool ending(Rank& rank, Operation& out) const {
    for (; rank.ending < collected_->sequences.size(); ++rank.ending) {
      auto& s = state(rank, rank.ending);
      if (s.edits == nullptr || s.inserted >= s.edits->before.size()) continue;
      give(s.edits->before[s.inserted++].second, 0, out);
      return true;
    }
    return false;
  }

  static void give(const StoredCall& c, std::uint64_t id, Operation& out) {
    out = Operation{};
    out.kind = c.kind;
    out.work = c.work;
    out.op = c.op;
    out.stream = c.stream;
    out.name = c.name;
    out.communicator = c.communicator;
    out.peer = c.peer;
    out.root = c.root;
    out.batch = c.batch;
    out.tag = c.tag;
    out.id = id;
    if (c.after != 0) out.after.push_back(c.after);
    out.duration = sim::Time::picoseconds(c.duration);
    out.bytes = sim::Bytes{c.bytes};
    out.measured = sim::Time::picoseconds(c.measured);
  }

  std::shared_ptr<const Collected> collected_;
  std::shared_ptr<const Agreement> agreement_;
  std::vector<Rank> ranks_;
};

}  // namespace

Recording recording_of(std::shared_ptr<const Collected> collected, Recording base, std::vector<std::size_t> places) {
  std::vector<int> world(collected->store.ranks(), -1);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] < world.size()) world[places[i]] = base.ranks[i];
  auto agreement = std::make_shared<const Agreement>(collected->store, collected->sequences, world, *base.report);
  base.report->used = 0;
  for (const auto p : places) base.report->used += static_cast<std::int64_t>(collected->store.size(p));
  for (const auto& s : base.report->skipped)
    if (s.why.starts_with("a call at the ") || s.why.starts_with("a message of which")) base.report->used -= s.count;
  base.open = [collected, agreement, places = std::move(places)] {
    return std::make_unique<Reader>(collected, agreement, places);
  };
  return base;
}

}  // namespace linkcast::workloads::readers
