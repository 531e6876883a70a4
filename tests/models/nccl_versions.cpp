// What changed from 2.12 to 2.30 (the tuning tables of each tag), and what users may forbid.
#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
std::string choice_of(const char* machine, const char* version, Op op, std::int64_t bytes,
                      std::initializer_list<std::pair<const char*, const char*>> env = {}) {
  return spelled(communicator(oracle_system(machine), version, 1, env).choose(call(op, bytes)));
}
constexpr std::int64_t mib = 1 << 20;
}  // namespace

TEST_CASE("Channels by version", "[nccl][versions]") {
  CHECK(communicator(oracle_system("dgxa100"), "2.12").channels().comm == 24);  // 12 links of 22 GB/s
  CHECK(communicator(oracle_system("dgxa100"), "2.18.5").channels().comm == 24);
  CHECK(communicator(oracle_system("dgxh100"), "2.18.5").channels().comm == 24);
  CHECK(communicator(oracle_system("b200_8x400"), "2.30.7").channels().comm == 32);
  CHECK(communicator(oracle_system("b200_8x400"), "2.28").channels().nvls == 24);
  CHECK(communicator(oracle_system("b200_8x400"), "2.26").channels().nvls == 32);
  // 2.28 stopped raising the channels of several Blackwell nodes to those of NVLS.
  CHECK(communicator(oracle_system("b200_8x400"), "2.27", 2).channels().comm == 32);
  CHECK(communicator(oracle_system("b200_8x400"), "2.28", 2).channels().comm == 16);
}

TEST_CASE("NVLS by version", "[nccl][versions]") {
  CHECK(choice_of("dgxh100", "2.16", Op::all_reduce, 256 * mib) == "Ring/Simple");
  for (const char* version : {"2.17", "2.18.5", "2.19", "2.21", "2.24", "2.27", "2.30.7"}) {
    INFO(version);
    CHECK(choice_of("dgxh100", version, Op::all_reduce, 256 * mib) == "NVLS/Simple");
    CHECK(choice_of("dgxa100", version, Op::all_reduce, 256 * mib) == "Ring/Simple");
  }
  // From 2.21 LL counts half of the ring instead of a quarter: it lasts until 2 MiB instead of 512 KiB.
  CHECK(choice_of("dgxh100", "2.20", Op::all_reduce, mib) == "NVLS/Simple");
  CHECK(choice_of("dgxh100", "2.21", Op::all_reduce, mib) == "Ring/LL");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, mib, {{"NCCL_NVLS_ENABLE", "0"}}) == "Ring/LL");
  // The switch adds no bytes.
  auto bytes = call(Op::all_reduce, 256 * mib);
  bytes.dtype = "uint8";
  CHECK(communicator(oracle_system("dgxh100")).choose(bytes).algorithm != Algorithm::nvls);
}

TEST_CASE("The cost model by version", "[nccl][versions]") {
  const auto tune = [](const char* version, const char* key) {
    return communicator(oracle_system("dgxa100"), version).tune(Op::all_reduce).at(key);
  };
  // Ring/LL: 6.6 + 14 x 0.6 since 2.18, 3.6 + 14 x 0.47 before.
  CHECK(tune("2.18.5", "Ring/LL").latency_us == Approx(15.0));
  CHECK(tune("2.17", "Ring/LL").latency_us == Approx(3.6 + 14 * 0.47));
  // Tree/Simple: 14 hops of 4 us and a base of 8.4 since 2.23, of 28 us from 2.19 to 2.22.
  CHECK(tune("2.23", "Tree/Simple").latency_us == Approx(8.4 + 14 * 4.0));
  CHECK(tune("2.22", "Tree/Simple").latency_us == Approx(14 * 28.0));
  // 2.17 caps an A100's ring at 235 GB/s: 235 x 8 / 14.
  CHECK(tune("2.17", "Ring/Simple").bandwidth_GBps == Approx(235.0 * 8 / 14));
  CHECK(tune("2.18.5", "Ring/Simple").bandwidth_GBps == Approx(240.0 * 8 / 14));
  CHECK(communicator(oracle_system("dgxh100"), "2.27").tune(Op::all_reduce).at("NVLS/Simple").bandwidth_GBps ==
        Approx(8 * 40 * 5.0 / 6));
  CHECK(communicator(oracle_system("dgxh100"), "2.28").tune(Op::all_reduce).at("NVLS/Simple").bandwidth_GBps ==
        Approx(8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14));
}

TEST_CASE("NCCL_ALGO and NCCL_PROTO restrict as they say", "[nccl][versions]") {
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, 256 * mib, {{"NCCL_ALGO", "Ring"}}) == "Ring/Simple");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, 256 * mib, {{"NCCL_ALGO", "^nvls"}}) == "Ring/Simple");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, 8192, {{"NCCL_PROTO", "Simple"}}) == "NVLS/Simple");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_gather, 8192, {{"NCCL_ALGO", "Ring;allreduce:Tree"}}) == "Ring/LL");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, 8192, {{"NCCL_ALGO", "Ring;allreduce:Tree"}}) == "Tree/LL");
  CHECK(choice_of("dgxh100", "2.30.7", Op::all_reduce, 256 * mib, {{"NCCL_PROTO", "^Simple"}}) == "Ring/LL128");
  // A broadcast has no tree: 2.24 and later refuse, before the ring stepped in.
  CHECK_THROWS_WITH(choice_of("dgxh100", "2.30.7", Op::broadcast, mib, {{"NCCL_ALGO", "Tree"}}),
                    holds("no algorithm and protocol are left for Broadcast"));
  CHECK(choice_of("dgxh100", "2.18.5", Op::broadcast, mib, {{"NCCL_ALGO", "Tree"}}).substr(0, 4) == "Ring");
  CHECK(choice_of("dgxh100", "2.22", Op::broadcast, mib, {{"NCCL_ALGO", "Tree"}}).substr(0, 4) == "Ring");
}

TEST_CASE("LL128 only where a path keeps 128 bytes whole", "[nccl][versions]") {
  const auto has = [](const System& s) { return communicator(s).tune(Op::all_reduce).count("Ring/LL128") == 1; };
  CHECK(has(oracle_system("dgxa100")));
  CHECK(has(dgx1v()));
  CHECK_FALSE(has(pcie_machine(4, 2, 89, 24, "AuthenticAMD", 1)));
  const auto forced =
      communicator(pcie_machine(4, 2, 89, 24, "AuthenticAMD", 1), "2.30.7", 1, {{"NCCL_PROTO", "LL128"}});
  CHECK(spelled(forced.choose(call(Op::all_reduce, mib))) == "Ring/LL128");
}

TEST_CASE("Candidates come best first and say why", "[nccl]") {
  const auto c = communicator(oracle_system("dgxh100"));
  const auto all = c.candidates(call(Op::all_reduce, 4096));
  CHECK(all.size() == 7);
  CHECK(all.front().reason == "Ring/LL: 15.1 us in NCCL's model, next Tree/LL 15.3 us");
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].model_time_us <= all[i].model_time_us);
}

TEST_CASE("Versions are read, and refused outside 2.12 to 2.30", "[nccl][errors]") {
  CHECK(Version::parse("2.18").str() == "2.18.6");  // the last of that minor version
  CHECK(Version::parse("2.18.5").str() == "2.18.5");
  CHECK(Version::parse("2.30.7") == Version{});
  CHECK_THROWS_WITH(Version::parse("2.4"), holds("versions 2.12 to 2.30"));
  CHECK_THROWS_WITH(Version::parse("3.0"), holds("versions 2.12 to 2.30"));
  for (const char* bad : {"", "2", "two", "2.18.", "2.18.5.1", "2.-1", "2.18x"}) {
    INFO(bad);
    CHECK_THROWS_AS(Version::parse(bad), sim::InputError);
  }
}

TEST_CASE("Unknown variables and values name the nearest", "[nccl][errors]") {
  Environment env;
  CHECK_THROWS_WITH(env.set("NCCL_ALG", "Ring"), holds("did you mean 'NCCL_ALGO'?"));
  CHECK_THROWS_WITH(env.set("NCCL_ALGO", "Rong"), holds("did you mean 'Ring'?"));
  CHECK_THROWS_WITH(env.set("NCCL_ALGO", "Ring;alreduce:Tree"), holds("did you mean 'AllReduce'?"));
  CHECK_THROWS_WITH(env.set("NCCL_ALGO", "Ring;Tree"), holds("without a collective"));
  CHECK_THROWS_WITH(env.set("NCCL_PROTO", "LL12"), holds("did you mean 'LL128'?"));
  CHECK_THROWS_WITH(env.set("NCCL_P2P_LEVEL", "PBX"), holds("not a path level"));
  CHECK_THROWS_WITH(env.set("NCCL_MIN_NCHANNELS", "many"), holds("not a whole number"));
  CHECK_THROWS_WITH(env.set("NCCL_BUFFSIZE", "0"), holds("too small"));
  CHECK_THROWS_WITH(env.set("NCCL_ALGO", ""), holds("no value"));
  CHECK_THROWS_AS(env.set("NCCL_ALGO", ",;:^"), sim::InputError);
  env.set("NCCL_DEBUG", "INFO");
  env.set("NCCL_P2P_LEVEL", "3");
  CHECK(env.without_effect() == std::vector<std::string>{"NCCL_DEBUG"});
  CHECK(env.get("NCCL_P2P_LEVEL") == "3");
  CHECK(env.integer("NCCL_P2P_LEVEL") == 3);
}
