// The list `faults` of a scenario. See faults.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "linkcast/planning/faults.hpp"
#include "quantities.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

constexpr std::array kind_words{"fail", "degrade", "errors", "slow"};

bool is_link(ElementKind k) {
  return k == ElementKind::nic || k == ElementKind::nvlink || k == ElementKind::pcie_link ||
         k == ElementKind::leaf_spine_cable || k == ElementKind::spine_core_cable;
}

/// A plain number, or nothing.
std::optional<double> number_of(const Value& v) {
  if (!v.is_scalar() || v.text.empty()) return std::nullopt;
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  if (error != std::errc{} || stop != end || !std::isfinite(x)) return std::nullopt;
  return x;
}

/// "200 Gb/s", "25 GB/s": in bytes a second, or nothing.
std::optional<double> rate_of(const Value& v) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array units{Unit{"GB/s", 1e9},     Unit{"Gb/s", 1e9 / 8}, Unit{"MB/s", 1e6},
                             Unit{"Mb/s", 1e6 / 8}, Unit{"TB/s", 1e12},    Unit{"Tb/s", 1e12 / 8}};
  if (!v.is_scalar()) return std::nullopt;
  double x = 0;
  const auto* end = v.text.data() + v.text.size();
  const auto [stop, error] = std::from_chars(v.text.data(), end, x);
  if (error != std::errc{}) return std::nullopt;
  std::string_view name{stop, static_cast<std::size_t>(end - stop)};
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end() || !(x > 0)) return std::nullopt;
  return x * unit->factor;
}

class Reader {
 public:
  Reader(Problems& problems, const Elements& elements) : problems_{problems}, elements_{elements} {}

  void read(const Value& item) {
    Fields f{problems_, item, "a fault"};
    if (!f.sound()) return;
    Fault out;
    out.place = item.place;
    const Value* named = nullptr;
    int kinds = 0;
    for (std::size_t i = 0; i < kind_words.size(); ++i)
      if (const auto* v = f.find(kind_words[i])) {
        ++kinds;
        named = v;
        out.kind = static_cast<FaultKind>(i);
      }
    const bool readable = kinds == 1 && numbers(f, out);
    if (const auto* v = f.find("at"))
      if (const auto t = span_of(problems_, *v, "at", true)) out.at = *t;
    if (const auto* v = f.find("for")) {
      if (const auto t = span_of(problems_, *v, "for", false)) out.lasts = *t;
      if (f.value().get("at") == nullptr)
        problems_.add(*v, "'for' without 'at'", "say from when: `at: 10 s`; without both a fault lasts the whole run");
    }
    if (const auto* v = f.find("stall")) {
      if (const auto t = span_of(problems_, *v, "stall", true)) out.stall = *t;
      if (f.value().get("at") == nullptr)
        problems_.add(*v, "'stall' without 'at'", "a fault from the start stalls nothing");
    }
    if (kinds != 1) {
      for (const auto* key : {"to", "ber", "factor", "count"}) f.find(key);
      problems_.add(item, "a fault has one of 'fail', 'degrade', 'errors' and 'slow'",
                    "write `fail: \"leaf[3]\"` or `degrade: \"node[4].nic[2]\"`");
    }
    f.done();
    if (readable && element(*named, out, item)) faults_.push_back(std::move(out));
  }

  std::vector<Fault> take() {
    for (std::size_t i = 0; i < faults_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) contradict(faults_[j], faults_[i]);
    return std::move(faults_);
  }

 private:
  bool numbers(Fields& f, Fault& out) {
    const auto before = problems_.count();
    if (out.kind == FaultKind::slow) {
      if (const auto* v = f.need("factor")) {
        const auto x = number_of(*v);
        if (!x || !(*x > 1) || *x > 1000)
          problems_.add(*v, "'factor' must be a number above 1, at most 1000",
                        "1.3: computing takes 1.3 times as long");
        else
          out.factor = *x;
      }
    } else {
      if (const auto n = f.integer("count", 1, 1 << 16)) out.count = static_cast<int>(*n);
    }
    if (out.kind == FaultKind::errors)
      if (const auto* v = f.need("ber")) {
        const auto x = number_of(*v);
        if (!x || !(*x > 0) || *x > 1e-3)
          problems_.add(*v, "'ber' must be a number above 0, at most 1e-3", "1e-9: one bit in 10^9 is wrong");
        else
          out.bit_error_rate = *x;
      }
    if (out.kind == FaultKind::degrade) to_ = f.need("to");
    return problems_.count() == before;
  }

  bool element(const Value& named, Fault& out, const Value& item) {
    if (!named.is_scalar() || named.text.empty()) {
      problems_.add(named,
                    fmt::format("'{}' must be the name of a part", kind_words[static_cast<std::size_t>(out.kind)]),
                    "write node[4].nic[2] or leaf[3], in quotes");
      return false;
    }
    std::string help;
    auto found = elements_.find(named.text, &help);
    if (!found) {
      problems_.add(named, fmt::format("there is no '{}'", named.text), help);
      return false;
    }
    out.element = std::move(*found);
    const auto& e = out.element;
    const auto refuse = [&](const Value& at, std::string problem, std::string help_text) {
      problems_.add(at, std::move(problem), std::move(help_text));
      return false;
    };
    if (out.kind == FaultKind::slow && e.kind != ElementKind::gpu && e.kind != ElementKind::node)
      return refuse(named, fmt::format("'{}' does not compute", named.text), "slow names a GPU or a node");
    if ((out.kind == FaultKind::degrade || out.kind == FaultKind::errors) && !is_link(e.kind))
      return refuse(named, fmt::format("'{}' is no link", named.text),
                    "name a NIC, both ends of a link, or two switches with a cable between them");
    const bool bundle = e.kind == ElementKind::leaf_spine_cable || e.kind == ElementKind::spine_core_cable;
    if (out.count > 0 && !bundle)
      return refuse(*item.get("count"), "'count' is for the cables between two switches", "leave it out");
    if (out.count > e.count) return refuse(*item.get("count"), fmt::format("'{}' has {} cables", e.name, e.count), {});
    return out.kind != FaultKind::degrade || narrowed(out);
  }

  bool narrowed(Fault& out) {
    const auto& v = *to_;
    if (const auto share = number_of(v)) {
      if (*share > 0 && *share < 1) {
        out.share = *share;
        return true;
      }
      problems_.add(v, fmt::format("'to' is {}: it must be a share between 0 and 1, or a rate", v.text),
                    "write 0.5 or 200 Gb/s");
      return false;
    }
    const auto rate = rate_of(v);
    if (!rate) {
      problems_.add(v, fmt::format("'to' must be a share or a rate, not '{}'", v.text), "write 0.5 or 200 Gb/s");
      return false;
    }
    const double whole = static_cast<double>(out.element.rate.bytes_per_second());
    if (*rate >= whole) {
      problems_.add(v, fmt::format("'{}' has {:g} Gb/s: {} is not less", out.element.name, whole * 8e-9, v.text));
      return false;
    }
    out.share = *rate / whole;
    return true;
  }

  static bool overlap(const Fault& a, const Fault& b) {
    const auto begin = [](const Fault& f) { return f.at.value_or(sim::Time{}); };
    const auto before = [&](const Fault& x, const Fault& y) { return x.lasts && x.at && *x.at + *x.lasts <= begin(y); };
    return !before(a, b) && !before(b, a);
  }

  void contradict(const Fault& a, const Fault& b) {
    if (!overlap(a, b)) return;
    const auto said = [](const Fault& f) {
      return std::array{"failed", "degraded", "faulty", "slow"}[static_cast<std::size_t>(f.kind)];
    };
    const auto& x = a.element;
    const auto& y = b.element;
    if (x.name == y.name) {
      problems_.add(b.place,
                    a.kind == b.kind ? fmt::format("'{}' is {} twice", y.name, said(b))
                                     : fmt::format("'{}' is {} and {} at the same time", y.name, said(a), said(b)),
                    x.count > 1 ? fmt::format("keep one; `count` says how many of its {} cables", x.count)
                                : "keep one of them, or let them follow each other: at, for");
      return;
    }
    const auto holds = [](const Fault& outer, const Fault& inner) {
      return outer.kind == FaultKind::fail && outer.element.kind == ElementKind::node && inner.element.node >= 0 &&
             inner.element.kind != ElementKind::node && inner.element.node == outer.element.node;
    };
    if (holds(a, b) || holds(b, a))
      problems_.add(b.place,
                    fmt::format("'{}' and '{}' at the same time: the node as a whole has failed", x.name, y.name),
                    "keep one of them");
  }

  Problems& problems_;
  const Elements& elements_;
  const Value* to_ = nullptr;
  std::vector<Fault> faults_;
};

}  // namespace

std::string_view name_of(FaultKind k) { return kind_words[static_cast<std::size_t>(k)]; }

std::string to_text(const Fault& f) {
  const auto some = f.count > 0 && f.count < f.element.count
                        ? fmt::format("{} of {} cables {}", f.count, f.element.count, f.element.name)
                        : f.element.name;
  switch (f.kind) {
    case FaultKind::fail:
      return some + " fails";
    case FaultKind::degrade:
      return fmt::format("{} at {:.3g} % of its rate", some, f.share * 100);
    case FaultKind::errors:
      return fmt::format("{} with a bit error rate of {:g}", some, f.bit_error_rate);
    case FaultKind::slow:
      return fmt::format("{} {:g} times as slow", some, f.factor);
  }
  return some;
}

std::vector<Fault> read_faults(Problems& problems, const Value& v, const Elements& elements) {
  if (!v.is_sequence()) {
    problems.add(v, "'faults' must be a list", "write `- {fail: \"leaf[3]\"}` lines");
    return {};
  }
  Reader reader{problems, elements};
  for (const auto& item : v.items) reader.read(item);
  return reader.take();
}

std::vector<Fault> faults_of(const workloads::ScenarioFile& scenario, const Elements& elements) {
  const auto* v = scenario.root.is_map() ? scenario.root.get("faults") : nullptr;
  if (v == nullptr || v->kind == Value::Kind::null) return {};
  Problems problems;
  auto faults = read_faults(problems, *v, elements);
  problems.throw_if_any();
  return faults;
}

}  // namespace linkcast::planning
