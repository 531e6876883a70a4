// How a collective is cut: threads, channels, each channel's share, and the chunk that travels in one step. Source:
// topoGetAlgoInfo, scheduleCollTasksToPlan and calcCollChunking of NCCL's enqueue.cc; up to 2.21 the
// static loops of computeColl. Knows no link and no time.
#include <algorithm>
#include <bit>

#include "nccl/communicator_impl.hpp"

namespace linkcast::models::nccl {

namespace {

int floor_log2(int v) { return v <= 0 ? 0 : 31 - std::countl_zero(static_cast<unsigned>(v)); }

}  // namespace

Plan Communicator::Impl::plan(const Call& call) const {
  Plan plan;
  SymmetricBlocks blocks;
  const auto kernel = symmetric(call, &blocks);
  plan.choice = candidates(call).front();
  const Datatype type = datatype(call.dtype);
  const int c = collective_index(call.op);
  const auto total = call.bytes.count();
  if (kernel || c < 0 || plan.choice.algorithm == Algorithm::copy_engine) {
    // Symmetric kernels walk over the buffer by themselves; copies and messages have no channels of their own.
    const int n = kernel                                            ? std::max(1, blocks.count)
                  : plan.choice.algorithm == Algorithm::copy_engine ? 1
                                                                    : std::max(1, counts.p2p);
    plan.channels = n;
    if (kernel) plan.block_rate = blocks.rate;
    plan.threads = kernel ? 512 : plan.choice.algorithm == Algorithm::copy_engine ? 0 : 640;
    for (int i = 0; i < n; ++i) plan.channel_bytes.emplace_back(total * (i + 1) / n - total * i / n);
    plan.chunk =
        c < 0 && !kernel ? p2p_plan(sim::Bytes{total / std::max(1, ranks)}, config.nodes > 1).chunk : call.bytes;
    return plan;
  }

  Cut cut{call.op, plan.choice.algorithm, plan.choice.protocol, total, total, type.bytes, 1, 1};
  const bool spread = call.op == Op::all_gather || call.op == Op::reduce_scatter;
  if (spread) {
    cut.fan = ranks;
    cut.api_bytes = total / ranks;
  }
  cut.traffic = call.op == Op::all_reduce ? 2 : spread ? ranks : 1;
  if (since(26) && cut.protocol == Protocol::ll) cut.traffic *= 4;

  // Blocks and threads: few bytes take few of both.
  const int a = static_cast<int>(cut.algorithm), p = static_cast<int>(cut.protocol);
  const bool on_switch = cut.algorithm == Algorithm::nvls || cut.algorithm == Algorithm::nvls_tree;
  int channels = counts.comm;
  int threads = model->max_threads(a, p);
  const long long threshold = model->thread_threshold(a, p);
  const bool via_collnet = cut.algorithm == Algorithm::collnet_direct || cut.algorithm == Algorithm::collnet_chain ||
                           (cut.algorithm == Algorithm::nvls && config.nodes > 1);
  if (on_switch) {
    channels = counts.nvls;
    if (via_collnet && since(28)) channels = std::min(channels, counts.comm);
  } else if (cut.algorithm == Algorithm::collnet_direct) {
    channels = direct_channels(total, threads, threshold);
  } else if (ranks > 1) {
    while (channels >= 2 && total < channels * threads * threshold) --channels;
    while (total < channels * threads * threshold && threads % 128 == 0) threads /= 2;
  }
  // A tuner's number takes the place of NCCL's after that (ncclGetAlgoInfo), up to what was set up.
  if (const int asked = plan.choice.channels; asked > 0)
    channels = std::min(asked, on_switch ? std::max(1, counts.nvls) : std::max(1, counts.comm));
  if (cut.protocol == Protocol::simple && cut.algorithm == Algorithm::ring) threads += 32;  // a warp that synchronises
  if (cut.protocol == Protocol::simple && cut.algorithm == Algorithm::tree) threads += 128;
  threads = std::max(threads, 96);
  if (since(22) && (cut.algorithm == Algorithm::tree || cut.algorithm == Algorithm::pat)) threads = 640;
  plan.threads = threads;

  const int heads = static_cast<int>(std::max<std::size_t>(1, agreed_heads));
  const bool ring_simple = cut.algorithm == Algorithm::ring && cut.protocol == Protocol::simple;
  const bool sliced = ring_simple && (call.op == Op::all_reduce || spread);
  plan.slices = sliced ? 2 : 1;
  plan.slots = sliced ? 4 : 8;

  std::int64_t largest = 0;
  if (since(22) && via_collnet) {
    // Nothing is dealt out before: all channels walk the buffer together, each its own part of every loop.
    const std::int64_t chunk = chunk_of(cut, channels, total, heads);
    const std::int64_t part = chunk * (cut.algorithm == Algorithm::collnet_direct ? direct_heads
                                       : cut.algorithm == Algorithm::nvls         ? heads
                                                                                  : 1);
    const std::int64_t loop = part * channels, rest = total % loop;
    plan.channels = channels;
    plan.looped_interleaved = true;
    for (int i = 0; i < channels; ++i) {
      plan.channel_bytes.emplace_back(total / loop * part + std::clamp<std::int64_t>(rest - i * part, 0, part));
    }
    plan.chunk = sim::Bytes{chunk};
  } else if (since(22)) {
    // Whole cells, one contiguous range per channel; a cell is the least that is worth a channel.
    const std::int64_t least = since(30) ? 32 << 10 : since(23) ? 16 << 10 : 512;
    const std::int64_t moved = std::max(least, cut.api_bytes * cut.traffic);
    const std::int64_t per_channel = ceil_div(moved / channels, 16) * 16;
    const std::int64_t cell = std::max<std::int64_t>(ceil_div(ceil_div(least, cut.traffic), 16) * 16, cut.element);
    const std::int64_t cells = ceil_div(cut.api_bytes, cell);
    const std::int64_t per = std::max<std::int64_t>(1, std::min(cells, ceil_div(per_channel, cell * cut.traffic)));
    std::vector<std::int64_t> shares;
    for (std::int64_t at = 0; at < cells; at += per) shares.push_back(std::min(per, cells - at));
    if (shares.empty()) shares.push_back(0);
    if (static_cast<int>(shares.size()) > channels) {
      const std::int64_t first = per, rest = cells - first;
      const std::int64_t middle = channels > 1 ? rest / (channels - 1) : 0;
      shares.assign(static_cast<std::size_t>(channels), middle);
      shares.front() = channels > 1 ? first : cells;
      if (channels > 1) shares.back() = rest - middle * (channels - 2);
    }
    std::int64_t left = cut.api_bytes;
    for (const auto s : shares) {
      const auto bytes = std::min(left, s * cell);
      left -= bytes;
      plan.channel_bytes.emplace_back(bytes * cut.fan);
      largest = std::max(largest, bytes * cut.fan);
    }
    plan.channels = static_cast<int>(shares.size());
    plan.chunk = sim::Bytes{chunk_of(cut, 1, largest, heads)};
    // Sizes that do not divide by the number of ranks: the remainder stays with the last channel.
    std::int64_t sum = 0;
    for (const auto b : plan.channel_bytes) sum += b.count();
    plan.channel_bytes.back() += sim::Bytes{total - sum};
  } else {
    // Channels take turns loop by loop; the last loop is shared evenly.
    const std::int64_t chunk = chunk_of(cut, channels, total, heads);
    std::int64_t parts = 1;
    if (cut.algorithm == Algorithm::ring && (call.op == Op::all_reduce || spread)) parts = ranks;
    if (on_switch) parts = heads;
    if (cut.algorithm == Algorithm::collnet_direct) parts = direct_heads;
    const std::int64_t loop = chunk * parts * channels;
    const std::int64_t rest = total % loop;
    const std::int64_t tail = ceil_div(ceil_div(rest, parts * channels), 16) * 16 * parts;
    plan.channels = channels;
    plan.looped_interleaved = true;
    std::int64_t left = rest;
    for (int i = 0; i < channels; ++i) {
      const auto mine = std::min(left, tail);
      left -= mine;
      plan.channel_bytes.emplace_back(total / loop * chunk * parts + mine);
    }
    plan.chunk = sim::Bytes{chunk};
  }
  const auto step = cut.protocol == Protocol::simple ? simple_buffer() / 8 : plan.chunk.count();
  plan.slice_min = sim::Bytes{std::max<std::int64_t>(16, step * (sliced ? 2 : 1) / 32)};
  return plan;
}

// CollNetDirect gives up channels in stages: 16, 8, 4, 2, 1, and asks for less per channel half-way to each.
int Communicator::Impl::direct_channels(std::int64_t bytes, int threads, long long threshold) const {
  int channels = counts.comm;
  bool too_many = true;
  for (int stage = 16; stage >= 1 && too_many; stage /= 2) {
    while ((too_many = bytes < static_cast<std::int64_t>(channels) * threads * direct_heads * threshold) &&
           channels > stage) {
      if (channels == stage + stage / 2) threshold /= 2;
      --channels;
    }
  }
  return channels;
}

std::int64_t Communicator::Impl::chunk_of(const Cut& cut, int channels, std::int64_t bytes, int heads) const {
  const auto simple_step = simple_buffer() / 8;
  std::int64_t chunk = simple_step;
  std::int64_t grain = 512;
  if (cut.protocol == Protocol::ll) {
    chunk = env("NCCL_LL_BUFFSIZE", 512 << 10) / 8 / 2;  // half of a line is flags
    grain = 16;
  } else if (cut.protocol == Protocol::ll128) {
    chunk = env("NCCL_LL128_BUFFSIZE", 4'915'200) / 8 / 16 * 15;  // 120 of 128 bytes
    grain = 1920;
  } else if (cut.algorithm == Algorithm::ring && cut.op != Op::broadcast && cut.op != Op::reduce) {
    chunk *= 4;
  }
  const auto halve = [&](auto below, std::int64_t floor) {
    while (chunk > floor && below()) chunk /= 2;
  };
  const std::int64_t lots = static_cast<std::int64_t>(channels) * heads;
  const int nodes = config.nodes;
  switch (cut.algorithm) {
    case Algorithm::tree:
      if (cut.protocol == Protocol::ll128) {
        const float ppn = static_cast<float>(locals);
        const double steps = 1 + floor_log2(nodes) + 0.1 * static_cast<double>(ppn);
        halve([&] { return static_cast<double>(bytes / (channels * chunk)) < steps * 64 / static_cast<double>(ppn); },
              131072);
        halve([&] { return static_cast<double>(bytes / (channels * chunk)) < steps * 16 / static_cast<double>(ppn); },
              32768);
      } else if (cut.protocol == Protocol::simple && !since(20)) {
        const int depth = locals - 1 + floor_log2(nodes);
        halve([&] { return bytes / (channels * chunk) < depth * 8; }, 131072);
        halve([&] { return bytes / (channels * chunk) < depth * 4; }, 65536);
        halve([&] { return bytes / (channels * chunk) < depth; }, 32768);
      }
      break;
    case Algorithm::nvls: {
      std::int64_t most = nvls_chunk;
      if (nodes > 1 && since(19) &&
          model->bandwidth(collective_index(Op::all_reduce), static_cast<int>(Algorithm::nvls), 2) < 150) {
        most = 32768;
      }
      chunk = std::min(chunk, most);
      if (bytes < 64 * lots * chunk && chunk > 65536) chunk = 65536;
      if (bytes < 8 * lots * chunk && chunk > 32768) chunk = 32768;
      if (bytes < 2 * lots * chunk && chunk > 16384) chunk = 16384;
      break;
    }
    case Algorithm::nvls_tree:
      chunk = std::min<std::int64_t>({chunk, nvls_tree_chunk, since(21) ? nvls_chunk : 512 << 10});
      if (bytes < 32 * lots * chunk && chunk > 262144) chunk = 262144;
      if (bytes < 16 * lots * chunk && chunk > 131072) chunk = 131072;
      if (bytes < 4 * lots * chunk && chunk > 65536) chunk = 65536;
      if (bytes < 1 * lots * chunk && chunk > 32768) chunk = 32768;
      break;
    case Algorithm::collnet_direct: {
      const std::int64_t all = static_cast<std::int64_t>(channels) * direct_heads;
      halve([&] { return bytes / (all * chunk) < 2 * 64; }, 131072);
      halve([&] { return bytes / (all * chunk) < 2 * 8; }, 32768);
      break;
    }
    case Algorithm::collnet_chain:
      chunk = std::min<std::int64_t>(256 << 10, simple_step);
      halve([&] { return bytes / (channels * chunk) < locals * 64; }, 131072);
      halve([&] { return bytes / (channels * chunk) < locals * 8; }, 65536);
      halve([&] { return bytes / (channels * chunk) < locals; }, 32768);
      break;
    case Algorithm::pat:
      halve([&] { return chunk * channels * (cut.op == Op::all_gather ? 32 : 16) > bytes; }, 65536);
      break;
    default:
      break;
  }
  return std::max(grain, chunk / grain * grain);
}

}  // namespace linkcast::models::nccl
