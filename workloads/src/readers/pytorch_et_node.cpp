// See pytorch_et_node.hpp. Tensors are written as [id, storage, offset, elements, bytes of one, device]. Inputs of
// record_param_comms (PyTorch's ParamCommsUtils.hpp): [tensors,] sequence, process group, rank or root or peer, name,
// splits in, splits out[, first rank, stride, size].
#include "pytorch_et_node.hpp"

#include <algorithm>
#include <set>

#include "json_value.hpp"

namespace linkcast::workloads::readers {
namespace {

using Json = nlohmann::json;

std::int64_t number(const Json& o, const char* key) {
  const auto found = o.find(key);
  return found != o.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}
Json list(const Json& o, const char* key) {
  const auto found = o.find(key);
  return found != o.end() && found->is_array() ? *found : Json::array();
}

void collect(const Json& v, EtTensors& out, std::set<std::int64_t>& seen, int depth) {
  if (!v.is_array() || depth > 8) return;
  const bool tensor =
      v.size() >= 6 && v[0].is_number() && v[3].is_number_integer() && v[4].is_number_integer() && v[5].is_string();
  if (!tensor) {
    for (const auto& each : v) collect(each, out, seen, depth + 1);
    return;
  }
  const auto n = v[3].get<std::int64_t>(), size = v[4].get<std::int64_t>();
  if (n < 0 || size < 0 || size > 64 || n > (std::int64_t{1} << 48)) return;
  if (v[0].is_number_integer() && !seen.insert(v[0].get<std::int64_t>()).second) return;  // out= is an input, too
  ++out.count;
  out.elements = std::min(out.elements + n, std::int64_t{1} << 52);
  out.bytes = std::min(out.bytes + n * size, std::int64_t{1} << 56);
  out.element = size;
  out.on_gpu |= v[5].get<std::string>().starts_with("cuda") || v[5].get<std::string>().starts_with("hip");
}

std::vector<double> shape(const Json& shapes, std::size_t i) {
  std::vector<double> out;
  if (i < shapes.size() && shapes[i].is_array())
    for (const auto& d : shapes[i]) out.push_back(d.is_number() ? d.get<double>() : 0.0);
  return out;
}

double product_flops(const Json& shapes, std::size_t a, std::size_t b) {
  const auto x = shape(shapes, a), y = shape(shapes, b);
  if (x.size() < 2 || y.size() < 2) return 0;
  double n = 2 * y.back();
  for (const auto d : x) n *= d;
  return n;
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto w) { return name.starts_with(w); });
}

}  // namespace

std::optional<EtNode> node_of(std::string_view text) {
  const auto j = json_value(text);
  if (!j.is_object()) return std::nullopt;
  EtNode n;
  n.id = number(j, "id");
  if (const auto name = j.find("name"); name != j.end() && name->is_string()) n.name = name->get<std::string>();
  if (n.id == 0 && n.name.empty()) return std::nullopt;
  n.attributes = Json::object();
  if (j.contains("parent")) {  // 1.0.1
    n.parent = number(j, "parent");
    n.record = number(j, "rf_id");
    n.thread = number(j, "tid");
    n.inputs = list(j, "inputs"), n.shapes = list(j, "input_shapes"), n.types = list(j, "input_types");
    n.outputs = list(j, "outputs");
    return n;
  }
  n.parent = number(j, "ctrl_deps");
  const auto part = [&](const char* key) {
    const auto found = j.find(key);
    return found != j.end() && found->is_object() ? *found : Json::object();
  };
  const auto inputs = part("inputs"), outputs = part("outputs");
  n.inputs = list(inputs, "values"), n.shapes = list(inputs, "shapes"), n.types = list(inputs, "types");
  n.outputs = list(outputs, "values");
  for (const auto& a : list(j, "attrs"))
    if (a.is_object() && a.contains("name") && a["name"].is_string() && a.contains("value"))
      n.attributes[a["name"].get<std::string>()] = a["value"];
  n.record = number(n.attributes, "rf_id");
  n.thread = number(n.attributes, "tid");
  return n;
}

EtTensors tensors_in(const Json& values) {
  EtTensors out;
  std::set<std::int64_t> seen;
  collect(values, out, seen, 0);
  return out;
}

TorchCall call_of(const EtNode& node, Names& names) {
  TorchCall c;
  c.record = node.record;
  const auto& v = node.inputs;
  std::size_t at = v.size();
  for (std::size_t i = 0; i < v.size() && at == v.size(); ++i)
    if (v[i].is_string() && verb_of(v[i].get<std::string>()).verb != TorchCall::Verb::none) at = i;
  const auto integer = [&](std::size_t i) {
    return i < v.size() && v[i].is_number_integer() ? v[i].get<std::int64_t>() : std::int64_t{-1};
  };
  const auto small = [](std::int64_t n) {
    return n >= -1 && n <= INT32_MAX ? static_cast<std::int32_t>(n) : std::int32_t{-1};
  };
  if (at < v.size()) {
    c.name = names.add(v[at].get<std::string>());
    if (at >= 1) c.rank = small(integer(at - 1));
    if (at >= 3) c.request = integer(at - 3);
    if (at >= 2) {
      const auto& group = v[at - 2];
      if (group.is_array() && !group.empty() && group[0].is_string()) {
        c.group = names.add(group[0].get<std::string>());
        if (group.size() > 1 && group[1].is_string()) c.description = names.add(group[1].get<std::string>());
      } else if (group.is_number_integer() && group.get<std::int64_t>() != 0) {
        c.group = names.add(group.dump());
      }
    }
    c.first = small(integer(at + 3)), c.stride = small(integer(at + 4)), c.size = small(integer(at + 5));
    for (const auto i : {at + 1, at + 2})
      if (c.size <= 0 && i < v.size() && v[i].is_array() && !v[i].empty())
        c.size = small(static_cast<std::int64_t>(v[i].size()));
    if (at >= 4) {
      const auto in = tensors_in(v[0]), out = tensors_in(node.outputs);
      if (in.count > 0) c.in = in.elements;
      if (out.count > 0) c.out = out.elements;
      const auto type = !node.types.empty() && node.types[0].is_string() ? node.types[0].get<std::string>() : "";
      const auto element = in.count > 0 ? in.element : out.element;
      if (element_size(type) > 0)
        c.dtype = names.add(type);
      else if (element > 0)
        c.dtype = names.add(element == 1 ? "byte" : element == 2 ? "half" : element == 4 ? "float" : "double");
    }
  }
  const auto& a = node.attributes;
  const auto text = [&](const char* key, std::uint32_t& into) {
    const auto found = a.find(key);
    if (found != a.end() && found->is_string()) into = names.add(found->get<std::string>());
  };
  const auto whole = [&](const char* key, std::int64_t otherwise) {
    const auto found = a.find(key);
    return found != a.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
  };
  text("collective_name", c.name), text("dtype", c.dtype), text("pg_name", c.group), text("pg_desc", c.description);
  c.in = whole("in_msg_nelems", c.in), c.out = whole("out_msg_nelems", c.out);
  c.first = small(whole("global_rank_start", c.first)), c.stride = small(whole("global_rank_stride", c.stride));
  c.size = small(whole("pg_size", c.size));
  c.source = small(whole("src_rank", c.source)), c.destination = small(whole("dst_rank", c.destination));
  if (c.size == 0) c.size = -1;
  return c;
}

std::string groups_of(const EtNode& node) {
  if (node.name.find("process_group:init") == std::string::npos) return {};
  for (const auto& v : node.inputs)
    if (v.is_string()) return v.get<std::string>();
  return {};
}

std::optional<EtWork> work_of(const EtNode& node) {
  const bool triton = node.attributes.contains("kernel_backend") && node.attributes["kernel_backend"] == "triton";
  std::string_view name = node.name;
  if (!triton && !name.starts_with("aten::")) return std::nullopt;
  if (name.starts_with("aten::")) name.remove_prefix(6);
  const auto in = tensors_in(node.inputs), out = tensors_in(node.outputs);
  if (!in.on_gpu && !out.on_gpu) return std::nullopt;
  if (!triton &&
      (starts_with_any(name, {"view",          "as_strided",     "expand",    "reshape",   "transpose", "slice",
                              "select",        "detach",         "permute",   "unsqueeze", "squeeze",   "empty",
                              "alias",         "split",          "chunk",     "narrow",    "unbind",    "is_",
                              "size",          "stride",         "resize",    "set_",      "unfold",    "lift",
                              "record_stream", "result_type",    "output_nr", "_version",  "item",      "_local_scalar",
                              "_unsafe_view",  "_reshape_alias", "numpy_T",   "unsafe_"}) ||
       name == "t" || name == "to" || name == "contiguous" || name == "data"))
    return std::nullopt;
  EtWork w;
  w.work = Work::elementwise;
  EtTensors all;
  std::set<std::int64_t> seen;
  collect(node.inputs, all, seen, 0);
  collect(node.outputs, all, seen, 0);
  w.touched = static_cast<double>(all.bytes);
  const auto& s = node.shapes;
  if (triton) {
  } else if (name == "mm" || name == "bmm" || name == "_scaled_mm" || name == "matmul" || name == "linear") {
    w.work = Work::gemm;
    w.flops = product_flops(s, 0, 1);
  } else if (name == "addmm" || name == "baddbmm" || name == "addbmm" || name == "_addmm_activation") {
    w.work = Work::gemm;
    w.flops = product_flops(s, 1, 2);
  } else if (name.find("attention") != name.npos) {
    w.work = Work::attention;
    const bool backward = name.find("backward") != name.npos;
    const std::size_t first = backward ? 1 : 0;  // backward: the gradient before query, key, value
    const auto q = shape(s, first), k = shape(s, first + 1);
    if (q.size() == 4 && k.size() == 4) w.flops = (backward ? 10 : 4) * q[0] * q[1] * q[2] * k[2] * q[3];
  } else if (name.find("convolution") != name.npos) {
    w.work = Work::gemm;
    const bool backward = name.find("backward") != name.npos;
    const auto weight = shape(s, backward ? 2 : 1);
    double each = backward ? 4 : 2;
    for (std::size_t i = 1; i < weight.size(); ++i) each *= weight[i];
    // Elements of the result, or of its gradient, times the products of each.
    const auto results = backward ? tensors_in(node.inputs.empty() ? Json{} : Json::array({node.inputs[0]})) : out;
    w.flops = each * static_cast<double>(results.elements);
  } else if (starts_with_any(name, {"copy_", "_to_copy", "clone", "zero_", "fill_", "cat"})) {
    w.work = Work::copy;
  }
  return w;
}

}  // namespace linkcast::workloads::readers
