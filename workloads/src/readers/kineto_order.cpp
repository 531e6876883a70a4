// See kineto_link.hpp: what waits for what. A file that has CUPTI's "Stream Wait Event" says it; of others it is
// inferred: communication waits for what the main stream was given before it (as PyTorch does by an event), a kernel
// that starts right behind communication while its stream was idle waited for it, and a step ends when its
// communication has ended.
#include <algorithm>
#include <limits>

#include "kineto_link.hpp"

namespace linkcast::workloads::readers {
namespace {

constexpr std::int64_t right_behind = 10'000;  // ns; an event's way to a waiting stream and a launch are shorter
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

class Order {
 public:
  Order(KinetoFile& file, KinetoOrder& order) : gpu_{file.gpu}, file_{file}, order_{order} {
    const auto n = file.streams.size();
    last_.assign(n, none), before_.assign(n, none);
    communicates_.assign(n, false);
    for (const auto& k : gpu_)
      if (k.nccl) communicates_[k.stream] = true;
  }

  void infer() {
    index_main();
    std::size_t boundary = 1;  // the first step begins with the recording
    for (std::uint32_t i = 0; i < gpu_.size(); ++i) {
      auto& k = gpu_[i];
      const bool side = k.stream != order_.main;
      const auto earlier = side ? producer(k) : waited_for(k);
      if (earlier != none) k.after = earlier + 1;
      if (!side && boundary < boundaries_.size() && k.correlation >= boundaries_[boundary]) {
        drain(i);
        while (boundary < boundaries_.size() && k.correlation >= boundaries_[boundary]) ++boundary;
      }
      before_[k.stream] = last_[k.stream];
      last_[k.stream] = i;
    }
  }

  void exact() {
    std::vector<std::vector<std::uint32_t>> by_stream(file_.streams.size());
    for (std::uint32_t i = 0; i < gpu_.size(); ++i) by_stream[gpu_[i].stream].push_back(i);
    for (auto& list : by_stream)
      std::ranges::stable_sort(list, {}, [&](std::uint32_t i) { return gpu_[i].correlation; });
    const auto correlation = [&](std::uint32_t i) { return gpu_[i].correlation; };
    for (const auto& w : file_.waits) {
      const auto& mine = by_stream[w.stream];
      const auto& theirs = by_stream[w.on_stream];
      const auto target = std::ranges::upper_bound(mine, w.correlation, {}, correlation);
      const auto source = std::ranges::lower_bound(theirs, w.recorded, {}, correlation);
      if (target == mine.end() || source == theirs.begin()) continue;
      const auto a = *target, b = *(source - 1);
      if (b < a) order_.waits.emplace_back(a, b);
    }
    std::ranges::sort(order_.waits);
    const auto again = std::ranges::unique(order_.waits);
    order_.waits.erase(again.begin(), again.end());
  }

 private:
  std::int64_t end_of(std::uint32_t i) const { return gpu_[i].start + gpu_[i].duration; }

  void index_main() {
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < gpu_.size(); ++i)
      if (gpu_[i].stream == order_.main) {
        most = std::max(most, gpu_[i].correlation);
        main_.push_back(i), issued_.push_back(most);
      }
    // The first launch of each step.
    if (file_.launches.empty()) return;
    auto by_time = file_.launches;
    std::ranges::sort(by_time, {}, &KinetoFile::Launch::at);
    for (const auto& step : file_.steps) {
      const auto found = std::ranges::lower_bound(by_time, step.start, {}, &KinetoFile::Launch::at);
      if (found != by_time.end()) boundaries_.push_back(found->correlation);
    }
  }

  /// Of a stream, the last that had ended by then. One stream runs one after the other: one of its last two.
  std::uint32_t ended(std::uint16_t stream, std::int64_t by) const {
    for (const auto i : {last_[stream], before_[stream]})
      if (i != none && end_of(i) <= by) return i;
    return none;
  }

  std::uint32_t producer(const KinetoFile::OnGpu& k) const {
    if (k.correlation != 0) {
      const auto place = std::ranges::lower_bound(issued_, k.correlation) - issued_.begin();
      const bool graph = static_cast<std::size_t>(place) < main_.size() &&
                         gpu_[main_[static_cast<std::size_t>(place)]].correlation == k.correlation;
      if (place > 0 && !graph) {
        const auto i = main_[static_cast<std::size_t>(place - 1)];
        if (end_of(i) <= k.start) return i;
      }
    }
    return ended(order_.main, k.start);
  }

  std::uint32_t waited_for(const KinetoFile::OnGpu& k) const {
    const auto mine = last_[k.stream];
    const auto idle_since = mine == none ? std::int64_t{0} : end_of(mine);
    auto found = none;
    for (std::uint16_t s = 0; s < last_.size(); ++s) {
      if (s == k.stream) continue;
      const auto i = ended(s, k.start);
      if (i == none || end_of(i) <= idle_since) continue;
      if (found == none || end_of(i) > end_of(found)) found = i;
    }
    if (found == none) return none;
    const auto covered = end_of(found) - std::max(gpu_[found].start, idle_since);
    const bool most_of_it = mine != none && covered * 2 >= k.start - idle_since;
    return k.start - end_of(found) <= right_behind || most_of_it ? found : none;
  }

  void drain(std::uint32_t i) {
    for (std::uint16_t s = 0; s < last_.size(); ++s)
      if (communicates_[s])
        if (const auto j = ended(s, gpu_[i].start); j != none && j + 1 != gpu_[i].after)
          order_.waits.emplace_back(i, j);
  }

  std::vector<KinetoFile::OnGpu>& gpu_;
  KinetoFile& file_;
  KinetoOrder& order_;
  std::vector<std::uint32_t> last_, before_;  // of each stream, so far
  std::vector<bool> communicates_;
  std::vector<std::uint32_t> main_, issued_;  // what the main stream runs; the greatest correlation so far
  std::vector<std::uint32_t> boundaries_;     // correlations
};

}  // namespace

KinetoOrder order_of(KinetoFile& file, const Names& names, ReadReport& report) {
  KinetoOrder out;
  auto& gpu = file.gpu;
  std::ranges::sort(file.steps, {}, &KinetoFile::Step::start);
  const auto again = std::ranges::unique(file.steps, {}, &KinetoFile::Step::name);
  file.steps.erase(again.begin(), again.end());
  if (!file.steps.empty() && !gpu.empty() && gpu.back().start >= file.steps.front().start) {
    const auto first = std::ranges::lower_bound(gpu, file.steps.front().start, {}, &KinetoFile::OnGpu::start);
    for (auto k = gpu.begin(); k != first; ++k)
      report.skip("on the GPU before the first profiler step began", file.path + ": " + names[k->name].substr(0, 60));
    gpu.erase(gpu.begin(), first);
    out.steps = static_cast<int>(file.steps.size());
    out.begin = file.steps.front().start;
    for (const auto& s : file.steps) out.end = std::max(out.end, s.end);
  } else if (!gpu.empty()) {
    out.begin = gpu.front().start;
  }
  std::vector<std::int64_t> computes(file.streams.size() + 1, 0);
  for (const auto& k : gpu) {
    out.end = std::max(out.end, k.start + k.duration);
    if (!k.nccl) computes[k.stream] += k.duration;
  }
  out.main = static_cast<std::uint16_t>(std::ranges::max_element(computes) - computes.begin());
  if (file.streams.empty()) return out;
  out.exact = !file.waits.empty();
  Order order{file, out};
  if (out.exact)
    order.exact();
  else
    order.infer();
  return out;
}

}  // namespace linkcast::workloads::readers
