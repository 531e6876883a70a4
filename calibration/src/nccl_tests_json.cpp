// Reader of the file that nccl-tests writes with -J (versions 2 and 3 of it). Its `env` holds the whole
// environment of whoever ran it: only NCCL_* is looked at, nothing else is kept. Knows no prediction.
#include <fmt/format.h>

#include <cmath>

#include "json_text.hpp"
#include "linkcast/calibration/series.hpp"
#include "nccl_tests_run.hpp"
#include "problems.hpp"
#include "secrets.hpp"
#include "software_facts.hpp"

namespace linkcast::calibration {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr double kLongestUs = 9.2e12;  // sim::Time

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& where, const Hints& hints)
      : text_{text}, where_{where}, hints_{hints}, problems_{text, where} {}

  std::vector<Series> read() {
    require_text(text_, where_, kLargestFile);
    auto parsed = parse_json(text_, text_, problems_, "nccl-tests closes the file when it ends; was the run killed?");
    problems_.throw_if_any();
    const json root = std::move(*parsed);
    std::vector<Series> out;
    if (!root.is_object() || !root.contains("results") || !root["results"].is_array()) {
      problems_.at(1, 1, 1, "no list 'results'", "expected the file that nccl-tests writes with -J");
    } else {
      run_.begin = {1, 1};
      read_header(root);
      read_results(root["results"]);
      if (!problems_.any()) out = series_of(run_, name_of_file(where_), where_, hints_, problems_);
      if (!problems_.any() && out.empty()) problems_.at(1, 1, 1, "'results' has no row with a time");
    }
    problems_.throw_if_any();
    return out;
  }

 private:
  void read_header(const json& root) {
    for (const auto& arg : json_member(root, "args")) {
      if (const auto program = program_in(json_text(arg)); !program.empty() && run_.program.empty())
        run_.program = program;
    }
    run_.program_at = {1, 1};
    for (const auto& setting : json_member(root, "env")) {
      const auto s = json_text(setting);
      const auto equals = s.find('=');
      if (s.substr(0, 5) == "NCCL_" && equals != std::string::npos)
        run_.env[s.substr(0, equals)] = shown_value_of(s.substr(0, equals), s.substr(equals + 1));
    }
    if (json_member(root, "nccl_version").is_number_integer())
      run_.nccl = nccl_version_of_code(json_whole(root["nccl_version"], 0));
    const auto& config = json_member(root, "config");
    run_.threads = json_whole(json_member(config, "nthreads"), 1);
    run_.gpus = json_whole(json_member(config, "ngpus"), 1);
    run_.graph = json_whole(json_member(config, "graph"), 0);
    for (const auto& device : json_member(config, "devices")) {
      run_.ranks.push_back({json_whole(json_member(device, "rank"), 0), json_whole(json_member(device, "pid"), 0),
                            json_text(json_member(device, "hostname")), json_text(json_member(device, "device_info"))});
    }
    run_.failed_check = json_text(json_member(json_member(root, "out_of_bounds"), "okay")) == "false";
  }

  void read_results(const json& results) {
    std::size_t index = 0;
    std::size_t offset = text_.find("\"results\"");
    for (const auto& row : results) {
      offset = text_.find("\"size\"", offset + 1);
      at_ = place_of_row(offset);
      read_row(row, index++);
    }
  }

  /// Counting on from the last row keeps the whole linear.
  Place place_of_row(std::size_t offset) {
    if (offset == std::string_view::npos) return at_;
    const auto step = place_of(text_.substr(counted_), offset - counted_);
    Place place{last_.line + step.line - 1, step.line == 1 ? last_.column + step.column - 1 : step.column};
    counted_ = offset;
    last_ = place;
    return place;
  }

  void problem(std::size_t index, std::string_view what, std::string help = {}) {
    problems_.at(at_.line, at_.column, 6, fmt::format("results[{}]: {}", index, what), std::move(help));
  }

  void read_row(const json& row, std::size_t index) {
    const auto& size = json_member(row, "size");
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      return problem(index, "'size' is not a number of bytes", "expected a whole number below 2^63");
    }
    if (run_.program.empty()) run_.program = program_in(json_text(json_member(row, "experiment_name")));
    RunRow out;
    out.size = sim::Bytes{size.get<std::int64_t>()};
    out.dtype = json_text(json_member(row, "type"));
    out.redop = json_text(json_member(row, "redop"));
    out.out_of_place = time_of(row, "out_of_place", index, out);
    out.in_place = time_of(row, "in_place", index, out);
    if (out.size.count() == 0)
      ++run_.rows_without_bytes;
    else if (out.out_of_place || out.in_place)
      run_.rows.push_back(std::move(out));
  }

  std::optional<sim::Time> time_of(const json& row, const char* placement, std::size_t index, RunRow& out) {
    const auto& group = json_member(row, placement);
    if (group.is_null()) return std::nullopt;
    const auto& cpu = json_member(group, "cpu_time");
    const auto& time = cpu.is_null() ? json_member(group, "time") : cpu;
    run_.cpu_time = run_.cpu_time || !cpu.is_null();
    if (!time.is_number() || !(time.get<double>() > 0) || time.get<double>() > kLongestUs ||
        sim::Time::from_us(time.get<double>()) <= sim::Time{}) {
      // Sizes without bytes may show anything.
      if (out.size.count() > 0)
        problem(index, fmt::format("'{}' has no time", placement), "expected microseconds above zero");
      return std::nullopt;
    }
    const auto& wrong = json_member(group, "nwrong");
    if (wrong.is_number() && wrong.get<double>() > 0) ++run_.wrong_rows;
    const auto& algbw = json_member(group, "alg_bw");
    const auto& busbw = json_member(group, "bus_bw");
    if (algbw.is_number() && busbw.is_number()) {
      out.algbw = algbw.get<double>();
      out.busbw = busbw.get<double>();
    }
    return sim::Time::from_us(time.get<double>());
  }

  std::string_view text_;
  std::string where_;
  const Hints& hints_;
  Problems problems_;
  Run run_;
  Place at_{1, 1}, last_{1, 1};
  std::size_t counted_ = 0;
};

}  // namespace

std::vector<Series> read_nccl_tests_json(std::string_view text, const std::string& where, const Hints& hints) {
  return JsonReader(text, where, hints).read();
}

}  // namespace linkcast::calibration
