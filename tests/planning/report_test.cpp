// The report as a file: complete in itself, nothing gets out of its place, absent facts leave sections out.
#include <fstream>
#include <iterator>
#include <regex>

#include "../../planning/src/report/figures.hpp"
#include "../../planning/src/report/page.hpp"
#include "../../planning/src/sha256.hpp"
#include "catch.hpp"
#include "linkcast/planning/report.hpp"
#include "linkcast/sim/diagnostic.hpp"

namespace linkcast::planning {
namespace {

std::string study(const std::string& name) {
  std::ifstream in{std::string{LINKCAST_SOURCE_DIR} + "/tests/data/reports/" + name + ".json"};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, std::string_view what) { return text.find(what) != text.npos; }

constexpr const char* studies[] = {"sweep", "sweep-sizes", "plan", "resilience", "interference", "run"};

}  // namespace

TEST_CASE("SHA-256 as in FIPS 180-4", "[planning][report]") {
  // The examples of the standard, and the lengths around a block's end.
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(std::string(1'000'000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const auto b64 = [](std::string_view t) {
    return base64(std::span{reinterpret_cast<const std::uint8_t*>(t.data()), t.size()});
  };
  // RFC 4648, 10.
  CHECK(b64("f") == "Zg==");
  CHECK(b64("fo") == "Zm8=");
  CHECK(b64("foobar") == "Zm9vYmFy");
}

TEST_CASE("numbers as people write them", "[planning][report]") {
  using namespace report;
  CHECK(time_text(12.34) == "12.3 us");
  CHECK(time_text(2'021'000) == "2.02 s");
  CHECK(usd_text(38'200'000) == "38.2 M USD");
  CHECK(usd_text(1.85) == "1.85 USD");
  CHECK(watts_text(1'212'000) == "1.21 MW");
  CHECK(bytes_text(64.0 * 1024 * 1024) == "64 MiB");
  CHECK(digits(1'234'567) == "1,234,567");
  CHECK(digits(0.00123) == "0.00123");
  CHECK(digits(0) == "0");
  CHECK(signed_percent_text(-10.04) == "-10.0 %");
}

TEST_CASE("a report is one file", "[planning][report]") {
  for (const auto* name : studies) {
    INFO(name);
    const auto page = html_report(study(name), {});
    CHECK(page.size() < 2'000'000);
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(count(page, "<h1>") == 1);
    // Nothing that a browser would fetch; namespaces of XML and addresses in texts are none.
    CHECK_FALSE(std::regex_search(page, std::regex{R"(<(?:img|link|iframe|object|embed|audio|video|source)\b)"}));
    CHECK_FALSE(std::regex_search(page, std::regex{R"(<script[^>]*\bsrc)"}));
    CHECK_FALSE(has(page, "@import"));
    CHECK_FALSE(has(page, "sourceMappingURL"));
    CHECK(has(page, "default-src 'none'"));
    CHECK(page.find("id=\"verdict\"") < page.find("<table"));
    CHECK(html_report(study(name), {}) == page);
  }
}

TEST_CASE("without the plotting library a report has its tables and says what is missing", "[planning][report]") {
  for (const auto* name : studies) {
    INFO(name);
    const auto page = report::html_report(study(name), {}, {});
    CHECK(count(page, "<script") == 0);
    CHECK(count(page, "<figure") == 0);
    CHECK(has(page, "Debian: libjs-vega"));
    CHECK(count(page, "<table") >= 2);
    CHECK(page.size() < 200'000);
  }
}

TEST_CASE("titles and names stay texts", "[planning][report]") {
  const std::string evil = R"x(</script><script>alert(1)</script><img src=x onerror="alert('2')"> & )x";
  const auto page = [&](const std::string& json) {
    ReportFacts facts;
    facts.command = "linkcast run '</pre><script>x</script>'";
    facts.inputs.push_back({"<script>.yaml", "sha256:0"});
    facts.timeline.push_back({"</script>", "</script><script>", "<b>", 0, 1});
    facts.assumptions = {"<script>y</script>"};
    return html_report(json, facts);
  };
  auto escaped = evil;
  for (std::size_t at = 0; (at = escaped.find('"', at)) != escaped.npos; at += 2) escaped.insert(at, "\\");
  const auto text = page(R"({"schema":"linkcast.sweep/1","title":")" + escaped + R"(","rows":[{"key":"a","name":")" +
                         escaped + R"(","status":"done","time_us":1,"parts_us":{")" + escaped +
                         R"(":1},"goals":[{"goal":"<i>","known":true,"met":true,"value_text":"<u>"}]},)" +
                         R"({"key":"b","name":"b","status":"done","time_us":2}]})");
  CHECK_FALSE(has(text, "<script>alert"));
  CHECK_FALSE(has(text, "<img"));
  CHECK_FALSE(has(text, "<script>x"));
  CHECK_FALSE(has(text, "<script>y"));
  CHECK_FALSE(has(text, "<i>"));
  CHECK_FALSE(has(text, "<u>"));
  CHECK(has(text, "&lt;/script&gt;&lt;script&gt;alert(1)"));
  // As many ends of scripts as beginnings.
  CHECK(count(text, "<script") == count(text, "</script"));
  CHECK(report::escaped("a\xff\x01z\xc3\xa4") == "a\xef\xbf\xbdz\xc3\xa4");
}

TEST_CASE("absent facts leave their section out", "[planning][report]") {
  for (const auto* schema :
       {"sweep", "plan", "resilience", "interference", "run", "replay", "collective", "fault-run"}) {
    INFO(schema);
    const auto page = html_report(R"({"schema":"linkcast.)" + std::string{schema} + R"(/1"})", {});
    CHECK(has(page, "id=\"verdict\""));
    CHECK(count(page, "<section") == 1);
  }
  // Fields of another kind than expected are as absent ones.
  const auto odd = html_report(
      R"({"schema":"linkcast.sweep/1","title":7,"baseline":[],"rows":[3,{"name":null,"time_us":"x","goals":5,"parts_us":[1]},
          {"name":"a","time_us":1,"capex_usd":"?","expected_error":[],"goals":[1,{}]}],"assumptions":[{}, 4]})",
      {});
  CHECK(has(odd, "id=\"verdict\""));
  for (const auto* bad : {"", "[]", "{\"schema\":\"linkcast.bom/1\"}", "{\"schema\":", "{}"})
    CHECK_THROWS_AS(html_report(bad, {}), sim::InputError);
}

TEST_CASE("the verdict says what the rows say", "[planning][report]") {
  const auto sweep = [](const char* goals_a, const char* goals_b) {
    return html_report(
        std::string{R"({"schema":"linkcast.sweep/1","rows":[
      {"key":"a","name":"dear","status":"done","time_us":1000,"capex_usd":{"low":9,"typical":10000000,"high":11},"goals":[)"} +
            goals_a + R"(]},{"key":"b","name":"cheap","status":"done","time_us":2000,"capex_usd":5000000,"goals":[)" +
            goals_b + "]}]}",
        {});
  };
  const auto* met = R"({"goal":"step_time <= 3 ms","known":true,"met":true,"margin_percent":10,"confidence":0.9})";
  const auto* missed =
      R"({"goal":"step_time <= 3 ms","known":true,"met":false,"margin_percent":-12.5,"confidence":0.1})";
  const auto* unknown = R"({"goal":"step_time <= 3 ms","known":false,"met":false})";
  const auto both = sweep(met, met);
  CHECK(has(both, "class=\"good\""));
  CHECK(has(both, "dear\u201d meets every goal, with the shortest time of those that do: 1 ms, 10 M USD."));
  CHECK(has(both, "The cheapest of them is \u201ccheap\u201d: 2 ms, 5 M USD."));
  const auto one = sweep(missed, met);
  CHECK(has(one, "cheap\u201d meets every goal"));
  CHECK(has(one, "1 of 2 options meet every goal."));
  const auto none = sweep(missed, unknown);
  CHECK(has(none, "class=\"bad\""));
  CHECK(has(none, "No option meets every goal."));
  CHECK(has(none, "dear\u201d is nearest: it misses 1 goal, step_time &lt;= 3 ms by 12.5 %."));
}

TEST_CASE("the Pareto front has those that nothing beats", "[planning][report]") {
  // b is slower and dearer than a: not of the front; c is slower but cheaper.
  const auto page = html_report(R"({"schema":"linkcast.sweep/1","rows":[
    {"key":"a","name":"a","time_us":10,"status":"done","capex_usd":10},
    {"key":"b","name":"b","time_us":11,"status":"done","capex_usd":12},
    {"key":"c","name":"c","time_us":20,"status":"done","capex_usd":5}]})",
                                {});
  if (!report_has_charts()) return;
  const auto at = page.find("id=\"pareto\"");
  REQUIRE(at != page.npos);
  const auto plot = page.substr(at, page.find("</figure>", at) - at);
  CHECK(count(plot, "\"front\":true") == 2);
  CHECK(count(plot, "\"front\":false") == 1);
}

TEST_CASE("a page of what was stopped says so", "[planning][report]") {
  const auto page = [](const std::string& complete) {
    return html_report(R"({"schema":"linkcast.sweep/1","title":"t","complete":)" + complete +
                           R"(,"rows":[{"key":"a","name":"a","status":"done","time_us":1.0}]})",
                       ReportFacts{});
  };
  CHECK(page("false").find("stopped before its end") != std::string::npos);
  CHECK(page("true").find("stopped before its end") == std::string::npos);
}

}  // namespace linkcast::planning
