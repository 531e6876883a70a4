// See flow_read.hpp.
#include "flow_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace linkcast::workloads {
namespace {

using trace::Fields;
using trace::Problems;
using trace::Value;

constexpr std::int64_t most_count = 1'000'000'000;
const std::vector<std::string> patterns{"permutation", "incast", "all_to_all", "random", "on_off", "pairs"};

/// "0.6" or "60 %".
std::optional<double> ratio_of(Problems& problems, const Value& v, std::string_view what, double most) {
  const std::string help = "write 0.6 or 60 %";
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  std::string_view rest{stop, static_cast<std::size_t>(end - stop)};
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (!v.is_scalar() || error != std::errc{} || !(rest.empty() || rest == "%")) {
    problems.add(v, fmt::format("'{}' must be a ratio", what), help);
    return std::nullopt;
  }
  if (rest == "%") x /= 100;
  if (!(x > 0 && x <= most)) {
    problems.add(v, fmt::format("'{}' is {}: it must be above 0 and at most {}", what, v.text, most), help);
    return std::nullopt;
  }
  return x;
}

std::optional<FlowSizes> read_list(Problems& problems, Fields& f) {
  const auto* sizes = f.need("sizes");
  const auto* weights = f.find("weights");
  if (sizes == nullptr) return std::nullopt;
  if (!sizes->is_sequence() || sizes->items.empty()) {
    problems.add(*sizes, "'sizes' must be a list of sizes", "write [64 KiB, 1 MiB]");
    return std::nullopt;
  }
  if (weights != nullptr && (!weights->is_sequence() || weights->items.size() != sizes->items.size())) {
    problems.add(*weights, "'weights' must be a list of as many numbers as there are sizes");
    return std::nullopt;
  }
  std::vector<std::pair<sim::Bytes, double>> out;
  bool sound = true;
  for (std::size_t i = 0; i < sizes->items.size(); ++i) {
    const auto bytes = trace::size_of(problems, sizes->items[i], "sizes");
    const auto weight = weights == nullptr ? std::optional{1.0} : ratio_of(problems, weights->items[i], "weights", 1e9);
    if (bytes && weight)
      out.emplace_back(*bytes, *weight);
    else
      sound = false;
  }
  return sound ? std::optional{FlowSizes::list(std::move(out))} : std::nullopt;
}

std::optional<FlowSizes> read_sizes(Problems& problems, const Value& v) {
  std::vector<std::string> names = FlowSizes::published_names();
  names.insert(names.end(), {"uniform", "list"});
  const auto unknown = [&](const Value& at, std::string_view name) {
    problems.add(at, fmt::format("'{}' is no distribution of sizes", name), trace::suggest(name, names));
    return std::optional<FlowSizes>{};
  };
  if (v.is_scalar()) {
    if (auto s = FlowSizes::published(v.text)) return s;
    return unknown(v, v.text);
  }
  Fields f{problems, v, "'sizes'"};
  if (!f.sound()) return std::nullopt;
  const auto* at = f.need("distribution");
  const auto name = f.word("distribution");
  std::optional<FlowSizes> out;
  if (name && *name == "uniform") {
    const auto* least = f.need("least");
    const auto* most = f.need("most");
    const auto a = least == nullptr ? std::nullopt : trace::size_of(problems, *least, "least");
    const auto b = most == nullptr ? std::nullopt : trace::size_of(problems, *most, "most");
    if (a && b && *a > *b) problems.add(*least, "'least' is larger than 'most'");
    if (a && b && *a <= *b) out = FlowSizes::uniform(*a, *b);
  } else if (name && *name == "list") {
    out = read_list(problems, f);
  } else if (name) {
    out = FlowSizes::published(*name);
    if (!out) unknown(*at, *name);
  }
  if (name) f.done();
  return out;
}

class GroupReader {
 public:
  GroupReader(Problems& problems, const Value& v, const FlowEnds* ends, std::size_t number)
      : problems_{problems}, f_{problems, v, "the flows"}, v_{v}, ends_{ends}, number_{number} {}

  std::optional<FlowGroup> read() {
    if (!f_.sound()) return std::nullopt;
    const auto before = problems_.count();
    f_.need("pattern");
    const auto word = f_.word("pattern");
    if (word) {
      const auto found = std::ranges::find(patterns, *word);
      if (found == patterns.end())
        problems_.add(*v_.get("pattern"), fmt::format("'{}' is no pattern", *word), trace::suggest(*word, patterns));
      else
        g_.pattern = static_cast<FlowPattern>(found - patterns.begin());
    }
    g_.name = f_.word("name").value_or(word.value_or("flows"));
    g_.seed =
        static_cast<std::uint64_t>(f_.integer("seed", 0, most_count).value_or(static_cast<std::int64_t>(number_ + 1)));
    read_size();
    read_when();
    read_pace();
    for (const auto* key : {"from", "to", "senders", "receivers"}) f_.find(key);
    f_.done();
    if (problems_.count() == before && ends_ != nullptr) read_ends();
    return problems_.count() == before ? std::optional{std::move(g_)} : std::nullopt;
  }

 private:
  void belongs(std::string_view key, std::string_view to, std::string help = {}) {
    if (const auto* v = f_.find(key)) problems_.add(*v, fmt::format("'{}' belongs to {}", key, to), std::move(help));
  }

  void read_size() {
    const auto* size = f_.find("size");
    const auto* sizes = f_.find("sizes");
    if (size != nullptr && sizes != nullptr) problems_.add(*sizes, "'size' and 'sizes' together", "keep one");
    if (size == nullptr && sizes == nullptr)
      problems_.add(v_, "the flows have no 'size'", "write size: 1 MiB, or sizes: websearch");
    if (size != nullptr)
      if (const auto bytes = trace::size_of(problems_, *size, "size")) g_.sizes = FlowSizes{*bytes};
    if (sizes != nullptr)
      if (auto s = read_sizes(problems_, *sizes)) g_.sizes = std::move(*s);
  }

  void read_when() {
    g_.start = f_.time("start", true).value_or(sim::Time{});
    g_.duration = f_.time("duration");
    g_.messages = f_.integer("messages", 1, most_count);
    if (is_open(g_.pattern)) {
      if (!f_.find("messages") && !f_.find("duration"))
        problems_.add(v_, fmt::format("'{}' goes on for ever", name_of(g_.pattern)),
                      "write duration: 10 ms, or messages: 1000 (of each sender)");
    } else if (!g_.messages && !f_.find("duration")) {
      g_.messages = 1;
    }
  }

  void read_pace() {
    const auto* load = f_.find("load");
    if (is_open(g_.pattern)) {
      belongs("concurrency", "patterns whose senders wait", "leave it out: messages come by themselves here");
      if (load == nullptr) problems_.add(v_, fmt::format("'{}' needs 'load'", name_of(g_.pattern)), "write load: 0.6");
      // More than the line cannot be carried: queues at the sender would only grow.
      if (load != nullptr) g_.load = ratio_of(problems_, *load, "load", 1).value_or(0);
    } else {
      belongs("load", "random and on_off", "here every sender sends as fast as it can");
      const auto all = g_.messages ? 0 : 2;  // without a number of messages: one is sent while one is acknowledged
      const auto wanted = f_.integer("concurrency", 1, 1'000'000);
      g_.concurrency = static_cast<int>(wanted.value_or(g_.pattern == FlowPattern::all_to_all ? 16 : all));
    }
    if (g_.pattern == FlowPattern::on_off) {
      f_.need("on_time");
      f_.need("off_time");
      g_.on = f_.time("on_time").value_or(sim::Time{});
      g_.off = f_.time("off_time", true).value_or(sim::Time{});
    } else {
      belongs("on_time", "on_off");
      belongs("off_time", "on_off");
    }
  }

  /// The ends that a key names, in the order written; all where there is no key.
  std::vector<std::uint32_t> places(std::string_view key) {
    std::vector<std::uint32_t> out;
    const auto* v = f_.find(key);
    const auto add = [&](const Value& at, std::string_view text) {
      std::string problem;
      const auto found = ends_->find(text, problem);
      if (!problem.empty()) problems_.add(at, problem);
      out.insert(out.end(), found.begin(), found.end());
    };
    if (v == nullptr) {
      out.resize(ends_->size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(i);
      return out;
    }
    for (const auto& word : f_.words(key)) {
      const auto& items = v->items;
      const auto at = std::ranges::find_if(items, [&](const Value& i) { return i.text == word; });
      add(at == items.end() ? *v : *at, word);
    }
    return out;
  }

  void no_end_twice(std::string_view key, std::vector<std::uint32_t> ends) {
    std::ranges::sort(ends);
    const auto twice = std::ranges::adjacent_find(ends);
    if (twice != ends.end()) problems_.add(*f_.find(key), fmt::format("{} is named twice", ends_->name(*twice)));
  }

  /// The first `key` of them.
  void take(std::string_view key, std::vector<std::uint32_t>& ends) {
    const auto* v = f_.find(key);
    if (v == nullptr) return;
    const auto n = f_.integer(key, 1, most_count);
    if (!n) return;
    if (static_cast<std::size_t>(*n) > ends.size())
      problems_.add(*v, fmt::format("{} {}: there are {} NICs for them", *n, key, ends.size()));
    else
      ends.resize(static_cast<std::size_t>(*n));
  }

  void read_ends() {
    const auto before = problems_.count();
    if (ends_->size() == 0) {
      problems_.add(v_, "this machine has no NIC on a network", "write nodes: 2 or more, or take a cluster");
      return;
    }
    g_.senders = places("from");
    g_.receivers = f_.find("to") != nullptr ? places("to") : g_.senders;
    if (problems_.count() != before) return;
    if (g_.pattern == FlowPattern::pairs) return read_pairs();
    if (f_.find("from")) no_end_twice("from", g_.senders);
    if (f_.find("to")) no_end_twice("to", g_.receivers);
    if (g_.pattern == FlowPattern::incast) {
      if (!f_.find("receivers") && !f_.find("to")) g_.receivers.resize(1);
      take("receivers", g_.receivers);
      // Who receives does not send, and neither does its machine: that would not pass the network.
      std::erase_if(g_.senders, [&](auto s) {
        return std::ranges::any_of(g_.receivers, [&](auto r) { return ends_->place(r).node == ends_->place(s).node; });
      });
      take("senders", g_.senders);
    } else {
      take("senders", g_.senders);
      if (f_.find("to") == nullptr && f_.find("receivers") == nullptr && f_.find("senders") != nullptr)
        g_.receivers = g_.senders;
      take("receivers", g_.receivers);
    }
    std::ranges::sort(g_.receivers);
    if (problems_.count() != before) return;
    if (g_.pattern == FlowPattern::permutation) {
      if (auto to = permutation_of(*ends_, g_.senders, g_.receivers, g_.seed))
        g_.to = std::move(*to);
      else
        problems_.add(v_, "no permutation: some sender would have to send to its own machine, or twice to one NIC",
                      "as many NICs in 'to' as in 'from', on several machines");
      return;
    }
    // With receivers on two machines everybody has one that is not his own.
    const auto machine = [&](std::uint32_t end) { return ends_->place(end).node; };
    const bool several =
        std::ranges::any_of(g_.receivers, [&](auto r) { return machine(r) != machine(g_.receivers.front()); });
    for (std::size_t s = 0; s < g_.senders.size() && !several; ++s)
      if (g_.receivers.empty() || machine(g_.receivers.front()) == machine(g_.senders[s])) {
        problems_.add(v_, fmt::format("{} has nobody to send to", ends_->name(g_.senders[s])),
                      "a sender and its receiver are on different machines");
        return;
      }
    if (g_.senders.empty()) problems_.add(v_, "nobody sends", "a sender and its receiver are on different machines");
  }

  void read_pairs() {
    for (const auto* key : {"from", "to"})
      if (!f_.find(key)) problems_.add(v_, fmt::format("pairs need '{}'", key), "lists of as many NICs");
    belongs("senders", "other patterns");
    belongs("receivers", "other patterns");
    if (g_.senders.size() != g_.receivers.size()) {
      problems_.add(v_, fmt::format("{} senders and {} receivers are no pairs", g_.senders.size(), g_.receivers.size()),
                    "as many NICs in 'to' as in 'from'");
      return;
    }
    if (g_.senders.empty()) problems_.add(v_, "nobody sends", "name NICs in 'from' and 'to'");
    for (std::size_t i = 0; i < g_.senders.size(); ++i)
      if (g_.senders[i] == g_.receivers[i]) {
        problems_.add(v_, fmt::format("{} would send to itself", ends_->name(g_.senders[i])));
        return;
      }
    g_.to = g_.receivers;
  }

  Problems& problems_;
  Fields f_;
  const Value& v_;
  const FlowEnds* ends_;
  std::size_t number_;
  FlowGroup g_;
};

}  // namespace

std::vector<FlowGroup> read_flow_groups(Problems& problems, const Value& v, const FlowEnds* ends) {
  std::vector<FlowGroup> out;
  if (v.is_sequence() && v.items.empty()) problems.add(v, "no flows", "write - {pattern: permutation, size: 1 MiB}");
  const auto one = [&](const Value& item) {
    if (auto g = GroupReader{problems, item, ends, out.size()}.read()) out.push_back(std::move(*g));
  };
  if (v.is_sequence())
    for (const auto& item : v.items) one(item);
  else
    one(v);
  for (std::size_t i = 0; i < out.size(); ++i)  // names tell rows apart
    for (std::size_t j = 0; j < i; ++j)
      if (out[i].name == out[j].name) {
        out[i].name = fmt::format("{} {}", out[i].name, i + 1);
        break;
      }
  return out;
}

}  // namespace linkcast::workloads
