// See kineto_file.hpp. Most events of a trace are the host's and are left after their second member, "cat".
#include "kineto_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "json_value.hpp"

namespace linkcast::workloads::readers {
namespace {

enum class Cat : std::uint8_t { unknown, kernel, copy, runtime, host, annotation, sync, other };

Cat cat_of(std::string_view c) {
  if (c == "\"kernel\"" || c == "\"Kernel\"") return Cat::kernel;
  if (c == "\"cpu_op\"" || c == "\"Operator\"" || c == "\"operator\"") return Cat::host;
  if (c == "\"cuda_runtime\"" || c == "\"cuda_driver\"" || c == "\"Runtime\"" || c == "\"hip_runtime\"")
    return Cat::runtime;
  if (c == "\"gpu_memcpy\"" || c == "\"gpu_memset\"" || c == "\"Memcpy\"" || c == "\"Memset\"") return Cat::copy;
  if (c == "\"user_annotation\"" || c == "\"User Annotation\"") return Cat::annotation;
  if (c == "\"cuda_sync\"") return Cat::sync;
  return Cat::other;
}

/// False: nothing in this event is needed.
bool wanted(Cat cat, std::string_view name) {
  switch (cat) {
    case Cat::host:
      return name == "\"record_param_comms\"";
    case Cat::annotation:
      return name.starts_with("\"ProfilerStep#") || name.starts_with("\"nccl:");
    case Cat::runtime:
      return name.find("Launch") != name.npos;
    case Cat::sync:
      return name.starts_with("\"Stream Wait Event");
    default:
      return cat == Cat::kernel || cat == Cat::copy;
  }
}

class Scanner {
 public:
  Scanner(KinetoFile& file, Names& names, ReadReport& report) : file_{file}, names_{names}, report_{report} {}

  void event(std::string_view text, std::uint64_t at) {
    ++file_.events;
    Cat cat = Cat::unknown;
    std::string_view name, ts, dur, args, ph, pid, tid;
    bool needed = true;
    for_members(text, [&](std::string_view key, std::string_view value) {
      if (key == "cat") {
        cat = cat_of(value);
        needed = cat != Cat::other && (name.empty() || wanted(cat, name));
        return needed;
      }
      if (key == "name") {
        name = value;
        needed = cat == Cat::unknown || wanted(cat, name);
        return needed;
      }
      if (key == "ph")
        ph = value;
      else if (key == "ts")
        ts = value;
      else if (key == "dur")
        dur = value;
      else if (key == "args")
        args = value;
      else if (key == "pid")
        pid = value;
      else if (key == "tid")
        tid = value;
      return true;
    });
    if (!needed || cat == Cat::unknown || (!ph.empty() && ph != "\"X\"")) {
      ++file_.host_events;
      return;
    }
    const auto start = nanoseconds_of(ts);
    const auto length = dur.empty() ? std::optional<std::int64_t>{0} : nanoseconds_of(dur);
    const auto where = [&] { return fmt::format("{}: byte {}", file_.path, at); };
    if (!start || !length || *start < 0) {
      report_.skip("an event without a time", where());
      return;
    }
    if (*length < 0 || *length > std::int64_t{86'400'000'000'000}) {
      report_.skip("an event that takes less than nothing or more than a day", where());
      return;
    }
    const auto thread = [&] { return names_.add(fmt::format("{}/{}", pid, tid)); };
    switch (cat) {
      case Cat::kernel:
      case Cat::copy:
        on_gpu(cat, name, *start, *length, args, tid, where);
        break;
      case Cat::runtime: {
        const auto correlation = member(args, "correlation");
        if (correlation) file_.launches.push_back({*start, static_cast<std::uint32_t>(*correlation), thread()});
        break;
      }
      case Cat::host:
        call(*start, *length, args, thread());
        break;
      case Cat::annotation:
        if (name.starts_with("\"nccl:"))
          file_.marks.push_back({*start, thread(), names_.add(text_of(name))});
        else
          file_.steps.push_back({*start, *start + *length, names_.add(text_of(name))});
        break;
      default:
        wait(args);
    }
  }

 private:
  static std::optional<std::int64_t> member(std::string_view args, std::string_view wanted_key) {
    std::optional<std::int64_t> out;
    for_members(args, [&](std::string_view key, std::string_view value) {
      if (key != wanted_key) return true;
      out = integer_of(value);
      return false;
    });
    return out;
  }

  template <typename Where>
  void on_gpu(Cat cat, std::string_view name, std::int64_t start, std::int64_t length, std::string_view args,
              std::string_view tid, const Where& where) {
    KinetoFile::OnGpu k;
    k.start = start, k.duration = length;
    k.name = names_.add(text_of(name));
    if (works_.size() <= k.name) works_.resize(k.name + 1, 0);
    auto& known = works_[k.name];
    if (known == 0) {
      const auto& n = names_[k.name];
      const bool nccl = cat == Cat::kernel && is_kernel_of_nccl(n);
      known = static_cast<std::uint8_t>(1 + static_cast<int>(cat == Cat::copy ? Work::copy : work_of_gpu_kernel(n)) +
                                        (nccl ? 128 : 0));
    }
    k.nccl = known >= 128;
    k.work = static_cast<Work>((known & 127) - 1);
    KinetoFile::Stream stream{0, integer_of(tid).value_or(0)};
    TorchCall call;
    bool said = false;
    for_members(args, [&](std::string_view key, std::string_view value) {
      if (key == "stream")
        stream.number = integer_of(value).value_or(stream.number);
      else if (key == "device")
        stream.device = integer_of(value).value_or(0);
      else if (key == "correlation")
        k.correlation = static_cast<std::uint32_t>(integer_of(value).value_or(0));
      else if (key == "External id" || key == "external id")
        k.external = integer_of(value).value_or(0);
      else if (k.nccl)
        said |= argument(call, key, value);
      return true;
    });
    const auto place = stream_of(stream);
    if (place < 0) {
      report_.skip("a kernel on more streams than are kept", where());
      return;
    }
    k.stream = static_cast<std::uint16_t>(place);
    if (said && call.name != 0) {
      call.external = k.external;
      k.call = static_cast<std::int32_t>(file_.calls.size());
      call.claimed = true;
      file_.calls.push_back(call);
      file_.calls_on_kernels = true;
    }
    file_.gpu.push_back(k);
  }

  int stream_of(const KinetoFile::Stream& s) {
    if (last_ < file_.streams.size() && file_.streams[last_] == s) return static_cast<int>(last_);
    const auto found = std::ranges::find(file_.streams, s);
    last_ = static_cast<std::size_t>(found - file_.streams.begin());
    if (found == file_.streams.end()) {
      if (file_.streams.size() >= 4096) return -1;
      file_.streams.push_back(s);
    }
    return static_cast<int>(last_);
  }

  void wait(std::string_view args) {
    KinetoFile::Wait w;
    KinetoFile::Stream mine, theirs;
    bool both = false;
    for_members(args, [&](std::string_view key, std::string_view value) {
      const auto n = integer_of(value);
      if (!n) return true;
      if (key == "stream")
        mine.number = *n;
      else if (key == "device")
        mine.device = theirs.device = *n;
      else if (key == "correlation")
        w.correlation = static_cast<std::uint32_t>(*n);
      else if (key == "wait_on_stream")
        theirs.number = *n, both = true;
      else if (key == "wait_on_cuda_event_record_corr_id")
        w.recorded = static_cast<std::uint32_t>(*n);
      return true;
    });
    if (!both || w.recorded == 0) return;
    const int a = stream_of(mine), b = stream_of(theirs);
    if (a < 0 || b < 0) return;
    w.stream = static_cast<std::uint16_t>(a), w.on_stream = static_cast<std::uint16_t>(b);
    file_.waits.push_back(w);
  }

  void call(std::int64_t start, std::int64_t length, std::string_view args, std::uint32_t thread) {
    TorchCall c;
    c.start = start, c.duration = length, c.thread = thread;
    std::string_view dims, types, inputs;
    for_members(args, [&](std::string_view key, std::string_view value) {
      if (key == "External id" || key == "external id")
        c.external = integer_of(value).value_or(0);
      else if (key == "Record function id")
        c.record = integer_of(value).value_or(0);
      else if (key == "Input Dims" || key == "Input dims")
        dims = value;
      else if (key == "Input type")
        types = value;
      else if (key == "Concrete Inputs")
        inputs = value;
      else
        argument(c, key, value);
      return true;
    });
    if (c.name != 0) file_.calls_named = true;
    if (c.in < 0 && !dims.empty()) by_inputs(c, dims, types, inputs);
    file_.calls.push_back(c);
  }

  bool argument(TorchCall& c, std::string_view key, std::string_view value) {
    if (value.empty()) return false;
    const auto small = [&](std::int32_t& into) {
      const auto n = integer_of(value);
      if (n && *n >= INT32_MIN && *n <= INT32_MAX) into = static_cast<std::int32_t>(*n);
    };
    if (key == "Collective name")
      c.name = names_.add(text_of(value));
    else if (key == "In msg nelems")
      c.in = integer_of(value).value_or(-1);
    else if (key == "Out msg nelems")
      c.out = integer_of(value).value_or(-1);
    else if (key == "dtype")
      c.dtype = names_.add(text_of(value));
    else if (key == "Group size")
      small(c.size);
    else if (key == "Process Group Name" || (key == "Process Group ID" && c.group == 0))
      c.group = names_.add(text_of(value));
    else if (key == "Process Group Description")
      c.description = names_.add(text_of(value));
    else if (key == "Process Group Ranks")
      c.members = names_.add(text_of(value));
    else if (key == "Global rank start")
      small(c.first);
    else if (key == "Global rank stride")
      small(c.stride);
    else if (key == "Src Rank")
      small(c.source);
    else if (key == "Dst Rank")
      small(c.destination);
    else if (key == "Rank")
      small(c.rank);
    else if (key == "Seq")
      c.seq = integer_of(value).value_or(-1);
    else
      return false;
    return true;
  }

  /// Generation A: the first input is the tensor, or a list of tensors; one of the others may say the collective.
  void by_inputs(TorchCall& c, std::string_view dims, std::string_view types, std::string_view inputs) {
    const auto shapes = json_value(dims);
    const auto kinds = json_value(types);
    const auto said = json_value(inputs);
    if (said.is_array() && c.name == 0)
      for (const auto& v : said)
        if (v.is_string() && verb_of(v.get<std::string>()).verb != TorchCall::Verb::none) {
          c.name = names_.add(v.get<std::string>());
          break;
        }
    if (!shapes.is_array() || shapes.empty() || !shapes[0].is_array() || shapes[0].empty()) return;
    const auto product = [](const nlohmann::json& shape) {
      double n = 1;
      for (const auto& d : shape) n *= d.is_number() ? d.get<double>() : 0.0;
      return n >= 0 && n < 1e15 ? static_cast<std::int64_t>(n) : 0;
    };
    std::int64_t n = 0;
    if (shapes[0][0].is_array())
      for (const auto& shape : shapes[0]) n += product(shape);
    else
      n = product(shapes[0]);
    c.in = n;
    if (kinds.is_array() && !kinds.empty() && kinds[0].is_string()) c.dtype = names_.add(kinds[0].get<std::string>());
  }

  KinetoFile& file_;
  Names& names_;
  ReadReport& report_;
  std::vector<std::uint8_t> works_;
  std::size_t last_ = 0;
};

void distributed(KinetoFile& file, std::string_view value) {
  for_members(value, [&](std::string_view key, std::string_view v) {
    const auto n = integer_of(v);
    if (key == "rank" && n && *n >= 0 && *n < (1 << 20)) file.rank = static_cast<int>(*n);
    if (key == "world_size" && n && *n > 0 && *n <= (1 << 20)) file.world = static_cast<int>(*n);
    if (key == "pg_config") file.pg_config = std::string{v};
    return true;
  });
}

}  // namespace

Work work_of_gpu_kernel(std::string_view name) {
  std::string n;
  for (const char c : name.substr(0, 512)) n += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view w) { return n.find(w) != n.npos; });
  };
  if (n.starts_with("memcpy") || n.starts_with("memset")) return Work::copy;
  if (has({"flash", "fmha", "attention", "attn", "mha_", "softmax_warp"})) return Work::attention;
  // A reduction or a change of layout that a matrix library does beside its product.
  if (has({"splitkreduce", "tonhwc", "tonchw", "reduce_wgrad", "kernel<cutlass_cudnn_train::reduct"}))
    return Work::elementwise;
  if (has({"gemm", "cutlass", "cublas", "nvjet", "wgrad", "dgrad", "conv", "scudnn", "cijk_", "matmul", "winograd"}))
    return Work::gemm;
  if (has({"elementwise", "reduce", "vectorized", "norm", "softmax", "bn_fw", "bn_bw", "pool", "triton_", "copy",
           "optimizer", "multi_tensor", "foreach", "index", "scatter", "gather", "embedding", "dropout", "fill"}))
    return Work::elementwise;
  return Work::other;
}

KinetoFile read_kineto_file(const std::string& path, Names& names, ReadReport& report) {
  KinetoFile file;
  file.path = path;
  Scanner scanner{file, names, report};
  JsonPieces pieces;
  pieces.array = "traceEvents";
  pieces.anchor = "ph";
  pieces.element = [&](std::string_view text, std::uint64_t at) { scanner.event(text, at); };
  pieces.member = [&](std::string_view key, std::string_view value) {
    if (key == "distributedInfo") distributed(file, value);
  };
  const auto read = read_pieces(path, pieces);
  const auto where = fmt::format("{}: byte {}", path, read.broken > 0 ? read.first : read.bytes);
  if (!read.damage.empty())
    report.skip(fmt::format("the rest of a damaged file ({})", read.damage), where);
  else if (!read.whole && read.broken == 0)
    report.skip("the file ends too early", where);
  for (std::int64_t i = 0; i < read.broken; ++i) report.skip("an event without an end", where);
  std::ranges::stable_sort(file.gpu, {}, &KinetoFile::OnGpu::start);
  std::ranges::sort(file.launches, {}, &KinetoFile::Launch::correlation);
  std::ranges::stable_sort(file.marks, {}, &KinetoFile::Mark::at);
  std::ranges::sort(file.steps, {}, &KinetoFile::Step::start);
  return file;
}

}  // namespace linkcast::workloads::readers
