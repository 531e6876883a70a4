// See collectives.hpp. Algorithm and protocol are forced with NCCL_ALGO and NCCL_PROTO, which NCCL reads when it makes
// a communicator; the number of channels with its configuration.
#include "collectives.hpp"

#include <fmt/format.h>

#include "linkcast/sim/diagnostic.hpp"
#include "resources.hpp"

#ifdef LINKCAST_HAS_NCCL
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace linkcast::calibration::cuda {
namespace {

using models::nccl::Op;
using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds{60};

/// Sets an environment variable for a scope. NCCL has no other way to take these.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_{name} {
    if (value.empty()) return;
    if (const char* before = std::getenv(name)) before_ = before;
    set_ = true;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (!set_) return;
    before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  bool set_ = false;
  std::optional<std::string> before_;
};

sim::Time since(Clock::time_point begin, int iterations) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  return sim::Time::from_us(took.count() / iterations);
}

}  // namespace

struct Collectives::Impl {
  struct Gpu {
    int device = 0, rank = 0;
    Stream stream;
    Event start, stop;
    ncclComm_t comm = nullptr;
    DeviceMemory send, receive;
    GraphExec graph;
  };

  const NcclLibrary& nccl;
  std::vector<int> devices;
  int first_rank, all_ranks;
  std::vector<Gpu> gpus;  // those with a rank in the communicator
  std::optional<std::pair<int, NcclChoice>> made;
  sim::Bytes room{0};

  const NcclFunctions& f() const { return nccl.functions(); }

  ~Impl() { drop(true); }

  /// A communicator that hangs cannot be destroyed, only aborted.
  void drop(bool sound) {
    for (auto& g : gpus)
      if (g.comm != nullptr) sound ? f().CommDestroy(g.comm) : f().CommAbort(g.comm);
    gpus.clear();
    made.reset();
    room = sim::Bytes{0};
  }

  int ranks_of(const CollectiveRequest& r) const { return r.ranks == 0 ? all_ranks : r.ranks; }

  void make(const CollectiveRequest& r, const std::string& id_bytes) {
    ncclUniqueId id;
    if (id_bytes.size() != sizeof id.internal) throw sim::InternalError("a communicator without an id");
    std::memcpy(id.internal, id_bytes.data(), sizeof id.internal);
    const Setting algorithm("NCCL_ALGO", r.choice.algorithm), protocol("NCCL_PROTO", r.choice.protocol);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (r.choice.channels > 0) config.minCTAs = config.maxCTAs = r.choice.channels;
    const int ranks = ranks_of(r);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const int rank = first_rank + static_cast<int>(i);
      if (rank >= ranks) break;
      const int d = devices[i];
      gpus.push_back({d, rank, make_stream(d), make_event(d), make_event(d), nullptr, {}, {}, {}});
    }
    nccl.check(f().GroupStart(), "ncclGroupStart");
    for (auto& g : gpus) {
      check(cudaSetDevice(g.device), "cudaSetDevice");
      nccl.check(f().CommInitRankConfig(&g.comm, ranks, id, g.rank, &config), "ncclCommInitRankConfig");
    }
    nccl.check(f().GroupEnd(), "ncclGroupEnd (making communicators)");
    made = {ranks, r.choice};
  }

  void make_room(sim::Bytes size) {
    if (size <= room) return;
    for (auto& g : gpus) {
      g.send = {};
      g.receive = {};
      g.send = allocate(g.device, size);
      g.receive = allocate(g.device, size);
    }
    room = size;
  }

  /// One call on one GPU, inside a group. Counts are floats; nccl-tests' "size" is the larger buffer's.
  void call(const CollectiveRequest& r, const Gpu& g) const {
    const auto n = static_cast<std::size_t>(ranks_of(r));
    const auto all = static_cast<std::size_t>(r.size.count()) / sizeof(float);
    const auto each = all / n;
    auto* receive = static_cast<float*>(g.receive.get());
    auto* send = r.in_place ? receive : static_cast<float*>(g.send.get());
    const auto own = static_cast<std::size_t>(g.rank) * each;
    const auto s = g.stream.get();
    const auto peer = [&](int by) { return (g.rank + by + static_cast<int>(n)) % static_cast<int>(n); };
    switch (r.op) {
      case Op::all_reduce:
        return nccl.check(f().AllReduce(send, receive, all, ncclFloat, ncclSum, g.comm, s), "ncclAllReduce");
      case Op::all_gather:
        return nccl.check(f().AllGather(r.in_place ? receive + own : send, receive, each, ncclFloat, g.comm, s),
                          "ncclAllGather");
      case Op::reduce_scatter:
        return nccl.check(
            f().ReduceScatter(send, r.in_place ? receive + own : receive, each, ncclFloat, ncclSum, g.comm, s),
            "ncclReduceScatter");
      case Op::broadcast:
        return nccl.check(f().Broadcast(send, receive, all, ncclFloat, 0, g.comm, s), "ncclBroadcast");
      case Op::reduce:
        return nccl.check(f().Reduce(send, receive, all, ncclFloat, ncclSum, 0, g.comm, s), "ncclReduce");
      case Op::sendrecv:
        nccl.check(f().Send(send, all, ncclFloat, peer(1), g.comm, s), "ncclSend");
        return nccl.check(f().Recv(receive, all, ncclFloat, peer(-1), g.comm, s), "ncclRecv");
      case Op::alltoall:
        for (std::size_t p = 0; p < n; ++p) {
          nccl.check(f().Send(send + p * each, each, ncclFloat, static_cast<int>(p), g.comm, s), "ncclSend");
          nccl.check(f().Recv(receive + p * each, each, ncclFloat, static_cast<int>(p), g.comm, s), "ncclRecv");
        }
        return;
      case Op::gather:
        nccl.check(f().Send(send, each, ncclFloat, 0, g.comm, s), "ncclSend");
        for (std::size_t p = 0; g.rank == 0 && p < n; ++p)
          nccl.check(f().Recv(receive + p * each, each, ncclFloat, static_cast<int>(p), g.comm, s), "ncclRecv");
        return;
      case Op::scatter:
        for (std::size_t p = 0; g.rank == 0 && p < n; ++p)
          nccl.check(f().Send(send + p * each, each, ncclFloat, static_cast<int>(p), g.comm, s), "ncclSend");
        return nccl.check(f().Recv(receive, each, ncclFloat, 0, g.comm, s), "ncclRecv");
    }
  }

  void call_all(const CollectiveRequest& r) const {
    nccl.check(f().GroupStart(), "ncclGroupStart");
    for (const auto& g : gpus) {
      check(cudaSetDevice(g.device), "cudaSetDevice");
      call(r, g);
    }
    nccl.check(f().GroupEnd(), "ncclGroupEnd");
  }

  void capture(const CollectiveRequest& r) {
    for (const auto& g : gpus)
      check(cudaStreamBeginCapture(g.stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < r.repeat.iterations; ++i) call_all(r);
    for (auto& g : gpus) g.graph = end_capture(g.stream);
  }

  void iterate(const CollectiveRequest& r, int times) const {
    if (r.graph) {
      for (const auto& g : gpus) check(cudaGraphLaunch(g.graph.get(), g.stream.get()), "cudaGraphLaunch");
    } else {
      for (int i = 0; i < times; ++i) call_all(r);
    }
  }

  /// As nccl-tests waits: by asking, so that an error elsewhere does not hang this process for good.
  void wait() {
    const auto until = Clock::now() + patience;
    for (const auto& g : gpus) {
      for (;;) {
        const auto state = cudaStreamQuery(g.stream.get());
        if (state == cudaSuccess) break;
        if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
        ncclResult_t asynchronous = ncclSuccess;
        nccl.check(f().CommGetAsyncError(g.comm, &asynchronous), "ncclCommGetAsyncError");
        nccl.check(asynchronous, "a collective");
        if (Clock::now() > until)
          throw sim::InputError(fmt::format("a collective did not end within {} s", patience.count()),
                                "one of the ranks is missing, or a link is dead; NCCL_DEBUG=INFO says more");
      }
    }
  }

  LocalSamples run(const CollectiveRequest& r, const std::function<void()>& barrier) {
    make_room(r.size);
    if (r.graph) capture(r);
    for (int i = 0; i < (r.graph ? 1 : std::max(r.repeat.warmup, 1)); ++i) iterate(r, 1);
    wait();
    LocalSamples out;
    for (int round = 0; round < r.repeat.rounds; ++round) {
      barrier();
      for (const auto& g : gpus) check(cudaEventRecord(g.start.get(), g.stream.get()), "cudaEventRecord");
      const auto begin = Clock::now();
      iterate(r, r.repeat.iterations);
      for (const auto& g : gpus) check(cudaEventRecord(g.stop.get(), g.stream.get()), "cudaEventRecord");
      wait();
      out.wall.push_back(since(begin, r.repeat.iterations));
      sim::Time slowest;
      for (const auto& g : gpus) slowest = std::max(slowest, between(g.start, g.stop) / r.repeat.iterations);
      out.events.push_back(slowest);
    }
    return out;
  }
};

Collectives::Collectives(const NcclLibrary& nccl, std::vector<int> devices, int first_rank, int ranks)
    : impl_{new Impl{nccl, std::move(devices), first_rank, ranks, {}, {}, {}}} {}
Collectives::~Collectives() = default;

bool Collectives::needs_communicator(const CollectiveRequest& r) const {
  return impl_->made != std::pair{impl_->ranks_of(r), r.choice};
}

std::string Collectives::new_id() const {
  ncclUniqueId id;
  impl_->nccl.check(impl_->f().GetUniqueId(&id), "ncclGetUniqueId");
  return {id.internal, sizeof id.internal};
}

void Collectives::release(bool sound) { impl_->drop(sound); }

LocalSamples Collectives::run(const CollectiveRequest& r, const std::string& id, const std::function<void()>& barrier) {
  const int ranks = impl_->ranks_of(r);
  if (ranks < 2 || ranks > impl_->all_ranks)
    throw sim::InputError(fmt::format("a collective of {} ranks", ranks),
                          fmt::format("2 to {} here", impl_->all_ranks));
  if (r.size < least_size(r.op, ranks))
    throw Lacking(fmt::format("{} bytes are too few for {} ranks", r.size.count(), ranks), "4 for each of them");
  if (!id.empty()) impl_->drop(true);
  if (impl_->first_rank >= ranks) return {};
  try {
    if (!id.empty()) impl_->make(r, id);
    return impl_->run(r, barrier);
  } catch (...) {
    impl_->drop(false);
    throw;
  }
}

}  // namespace linkcast::calibration::cuda

#else

namespace linkcast::calibration::cuda {

// Never asked: without NCCL a machine has no ranks.
struct Collectives::Impl {};
Collectives::Collectives(const NcclLibrary&, std::vector<int>, int, int) {}
Collectives::~Collectives() = default;
bool Collectives::needs_communicator(const CollectiveRequest&) const { return false; }
std::string Collectives::new_id() const { return {}; }
void Collectives::release(bool) {}
LocalSamples Collectives::run(const CollectiveRequest&, const std::string&, const std::function<void()>&) {
  throw sim::InputError("no collectives without NCCL");
}

}  // namespace linkcast::calibration::cuda

#endif
