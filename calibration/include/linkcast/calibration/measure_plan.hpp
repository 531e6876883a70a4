// What is worth measuring on a machine, what it will cost, and which of it fits into a budget. An item is a question
// ("how fast is every pair of GPUs?"), its cells are the requests that answer it. Knows no machine: times come in as
// Speeds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "linkcast/calibration/measure.hpp"

namespace linkcast::calibration {

using Request = std::variant<CopyRequest, ChaseRequest, LaunchRequest, CollectiveRequest>;

/// A request, and its answer once it was asked: a time for each transfer; collectives: wall clock, then events.
struct Cell {
  Request request;
  std::vector<Timing> times;
  std::string algorithm, protocol;  // that NCCL took, where it is known
  bool measured() const { return !times.empty(); }
};

enum class ItemKind : unsigned char { launch, host, pairs, pattern, chase, sm_rate, collective };
std::string_view name_of(ItemKind k);
std::span<const std::string> item_kind_names();  // in the order of ItemKind

struct Item {
  std::string id;     // "pairs/ce/write", "collective/all_reduce/Ring/LL/8-ranks": what resuming goes by
  std::string tells;  // for people
  ItemKind kind = ItemKind::launch;
  double information = 1;  // how much it says about the model's parameters, compared with the others
  std::vector<Cell> cells;
  bool complete = false;  // nothing is gained by asking again: it has all its times, or the machine lacks something
  double took_s = 0;      // of all runs
  std::string problem;    // why some or all of it could not be measured
};

/// A first, rough look at the machine, to know what things cost.
struct Speeds {
  double launch_us = 10;                                 // a kernel, until it is known to have ended
  double copy_start_us = 10, copy_GBps = 10;             // between two GPUs, or in one
  double host_GBps = 10;                                 // pinned memory
  double collective_start_us = 20, collective_GBps = 5;  // algbw
  double communicator_s = 1;                             // to make one
  double cell_s = 0.002;                                 // streams, events, memory: around every request
};
Speeds first_timings(Machine& machine, const Discovery& there);

struct PlanOptions {
  std::vector<ItemKind> only;         // empty: all
  std::vector<sim::Bytes> sizes;      // of collectives; empty: 1 KiB to 1 GiB
  std::vector<models::nccl::Op> ops;  // empty: all
  int rounds = 7;
};

/// Everything that this machine can be asked, without repetitions.
std::vector<Item> items_for(const Discovery& there, const PlanOptions& options);
/// How often each request that is not measured is done: about 5 ms for a sample, at most 100 iterations, `rounds`
/// samples.
void set_repetitions(std::span<Item> items, const Speeds& speeds, int rounds);
/// By the speeds and the repetitions that are set; of an item what is not measured yet.
double estimated_s(const Request& request, const Speeds& speeds);
double estimated_s(const Item& item, const Speeds& speeds);

/// Of the items with these costs: the one with the most information for a second among those that fit into `left_s`;
/// ties: the first. `costs.size()`: none fits.
std::size_t next_item(std::span<const Item> items, std::span<const double> costs, double left_s);

/// The order in which a budget is spent if every estimate is right, and what does not fit.
struct Plan {
  std::vector<std::size_t> order, dropped;  // indices of items
  double total_s = 0;
};
Plan plan(std::span<const Item> items, std::span<const double> costs, double budget_s);

}  // namespace linkcast::calibration
