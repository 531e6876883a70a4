// The whole command: which commands there are, and how exceptions become exit states.
#include "linkcast/cli/run.hpp"

#include <fmt/format.h>

#include <new>
#include <ostream>

#include "form.hpp"
#include "linkcast/models/nccl/types.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/packet/network.hpp"

namespace linkcast::cli {
namespace {

constexpr const char* examples =
    "  linkcast topo list\n"
    "  linkcast collective all_reduce --topology dgx-h100\n"
    "  linkcast nccl --topology dgx-h100 --explain all_reduce:4M\n"
    "  linkcast validate tests/data/collectives\n"
    "\n"
    "Exit status: 0 done, 1 a check failed, 2 the input was wrong, 3 an internal error.\n"
    "'linkcast COMMAND --help' explains a command and shows examples.\n";

#ifdef NDEBUG
constexpr const char* build_kind = "release build";
#else
constexpr const char* build_kind = "debug build: slow";
#endif

/// The command line again, so that a shell takes it as it was.
std::string typed(int argc, const char* const* argv) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+%@^";
  std::string out = "linkcast";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    out += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
    out += '\'';
  }
  return out;
}

int perform(int argc, const char* const* argv, Io& io) {
  CommandLine line{
      "Forecasts what a GPU interconnect will do: collectives and training traces over NVLink, NVSwitch and PCIe.",
      fmt::format("linkcast {} ({}; NCCL up to {})", LINKCAST_VERSION, build_kind, models::nccl::Version{}.str())};
  auto root = line.root();
  root.examples(examples);
  add_collective(root);
  add_nccl(root);
  add_validate(root);
  add_diagnose(root);
  add_run(root);
  add_sweep(root);
  add_plan(root);
  add_cost(root);
  add_resilience(root);
  add_topo(root);
  add_trace(root);
  add_calibrate(root);
  return line.perform(argc, argv, io);
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err, std::stop_token stop) {
  try {
    Log log{err};
    Io io{out, log, std::move(stop), typed(argc, argv)};
    return perform(argc, argv, io);
  } catch (const UsageError& e) {
    err << e.what() << '\n';
    return wrong_input;
  } catch (const sim::InputError& e) {
    err << e.what() << '\n';
    return wrong_input;
  } catch (const sim::packet::Deadlock& e) {
    err << "error: " << e.what() << '\n';
    return check_failed;
  } catch (const std::bad_alloc&) {
    err << "error: not enough memory\n";
    return wrong_input;
  } catch (const std::exception& e) {
    err << "internal error: " << e.what()
        << "\nThis is a mistake in linkcast, not in your input. Please report it with the command line and the "
           "files.\n";
    return internal_error;
  }
}

}  // namespace linkcast::cli
