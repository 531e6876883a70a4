// See kineto_link.hpp: calls and kernels.
#include "kineto_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace linkcast::workloads::readers {
namespace {

using Verb = TorchCall::Verb;

class Linker {
 public:
  Linker(KinetoFile& file, Names& names, ReadReport& report) : file_{file}, names_{names}, report_{report} {
    for (std::size_t i = 0; i < file.calls.size(); ++i) {
      const auto& c = file.calls[i];
      if (c.claimed) continue;  // a kernel's own
      host_.push_back(static_cast<std::int32_t>(i));
      if (c.external != 0) by_external_.emplace(c.external, static_cast<std::int32_t>(i));
    }
    std::ranges::stable_sort(host_, [&](auto a, auto b) {
      const auto &x = file.calls[at(a)], &y = file.calls[at(b)];
      return std::pair{x.thread, x.start} < std::pair{y.thread, y.start};
    });
  }

  void join(const CallsByRecord& beside) {
    std::int64_t joined = 0;
    for (const auto i : host_) {
      auto& c = file_.calls[at(i)];
      const auto found = c.record != 0 ? beside.find(c.record) : beside.end();
      if (found == beside.end()) continue;
      complete(c, found->second);
      ++joined;
    }
    if (!beside.empty())
      report_.notes.push_back(
          fmt::format("{}: {} of {} calls joined with the execution trace by their record function id", file_.path,
                      joined, host_.size()));
  }

  /// Generation A has the collective's name in the range that a call opens: "nccl:all_reduce".
  void name_by_marks() {
    std::map<std::uint32_t, std::vector<KinetoFile::Mark>> marks;
    for (const auto& m : file_.marks) marks[m.thread].push_back(m);
    for (const auto i : host_) {
      auto& c = file_.calls[at(i)];
      if (c.name != 0) continue;
      const auto found = marks.find(c.thread);
      if (found == marks.end()) continue;
      const auto mark = std::ranges::lower_bound(found->second, c.start, {}, &KinetoFile::Mark::at);
      if (mark != found->second.end() && mark->at <= c.start + c.duration) c.name = mark->name;
    }
  }

  void kernels() {
    struct Item {
      std::uint32_t thread = 0;
      std::int64_t launch = 0;
      std::size_t kernel = 0;
    };
    std::vector<Item> items;
    for (std::size_t k = 0; k < file_.gpu.size(); ++k)
      if (file_.gpu[k].nccl) items.push_back({0, 0, k});
    if (items.empty()) return;
    for (auto& item : items) {
      const auto& gpu = file_.gpu[item.kernel];
      const auto found =
          std::ranges::lower_bound(file_.launches, gpu.correlation, {}, &KinetoFile::Launch::correlation);
      if (gpu.correlation != 0 && found != file_.launches.end() && found->correlation == gpu.correlation)
        item.thread = found->thread, item.launch = found->at;
    }
    std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
      return std::pair{a.thread, a.launch} < std::pair{b.thread, b.launch};
    });
    std::size_t next = 0;  // of host_: calls before it were issued before the kernel's launch
    for (const auto& item : items) {
      auto& gpu = file_.gpu[item.kernel];
      std::vector<std::int32_t> issued;
      if (item.thread != 0) {
        while (next < host_.size() && before(host_[next], item.thread, item.launch)) {
          const auto& c = file_.calls[at(host_[next])];
          if (c.thread == item.thread && !c.claimed && is_communication(c)) issued.push_back(host_[next]);
          ++next;
        }
      }
      link(gpu, issued);
    }
  }

  /// Where the GPU was not recorded, or its communication was not: the host's calls in their order.
  void calls_alone() {
    if (std::ranges::any_of(file_.gpu, &KinetoFile::OnGpu::nccl)) {
      for (const auto i : host_) {
        const auto& c = file_.calls[at(i)];
        if (!c.claimed && is_communication(c))
          report_.skip("a call without a kernel: still under way at the end, or done without NCCL", file_.path);
      }
      return;
    }
    std::int64_t made = 0;
    for (const auto i : host_) {
      auto& c = file_.calls[at(i)];
      if (!is_communication(c)) continue;
      if (made++ == 0) file_.streams.push_back({0, -1});
      KinetoFile::OnGpu k;
      k.start = c.start;
      k.external = c.external;
      k.name = c.name;
      k.call = i;
      k.nccl = true;
      k.stream = static_cast<std::uint16_t>(file_.streams.size() - 1);
      c.claimed = true;
      file_.gpu.push_back(k);
    }
    if (made == 0) return;
    std::ranges::stable_sort(file_.gpu, {}, &KinetoFile::OnGpu::start);
    report_.notes.push_back(fmt::format(
        "{}: no NCCL kernel: {} calls stand where the host made them, without a measured time", file_.path, made));
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  bool before(std::int32_t i, std::uint32_t thread, std::int64_t launch) const {
    const auto& c = file_.calls[at(i)];
    return std::pair{c.thread, c.start} <= std::pair{thread, launch};
  }
  bool is_communication(const TorchCall& c) const {
    const auto v = verb_of(names_[c.name]).verb;
    return v == Verb::collective || v == Verb::send || v == Verb::receive || (v == Verb::none && c.in > 0);
  }
  bool is_message(std::int32_t i) const {
    const auto v = verb_of(names_[file_.calls[at(i)].name]).verb;
    return v == Verb::send || v == Verb::receive;
  }

  void link(KinetoFile::OnGpu& gpu, std::vector<std::int32_t>& issued) {
    auto host = std::int32_t{-1};
    if (const auto found = by_external_.find(gpu.external); gpu.external != 0 && found != by_external_.end())
      if (is_communication(file_.calls[at(found->second)])) host = found->second;
    if (gpu.call >= 0) {  // generation C
      auto& own = file_.calls[at(gpu.call)];
      if (host < 0 && issued.size() == 1 && verb_of(names_[own.name]).verb == verb(issued[0])) host = issued[0];
      if (host >= 0) {
        complete(own, file_.calls[at(host)]);
        file_.calls[at(host)].claimed = true;
      }
      const bool messages = issued.size() > 1 && std::ranges::all_of(issued, [&](auto i) { return is_message(i); });
      if (verb_of(names_[own.name]).verb != Verb::collective && messages) chain(gpu, issued);
      return;
    }
    if (host >= 0 && file_.calls[at(host)].claimed) return;  // a further kernel of one call
    if (host >= 0 && !is_message(host)) {
      gpu.call = host, file_.calls[at(host)].claimed = true;
    } else {
      keep_fitting(issued, verb_of_kernel(names_[gpu.name]));
      if (issued.empty() && host >= 0) issued = {host};
      if (!issued.empty()) chain(gpu, issued);
    }
    if (gpu.call >= 0 && file_.calls[at(gpu.call)].name == 0) {
      // Generation A without ranges: the kernel's own name.
      const auto v = verb_of_kernel(names_[gpu.name]);
      if (v.verb != Verb::none) file_.calls[at(gpu.call)].name = names_.add(models::nccl::name_of(v.op));
    }
  }

  Verb verb(std::int32_t i) const { return verb_of(names_[file_.calls[at(i)].name]).verb; }

  /// The last of the calls that can be this kernel's: messages for a SendRecv kernel, else the kernel's own operation.
  void keep_fitting(std::vector<std::int32_t>& issued, const TorchVerb& kernel) const {
    auto first = issued.size();
    while (first > 0) {
      const auto i = issued[first - 1];
      const auto v = verb_of(names_[file_.calls[at(i)].name]);
      const bool fits = v.verb == Verb::none || (kernel.verb == Verb::none ? is_message(i) : v.op == kernel.op);
      if (!fits) break;
      --first;
    }
    if (first == issued.size() && first > 0 && kernel.verb == Verb::none) --first;  // an all-to-all, a gather
    issued.erase(issued.begin(), issued.begin() + static_cast<std::ptrdiff_t>(first));
  }

  /// One kernel does all that was issued since the last one: ncclGroupStart, ncclSend, ncclRecv, ncclGroupEnd.
  void chain(KinetoFile::OnGpu& gpu, const std::vector<std::int32_t>& issued) {
    gpu.call = issued.front();
    for (std::size_t i = 0; i < issued.size(); ++i) {
      auto& c = file_.calls[at(issued[i])];
      c.claimed = true;
      c.next = i + 1 < issued.size() ? issued[i + 1] : -1;
    }
  }

  KinetoFile& file_;
  Names& names_;
  ReadReport& report_;
  std::vector<std::int32_t> host_;  // calls by thread and time
  std::unordered_map<std::int64_t, std::int32_t> by_external_;
};

}  // namespace

void link_calls(KinetoFile& file, Names& names, const CallsByRecord& beside, ReadReport& report) {
  Linker linker{file, names, report};
  linker.join(beside);
  linker.name_by_marks();
  linker.kernels();
  linker.calls_alone();
}

}  // namespace linkcast::workloads::readers
