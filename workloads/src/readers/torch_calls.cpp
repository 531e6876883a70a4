// See torch_calls.hpp. Names: PyTorch's ProcessGroupNCCL.cpp (RECORD_PARAM_COMMS) and ParamCommsUtils.hpp; sizes of
// types: c10/core/ScalarType.h; sizes: nccl-tests' PERFORMANCE.md.
#include "torch_calls.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <regex>

#include "json_scan.hpp"
#include "json_value.hpp"

namespace linkcast::workloads::readers {
namespace {

using models::nccl::Op;
using Verb = TorchCall::Verb;

struct Known {
  std::string_view word;
  TorchVerb verb;
};
// Letters only. The longest that a name begins with counts.
constexpr std::array known_verbs{
    Known{"reducescatter", {Verb::collective, Op::reduce_scatter}},
    Known{"allreduce", {Verb::collective, Op::all_reduce}},
    Known{"allgather", {Verb::collective, Op::all_gather}},
    Known{"alltoall", {Verb::collective, Op::alltoall}},
    Known{"broadcast", {Verb::collective, Op::broadcast}},
    Known{"reduce", {Verb::collective, Op::reduce}},
    Known{"gather", {Verb::collective, Op::gather}},
    Known{"scatter", {Verb::collective, Op::scatter}},
    Known{"barrier", {Verb::collective, Op::all_reduce}},
    Known{"send", {Verb::send, Op::sendrecv}},
    Known{"isend", {Verb::send, Op::sendrecv}},
    Known{"recv", {Verb::receive, Op::sendrecv}},
    Known{"irecv", {Verb::receive, Op::sendrecv}},
    Known{"wait", {Verb::wait, Op::sendrecv}},
    Known{"init", {Verb::other, Op::sendrecv}},
    Known{"startcoalesc", {Verb::other, Op::sendrecv}},
    Known{"endcoalesc", {Verb::other, Op::sendrecv}},
    Known{"coalesced", {Verb::other, Op::sendrecv}},
};

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      break;
  return out;
}

std::vector<int> arithmetic(std::int64_t first, std::int64_t stride, std::int64_t size) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < size; ++i) out.push_back(static_cast<int>(first + i * stride));
  return out;
}

constexpr std::int64_t most_ranks = 1 << 20, most_members = 1 << 24;  // of one world; of all communicators
bool plausible(std::int64_t first, std::int64_t stride, std::int64_t size) {
  return first >= 0 && size > 0 && size <= most_ranks && (stride > 0 || size == 1) && stride <= most_ranks &&
         first + (size - 1) * stride < most_ranks;
}

bool distinct(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) == ranks.end();
}

/// Empty where a number is no rank.
std::vector<int> ranks_of(const std::vector<std::int64_t>& numbers) {
  std::vector<int> out;
  for (const auto n : numbers) {
    if (n < 0 || n >= most_ranks) return {};
    out.push_back(static_cast<int>(n));
  }
  return distinct(out) ? out : std::vector<int>{};
}

}  // namespace

TorchVerb verb_of(std::string_view name) {
  if (const auto colon = name.rfind(':'); colon != name.npos) name.remove_prefix(colon + 1);
  const auto letters = letters_of(name);
  const auto found = std::ranges::find_if(known_verbs, [&](const Known& k) { return letters.starts_with(k.word); });
  return found == known_verbs.end() ? TorchVerb{} : found->verb;
}

bool is_kernel_of_nccl(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.find("ncclDevKernel") != kernel.npos ||
         kernel.find("ncclKernel") != kernel.npos || kernel.find("ncclSym") != kernel.npos ||
         kernel.find("rcclGeneric") != kernel.npos;
}

TorchVerb verb_of_kernel(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('('));
  for (auto from = kernel.find('_'); from != kernel.npos; from = kernel.find('_', from + 1)) {
    const auto word = kernel.substr(from + 1);
    if (word.starts_with("SendRecv")) return {};
    if (const auto verb = verb_of(word); verb.verb == Verb::collective) return verb;
  }
  return {};
}

int element_size(std::string_view dtype) {
  if (const auto open = dtype.find("Tensor("); open != dtype.npos) {
    dtype.remove_prefix(open + 7);
    dtype = dtype.substr(0, dtype.find(')'));
  }
  if (dtype.starts_with("c10::")) dtype.remove_prefix(5);
  std::string t;
  for (const char c : dtype)
    if (c != ' ') t += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (t.starts_with("float8") || t.starts_with("float4")) return 1;
  struct Size {
    std::string_view name;
    int bytes;
  };
  static constexpr std::array sizes{
      Size{"float", 4},          Size{"half", 2},           Size{"bfloat16", 2},     Size{"double", 8},
      Size{"byte", 1},           Size{"char", 1},           Size{"unsignedchar", 1}, Size{"signedchar", 1},
      Size{"bool", 1},           Size{"short", 2},          Size{"shortint", 2},     Size{"int", 4},
      Size{"long", 8},           Size{"longint", 8},        Size{"uint16", 2},       Size{"uint32", 4},
      Size{"uint64", 8},         Size{"complexfloat", 8},   Size{"int64", 8},        Size{"int32", 4},
      Size{"complexdouble", 16}, Size{"complex<float>", 8}, Size{"uint8", 1},        Size{"int8", 1},
      Size{"float32", 4},        Size{"float16", 2},        Size{"float64", 8},      Size{"longlong", 8},
      Size{"fp16", 2},           Size{"fp32", 4},
  };
  const auto found = std::ranges::find(sizes, t, &Size::name);
  return found == sizes.end() ? 0 : found->bytes;
}

std::optional<sim::Bytes> size_of(const TorchCall& call, const TorchVerb& verb, int element, int ranks) {
  const auto in = std::max<std::int64_t>(call.in, 0), out = std::max<std::int64_t>(call.out, 0);
  std::int64_t n = 0;
  switch (verb.op) {
    case Op::all_gather:
      n = std::max(out, in * ranks);
      // Lists of outputs are counted as one of them by some versions.
      break;
    case Op::gather:
      n = in > 0 ? in * ranks : out;
      break;
    case Op::scatter:
      n = out > 0 ? out * ranks : in;
      break;
    case Op::reduce_scatter:
      n = std::max(in, out * ranks);
      break;
    default:
      n = std::max(in, out);
  }
  if (call.in < 0 && call.out < 0) return std::nullopt;
  if (n > (std::int64_t{1} << 50)) return std::nullopt;
  return sim::Bytes{n * element};
}

bool has_root(Op op) { return op == Op::broadcast || op == Op::reduce || op == Op::gather || op == Op::scatter; }

int rank_by_file_name(const std::string& path) {
  static const std::regex pattern{"rank[-_ ]?([0-9]{1,6})", std::regex::icase};
  std::smatch match;
  const auto name = std::filesystem::path{path}.filename().string();
  return std::regex_search(name, match, pattern) ? std::stoi(match[1]) : -1;
}

void complete(TorchCall& call, const TorchCall& more) {
  const auto number = [](auto& mine, auto theirs) {
    if (mine < 0) mine = theirs;
  };
  const auto word = [](std::uint32_t& mine, std::uint32_t theirs) {
    if (mine == 0) mine = theirs;
  };
  number(call.in, more.in), number(call.out, more.out), number(call.seq, more.seq);
  number(call.first, more.first), number(call.stride, more.stride), number(call.size, more.size);
  number(call.source, more.source), number(call.destination, more.destination), number(call.rank, more.rank);
  number(call.request, more.request);
  word(call.name, more.name), word(call.dtype, more.dtype), word(call.group, more.group);
  word(call.description, more.description), word(call.members, more.members);
  if (call.record == 0) call.record = more.record;
  if (call.external == 0) call.external = more.external;
}

void TorchGroups::configure(int file, std::string_view pg_config) {
  auto list = json_value(pg_config);
  if (list.is_discarded()) {  // PyTorch cuts long texts: what is whole of it
    const auto last = pg_config.rfind('}');
    if (last != pg_config.npos) list = json_value(std::string{pg_config.substr(0, last + 1)} + "]");
  }
  if (!list.is_array()) return;
  const auto word = [](const nlohmann::json& v) {
    return v.is_string() ? v.get<std::string>() : v.is_number_integer() ? v.dump() : std::string{};
  };
  for (const auto& group : list) {
    if (!group.is_object()) continue;
    Configured c;
    if (group.contains("pg_desc")) c.description = word(group["pg_desc"]);
    bool cut = false;
    if (group.contains("ranks")) c.ranks = ranks_of(integers_of(group["ranks"].dump(), &cut));
    if (cut) c.ranks.clear();
    for (const int r : c.ranks) greatest_ = std::max(greatest_, r);
    const auto size = group.contains("pg_size")      ? group["pg_size"]
                      : group.contains("group_size") ? group["group_size"]
                                                     : nlohmann::json{};
    const bool all = c.ranks.empty() && !cut && size.is_number_integer() && size.get<std::int64_t>() > 0 &&
                     (world_ == 0 || size.get<std::int64_t>() == world_);
    if (all && plausible(0, 1, size.get<std::int64_t>())) {  // an empty list: all ranks
      c.ranks = arithmetic(0, 1, size.get<std::int64_t>());
      greatest_ = std::max(greatest_, c.ranks.back());
    }
    for (const auto* key : {"pg_name", "uid"})
      if (group.contains(key)) configured_.try_emplace({file, word(group[key])}, c);
  }
}

int TorchGroups::find(int file, const TorchCall& call) {
  const std::vector<std::int64_t> said{file,       call.group,  call.members, call.description,
                                       call.first, call.stride, call.size};
  if (const auto found = calls_.find(said); found != calls_.end()) return found->second;
  const auto& name = names_[call.group];
  auto description = names_[call.description];
  bool cut = false;
  const auto written = integers_of(names_[call.members], &cut);
  std::vector<int> ranks;
  auto configured = configured_.find({file, name});
  if (configured == configured_.end()) configured = configured_.find({-1, name});
  if (configured != configured_.end() && description.empty()) description = configured->second.description;
  if (!cut && !written.empty()) ranks = ranks_of(written);
  if (ranks.empty() && configured != configured_.end()) {
    ranks = configured->second.ranks;
    if (call.size > 0 && !ranks.empty() && ranks.size() != static_cast<std::size_t>(call.size)) ranks.clear();
  }
  if (ranks.empty() && plausible(call.first, call.stride, call.size))
    ranks = arithmetic(call.first, call.stride, call.size);
  if (ranks.empty() && cut && written.size() >= 2 && plausible(written[0], written[1] - written[0], call.size)) {
    ranks = arithmetic(written[0], written[1] - written[0], call.size);
    ++extrapolated;
  }
  if (ranks.empty() && world_ > 0 && (call.size == world_ || (call.size < 0 && written.empty()))) {
    ranks = arithmetic(0, 1, world_);
    if (call.size < 0 && configured == configured_.end()) ++assumed_world;
  }
  const int at = ranks.empty() ? -1 : add(name, description, std::move(ranks));
  calls_.emplace(said, at);
  return at;
}

int TorchGroups::add(const std::string& name, const std::string& description, std::vector<int> ranks) {
  members_ += static_cast<std::int64_t>(ranks.size());
  if (members_ > most_members) return -1;
  const auto [at, fresh] = known_.try_emplace({name, ranks}, static_cast<int>(communicators_.size()));
  for (const int r : ranks) greatest_ = std::max(greatest_, r);
  if (fresh) communicators_.push_back({name.empty() ? "group" : name, description, std::move(ranks)});
  return at->second;
}

}  // namespace linkcast::workloads::readers
