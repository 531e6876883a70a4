// See kineto_calls.hpp.
#include "kineto_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::workloads::readers {
namespace {

using Verb = TorchCall::Verb;

/// "nccl:send 0->1" and "nccl:recv 1<-0" end with the peer.
int peer_by_name(std::string_view name) {
  const auto arrow = std::max(name.rfind("->") == name.npos ? 0 : name.rfind("->"),
                              name.rfind("<-") == name.npos ? 0 : name.rfind("<-"));
  if (arrow == 0) return -1;
  int n = -1;
  std::from_chars(name.data() + arrow + 2, name.data() + name.size(), n);
  return n;
}

/// The peer's place in the communicator. Sources and destinations are ranks of the world, `Rank` is one of the group.
int peer_of(const TorchCall& call, Verb verb, const RecordedCommunicator& c, std::string_view name, int self) {
  const auto said = verb == Verb::send ? call.destination : call.source;
  const auto size = static_cast<int>(c.ranks.size());
  if (said >= 0 && said != self)
    if (const auto found = std::ranges::find(c.ranks, said); found != c.ranks.end())
      return static_cast<int>(found - c.ranks.begin());
  for (const int place : {said, call.rank, peer_by_name(name)})
    if (place >= 0 && place < size && c.ranks[static_cast<std::size_t>(place)] != self) return place;
  // Of two, the other.
  return size == 2 && std::ranges::find(c.ranks, self) != c.ranks.end() ? (c.ranks[0] == self ? 1 : 0) : -1;
}

}  // namespace

int world_of(const std::vector<KinetoFile*>& files, TorchGroups& groups, int asked) {
  int world = asked;
  if (world == 0)
    for (const auto* f : files) world = std::max(world, f->world);
  groups.set_world(world);
  bool calls = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    groups.configure(static_cast<int>(i), files[i]->pg_config);
    calls |= !files[i]->calls.empty();
  }
  if (world > 0) return world;
  int greatest = -1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    greatest = std::max(greatest, files[i]->rank);
    for (const auto& k : files[i]->gpu)
      if (k.call >= 0) groups.find(static_cast<int>(i), files[i]->calls[static_cast<std::size_t>(k.call)]);
  }
  world = std::max(greatest, groups.greatest_rank()) + 1;
  if (groups.greatest_rank() < 0 && calls && files.size() == 1)
    throw sim::InputError(
        fmt::format("{}: neither distributedInfo nor any call says how many ranks there are", files[0]->path),
        "give the number of ranks of the world");
  groups.set_world(world);
  groups.forget_unknown();
  return world;
}

std::vector<KinetoCall> resolve_calls(int at, const KinetoFile& file, const Names& names, TorchGroups& groups,
                                      ReadReport& report) {
  std::vector<KinetoCall> out(file.calls.size());
  std::int64_t rootless = 0;
  const auto resolve = [&](const TorchCall& call, KinetoCall& made) -> std::string_view {
    const auto& name = names[call.name];
    const auto verb = verb_of(name);
    if (verb.verb == Verb::none || verb.verb == Verb::wait || verb.verb == Verb::other)
      return "an NCCL kernel whose operation is not known: kept as computing";
    const bool barrier = name.find("barrier") != name.npos;
    const int element = call.dtype != 0 ? element_size(names[call.dtype]) : barrier ? 4 : 0;
    if (element == 0) return "an NCCL kernel whose data type is not known: kept as computing";
    made.communicator = groups.find(at, call);
    if (made.communicator < 0) return "an NCCL kernel whose process group is not known: kept as computing";
    const auto& c = groups.communicators()[static_cast<std::size_t>(made.communicator)];
    if (std::ranges::find(c.ranks, file.rank) == c.ranks.end())
      return "an NCCL kernel of a process group without this rank: kept as computing";
    const auto bytes = size_of(call, verb, element, static_cast<int>(c.ranks.size()));
    if (!bytes && !barrier) return "an NCCL kernel whose size is not known: kept as computing";
    made.bytes = bytes.value_or(sim::Bytes{element});
    made.op = verb.op;
    if (verb.verb == Verb::collective) {
      made.kind = Operation::Kind::collective;
      if (has_root(verb.op)) {  // "Rank" is the root's place in the group then
        const bool said = call.rank >= 0 && call.rank < static_cast<int>(c.ranks.size());
        made.root = said ? call.rank : 0;
        rootless += said ? 0 : 1;
      }
      return {};
    }
    made.peer = peer_of(call, verb.verb, c, name, file.rank);
    if (made.peer < 0) return "a message whose peer is not known: kept as computing";
    made.kind = verb.verb == Verb::send ? Operation::Kind::send : Operation::Kind::receive;
    return {};
  };
  for (const auto& k : file.gpu) {
    if (!k.nccl) continue;
    const auto where = [&] { return fmt::format("{}: {}", file.path, names[k.name].substr(0, 60)); };
    if (k.call < 0) {
      report.skip("an NCCL kernel without a call that says its size: kept as computing", where());
      continue;
    }
    for (auto c = k.call; c >= 0; c = file.calls[static_cast<std::size_t>(c)].next) {
      const auto why = resolve(file.calls[static_cast<std::size_t>(c)], out[static_cast<std::size_t>(c)]);
      if (!why.empty()) report.skip(why, where());
    }
  }
  if (rootless > 0)
    report.notes.push_back(
        fmt::format("{}: {} calls have a root that the trace does not say: their first rank", file.path, rootless));
  return out;
}

}  // namespace linkcast::workloads::readers
