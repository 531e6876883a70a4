// The real machine: which GPUs are there, who measures what. See real_machine.hpp. With several processes rank 0 plans
// and asks; the others take part in collectives. First of all they meet: they try whether NCCL connects them. Each
// request goes to all of them; a process answers a barrier with "ready" and, when it is done, with its samples, or at
// any of these points with an error.
#include "linkcast/calibration/real_machine.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "../src/meeting.hpp"
#include "../src/nics.hpp"
#include "../src/problems.hpp"
#include "../src/process_group.hpp"
#include "../src/request_json.hpp"
#include "../src/system_of_gpus.hpp"
#include "collectives.hpp"
#include "copies.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "nccl_trial.hpp"
#include "nvml.hpp"
#include "resources.hpp"

extern char** environ;

namespace linkcast::calibration {
namespace {

using cuda::check;
using nlohmann::json;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{120};         // until all processes are there
constexpr std::chrono::seconds answer_patience{180};  // for one collective; its own waits end after a minute
/// Until NCCL has connected all ranks: it took others a minute with thousands of them.
std::chrono::seconds meeting_patience(int ranks) { return std::chrono::seconds{60 + ranks / 50}; }

std::string version_text(int code) { return fmt::format("{}.{}", code / 1000, code % 1000 / 10); }

/// The number of GPUs, or what is missing.
int count_gpus(const Environment& env) {
  int gpus = 0;
  const auto result = cudaGetDeviceCount(&gpus);
  if (result == cudaSuccess && gpus > 0) return gpus;
  cudaGetLastError();
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const std::string rehearse = "; '--twin NAME' rehearses the plan without a GPU";
  if (driver == 0)
    throw sim::InputError("no NVIDIA driver on this machine (libcuda.so.1 is not there)",
                          "install the driver, or start the container with --gpus all" + rehearse);
  if (result == cudaErrorInsufficientDriver)
    throw sim::InputError(fmt::format("the driver is too old: it knows CUDA {}, this linkcast uses {}",
                                      version_text(driver), version_text(runtime)),
                          "update the driver, or build linkcast with an older CUDA toolkit" + rehearse);
  if (result == cudaErrorSystemNotReady)
    throw sim::InputError("the driver says that the system is not ready (cudaErrorSystemNotReady)",
                          "with NVSwitches the fabric manager must run: systemctl status nvidia-fabricmanager");
  const auto visible = env("CUDA_VISIBLE_DEVICES");
  if (result == cudaErrorNoDevice || result == cudaSuccess)
    throw sim::InputError(
        "no GPU" + (visible ? fmt::format(" (CUDA_VISIBLE_DEVICES is '{}')", *visible) : std::string{}),
        "'nvidia-smi -L' lists those that the driver sees" + rehearse);
  check(result, "cudaGetDeviceCount");
  return 0;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// Only NCCL's own: the rest of an environment may hold secrets.
std::map<std::string, std::string> nccl_environment() {
  std::map<std::string, std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view setting{*e};
    const auto equals = setting.find('=');
    if (setting.starts_with("NCCL_") && equals != std::string_view::npos)
      out.emplace(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return out;
}

GpuFacts facts_of(int device, const cuda::Nvml& nvml) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  GpuFacts f;
  f.name = p.name;
  f.bus_id = fmt::format("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
  f.compute_capability = p.major * 10 + p.minor;
  f.sms = p.multiProcessorCount;
  f.copy_engines = p.asyncEngineCount;
  f.memory = sim::Bytes{static_cast<std::int64_t>(p.totalGlobalMem)};
  nvml.describe(f);
  return f;
}

json samples_json(const cuda::LocalSamples& s) {
  const auto list = [](const std::vector<sim::Time>& times) {
    auto out = json::array();
    for (const auto t : times) out.push_back(t.ps());
    return out;
  };
  return {{"wall_ps", list(s.wall)}, {"events_ps", list(s.events)}};
}

cuda::LocalSamples samples_from(const json& j) {
  cuda::LocalSamples out;
  for (const auto& ps : j.at("wall_ps")) out.wall.push_back(sim::Time::picoseconds(ps.get<std::int64_t>()));
  for (const auto& ps : j.at("events_ps")) out.events.push_back(sim::Time::picoseconds(ps.get<std::int64_t>()));
  return out;
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}
std::string from_hex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

json error_json(const sim::InputError& e) {
  json out{{"error", words_of(e)}};
  if (dynamic_cast<const Lacking*>(&e) != nullptr) out["lacking"] = true;
  if (dynamic_cast<const cuda::StillWaiting*>(&e) != nullptr) out["waiting"] = true;
  return out;
}

/// What rank 0 says to the others around one collective.
class Others {
 public:
  explicit Others(ProcessGroup* group) : group_{group} {}

  std::set<std::string> host_names() {
    std::set<std::string> out;
    each([&](int peer) { out.insert(hear(peer)); });
    return out;
  }
  void call_to_meet(const std::string& id) {
    each([&](int peer) { group_->send(peer, json{{"meet", hex(id)}}.dump()); });
  }
  /// Once this process has met the others, or waited long enough for them.
  void come_in(Meeting& meeting, Clock::time_point until) {
    each([&](int peer) {
      const auto message = group_->receive(peer, until);
      if (!message) return meeting.silent.push_back(peer);
      const auto answer = json::parse(*message);
      if (answer.contains("waiting"))
        meeting.waiting.push_back(peer);
      else if (answer.contains("error"))
        meeting.failed[peer] = answer.at("error").get<std::string>();
    });
    if (!meeting.silent.empty()) lost_ = ranks_in_words(meeting.silent) + " did not arrive";
  }

  void ask(const CollectiveRequest& request, const std::string& id) {
    if (!lost_.empty()) throw sim::InputError("no more collectives: " + lost_);
    until_ = Clock::now() + answer_patience;
    const json message = {{"request", json_of(Request{request})}, {"id", hex(id)}};
    each([&](int peer) { group_->send(peer, message.dump()); });
  }
  /// Processes without a rank in the request have sent their (empty) samples already: those are kept.
  void barrier() {
    until_ = Clock::now() + answer_patience;  // for each step of a measurement, however many it has
    Errors errors;
    std::vector<int> ready;
    each([&](int peer) {
      if (done_.contains(peer)) return;
      const auto answer = json::parse(hear(peer));
      if (answer.contains("ready")) ready.push_back(peer);
      errors.note(peer, answer);
      if (!answer.contains("ready")) done_[peer] = answer;
    });
    for (const int peer : ready) group_->send(peer, errors.any() ? "stop" : "go");
    if (errors.any()) done_.clear();
    errors.throw_if_any();
  }
  std::vector<cuda::LocalSamples> samples() {
    std::vector<cuda::LocalSamples> out;
    Errors errors;
    each([&](int peer) {
      const auto answer = done_.contains(peer) ? done_[peer] : json::parse(hear(peer));
      errors.note(peer, answer);
      if (!answer.contains("error")) out.push_back(samples_from(answer));
    });
    done_.clear();
    errors.throw_if_any();
    return out;
  }
  /// After an error of its own: hears everybody out, so that the next request finds them waiting for it.
  void give_up() {
    each([&](int peer) {
      if (done_.contains(peer)) return;
      if (json::parse(hear(peer)).contains("ready")) group_->send(peer, "stop");
    });
    done_.clear();
  }
  void dismiss() {
    each([&](int peer) { group_->send(peer, "{\"quit\":true}"); });
  }

 private:
  /// The last of the others' errors; what one of them lacks, all lack together.
  class Errors {
   public:
    void note(int peer, const json& answer) {
      if (!answer.contains("error")) return;
      text_ = fmt::format("rank {}: {}", peer, answer.at("error").get<std::string>());
      lacking_ = answer.contains("lacking");
    }
    bool any() const { return !text_.empty(); }
    void throw_if_any() const {
      if (text_.empty()) return;
      if (lacking_) throw Lacking(text_);
      throw sim::InputError(text_);
    }

   private:
    std::string text_;
    bool lacking_ = false;
  };

  template <class Do>
  void each(Do act) {
    for (int peer = 1; group_ != nullptr && peer < group_->size(); ++peer) act(peer);
  }
  /// Whoever is late may answer a later question with the answer to this one: then it is not asked any more.
  std::string hear(int peer) {
    if (!lost_.empty()) throw sim::InputError(lost_);
    if (auto message = group_->receive(peer, until_)) return *message;
    lost_ = fmt::format("rank {} did not answer within {} s", peer, answer_patience.count());
    throw sim::InputError(lost_, "see what that process prints, and whether its GPU answers (nvidia-smi)");
  }
  ProcessGroup* group_;
  std::map<int, json> done_;
  Clock::time_point until_ = Clock::now() + answer_patience;
  std::string lost_;
};

class Real final : public Machine {
 public:
  Real(const Environment& env, int gpus, std::unique_ptr<ProcessGroup> group, int local_rank)
      : env_{env}, group_{std::move(group)}, others_{group_.get()}, gpus_{group_ ? 1 : gpus}, copies_{gpus} {
    std::vector<int> devices;
    if (group_) {
      devices.push_back(local_rank);
    } else {
      for (int g = 0; g < gpus; ++g) devices.push_back(g);
    }
    hosts_ = others_.host_names();
    hosts_.insert(host_name());
    ranks_ = group_ ? group_->size() : gpus;
    first_device_ = devices.front();
    collectives_ = std::make_unique<cuda::Collectives>(nccl_, devices, 0, ranks_);
  }

  ~Real() override {
    try {
      others_.dismiss();
    } catch (const sim::InputError&) {
      // They are gone already.
    }
  }

  Discovery discover() override {
    Discovery d;
    d.kind = "real";
    d.host = host_name();
    for (int g = 0; g < gpus_; ++g) d.gpus.push_back(facts_of(device(g), nvml_));
    bool any_peers = false;
    for (int a = 0; a < gpus_; ++a) {
      d.peer_access.emplace_back();
      for (int b = 0; b < gpus_; ++b) {
        d.peer_access.back().push_back(copies_.can_access(device(a), device(b)));
        any_peers = any_peers || (a != b && d.peer_access.back().back());
      }
    }
    d.nics = nics_in("/sys/class/infiniband");
    d.nodes = static_cast<int>(hosts_.size());
    d.launch = group_ ? models::LaunchMode::multi_process : models::LaunchMode::single_process;
    int version = 0;
    check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
    d.cuda_runtime = version_text(version);
    check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    d.cuda_driver = version_text(version);
    d.driver = nvml_.driver_version();
    d.nccl = nccl_.version();
    d.env = nccl_environment();
    d.system = system_of_gpus(d.gpus.front().name, std::max(ranks_ / d.nodes, gpus_)).system;
    if (!nvml_.problem().empty()) d.missing.push_back("no NVLink and PCIe facts: " + nvml_.problem());
    if (!nccl_.problem().empty()) {
      d.missing.push_back(nccl_.problem());
    } else if (ranks_ > 1) {
      d.ranks = ranks_;
    }
    if (ranks_ == 1)
      d.missing.push_back(
          "one GPU only: no copies between GPUs and no collectives; its memory, thread blocks, PCIe and "
          "launches are measured");
    if (group_)
      d.missing.push_back("a process for each GPU: no copies between GPUs; start one process without RANK for those");
    else if (gpus_ > 1 && !any_peers)
      d.missing.push_back(
          "no peer access between any two GPUs ('nvidia-smi topo -p2p r' says why): copies between them "
          "go through host memory");
    return d;
  }

  CopyResult copy(const CopyRequest& request) override {
    auto r = request;
    for (auto& t : r.transfers) t = {device_or_host(t.from), device_or_host(t.to)};
    // A communicator may rely on the peer access that is about to be switched off.
    if (!r.peer_access) collectives_->release(true);
    return copies_.copy(r);
  }
  Timing chase(const ChaseRequest& request) override {
    auto r = request;
    r.gpu = device(r.gpu);
    r.memory = device_or_host(r.memory);
    return copies_.chase(r);
  }
  Timing launch(const LaunchRequest& request) override {
    auto r = request;
    for (auto& g : r.gpus) g = device(g);
    return copies_.launch(r);
  }

  CollectiveResult collective(const CollectiveRequest& request) override {
    if (!nccl_.problem().empty()) throw sim::InputError(nccl_.problem());
    try {
      if (group_ && !met_) meet();
      return collective_of_all(request);
    } catch (const sim::InputError&) {
      // The processes no longer agree on what they have: the next call makes a new communicator.
      collectives_->release(false);
      throw;
    }
  }

  double elapsed_s() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  void meet() {
    Meeting meeting;
    meeting.ranks = ranks_;
    const auto wait = meeting_patience(ranks_);
    meeting.waited_s = static_cast<double>(wait.count());
    const auto until = Clock::now() + wait;
    const auto id = collectives_->new_id();
    others_.call_to_meet(id);
    try {
      cuda::try_communicator(nccl_, first_device_, 0, ranks_, id, until);
    } catch (const cuda::StillWaiting&) {
      meeting.waiting.push_back(0);
    } catch (const sim::InputError& e) {
      meeting.failed[0] = words_of(e);
    }
    others_.come_in(meeting, until + std::chrono::seconds{15});
    if (const auto problem = problem_of(meeting)) throw sim::InputError(*problem);
    met_ = true;
  }

  int device(int gpu) const { return group_ && gpu == 0 ? first_device_ : gpu; }
  int device_or_host(int gpu) const { return gpu == host_memory ? gpu : device(gpu); }

  CollectiveResult collective_of_all(const CollectiveRequest& request) {
    const auto id = collectives_->needs_communicator(request) ? collectives_->new_id() : std::string{};
    others_.ask(request, id);
    cuda::LocalSamples own;
    bool told = false;  // whether the others' error is known: then they wait for nothing any more
    try {
      own = collectives_->run(request, id, [&] {
        told = true;
        others_.barrier();
        told = false;
      });
    } catch (const sim::InputError&) {
      if (!told) others_.give_up();
      throw;
    }
    auto all = others_.samples();
    all.push_back(std::move(own));
    return combined(all, request.repeat.rounds);
  }

  /// Of each round the mean of the processes' clocks, as nccl-tests prints it, and the slowest GPU by events.
  static CollectiveResult combined(const std::vector<cuda::LocalSamples>& all, int rounds) {
    std::vector<sim::Time> wall, events;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rounds); ++i) {
      sim::Time sum, slowest;
      std::int64_t n = 0;
      for (const auto& s : all) {
        if (i >= s.wall.size()) continue;
        sum += s.wall[i];
        slowest = std::max(slowest, s.events[i]);
        ++n;
      }
      wall.push_back(sum / std::max<std::int64_t>(n, 1));
      events.push_back(slowest);
    }
    CollectiveResult out;
    out.wall = timing_of(std::move(wall));
    out.events = timing_of(std::move(events));
    return out;
  }

  const Environment env_;
  std::unique_ptr<ProcessGroup> group_;
  Others others_;
  int gpus_, ranks_ = 0, first_device_ = 0;
  std::set<std::string> hosts_;
  cuda::Nvml nvml_;
  cuda::NcclLibrary nccl_;
  cuda::Copies copies_;
  std::unique_ptr<cuda::Collectives> collectives_;
  bool met_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// A process with another rank than 0.
void serve(ProcessGroup& group, int local_rank) {
  const cuda::NcclLibrary nccl;
  cuda::Collectives collectives(nccl, {local_rank}, group.rank(), group.size());
  group.send(0, host_name());
  struct Stopped {};
  for (;;) {
    const auto message = group.receive(0);
    const auto parsed = json::parse(message);
    if (parsed.contains("quit")) return;
    if (parsed.contains("meet")) {
      auto answer = json::object();
      try {
        if (!nccl.problem().empty()) throw sim::InputError(nccl.problem());
        cuda::try_communicator(nccl, local_rank, group.rank(), group.size(),
                               from_hex(parsed.at("meet").get<std::string>()),
                               Clock::now() + meeting_patience(group.size()));
      } catch (const sim::InputError& e) {
        answer = error_json(e);
      }
      group.send(0, answer.dump());
      continue;
    }
    JsonDocument document(message, "rank 0", message.size());
    const auto request = request_from(JsonCursor(document)["request"]);
    document.throw_if_any();
    try {
      if (!nccl.problem().empty()) throw sim::InputError(nccl.problem());
      const auto samples =
          collectives.run(std::get<CollectiveRequest>(*request), from_hex(parsed.at("id").get<std::string>()), [&] {
            group.send(0, "{\"ready\":true}");
            if (group.receive(0) != "go") throw Stopped{};
          });
      group.send(0, samples_json(samples).dump());
    } catch (const Stopped&) {
      // Rank 0 knows why.
    } catch (const sim::InputError& e) {
      group.send(0, error_json(e).dump());
    }
  }
}

}  // namespace

RealMachine open_real_machine(const Environment& environment) {
  // Streams share the hardware's queues, eight unless told otherwise; copies to fifteen peers must not wait for each
  // other.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const int gpus = count_gpus(environment);
  const auto place = place_in_job(environment);
  if (!place) return {std::make_unique<Real>(environment, gpus, nullptr, 0), {}};
  if (place->local_rank >= gpus)
    throw sim::InputError(fmt::format("local rank {} has no GPU: {} are visible", place->local_rank, gpus),
                          "start one process for each GPU");
  auto group = std::make_unique<ProcessGroup>(*place, patience);
  if (place->rank == 0) return {std::make_unique<Real>(environment, gpus, std::move(group), place->local_rank), {}};
  return {nullptr, [shared = std::shared_ptr<ProcessGroup>(std::move(group)), local = place->local_rank] {
            serve(*shared, local);
          }};
}

}  // namespace linkcast::calibration
