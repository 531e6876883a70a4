// See recorded.hpp. Lines of several ranks stand about in step: what one rank reads ahead of the others is kept. A line
// that cannot be used is counted with what is wrong with it, and the next one is read.
#include "recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>

#include "byte_source.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/trace_fields.hpp"

namespace linkcast::workloads::readers {
namespace {

using trace::Fields;
using trace::Problems;
using trace::Value;
using Kind = Operation::Kind;

constexpr std::size_t most_kept = 4'000'000, longest_line = std::size_t{64} << 20;
constexpr int most_ranks = 1'000'000;
constexpr std::size_t most_members = std::size_t{1} << 25;  // of all communicators

class Lines {
 public:
  explicit Lines(const std::string& path) : source_{path} {
    auto text = std::make_shared<SourceText>();
    text->name = path;
    file_ = std::move(text);
  }
  bool next() {
    do {
      line_.clear();
      bool any = false;
      for (;;) {
        if (begin_ == end_) {
          end_ = source_.read(piece_.data(), piece_.size());
          begin_ = 0;
          if (end_ == 0) break;
        }
        any = true;
        const auto stop = std::find(piece_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                    piece_.begin() + static_cast<std::ptrdiff_t>(end_), '\n');
        const auto at = static_cast<std::size_t>(stop - piece_.begin());
        if (line_.size() < longest_line) line_.append(piece_.data() + begin_, at - begin_);
        begin_ = std::min(at + 1, end_);
        if (at < end_) break;
      }
      if (!any) return false;
      ++number_;
    } while (line_.find_first_not_of(" \t\r") == line_.npos);
    return true;
  }
  Value value(Problems& problems) const { return trace::parse_json_line(file_, line_, number_, problems); }
  int number() const { return number_; }

 private:
  ByteSource source_;
  trace::Source file_;
  std::vector<char> piece_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t begin_ = 0, end_ = 0;
  std::string line_;
  int number_ = 0;
};

std::optional<double> number_of(Problems& problems, const Value& v, std::string_view what) {
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  if (v.is_scalar() && error == std::errc{} && stop == end && x >= 0 && x < 1e40) return x;
  problems.add(v, fmt::format("'{}' must be a number", what));
  return std::nullopt;
}

/// "4096 B" and "123 ps", as they are written, to the last digit; other units as in every trace. Zero is a size.
std::optional<std::int64_t> whole_of(const Value& v, std::string_view unit) {
  std::int64_t n = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, n);
  if (!v.is_scalar() || error != std::errc{} || n < 0) return std::nullopt;
  if (std::string_view{stop, static_cast<std::size_t>(end - stop)} != unit) return std::nullopt;
  return n;
}

std::optional<sim::Time> time_at(Problems& problems, const Value& v, std::string_view what) {
  constexpr std::int64_t day = 86'400'000'000'000'000;
  if (const auto n = whole_of(v, " ps"); n && *n <= day) return sim::Time::picoseconds(*n);
  return trace::time_of(problems, v, what, true);
}

std::optional<sim::Bytes> size_at(Problems& problems, const Value& v, std::string_view what) {
  if (const auto n = whole_of(v, " B"); n && *n < std::int64_t{1} << 60) return sim::Bytes{*n};
  return trace::size_of(problems, v, what);
}

std::string first_of(const Problems& problems) {
  try {
    problems.throw_if_any();
  } catch (const sim::InputError& e) {
    return e.diagnostics().front().problem;
  }
  return "cannot be understood";
}

struct Head {
  std::vector<std::vector<int>> member;  // by communicator: its ranks, sorted
  std::unordered_map<std::string, std::uint32_t> by_name;
  std::unordered_map<int, std::size_t> place;  // rank -> place in Recording::ranks
};

class Reader final : public OperationReader {
 public:
  Reader(std::string path, const Recording& r, std::shared_ptr<const Head> head)
      : path_{std::move(path)},
        lines_{path_},
        head_{std::move(head)},
        communicators_{r.communicators},
        streams_{r.streams},
        names_{r.names},
        report_{r.report},
        kept_(r.ranks.size()),
        last_(r.ranks.size()) {
    lines_.next();  // the head
    for (std::size_t i = 0; i < streams_->size(); ++i) stream_.emplace((*streams_)[i], static_cast<std::uint32_t>(i));
  }

  bool next(std::size_t r, Operation& out) override {
    auto& own = kept_[r];
    while (own.empty()) {
      if (ended_ || !more()) return false;
    }
    out = std::move(own.front());
    own.pop_front();
    --count_;
    return true;
  }

 private:
  bool more() {
    try {
      if (!lines_.next()) return !(ended_ = true);
    } catch (const sim::InputError& e) {  // the compressed stream is damaged
      report_->skip(e.diagnostics().front().problem, fmt::format("{}:{}", path_, lines_.number()));
      return !(ended_ = true);
    }
    ++report_->records;
    Problems problems;
    const auto v = lines_.value(problems);
    if (problems.empty()) read(v, problems);
    if (!problems.empty())
      report_->skip(first_of(problems), fmt::format("{}:{}", path_, lines_.number()));
    else
      ++report_->used;
    if (count_ > most_kept)
      throw sim::InputError(
          fmt::format("{}:{}: {} operations wait for a rank that has none so far", path_, lines_.number(), count_),
          "write the lines of all ranks in the order of time, not rank after rank");
    return true;
  }

  std::optional<Kind> kind_of(const Value& v, std::string& verb, models::nccl::Op& op) const {
    for (const auto& [key, value] : v.entries) {
      verb = key.text;
      if (verb == "compute") return Kind::compute;
      if (verb == "send") return Kind::send;
      if (verb == "receive") return Kind::receive;
      if (const auto known = models::nccl::op_from(verb); known && models::nccl::name_of(*known) == verb) {
        op = *known;
        return Kind::collective;
      }
    }
    return std::nullopt;
  }

  void read(const Value& v, Problems& problems) {
    Operation o;
    std::string verb;
    const auto kind = kind_of(v, verb, o.op);
    Fields f{problems, v, "the operation"};
    if (!kind) return problems.add(v, "no operation in this line");
    o.kind = *kind;
    std::vector<int> ranks;
    if (const auto* one = f.find("rank"))
      ranks = trace::ranks_of(problems, *one, "'rank'", -1);
    else if (const auto* several = f.find("ranks"))
      ranks = trace::ranks_of(problems, *several, "'ranks'", -1);
    else
      problems.add(v, "no 'rank' in this line");
    for (const int r : ranks)
      if (!head_->place.contains(r)) problems.add(v, "a rank that the head does not name");
    const auto* amount = f.find(verb);
    if (o.kind == Kind::compute)
      compute(f, *amount, o, problems);
    else
      communication(f, *amount, verb, ranks, o, problems);
    if (const auto text = f.word("name")) o.name = names_->add(*text);
    if (const auto text = f.word("stream")) o.stream = stream(*text);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    if (const auto* id = f.find("id")) {
      const auto* end = id->text.data() + id->text.size();
      const auto [stop, error] = std::from_chars(id->text.data(), end, o.id);
      if (!id->is_scalar() || error != std::errc{} || stop != end) problems.add(*id, "'id' must be a whole number");
    }
    std::vector<std::string> after_names;
    if (const auto* after = f.find("after")) {
      const auto take = [&](const Value& item) {
        std::uint64_t n = 0;
        const auto* end = item.text.data() + item.text.size();
        const auto [stop, error] = std::from_chars(item.text.data(), end, n);
        if (item.is_scalar() && !item.quoted && error == std::errc{} && stop == end)
          o.after.push_back(n);
        else if (item.is_scalar() && item.quoted)
          after_names.push_back(item.text);
        else
          problems.add(item, "'after' must be ids or names of earlier operations");
      };
      if (after->is_sequence())
        for (const auto& item : after->items) take(item);
      else
        take(*after);
    }
    if (const auto n = f.integer("batch", 0, std::numeric_limits<std::uint32_t>::max()))
      o.batch = static_cast<std::uint32_t>(*n);
    if (const auto n = f.integer("tag", -most - 1, most)) o.tag = *n;
    f.done();
    if (!problems.empty()) return;
    for (const int r : ranks) {
      const auto place = head_->place.at(r);
      auto mine = o;
      auto& last = last_[place];
      for (const auto& name : after_names)
        if (const auto found = last.find(name); found != last.end()) mine.after.push_back(found->second);
      if (mine.id != 0 && mine.name != 0) last[(*names_)[mine.name]] = mine.id;
      kept_[place].push_back(std::move(mine));
    }
    count_ += ranks.size();
  }

  void compute(Fields& f, const Value& amount, Operation& o, Problems& problems) {
    if (const auto t = time_at(problems, amount, "compute")) o.duration = *t;
    if (const auto word = f.word("work")) {
      constexpr std::array all{Work::gemm, Work::attention, Work::elementwise, Work::copy, Work::other, Work::gap};
      const auto found = std::ranges::find_if(all, [&](Work w) { return name_of(w) == *word; });
      if (found == all.end())
        problems.add(amount, fmt::format("unknown 'work': '{}'", *word));
      else
        o.work = *found;
    }
    if (const auto* n = f.find("flops"))
      if (const auto x = number_of(problems, *n, "flops")) o.flops = *x;
    if (const auto* n = f.find("touched"))
      if (const auto x = number_of(problems, *n, "touched")) o.touched = *x;
  }

  void communication(Fields& f, const Value& amount, const std::string& verb, const std::vector<int>& ranks,
                     Operation& o, Problems& problems) {
    if (const auto n = size_at(problems, amount, verb)) o.bytes = *n;
    if (const auto* t = f.find("measured"))
      if (const auto x = time_at(problems, *t, "measured")) o.measured = *x;
    if (const auto* on = f.find("on")) {
      const auto found = head_->by_name.find(on->text);
      if (on->is_scalar() && on->quoted && found != head_->by_name.end())
        o.communicator = found->second;
      else if (on->quoted || !on->is_scalar())
        problems.add(*on, fmt::format("unknown communicator '{}'", on->text));
      else if (const auto n = trace::integer_of(problems, *on, "on", 0, std::ssize(communicators_) - 1))
        o.communicator = static_cast<std::uint32_t>(*n);
    }
    if (o.communicator >= communicators_.size()) return problems.add(amount, "there are no communicators");
    for (const int r : ranks)
      if (!std::ranges::binary_search(head_->member[o.communicator], r))
        problems.add(amount, "a rank that is not in the communicator of its operation");
    const auto last = std::ssize(communicators_[o.communicator].ranks) - 1;
    if (const auto n = f.integer("root", 0, last)) o.root = static_cast<std::int32_t>(*n);
    if (o.kind == Kind::collective) return;
    if (f.need("peer") == nullptr) return;
    if (const auto n = f.integer("peer", 0, last)) o.peer = static_cast<std::int32_t>(*n);
  }

  std::uint32_t stream(const std::string& name) {
    const auto [at, fresh] = stream_.try_emplace(name, static_cast<std::uint32_t>(streams_->size()));
    if (fresh) streams_->push_back(name);
    return at->second;
  }

  std::string path_;
  Lines lines_;
  std::shared_ptr<const Head> head_;
  std::vector<RecordedCommunicator> communicators_;
  std::shared_ptr<std::vector<std::string>> streams_;
  std::shared_ptr<Names> names_;
  std::shared_ptr<ReadReport> report_;
  std::unordered_map<std::string, std::uint32_t> stream_;
  std::vector<std::deque<Operation>> kept_;
  std::vector<std::unordered_map<std::string, std::uint64_t>> last_;
  std::size_t count_ = 0;
  bool ended_ = false;
};

void read_communicators(const Value* list, Recording& out, Problems& problems) {
  if (list == nullptr) return;
  if (!list->is_sequence()) return problems.add(*list, "'communicators' must be a list");
  std::size_t members = 0;
  for (const auto& item : list->items) {
    Fields f{problems, item, "the communicator"};
    RecordedCommunicator c;
    if (const auto* name = f.need("name")) c.name = name->text;
    if (const auto* text = f.find("description")) c.description = text->text;
    if (const auto* ranks = f.need("ranks"))
      c.ranks = trace::ranks_of(problems, *ranks, fmt::format("the communicator '{}'", c.name), out.world);
    f.done();
    members += c.ranks.size();
    if (members > most_members)
      return problems.add(item, "the communicators have more than 33,554,432 members together");
    out.communicators.push_back(std::move(c));
  }
}

}  // namespace

bool is_recorded(const Probe& probe) {
  return probe.head.substr(0, 256).find("\"linkcast.trace/2\"") != std::string::npos;
}

Recording open_recorded(const std::vector<std::string>& paths, const RecordingOptions&) {
  if (paths.size() > 1)
    throw sim::InputError(fmt::format("{}: one file has all ranks of a recording", paths[1]), "give one file");
  Recording out;
  Lines lines{paths[0]};
  Problems problems;
  if (!lines.next()) throw sim::InputError(fmt::format("{}: nothing in it", paths[0]));
  const auto v = lines.value(problems);
  problems.throw_if_any();
  Fields f{problems, v, "the head of the recording"};
  if (const auto schema = f.word("schema"); !schema || *schema != "linkcast.trace/2")
    problems.add(v, "not a recording of Linkcast",
                 R"(the first line is {"schema": "linkcast.trace/2", "world": 8, …})");
  problems.throw_if_any();
  f.need("world");
  if (const auto n = f.integer("world", 1, most_ranks)) out.world = static_cast<int>(*n);
  problems.throw_if_any();
  if (const auto* ranks = f.need("ranks")) out.ranks = trace::ranks_of(problems, *ranks, "'ranks'", out.world);
  if (const auto text = f.word("source")) out.source = *text;
  if (const auto n = f.integer("steps", 1, most_ranks)) out.steps = static_cast<int>(*n);
  if (const auto* n = f.find("model_flops"))
    if (const auto x = number_of(problems, *n, "model_flops")) out.model_flops = *x;
  if (const auto* n = f.find("tokens"))
    if (const auto x = number_of(problems, *n, "tokens")) out.tokens = *x;
  read_communicators(f.find("communicators"), out, problems);
  f.done();
  if (problems.empty() && out.ranks.empty()) problems.add(v, "no rank is recorded");
  problems.throw_if_any();
  if (out.source.empty()) out.source = fmt::format("a recording of {} of {} ranks", out.ranks.size(), out.world);
  out.report->generation = "linkcast.trace/2";

  auto head = std::make_shared<Head>();
  for (std::size_t c = 0; c < out.communicators.size(); ++c) {
    std::ranges::sort(head->member.emplace_back(out.communicators[c].ranks));
    head->by_name.try_emplace(out.communicators[c].name, static_cast<std::uint32_t>(c));
  }
  for (std::size_t r = 0; r < out.ranks.size(); ++r) head->place.emplace(out.ranks[r], r);
  // Not the recording itself: its `open` would keep it alive for ever.
  auto kept = std::make_shared<Recording>(out);
  out.open = [path = paths[0], kept, head] { return std::make_unique<Reader>(path, *kept, head); };
  return out;
}

}  // namespace linkcast::workloads::readers
