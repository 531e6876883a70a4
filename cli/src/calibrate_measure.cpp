// `linkcast calibrate measure`: what this machine does, into a file.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>

#include "calibrate.hpp"
#include "linkcast/calibration/measure_run.hpp"
#include "linkcast/calibration/real_machine.hpp"
#include "linkcast/calibration/twin.hpp"
#include "linkcast/workloads/sizes.hpp"
#include "measure_text.hpp"
#include "read_file.hpp"
#include "words.hpp"
#include "write_file.hpp"

namespace linkcast::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string budget = "5m", output, resume, only, size, op, rounds = "7", system;
  std::string twin, noise, seed, nodes, nccl, launch;
  std::vector<std::string> hidden;
  bool plan = false, json = false;
};

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// A number and what follows it: "5m", "3%".
std::pair<std::optional<double>, std::string> number_and_unit(std::string_view text) {
  const auto unit = std::min(text.find_first_not_of("0123456789.+-"), text.size());
  return {number(text.substr(0, unit)), std::string{text.substr(unit)}};
}

double budget_of(const std::string& text) {
  const auto [value, unit] = number_and_unit(text);
  const std::map<std::string, double> units{{"s", 1}, {"m", 60}, {"h", 3600}};
  const auto factor = units.find(unit);
  if (!value || factor == units.end() || !(*value > 0) || *value * factor->second > 1e6)
    throw sim::InputError(fmt::format("--budget: '{}' is not a time", text), "as in 90s, 5m or 1h");
  return *value * factor->second;
}

double noise_of(const std::string& text) {
  const auto [value, unit] = number_and_unit(text);
  if (!value || unit != "%" || *value < 0 || *value > 100)
    throw sim::InputError(fmt::format("--noise: '{}' is not a share from 0% to 100%", text), "as in 3%");
  return *value / 100;
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    throw sim::InputError(fmt::format("--seed: '{}' is not a whole number", text), "from 0 to 2^64 - 1");
  return seed;
}

template <class Each>
void each_of_list(const std::string& text, Each each) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    each(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

calibration::PlanOptions plan_options(const Options& o, Problems& problems) {
  calibration::PlanOptions plan;
  if (!o.only.empty())
    each_of_list(o.only, [&](const std::string& word) {
      if (const auto i = problems.collect([&] { return one_of("--only", word, calibration::item_kind_names()); }))
        plan.only.push_back(static_cast<calibration::ItemKind>(*i));
    });
  if (!o.op.empty())
    each_of_list(o.op, [&](const std::string& word) {
      if (const auto op = models::nccl::op_from(word))
        plan.ops.push_back(*op);
      else
        problems.add(fmt::format("--op: unknown collective '{}'", word), suggestion(word, models::nccl::op_names()));
    });
  if (!o.size.empty())
    if (auto sizes = problems.collect([&] { return workloads::parse_sizes(o.size); })) plan.sizes = std::move(*sizes);
  plan.rounds = problems.collect([&] { return whole_number("--rounds", o.rounds, 1, 1000); }).value_or(7);
  return plan;
}

/// Where the measurement is written; empty: only the plan is asked for.
std::string output_of(const Options& o) {
  if (o.plan) return {};
  return !o.output.empty() ? o.output : !o.resume.empty() ? o.resume : std::string{"measurement.json"};
}

/// Only of the process that writes: others of the same measurement may run on hosts without these files. Returns what
/// --resume goes on with.
std::optional<calibration::MeasurementFile> look_at_files(const Options& o, Problems& problems) {
  const auto output = output_of(o);
  std::error_code ignored;
  if (output != o.resume && fs::exists(output, ignored))
    problems.add(fmt::format("'{}' is there already", output),
                 fmt::format("--resume {} goes on with it; --output names another file", output));
  else if (!output.empty())
    problems.collect([&] {
      check_writable(o.output.empty() && !o.resume.empty() ? "--resume" : "--output", output);
      return true;
    });
  if (o.resume.empty()) return std::nullopt;
  return problems.collect([&] { return calibration::parse_measurement_file(read_file(o.resume), o.resume); });
}

calibration::TwinOptions twin_options(const Options& o, Problems& problems) {
  calibration::TwinOptions twin;
  twin.system = o.twin;
  if (!o.noise.empty()) twin.noise = problems.collect([&] { return noise_of(o.noise); }).value_or(0);
  if (!o.seed.empty()) twin.seed = problems.collect([&] { return seed_of(o.seed); }).value_or(1);
  if (!o.nodes.empty())
    twin.cluster.nodes = problems.collect([&] { return whole_number("--nodes", o.nodes, 1, 4096); }).value_or(0);
  if (!o.nccl.empty())
    if (const auto v = problems.collect([&] { return models::nccl::Version::parse(o.nccl); })) twin.nccl = *v;
  const std::vector<std::string> modes{"single-process", "multi-process"};
  if (!o.launch.empty())
    if (const auto i = problems.collect([&] { return one_of("--launch", o.launch, modes); }))
      twin.launch = *i == 0 ? models::LaunchMode::single_process : models::LaunchMode::multi_process;
  return twin;
}

void refuse_twin_options_without_twin(const Options& o, Problems& problems) {
  const std::pair<const char*, bool> given[] = {{"--hidden", !o.hidden.empty()}, {"--noise", !o.noise.empty()},
                                                {"--seed", !o.seed.empty()},     {"--nodes", !o.nodes.empty()},
                                                {"--nccl", !o.nccl.empty()},     {"--launch", !o.launch.empty()}};
  for (const auto& [name, is] : given)
    if (is) problems.add(fmt::format("{} belongs to --twin", name), "a real machine says it itself");
}

std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

void show(const calibration::MeasureProgress& p, Log& log) {
  if (p.item.empty()) return log.status({});
  const auto text = fmt::format("{} of {}, {} of {}: {}", p.done + 1, std::max(p.planned, p.done + 1),
                                duration_text(p.elapsed_s), duration_text(p.budget_s), p.item);
  if (!log.on_terminal()) return log.note(text);
  constexpr int width = 24;
  const int full = static_cast<int>(width * std::clamp(p.elapsed_s / p.budget_s, 0.0, 1.0));
  log.status(fmt::format("[{:#<{}}{:.<{}}] {}", "", full, "", width - full, text));
}

int perform(const Options& o, Io& io) {
  Problems problems;
  calibration::MeasureOptions options;
  options.plan = plan_options(o, problems);
  options.budget_s = problems.collect([&] { return budget_of(o.budget); }).value_or(0);
  if (o.plan && !o.output.empty()) problems.add("--plan measures nothing, so there is nothing for --output");
  if (!o.system.empty()) {
    const auto names = topologies::catalog_names();
    if (problems.collect([&] { return one_of("--system", o.system, names); })) options.system = o.system;
  }
  auto twin = twin_options(o, problems);
  if (o.twin.empty()) refuse_twin_options_without_twin(o, problems);
  // One of several processes learns in their meeting whether it writes; and who fails then, ends all of them.
  const bool several =
      o.twin.empty() &&
      problems.collect([] { return calibration::one_of_several_processes(from_environment); }).value_or(true);
  std::optional<calibration::MeasurementFile> before;
  if (!several) before = look_at_files(o, problems);
  problems.finish();

  std::unique_ptr<calibration::Machine> machine;
  if (!o.twin.empty()) {
    twin.cluster.profile = calibration::hidden_numbers(assignments("--hidden", o.hidden));
    machine = calibration::make_twin(twin);
  } else {
    auto real = calibration::open_real_machine(from_environment);
    if (real.serve) {
      real.serve();
      return done;
    }
    machine = std::move(real.machine);
  }
  if (several) before = look_at_files(o, problems);
  problems.finish();

  options.created = now_in_utc();
  options.tool = "linkcast " LINKCAST_VERSION;
  options.stop = io.stop;
  options.only_plan = o.plan;
  options.progress = [&](const calibration::MeasureProgress& p) { show(p, io.log); };
  const auto output = output_of(o);
  if (!output.empty())
    options.save = [&](const calibration::MeasurementFile& file) {
      replace_file("--output", output, calibration::text_of(file));
    };
  const auto file = calibration::measure(*machine, options, std::move(before));
  if (o.json)
    io.out << calibration::text_of(file);
  else if (o.plan)
    io.out << plan_text(file);
  else
    io.out << measured_text(file) << fmt::format("\nWritten to {}\n", output);
  if (!io.stop.stop_requested()) return done;
  if (!output.empty()) io.log.warning(fmt::format("stopped; --resume {} goes on", output));
  return interrupted;
}

constexpr const char* examples =
    "  linkcast calibrate measure --budget 5m\n"
    "      on a machine with GPUs: the most telling measurements that fit into five minutes\n"
    "  linkcast calibrate measure --resume measurement.json --budget 1h\n"
    "      goes on where a run ended or was stopped\n"
    "  torchrun --nnodes 2 --nproc-per-node 8 --no-python linkcast calibrate measure --only collective\n"
    "      one process for each GPU, also on several machines\n"
    "  linkcast calibrate measure --twin dgx-h100 --noise 3% --plan\n"
    "      rehearses the plan without a GPU\n";

}  // namespace

void add_calibrate_measure(Form calibrate) {
  const auto o = std::make_shared<Options>();
  auto form =
      calibrate.command("measure", "run copies and collectives on this machine's GPUs, and write down their times");
  form.group("What");
  form.text("--budget", o->budget, "T", "time to spend, as in 90s, 5m, 1h (default 5m)");
  form.text("--only", o->only, "LIST", "of launch, host, pairs, pattern, chase, sm-rate, collective (default all)");
  form.text("--op", o->op, "LIST", "collectives (default all that nccl-tests has)");
  form.text("--size", o->size, "SIZES", "of collectives, as nccl-tests takes them (default 1K:1G)");
  form.text("--rounds", o->rounds, "N", "samples for each time; the median counts (default 7)");
  form.text("--system", o->system, "NAME", "the machine in the catalog, where the GPUs do not tell it");
  form.flag("--plan", o->plan, "only say what would be measured, and how long it takes");
  form.group("A simulated machine");
  form.text("--twin", o->twin, "NAME|FILE", "measure the simulator instead: rehearse the plan without a GPU");
  form.list("--hidden", o->hidden, "PART=VALUE",
            "a number that the twin has otherwise: gpus.h100-sxm.simple.send=20GB/s");
  form.text("--noise", o->noise, "P%", "how far the twin's times scatter (default 0%)");
  form.text("--seed", o->seed, "N", "of the noise (default 1)");
  form.text("--nodes", o->nodes, "N", "twins of that machine, on its network");
  form.text("--nccl", o->nccl, "X.Y", "the twin's NCCL");
  form.text("--launch", o->launch, "MODE", "the twin's: single-process (default) or multi-process");
  form.group("Output");
  form.text("-o,--output", o->output, "FILE", "default measurement.json; written while measuring");
  form.text("--resume", o->resume, "FILE", "go on with this file: what it lacks, and what failed");
  form.flag("--json", o->json, "the measurement file on stdout, instead of the summary");
  form.examples(examples);
  form.performs([o](Io& io) { return perform(*o, io); });
}

}  // namespace linkcast::cli
