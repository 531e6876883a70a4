// `linkcast cost`: what a cluster is made of, what that costs and draws.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "linkcast/planning/cost.hpp"
#include "machine.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

struct Options {
  MachineOptions machine;
  std::string prices, csv, tokens;
  bool json = false;
};

double tokens_per_second(std::string_view text) {
  double x = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error == std::errc{} && stop == text.data() + text.size() && std::isfinite(x) && x > 0 && x <= 1e15) return x;
  throw sim::InputError{fmt::format("--tokens-per-second: '{}' is no number above 0", text), "as in 1250000"};
}

int cost(const Options& o, Io& io) {
  Problems problems;
  const auto tokens =
      o.tokens.empty() ? 0.0 : problems.collect([&] { return tokens_per_second(o.tokens); }).value_or(0.0);
  if (o.machine.topology.empty())
    problems.add("no topology is named", "--topology NAME ('linkcast topo list') or a file");
  problems.finish();
  const auto prices = o.prices.empty() ? planning::Prices::shipped() : planning::Prices::read(o.prices);
  if (!o.csv.empty()) check_writable("--csv", o.csv, Kind::table);
  const auto machine = load_machine(o.machine, {});
  const auto bom = planning::bill_of_materials(machine.cluster, *prices);
  const auto economics = planning::economics(bom, *prices, tokens);
  if (!o.csv.empty()) write_file("--csv", o.csv, planning::to_csv(bom));
  if (o.json)
    io.out << planning::json_report(bom, economics, machine.cluster.name());
  else
    io.out << machine.cluster.name() << ": " << planning::to_text(bom, economics);
  return done;
}

}  // namespace

void add_cost(Form root) {
  const auto o = std::make_shared<Options>();
  auto form = root.command("cost", "what a cluster is made of, what that costs and draws");
  o->machine.add_to(form);
  form.group("Prices");
  form.text("--prices", o->prices, "FILE", "prices and watts (docs/cost.md), laid over those that are shipped");
  form.text("--tokens-per-second", o->tokens, "N",
            "what all of these GPUs train or serve together: says what a million tokens cost");
  form.group("Output");
  form.text("--csv", o->csv, "FILE", "also write the bill of materials there, with the source of every price");
  form.flag("--json", o->json, "JSON of schema linkcast.bom/1");
  form.examples(
      "  linkcast cost --topology superpod-h100\n"
      "  linkcast cost --topology superpod-h100 --set units=2 --csv bom.csv\n"
      "  linkcast cost --topology dgx-h100 --nodes 16 --prices our-prices.yaml\n"
      "  linkcast cost --topology superpod-h100 --tokens-per-second 1250000 --json\n");
  form.performs([o](Io& io) { return cost(*o, io); });
}

}  // namespace linkcast::cli
