// The clock: takes the next instant from the event queue and the network, runs everything that happens in it, and
// starts what became ready. Knows tasks and runs; what they stand for it does not know, nor what moves their bytes.
#include "linkcast/sim/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "chunk_plan.hpp"
#include "chunk_run.hpp"
#include "fluid_carrier.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/sim/event_queue.hpp"
#include "packet_carrier.hpp"
#include "task_board.hpp"

namespace linkcast::sim {
namespace {

// Events and flows say whom they belong to: agent of a run (top bit, 31 bits of run, 32 of agent) or a task's slot.
constexpr std::uint64_t agent_bit = std::uint64_t{1} << 63;

class Replay {
 public:
  Replay(const ResourceTable& resources, TaskSource& source, const ReplayOptions& options)
      : resources_{resources}, options_{options}, board_{source, options.window} {
    if (options.packets != nullptr)
      carrier_ = std::make_unique<PacketCarrier>(*options.packets, resources.size());
    else
      carrier_ = std::make_unique<FluidCarrier>(resources);
    carried_alone_.resize(resources.size(), 0.0);
  }

  ReplayResult run() {
    board_.fill(now_, Account{}, ready_);
    start_ready();
    while (board_.in_window() > 0) {
      launch();
      const Time event = queue_.next_time();
      const Time next = std::min(event, carrier_->next(event));
      if (next == Time::max()) throw InternalError("deadlock: " + blocked());
      now_ = next;
      instant();
    }
    result_.end = now_;
    result_.tasks = board_.taken();
    if (result_.account.total() != result_.end)
      throw InternalError("the account of the replay does not add up to its end");
    result_.carried = carrier_->carried(now_);
    for (std::size_t r = 0; r < carried_alone_.size(); ++r) result_.carried[r] += carried_alone_[r];
    return std::move(result_);
  }

 private:
  struct Running {
    std::unique_ptr<ChunkRun> run;
    std::shared_ptr<const ChunkPlan> plan;
    std::uint32_t slot = 0;
  };

  // Queue first, then the network: rates are solved once for all starts of the instant.
  void instant() {
    for (;;) {
      while (queue_.next_time() == now_) dispatch(queue_.pop().payload, nullptr);
      carrier_->take(now_, moved_);
      if (moved_.empty()) return;
      for (const auto& m : moved_) dispatch(m.owner, &m);
    }
  }

  /// Something that was due, or that moved.
  void dispatch(std::uint64_t owner, const Moved* moved) {
    ++result_.events;
    if ((owner & agent_bit) != 0) {
      const auto index = static_cast<std::size_t>((owner & ~agent_bit) >> 32);
      auto& running = runs_[index];
      const auto agent = static_cast<std::uint32_t>(owner);
      moved != nullptr ? running.run->on_moved(agent, now_, *moved) : running.run->on_event(agent, now_);
      if (running.run->finished()) finish_run(index);
      return;
    }
    const auto slot = static_cast<std::uint32_t>(owner);
    auto& entry = board_[slot];
    if (moved != nullptr) return end_flow(slot, moved->paused);
    if (const auto* flow = std::get_if<PipelinedFlow>(&entry.task.work); flow != nullptr && flow->bytes > Bytes{}) {
      entry.flow_start = now_;
      return carrier_->start(now_, *flow, slot);
    }
    if (entry.launching) {
      entry.launching = false;
      launching_.push_back(slot);
      return;
    }
    end_task(slot);
  }

  void start_ready() {
    while (!ready_.empty()) {
      const auto batch = std::exchange(ready_, {});
      for (const auto slot : batch) start(slot);
    }
  }

  void start(std::uint32_t slot) {
    auto& entry = board_[slot];
    entry.started = now_;
    entry.launching = false;
    ++active_;
    for (auto* o : options_.observers) o->task_started(entry.task, now_);
    Account spent;
    if (const auto* compute = std::get_if<Compute>(&entry.task.work)) {
      spent.add(Cause::compute, compute->duration);
    } else if (const auto* flow = std::get_if<PipelinedFlow>(&entry.task.work)) {
      spent = flow->fixed;
    } else if (const auto* program = std::get_if<std::shared_ptr<const ChunkProgram>>(&entry.task.work)) {
      if (*program == nullptr) throw InternalError("task '" + entry.task.label + "' has no program");
      spent = (*program)->fixed;
      entry.launching = true;
    }
    const Time span = spent.total();
    if (span < Time{}) throw InternalError("task '" + entry.task.label + "' has a negative duration");
    if (span > Time::max() - now_) {
      throw InputError("the simulated time passes 106 days at '" + entry.task.label + "'",
                       "that is the largest time in picoseconds: replay fewer repetitions");
    }
    entry.account += spent;
    queue_.push(now_ + span, slot);
  }

  void end_flow(std::uint32_t slot, std::optional<Time> paused) {
    auto& entry = board_[slot];
    const auto& flow = std::get<PipelinedFlow>(entry.task.work);
    Rate bare = Rate::unlimited(), framed = Rate::unlimited();
    for (const auto& u : flow.usages) {
      bare = std::min(bare, resources_[u.resource].bare * (1.0 / u.weight));
      framed = std::min(framed, resources_[u.resource].capacity * (1.0 / u.weight));
    }
    const auto time = [&flow](Rate r) { return transfer_time(flow.bytes, std::max(r, Rate::bytes_per_second(1))); };
    const Time wire = time(bare), protocol = std::max(wire, time(framed)), alone = std::max(protocol, time(flow.cap));
    book_transfer(entry.account, now_ - entry.flow_start, wire, protocol, alone, flow.cap_cause, paused);
    end_task(slot);
  }

  void end_task(std::uint32_t slot) {
    auto& entry = board_[slot];
    if (entry.account.total() != now_) {
      throw InternalError(fmt::format("the account of task '{}' has {} ps at {} ps", entry.task.label,
                                      entry.account.total().ps(), now_.ps()));
    }
    for (auto* o : options_.observers) o->task_ended(entry.task, entry.started, now_, entry.account);
    result_.account = entry.account;
    --active_;
    board_.end(slot, now_, ready_);
    board_.fill(now_, result_.account, ready_);
    start_ready();
  }

  // Programs begin when the instant is over and it is clear what runs beside them.
  void launch() {
    const auto batch = std::exchange(launching_, {});
    const bool alone = batch.size() == 1 && active_ == 1 && options_.packets == nullptr;
    for (const auto slot : batch) alone ? run_alone(slot) : run_shared(slot);
  }

  std::shared_ptr<const ChunkPlan> plan_for(const std::shared_ptr<const ChunkProgram>& program, bool folded) {
    // A step repeats its collectives: the last plan is kept. The key keeps the program alive, so no other can have
    // its address.
    auto& kept = folded ? kept_folded_ : kept_whole_;
    if (kept.first != program) kept = {program, std::make_shared<const ChunkPlan>(resources_, *program, folded)};
    return kept.second;
  }

  void run_shared(std::uint32_t slot) {
    const auto& program = std::get<std::shared_ptr<const ChunkProgram>>(board_[slot].task.work);
    std::size_t index = 0;
    while (index < runs_.size() && runs_[index].run != nullptr) ++index;
    if (index == runs_.size()) runs_.emplace_back();
    auto& running = runs_[index];
    running.slot = slot;
    running.plan = plan_for(program, false);
    const auto tag = agent_bit | (static_cast<std::uint64_t>(index) << 32);
    running.run =
        std::make_unique<ChunkRun>(*running.plan, ChunkHost{queue_, *carrier_, tag}, now_, board_[slot].account);
    if (running.run->finished()) finish_run(index);
  }

  void finish_run(std::size_t index) {
    auto& running = runs_[index];
    const auto slot = running.slot;
    board_[slot].account = running.run->account();
    queue_.push(running.run->end(), slot);
    running.run.reset();
    running.plan.reset();
  }

  // Nothing else is active and nothing can become so before this program ends: it runs to its end at once, in a
  // network of its own.
  void run_alone(std::uint32_t slot) {
    const auto& program = std::get<std::shared_ptr<const ChunkProgram>>(board_[slot].task.work);
    const auto plan = plan_for(program, options_.fold);
    EventQueue queue;
    FluidCarrier carrier{plan->resources()};
    ChunkRun run{*plan, ChunkHost{queue, carrier, 0}, now_, board_[slot].account};
    std::vector<Moved> moved;
    while (!run.finished()) {
      const Time now = std::min(queue.next_time(), carrier.next(queue.next_time()));
      if (now == Time::max()) throw InternalError("deadlock: " + run.blocked());
      while (queue.next_time() == now) {
        run.on_event(static_cast<std::uint32_t>(queue.pop().payload), now);
        ++result_.events;
      }
      carrier.take(now, moved);
      for (const auto& m : moved) run.on_moved(static_cast<std::uint32_t>(m.owner), now, m);
      result_.events += moved.size();
    }
    plan->expand_carried(carrier.carried(run.end()), carried_alone_);
    board_[slot].account = run.account();
    queue_.push(run.end(), slot);
  }

  std::string blocked() const {
    for (const auto& running : runs_) {
      if (running.run != nullptr) return running.run->blocked();
    }
    return "tasks wait for each other";
  }

  const ResourceTable& resources_;
  const ReplayOptions& options_;
  TaskBoard board_;
  std::unique_ptr<Carrier> carrier_;
  EventQueue queue_;
  Time now_;
  std::size_t active_ = 0;
  std::vector<std::uint32_t> ready_, launching_;
  std::vector<Running> runs_;
  std::vector<Moved> moved_;
  std::pair<std::shared_ptr<const ChunkProgram>, std::shared_ptr<const ChunkPlan>> kept_folded_, kept_whole_;
  std::vector<double> carried_alone_;
  ReplayResult result_;
};

class OneTask final : public TaskSource {
 public:
  explicit OneTask(Task task) : task_{std::move(task)} {}
  std::optional<Task> next() override { return std::exchange(task_, std::nullopt); }

 private:
  std::optional<Task> task_;
};

}  // namespace

ReplayResult replay(const ResourceTable& resources, TaskSource& source, const ReplayOptions& options) {
  return Replay{resources, source, options}.run();
}

ReplayResult replay(const ResourceTable& resources, Task task, const ReplayOptions& options) {
  OneTask source{std::move(task)};
  return replay(resources, source, options);
}

}  // namespace linkcast::sim
