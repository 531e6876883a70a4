// MSCCL++'s execution plans: stores into other GPUs' memory, signals, packets, barriers.
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"
#include "linkcast/workloads/collective.hpp"

using namespace linkcast;
using models::nccl::Op;

namespace {

std::string local(const std::string& buffer, int index) {
  return "{\"type\":\"" + buffer + "\",\"index\":" + std::to_string(index) + ",\"size\":1}";
}
std::string remote(int index) { return "{\"buffer_id\":0,\"index\":" + std::to_string(index) + ",\"size\":1}"; }
std::string op(const std::string& name, const std::string& from, const std::string& to, const std::string& more = "") {
  return "{\"name\":\"" + name + "\",\"src_buff\":[" + from + "],\"dst_buff\":[" + to +
         "],\"channel_type\":\"memory\"" + more + "}";
}
std::string sync(const std::string& name) {
  return "{\"name\":\"" + name + "\",\"channel_ids\":[0],\"channel_type\":\"memory\"}";
}

/// A GPU with blocks of operations; it may reach buffer `type` of the other one.
std::string gpu(int rank, const std::string& type, const std::vector<std::string>& blocks, int in, int out,
                int scratch) {
  std::string text = "{\"id\":" + std::to_string(rank) + ",\"input_chunks\":" + std::to_string(in) +
                     ",\"output_chunks\":" + std::to_string(out) + ",\"scratch_chunks\":" + std::to_string(scratch) +
                     ",\"threadblocks\":[\n";
  for (std::size_t b = 0; b < blocks.size(); ++b)
    text += std::string{b ? ",\n" : ""} + "{\"id\":" + std::to_string(b) + ",\"ops\":[\n" + blocks[b] +
            "],\"channels\":[{\"channel_type\":\"memory\",\"channel_ids\":[0]}],"
            "\"remote_buffer_refs\":[{\"access_channel_type\":\"memory\",\"remote_buffer_ids\":[0]}]}";
  return text + "],\"channels\":[{\"channel_type\":\"memory\",\"connected_to\":[" + std::to_string(1 - rank) +
         "]}],\"remote_buffers\":[{\"rank\":" + std::to_string(1 - rank) + ",\"type\":\"" + type +
         "\",\"access_channel_types\":[\"memory\"]}],\"semaphores\":[]}";
}
std::string plan(const std::string& collective, const std::string& protocol, const std::string& a,
                 const std::string& b) {
  return "{\"name\":\"t\",\"collective\":\"" + collective + "\",\"protocol\":\"" + protocol +
         "\",\"inplace\":true,\"gpus\":[\n" + a + ",\n" + b +
         "],\"min_message_size\":0,\"max_message_size\":18446744073709551615}";
}

std::string all_gather(const std::string& last = sync("wait"), const std::string& first = "") {
  const auto ops = [&](int r) {
    return first + op("put", local("o", r), remote(r), ",\"channel_ids\":[0]") + ",\n" + sync("signal") +
           (last.empty() ? "" : ",\n" + last);
  };
  return plan("allgather", "Simple", gpu(0, "o", {ops(0)}, 1, 2, 0), gpu(1, "o", {ops(1)}, 1, 2, 0));
}

std::string said(const std::string& text) {
  try {
    workloads::read_algorithm(text, "p");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

workloads::CollectiveRow run(const std::string& text, Op o, std::int64_t bytes) {
  workloads::CommunicatorOptions options;
  options.launch_floor = sim::Time{};
  options.algorithms = {workloads::read_algorithm(text, "p")};
  const auto machine = topologies::load("dgx-a100").slice(std::vector<int>{0, 1});
  models::nccl::Call call;
  call.op = o;
  call.bytes = sim::Bytes{bytes};
  return workloads::CollectiveModel{machine, options}.run(call);
}

}  // namespace

TEST_CASE("each stores its part at the other: all_gather", "[workloads][algorithm]") {
  REQUIRE(said(all_gather()).empty());
  // One block stores half of the buffer, at the rate of a block of Simple: from 32 MiB to 64 MiB the time grows by what
  // 16 MiB more take at that rate.
  const auto a = run(all_gather(), Op::all_gather, 32 << 20), b = run(all_gather(), Op::all_gather, 64 << 20);
  const auto fabric = topologies::load("dgx-a100");
  const auto& gpu = fabric.gpu_model(fabric.gpus()[0]);
  CHECK(b.time.us() - a.time.us() == Approx(transfer_time(sim::Bytes{16 << 20}, gpu.simple.send).us()).epsilon(0.001));
  CHECK(a.algorithm == "MSCCL++");
}

TEST_CASE("a result that nobody waits for is found", "[workloads][algorithm]") {
  CHECK(has(said(all_gather("")), "1 signal and 0 waits on this channel"));
  CHECK(has(said(all_gather(sync("wait") + ",\n" + sync("wait"))), "deadlock: 2 waits and 1 signal on this channel"));
  // Each waits before it signals.
  const auto text = said(all_gather(sync("wait"), sync("wait") + ",\n" + sync("signal") + ",\n"));
  CHECK(has(text, "deadlock: step 0 (wait) of thread block 0 of GPU 0"));
}

TEST_CASE("packets tell by arriving", "[workloads][algorithm]") {
  // Each sends its input as packets into the other's scratch, and adds up what comes with its own: all_reduce.
  const auto ops = [](const std::string& reduce) {
    return std::vector<std::string>{op("ppkt", local("i", 0), remote(0)),
                                    op(reduce, local("i", 0) + "," + local("s", 0), local("o", 0))};
  };
  // In place, the sum must not be written before the input was sent: two blocks race for it.
  CHECK(has(said(plan("allreduce", "LL", gpu(0, "s", ops("repkt"), 1, 1, 1), gpu(1, "s", ops("repkt"), 1, 1, 1))),
            "nothing says which comes first"));
  // In one block they come one after the other.
  const std::vector<std::string> one{ops("repkt")[0] + "," + ops("repkt")[1]};
  const auto right = plan("allreduce", "LL", gpu(0, "s", one, 1, 1, 1), gpu(1, "s", one, 1, 1, 1));
  CHECK(said(right).empty());
  // A store, a hand-over and an addition: a few microseconds; a plain read of scratch waits for nothing.
  const auto t = run(right, Op::all_reduce, 1024).time;
  CHECK(t.us() > 1.0);
  CHECK(t.us() < 15.0);
  const std::vector<std::string> plain{ops("re")[0] + "," + ops("re")[1]};
  CHECK_FALSE(said(plan("allreduce", "LL", gpu(0, "s", plain, 1, 1, 1), gpu(1, "s", plain, 1, 1, 1))).empty());
}

TEST_CASE("what a plan has that is not replayed is named", "[workloads][algorithm]") {
  CHECK(has(said(all_gather(sync("wait"), "{\"name\":\"glres\"},")), "'glres' goes through a switch that reduces"));
  CHECK(has(said(all_gather(sync("wait"), "{\"name\":\"pipeline\"},")), "'pipeline' is not replayed"));
  CHECK(has(said(all_gather(sync("wait"), "{\"name\":\"pot\"},")), "unknown operation 'pot'"));
  CHECK(has(said("{\"name\":\"x\",\"colletive\":\"allreduce\",\"gpus\":[]}"), "a plan of mscclpp before 0.7"));
  CHECK(has(said("{\"name\":"), "this is not valid JSON"));
  CHECK(has(said("{\"name\":\"x\",\"collective\":\"allreduce\",\"gpus\":[{\"id\":0,\"input_chunks\":1}]}"),
            "output_chunks"));
}
