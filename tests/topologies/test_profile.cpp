// Profiles: fitted numbers laid over parts.
#include <string>

#include "catch.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/topologies/cluster.hpp"
#include "linkcast/topologies/profile.hpp"

using namespace linkcast;
using topologies::Profile;

namespace {

const std::string head = "schema: linkcast.profile/1\nname: ours\nparts:\n";

std::string problems_of(const std::string& text) {
  try {
    Profile::parse(text, "ours.yaml");
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return {};
}

double GBps(sim::Rate r) { return static_cast<double>(r.bytes_per_second()) * 1e-9; }

}  // namespace

TEST_CASE("a profile changes the numbers of a part, and of the parts that extend it") {
  const auto ours = Profile::parse(head + "  gpus:\n    h100-sxm:\n      simple: {send: 20 GB/s}\n", "ours.yaml");
  for (const auto* name : {"dgx-h100", "dgx-h200"}) {  // h200-sxm extends h100-sxm
    const auto fabric = topologies::load(name, {1, {}, ours});
    const auto plain = topologies::load(name);
    CHECK(GBps(fabric.gpu_model(fabric.gpus()[0]).simple.send) == 20);
    CHECK(fabric.gpu_model(fabric.gpus()[0]).simple.overhead == plain.gpu_model(plain.gpus()[0]).simple.overhead);
  }
  const auto a100 = topologies::load("dgx-a100", {1, {}, ours});
  CHECK(GBps(a100.gpu_model(a100.gpus()[0]).simple.send) != 20);
}

TEST_CASE("a part's own number in a profile wins over the one it inherits") {
  const auto ours = Profile::parse(
      head + "  gpus:\n    h100-sxm: {kernel_start: 3 us}\n    h200-sxm: {kernel_start: 4 us}\n", "ours.yaml");
  const auto fabric = topologies::load("dgx-h200", {1, {}, ours});
  CHECK(fabric.gpu_model(fabric.gpus()[0]).kernel_start == sim::Time::microseconds(4));
}

TEST_CASE("a profile reaches the network between machines") {
  const auto ours = Profile::parse(head + "  networks:\n    ib: {latency: 9 us}\n", "ours.yaml");
  topologies::ClusterOptions options;
  options.nodes = 2;
  options.profile = ours;
  CHECK(topologies::load_cluster("dgx-h100", options).network().model().latency == sim::Time::microseconds(9));
  CHECK(topologies::ideal_cluster(topologies::load("dgx-h100"), 2, "ib", ours.get()).network().model().latency ==
        sim::Time::microseconds(9));
}

TEST_CASE("mistakes of a profile are found at their place, all at once") {
  const auto text = problems_of(head +
                                "  gpus:\n"
                                "    h100-smx: {kernel_start: 3 us}\n"
                                "    h100-sxm: {kernel_strat: 3 us, jitter: 3}\n"
                                "  link:\n"
                                "    nvlink4: {residual: 1}\n");
  CHECK_THAT(text, Catch::Contains("ours.yaml:5:5: error: the catalog has no part 'h100-smx' among its gpus"));
  CHECK_THAT(text, Catch::Contains("did you mean 'h100-sxm'?"));
  CHECK_THAT(text, Catch::Contains("kernel_strat"));
  CHECK_THAT(text, Catch::Contains("'jitter'"));
  CHECK_THAT(text, Catch::Contains("ours.yaml:7:3: error: no kind of part 'link'"));
  CHECK_THAT(problems_of("name: x\nparts: {}\n"), Catch::Contains("schema"));
  CHECK_THAT(problems_of("schema: linkcast.profile/1\n"), Catch::Contains("parts"));
  CHECK_THAT(problems_of("- 1\n"), Catch::Contains("a profile must be a map of keys"));
}

TEST_CASE("numbers of parts by their path") {
  const auto send = topologies::number_at("gpus.h200-sxm.simple.send");
  REQUIRE(send);
  CHECK(send->unit == topologies::Unit::rate);
  CHECK(topologies::origin_of("gpus.h200-sxm.simple.send") == "gpus.h100-sxm.simple.send");
  CHECK(topologies::origin_of("gpus.h200-sxm.memory") == "gpus.h200-sxm.memory");
  CHECK_FALSE(topologies::number_at("gpus.h100-sxm.no_such"));
  CHECK_THROWS_AS(topologies::number_at("gpus.h100-smx.simple.send"), sim::InputError);
  CHECK_THROWS_AS(topologies::number_at("simple"), sim::InputError);

  const auto changed =
      Profile::with(nullptr, {{"gpus.h100-sxm.simple.send", 19.5e9}, {"networks.ib.latency", 7.25e-6}});
  CHECK(topologies::number_at("gpus.h200-sxm.simple.send", changed.get())->value == Approx(19.5e9));
  CHECK(topologies::number_at("networks.ib.latency", changed.get())->value == Approx(7.25e-6));
  CHECK(changed->paths() == std::vector<std::string>{"gpus.h100-sxm.simple.send", "networks.ib.latency"});
}

TEST_CASE("what ships reads as a profile, and can be kept away") {
  CHECK_NOTHROW(Profile::parse(Profile::shipped().text(), "shipped.yaml"));
  const auto prior = topologies::number_at("links.nvlink4.residual", Profile::priors().get());
  const auto shipped = topologies::number_at("links.nvlink4.residual");
  REQUIRE(prior);
  CHECK(prior->source.find("prior") != std::string::npos);
  CHECK(shipped->source.find("fitted") != std::string::npos);
}
