// `diagnose` as people type it: exit status, verdict first, and what of the command line is refused.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "ran.hpp"

namespace {

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

const std::string two_nodes = "diagnose --gpu \"H100 SXM\" --nodes 2 --gpus 16 --nics 8x400 ";

}  // namespace

TEST_CASE("diagnose: the verdict stands first, and is the exit status") {
  const auto good = typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=475GB/s");
  CHECK(good.status == 0);
  CHECK(good.out.rfind("HEALTHY", 0) == 0);
  CHECK(says(good.out, "machine: 8 x H100 SXM"));
  const auto bad = typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=365GB/s");
  CHECK(bad.status == 1);
  CHECK(bad.out.rfind("DEGRADED", 0) == 0);
  CHECK(says(bad.out, " 1. NVLS disabled or unavailable"));
  CHECK(says(bad.out, "to confirm: NCCL_DEBUG=INFO"));
  // 365 Gb/s are 46 GB/s: the unit counts.
  CHECK_FALSE(says(typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=365Gb/s").out, " 1. NVLS"));
}

TEST_CASE("diagnose names the nodes of the machine") {
  const auto ran = typed(two_nodes + "--network ib --busbw all_reduce@8G=460GB/s");
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "machine: 2 nodes of 8 x H100 SXM"));
}

TEST_CASE("diagnose refuses a network that is none, and names the nearest") {
  const auto ran = typed(two_nodes + "--network rcoe --busbw all_reduce@8G=460GB/s");
  CHECK(ran.status == 2);
  CHECK(says(ran.err, "unknown network 'rcoe'"));
  CHECK(says(ran.err, "did you mean 'roce'?"));
  CHECK(ran.out.empty());
  CHECK(typed(two_nodes + "--network \"InfiniBand NDR\" --busbw all_reduce@8G=460GB/s").status == 0);
}

TEST_CASE("diagnose refuses a topology of other GPUs, cards on boards included") {
  for (const std::string gpu : {"A100 SXM", "RTX A6000", "H100 PCIe", "H200"}) {
    const auto ran = typed("diagnose -t dgx-h100 --gpu \"" + gpu + "\" --busbw all_reduce@8G=475GB/s");
    INFO(gpu);
    CHECK(ran.status == 2);
    CHECK(says(ran.err, "measured on '" + gpu + "'"));
  }
  CHECK(typed("diagnose -t dgx-h100 --gpu \"H100 SXM\" --busbw all_reduce@8G=475GB/s").status == 0);
  CHECK(typed("diagnose -t dgx-h100 --gpus 16 --busbw all_reduce@8G=475GB/s").status == 2);
}

TEST_CASE("diagnose: a variable that forbids peer access says enough by itself") {
  const auto ran = typed("diagnose -t dgx-a100 --env NCCL_P2P_LEVEL=LOC");
  CHECK(ran.status == 1);
  CHECK(says(ran.out, " 1. P2P disabled or unavailable"));
  CHECK(says(ran.out, "NCCL_P2P_LEVEL=LOC is set"));
  // On NVSwitch NVL forbids nothing, and a variable without a machine nothing that anybody could name.
  CHECK(typed("diagnose -t dgx-a100 --env NCCL_P2P_LEVEL=NVL").status == 0);
  CHECK(typed("diagnose --env NCCL_P2P_LEVEL=LOC").status == 2);
}

TEST_CASE("diagnose --json has the fields of linkcast.diagnose/1") {
  const auto ran = typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=365 --json");
  CHECK(ran.status == 1);
  const auto answer = nlohmann::json::parse(ran.out);
  CHECK(answer["schema"] == "linkcast.diagnose/1");
  CHECK(answer["verdict"] == "degraded");
  CHECK(answer["machine"] == "8 x H100 SXM");
  CHECK(answer["causes"][0]["cause"] == "NVLS disabled or unavailable");
}

TEST_CASE("diagnose: numbers that contradict each other, or physics, are not called healthy") {
  const auto both = typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=470GB/s --busbw all_reduce@8G=47GB/s");
  CHECK_FALSE(says(both.out, "HEALTHY"));
  const auto fast = typed("diagnose --gpu \"H100 SXM\" --busbw all_reduce@8G=99999GB/s");
  CHECK_FALSE(says(fast.out, "HEALTHY"));
  CHECK(says(fast.out, "a wrong unit"));
}
