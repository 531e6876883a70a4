// Reads price files (schema linkcast.prices/1, docs/cost.md): each is laid over what is there already.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "embedded_data.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/scenario_machine.hpp"
#include "linkcast/workloads/trace_fields.hpp"
#include "price_amount.hpp"
#include "prices_data.hpp"

namespace linkcast::planning {
namespace {

using workloads::trace::Fields;
using workloads::trace::Problems;
using workloads::trace::Value;

constexpr std::string_view schema = "linkcast.prices/1";

class Reader {
 public:
  Reader(Problems& problems, Prices::Data& data, std::string where)
      : problems_{problems}, d_{data}, where_{std::move(where)} {}

  void read(const Value& root, bool needs_schema) {
    Fields f{problems_, root, "a price file"};
    if (!f.sound()) return;
    if (const auto* v = needs_schema ? f.need("schema") : f.find("schema"); v && v->text != schema)
      problems_.add(*v, fmt::format("'schema' is '{}'", v->text), fmt::format("write `schema: {}`", schema));
    named(f, "servers", [&](const Value& name, const Value& v) { server(name, v); });
    named(f, "gpus", [&](const Value& name, const Value& v) { part("a GPU", v, d_.gpus[name.text]); });
    part(f, "host_per_gpu", d_.host_per_gpu);
    named(f, "nics", [&](const Value& name, const Value& v) { part("a NIC", v, d_.nics[name.text]); });
    rates(f, "nic_rates", "a NIC", d_.nic_rates);
    named(f, "switches", [&](const Value& name, const Value& v) { network_switch(v, d_.switches[name.text]); });
    rates(f, "switch_ports", "a port", d_.switch_ports);
    rates(f, "transceivers", "a transceiver", d_.transceivers);
    named(f, "copper", [&](const Value& name, const Value& v) {
      if (const auto gbps = rate(name)) copper(v, d_.copper[*gbps]);
    });
    part(f, "fibre", d_.fibre);
    if (const auto n = f.integer("machines_per_rack", 1, 1000)) d_.machines_per_rack = static_cast<int>(*n);
    named(f, "assumed_switches", [&](const Value& name, const Value& v) { assumed(name, v); });
    part(f, "other_per_gpu", d_.other_per_gpu);
    if (const auto* v = f.find("economics")) {
      Fields e{problems_, *v, "'economics'"};
      figure(e, "years", AmountKind::years, d_.years);
      figure(e, "pue", AmountKind::ratio, d_.pue);
      figure(e, "electricity", AmountKind::usd_per_kwh, d_.electricity);
      figure(e, "hosting", AmountKind::usd_per_kw_month, d_.hosting);
      e.done();
      check(*v);
    }
    f.done();
  }

 private:
  /// Each entry of the map under that key.
  template <typename F>
  void named(Fields& f, std::string_view key, F one) {
    const auto* v = f.find(key);
    if (!v) return;
    if (!v->is_map())
      return problems_.add(*v, fmt::format("'{}' must be a map", key),
                           "a line `name: {usd: …, watts: …}` for each part");
    for (const auto& [name, value] : v->entries) one(name, value);
  }

  void rates(Fields& f, std::string_view key, std::string_view what, std::map<double, PartPrice>& into) {
    named(f, key, [&](const Value& name, const Value& v) {
      if (const auto gbps = rate(name)) part(what, v, into[*gbps]);
    });
  }

  std::optional<double> rate(const Value& v) {
    double x = 0;
    const std::string_view text = v.text;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x, std::chars_format::fixed);
    const auto unit =
        error == std::errc{} ? text.substr(static_cast<std::size_t>(stop - text.data())) : std::string_view{};
    if (unit == " Gb/s" && std::isfinite(x) && x > 0) return x;
    problems_.add(v, fmt::format("'{}' is no rate", text.substr(0, 40)), "as in `400 Gb/s`");
    return std::nullopt;
  }

  void figures(Fields& f, PartPrice& into) {
    figure(f, "usd", AmountKind::usd, into.usd);
    figure(f, "watts", AmountKind::watts, into.watts);
  }

  void part(std::string_view what, const Value& v, PartPrice& into) {
    Fields f{problems_, v, std::string{what}};
    figures(f, into);
    f.done();
  }
  void part(Fields& f, std::string_view key, PartPrice& into) {
    if (const auto* v = f.find(key)) part(fmt::format("'{}'", key), *v, into);
  }

  void server(const Value& name, const Value& v) {
    auto& s = d_.servers[name.text];
    Fields f{problems_, v, fmt::format("server '{}'", name.text)};
    figures(f, s);
    if (auto systems = f.words("systems"); !systems.empty()) s.systems = std::move(systems);
    if (auto gpu = f.word("gpu")) s.gpu = std::move(*gpu);
    if (const auto n = f.integer("gpus", 1, 100'000)) s.gpus = static_cast<int>(*n);
    if (const auto* n = f.find("nics")) {
      Fields nics{problems_, *n, "'nics'"};
      s.nic = nics.word("model").value_or("");
      s.nics = static_cast<int>(nics.integer("count", 0, 100'000).value_or(0));
      if (s.nic.empty() != (s.nics == 0)) problems_.add(*n, "'nics' needs a 'model' and a 'count'");
      nics.done();
    }
    f.done();
    if (f.sound() && s.systems.empty() && (s.gpu.empty() || s.gpus == 0))
      problems_.add(name, fmt::format("which machines is server '{}'?", name.text),
                    "`gpu: h100-sxm` and `gpus: 8`, or `systems: [dgx-h100]`");
  }

  void network_switch(const Value& v, SwitchPrice& into) {
    Fields f{problems_, v, "a switch"};
    figures(f, into);
    if (const auto n = f.integer("ports_per_cage", 1, 16)) into.ports_per_cage = static_cast<int>(*n);
    f.done();
  }

  void copper(const Value& v, CopperPrice& into) {
    Fields f{problems_, v, "a copper cable"};
    figures(f, into);
    std::optional<Figure> up_to;
    figure(f, "up_to", AmountKind::metres, up_to);
    if (up_to) into.up_to = up_to->band.high;
    f.done();
  }

  void assumed(const Value& fabric, const Value& v) {
    std::vector<AssumedSwitch> list;
    if (!v.is_sequence())
      return problems_.add(v, "must be a list", "as in `- {switch: qm9700, ports: 64, rate: 400 Gb/s}`");
    for (const auto& item : v.items) {
      Fields f{problems_, item, "a switch"};
      AssumedSwitch s;
      f.need("switch");
      s.name = f.word("switch").value_or("");
      f.need("ports");
      s.ports = static_cast<int>(f.integer("ports", 2, 100'000).value_or(2));
      if (const auto* r = f.need("rate")) s.gbps = rate(*r).value_or(1);
      f.done();
      list.push_back(std::move(s));
    }
    d_.assumed[fabric.text] = std::move(list);
  }

  void figure(Fields& f, std::string_view key, AmountKind kind, std::optional<Figure>& into) {
    const auto* v = f.find(key);
    if (!v) return;
    Figure out;
    out.source = where_;
    if (!v->is_map()) {
      if (const auto band = amount(*v, kind)) {
        out.band = *band;
        into = std::move(out);
      }
      return;
    }
    Fields m{problems_, *v, fmt::format("'{}'", key)};
    const auto typical = m.need("typical") ? amount(*m.find("typical"), kind) : std::nullopt;
    const auto low = m.find("low") ? amount(*m.find("low"), kind) : typical;
    const auto high = m.find("high") ? amount(*m.find("high"), kind) : typical;
    if (auto source = m.word("source")) out.source = std::move(*source);
    if (auto date = m.word("date")) out.date = std::move(*date);
    m.done();
    if (!low || !typical || !high) return;
    out.band = {low->low, typical->typical, high->high};
    if (out.band.low > out.band.typical || out.band.typical > out.band.high)
      return problems_.add(*v, fmt::format("'{}' is not in order", key),
                           "low, typical and high, each at least the one before");
    into = std::move(out);
  }

  std::optional<Band> amount(const Value& v, AmountKind kind) {
    const auto parsed = parse_amount(v.is_scalar() ? std::string_view{v.text} : "…", kind);
    if (const auto* band = std::get_if<Band>(&parsed)) return *band;
    const auto& error = std::get<AmountError>(parsed);
    problems_.add(v, error.problem, error.help);
    return std::nullopt;
  }

  void check(const Value& at) {
    if (d_.years && d_.years->band.low <= 0) problems_.add(at, "'years' must be more than 0");
    if (d_.pue && d_.pue->band.low < 1)
      problems_.add(at, "'pue' is below 1", "the energy of the building over that of the equipment: 1.1 to 2");
  }

  Problems& problems_;
  Prices::Data& d_;
  std::string where_;
};

std::shared_ptr<const Prices::Data> read_over(const Prices::Data& below, const workloads::trace::Source& file,
                                              const std::string& where, bool needs_schema) {
  auto data = std::make_shared<Prices::Data>(below);
  Problems problems;
  const auto root = workloads::trace::parse_yaml(file, problems);
  problems.throw_if_any();
  Reader{problems, *data, where}.read(root, needs_schema);
  problems.throw_if_any();
  return data;
}

workloads::trace::Source source_of(std::string_view text, const std::string& name) {
  auto source = std::make_shared<workloads::SourceText>();
  source->name = name;
  source->text = text;
  return source;
}

}  // namespace

std::shared_ptr<const Prices> Prices::shipped() {
  static const auto prices = [] {
    for (const auto& file : embedded_data()) {
      if (file.path != "prices.yaml") continue;
      return std::make_shared<const Prices>(
          read_over(Data{}, source_of(file.text, "planning/data/prices.yaml"), "planning/data/prices.yaml", true));
    }
    throw sim::InternalError("no prices are shipped");
  }();
  return prices;
}

std::shared_ptr<const Prices> Prices::read(const std::string& path) {
  auto data = std::make_shared<Data>(*read_over(
      shipped()->data(), workloads::trace::read_source(path, "a price file has a few hundred lines"), path, true));
  data->files.push_back(path);
  return std::make_shared<const Prices>(std::move(data));
}

std::shared_ptr<const Prices> Prices::parse(std::string_view text, const std::string& where) {
  auto data = std::make_shared<Data>(*read_over(shipped()->data(), source_of(text, where), where, false));
  data->files.push_back(where);
  return std::make_shared<const Prices>(std::move(data));
}

std::shared_ptr<const Prices> Prices::of_scenario(const Value* v, const std::string& path, Problems& problems) {
  if (v == nullptr || v->kind == Value::Kind::null) return shipped();
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? std::string{} : path.substr(0, slash);
  try {
    return v->is_scalar() ? read(workloads::beside(folder, v->text)) : parse(workloads::written_in_place(*v), path);
  } catch (const sim::InputError& e) {
    workloads::trace::relocate(problems, v->place, e);
    return shipped();
  }
}

PartPrice times(PartPrice p, double k) {
  if (p.usd) p.usd->band = p.usd->band * k;
  if (p.watts) p.watts->band = p.watts->band * k;
  return p;
}

PartPrice Prices::Data::at(const std::map<double, PartPrice>& rates, double gbps) {
  const PartPrice* best = nullptr;
  double of = 1, distance = 0;
  for (const auto& [rate, price] : rates) {
    const auto d = std::abs(std::log(rate / gbps));
    if (best && d >= distance) continue;
    best = &price, of = rate, distance = d;
  }
  if (!best || !(gbps > 0)) return {};
  if (of == gbps) return *best;
  auto out = times(*best, gbps / of);
  for (auto* figure : {&out.usd, &out.watts})
    if (*figure) (*figure)->source += fmt::format("; scaled from {:g} Gb/s", of);
  return out;
}

}  // namespace linkcast::planning
