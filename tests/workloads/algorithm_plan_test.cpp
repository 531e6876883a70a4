// Algorithms from files: what is read, what is found wrong, and how long they take. Rings are written out here, so that
// every number can be followed by hand.
#include <functional>
#include <string>

#include "catch.hpp"
#include "linkcast/workloads/algorithm_plan.hpp"
#include "linkcast/workloads/collective.hpp"

using namespace linkcast;
using models::nccl::Op;
using workloads::AlgorithmPlan;

namespace {

std::string step(int s, const std::string& type, int chunk, const std::string& more = "") {
  const auto c = std::to_string(chunk);
  return "   <step s=\"" + std::to_string(s) + "\" type=\"" + type + "\" srcbuf=\"i\" srcoff=\"" + c +
         "\" dstbuf=\"i\" dstoff=\"" + c + "\" cnt=\"1\" " + (more.empty() ? "depid=\"-1\" deps=\"-1\"" : more) +
         " hasdep=\"0\"/>\n";
}

std::string algo(int n, const std::string& proto, const std::string& gpus, const std::string& coll = "allreduce",
                 const std::string& more = "inplace=\"1\"", int chunks = 0, int channels = 1) {
  return "<algo name=\"test\" proto=\"" + proto + "\" nchannels=\"" + std::to_string(channels) +
         "\" nchunksperloop=\"" + std::to_string(chunks ? chunks : n) + "\" ngpus=\"" + std::to_string(n) +
         "\" coll=\"" + coll + "\" " + more + ">\n" + gpus + "</algo>\n";
}

/// NCCL's ring all_reduce: send, n-2 times receive-reduce-send, receive-reduce-copy-send, n-2 times receive-copy-send,
/// receive. Each channel takes its own n chunks.
std::string ring(int n, const std::string& proto, int channels = 1) {
  std::string gpus;
  for (int r = 0; r < n; ++r) {
    gpus += " <gpu id=\"" + std::to_string(r) + "\" i_chunks=\"" + std::to_string(n * channels) +
            "\" o_chunks=\"0\" s_chunks=\"0\">\n";
    for (int c = 0; c < channels; ++c) {
      gpus += "  <tb id=\"" + std::to_string(c) + "\" send=\"" + std::to_string((r + 1) % n) + "\" recv=\"" +
              std::to_string((r + n - 1) % n) + "\" chan=\"" + std::to_string(c) + "\">\n";
      int s = 0;
      const auto chunk = [&](int back) { return c * n + (r + 2 * n - back) % n; };
      gpus += step(s++, "s", chunk(0));
      for (int k = 1; k < n - 1; ++k) gpus += step(s++, "rrs", chunk(k));
      gpus += step(s++, "rrcs", chunk(n - 1));
      for (int k = 0; k < n - 2; ++k) gpus += step(s++, "rcs", chunk(k));
      gpus += step(s++, "r", chunk(n - 2));
      gpus += "  </tb>\n";
    }
    gpus += " </gpu>\n";
  }
  return algo(n, proto, gpus, "allreduce", "inplace=\"1\"", n * channels, channels);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// What is said of a text, all of it.
std::string said(const std::string& text) {
  try {
    workloads::read_algorithm(text, "a");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

workloads::CollectiveModel model(const std::string& machine, workloads::CommunicatorOptions o) {
  o.launch_floor = sim::Time{};
  return {topologies::load(machine), std::move(o)};
}

models::nccl::Call call(Op op, std::int64_t bytes) {
  models::nccl::Call c;
  c.op = op;
  c.bytes = sim::Bytes{bytes};
  return c;
}

}  // namespace

TEST_CASE("a written ring takes the time of NCCL's ring", "[workloads][algorithm]") {
  // The two programs are the same, unit by unit. Simple has the unevenness of independent channels (jitter.hpp) in
  // NCCL's ring only, booked as waiting: without it the times agree.
  for (const std::string proto : {"LL", "LL128", "Simple"}) {
    for (const int channels : {1, 2}) {
      workloads::CommunicatorOptions builtin;
      builtin.fidelity = workloads::Fidelity::chunk;
      builtin.env.set("NCCL_ALGO", "Ring");
      builtin.env.set("NCCL_PROTO", proto);
      builtin.env.set("NCCL_MAX_NCHANNELS", std::to_string(channels));
      builtin.env.set("NCCL_MIN_NCHANNELS", std::to_string(channels));
      workloads::CommunicatorOptions written;
      written.algorithms = {workloads::read_algorithm(ring(8, proto, channels), "ring.xml")};
      const auto a = model("dgx-a100", builtin), b = model("dgx-a100", written);
      for (const std::int64_t bytes : {1 << 20, 8 << 20, 64 << 20}) {
        INFO(proto << " " << channels << " channels, " << bytes);
        const auto x = a.run(call(Op::all_reduce, bytes)), y = b.run(call(Op::all_reduce, bytes));
        REQUIRE(x.channels == channels);
        CHECK(y.channels == channels);
        CHECK(y.algorithm == "MSCCL");
        CHECK(y.protocol == proto);
        CHECK(y.time.us() == Approx((x.time - x.account[sim::Cause::wait]).us()).epsilon(0.005));
      }
    }
  }
}

TEST_CASE("what an algorithm does at chunk it does at flow", "[workloads][algorithm]") {
  workloads::CommunicatorOptions o;
  o.algorithms = {workloads::read_algorithm(ring(8, "LL128"), "ring.xml")};
  const auto flow = model("dgx-h100", o).run(call(Op::all_reduce, 4 << 20));
  o.fidelity = workloads::Fidelity::chunk;
  CHECK(model("dgx-h100", o).run(call(Op::all_reduce, 4 << 20)).time == flow.time);
  o.fold = false;
  CHECK(model("dgx-h100", o).run(call(Op::all_reduce, 4 << 20)).time == flow.time);
}

TEST_CASE("an algorithm is taken for its collective and its sizes only", "[workloads][algorithm]") {
  workloads::CommunicatorOptions o;
  o.algorithms = {workloads::read_algorithm(
      replaced(ring(8, "LL128"), "inplace=\"1\"", "inplace=\"1\" minBytes=\"1024\" maxBytes=\"4096\""), "ring.xml")};
  const auto m = model("dgx-a100", o);
  CHECK(m.run(call(Op::all_reduce, 1023)).algorithm != "MSCCL");
  CHECK(m.run(call(Op::all_reduce, 1024)).algorithm == "MSCCL");
  CHECK(m.run(call(Op::all_reduce, 4096)).algorithm == "MSCCL");
  CHECK(m.run(call(Op::all_reduce, 4097)).algorithm != "MSCCL");
  CHECK(m.run(call(Op::all_gather, 2048)).algorithm != "MSCCL");
}

TEST_CASE("an algorithm for other GPUs is refused", "[workloads][algorithm]") {
  workloads::CommunicatorOptions o;
  o.algorithms = {workloads::read_algorithm(ring(4, "LL"), "four.xml")};
  CHECK_THROWS_WITH(model("dgx-a100", o).run(call(Op::all_reduce, 1 << 20)),
                    Catch::Contains("four.xml is for 4 GPUs, but 8 take part"));
}

TEST_CASE("wrong results are found, chunk by chunk", "[workloads][algorithm]") {
  REQUIRE(said(ring(4, "LL")).empty());
  // GPU 1 sends on chunk 0 without adding its own: what it keeps is right until the sum comes back without its part.
  const auto lacking = said(replaced(ring(4, "LL"), step(1, "rrs", 0), step(1, "rcs", 0)));
  CHECK(has(lacking, "wrong result: output chunk 0 of GPU 2 lacks input chunk 0 of GPU 1"));
  CHECK(has(lacking, "after all_reduce it must be the sum of input chunk 0 of all GPUs"));
  // GPU 3 adds its chunk 0 where the sum was complete: twice.
  const auto twice = said(replaced(ring(4, "LL"), step(3, "rrcs", 0), step(3, "rrs", 0)));
  CHECK(has(twice, "GPU 3"));
  // The last receive is missing: GPU 0 keeps its own chunk 2, and a message stays unread.
  const auto unread = said(replaced(ring(4, "LL"), step(6, "r", 2), ""));
  CHECK(has(unread, "wrong result: output chunk 2 of GPU 0"));
  CHECK(has(unread, "leaves 1 message"));
}

TEST_CASE("an algorithm that never ends is found", "[workloads][algorithm]") {
  // Both first receive, then send.
  const auto gpu = [](int r) {
    return " <gpu id=\"" + std::to_string(r) +
           "\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">\n  <tb id=\"0\" send=\"" + std::to_string(1 - r) +
           "\" recv=\"" + std::to_string(1 - r) + "\" chan=\"0\">\n" + step(0, "rrc", r) + step(1, "s", 1 - r) +
           "  </tb>\n </gpu>\n";
  };
  const auto text = said(algo(2, "LL", gpu(0) + gpu(1)));
  CHECK(has(text, "a:4:5: error: deadlock: step 0 (rrc) of thread block 0 of GPU 0 waits for thread block 0 of GPU 1"));
  CHECK(has(text, "a:10:5: error: deadlock: step 0 (rrc) of thread block 0 of GPU 1"));
}

TEST_CASE("steps that race for a chunk are found", "[workloads][algorithm]") {
  // GPU 0 copies its input to scratch in one block and sends it from there in another. With the dependency it is right.
  const auto text = [](const std::string& wait) {
    return algo(
        2, "Simple",
        " <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"1\">\n"
        "  <tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
        "   <step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" "
        "deps=\"-1\" hasdep=\"1\"/>\n"
        "   <step s=\"1\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" "
        "deps=\"-1\" hasdep=\"0\"/>\n  </tb>\n"
        "  <tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\">\n"
        "   <step s=\"0\" type=\"s\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" " +
            wait +
            " hasdep=\"0\"/>\n  </tb>\n </gpu>\n"
            " <gpu id=\"1\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">\n"
            "  <tb id=\"0\" send=\"-1\" recv=\"0\" chan=\"0\">\n"
            "   <step s=\"0\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" "
            "deps=\"-1\" hasdep=\"0\"/>\n  </tb>\n </gpu>\n",
        "broadcast", "inplace=\"0\"", 1);
  };
  CHECK(said(text("depid=\"0\" deps=\"0\"")).empty());
  CHECK(has(said(text("depid=\"-1\" deps=\"-1\"")),
            "reads scratch chunk 0 of GPU 0, which step 0 (cpy) of thread block 0 "
            "of GPU 0 writes: nothing says which comes first"));
  CHECK(has(said(text("depid=\"7\" deps=\"0\"")), "depid 7: GPU 0 has no such thread block"));
  CHECK(has(said(text("depid=\"0\" deps=\"9\"")), "deps 9: thread block 0 has 2 steps"));
}

TEST_CASE("all mistakes of an algorithm are said at once", "[workloads][algorithm]") {
  auto text = ring(4, "LL");
  text = replaced(text, "type=\"rrs\"", "type=\"rrz\"");
  text = replaced(text, "srcbuf=\"i\" srcoff=\"2\"", "srcbuf=\"q\" srcoff=\"2\"");
  text = replaced(text, "dstoff=\"2\" cnt=\"1\"", "dstoff=\"2\" cnt=\"0\"");
  const auto all = said(text);
  CHECK(has(all, "unknown type of step 'rrz'"));
  CHECK(has(all, "unknown buffer 'q'"));
  CHECK(has(all, "cnt=\"0\" is out of range"));
  CHECK(has(said(replaced(ring(4, "LL"), "send=\"1\"", "send=\"2\"")), "on channel 0"));
  CHECK(has(said(replaced(ring(4, "LL"), "coll=\"allreduce\"", "coll=\"allreduced\"")), "did you mean 'allreduce'?"));
  CHECK(has(said(replaced(ring(4, "LL"), "</algo>", "")), "not well-formed XML"));
  CHECK(has(said("hello"), "this is no algorithm"));
}

TEST_CASE("a published ring is right, and its separate steps cost what they cost", "[workloads][algorithm]") {
  // The same ring with receive-reduce-copy and send as steps of their own, as ir.py writes it unless it fuses them: a
  // block then takes the sum of both instead of doing them in one pass.
  std::string gpus;
  const int n = 8;
  for (int r = 0; r < n; ++r) {
    gpus += " <gpu id=\"" + std::to_string(r) +
            "\" i_chunks=\"8\" o_chunks=\"0\" s_chunks=\"0\">\n  <tb id=\"0\" send=\"" + std::to_string((r + 1) % n) +
            "\" recv=\"" + std::to_string((r + n - 1) % n) + "\" chan=\"0\">\n";
    int s = 0;
    gpus += step(s++, "s", r);
    for (int k = 1; k < 2 * n - 2; ++k) {
      const int chunk = (r + 2 * n - k) % n;
      gpus += step(s++, k < n ? "rrc" : "r", chunk);
      gpus += step(s++, "s", chunk);
    }
    gpus += step(s++, "r", (r + 2) % n) + "  </tb>\n </gpu>\n";
  }
  workloads::CommunicatorOptions separate, fused;
  separate.algorithms = {workloads::read_algorithm(algo(n, "LL128", gpus), "separate.xml")};
  fused.algorithms = {workloads::read_algorithm(ring(n, "LL128"), "fused.xml")};
  const auto slow = model("dgx-a100", separate).run(call(Op::all_reduce, 1 << 20));
  const auto quick = model("dgx-a100", fused).run(call(Op::all_reduce, 1 << 20));
  CHECK(slow.time > quick.time);
  CHECK(slow.time.us() < 2.5 * quick.time.us());
}
