// Reader of files of steps: `rows:` is a sequence of maps whose keys carry their units. Facts beside those that a
// prediction needs are left alone.
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "../files.hpp"
#include "../problems.hpp"
#include "../yaml_document.hpp"
#include "linkcast/calibration/steps.hpp"

namespace linkcast::calibration {

bool is_step_file(std::string_view text) {
  return has_line_starting(text, "rows:") && text.find("\n- row_id:") != std::string_view::npos;
}

std::vector<StepRow> read_step_rows(std::string_view text, const std::string& where) {
  require_text(text, where, std::size_t{16} << 20);
  YamlDocument yaml{text, where};
  std::vector<StepRow> out;
  std::string id = stem_of(where);
  if (yaml.load(std::string{text})) {
    const auto rows = yaml.root["rows"];
    if (yaml.root["id"] && yaml.root["id"].IsScalar()) id = yaml.root["id"].as<std::string>();
    if (!rows || !rows.IsSequence()) yaml.problem(yaml.root, "no sequence 'rows'", "each row is one measured step");
    if (rows && rows.IsSequence())
      for (const auto& r : rows) {
        if (!r.IsMap()) {
          yaml.problem(r, "a row is a map of keys");
          continue;
        }
        StepRow s;
        s.file = id;
        const auto word = [&](const char* key, std::string& to) {
          if (const auto v = r[key]) to = yaml.text(key, v);
        };
        const auto whole = [&](const char* key, int& to) {
          if (const auto v = r[key]) to = yaml.whole(key, v);
        };
        const auto number = [&](const char* key, double& to) {
          if (const auto v = r[key])
            if (const auto x = yaml.number(key, v)) {
              to = *x;
              if (to < 0) yaml.problem(v, std::string{key} + " is negative");
            }
        };
        word("row_id", s.id);
        word("model", s.model);
        word("phase", s.phase);
        word("gpu", s.gpu);
        word("framework", s.framework);
        word("precision", s.precision);
        word("zero_stage", s.zero);
        word("recompute", s.recompute);
        word("pp_schedule", s.schedule);
        word("network", s.network);
        word("row_notes", s.notes);
        word("tflops_kind", s.tflops_kind);
        word("check_status", s.check);
        whole("n_gpus", s.gpus);
        whole("gpus_per_node", s.gpus_per_node);
        whole("seq_len_tokens", s.sequence);
        whole("tp", s.tp);
        whole("pp", s.pp);
        whole("cp", s.cp);
        whole("ep", s.ep);
        whole("etp", s.etp);
        whole("dp", s.dp);
        whole("vpp", s.vpp);
        whole("micro_batch_seqs", s.micro_batch);
        whole("global_batch_seqs", s.global_batch);
        whole("grad_accum_steps", s.accumulation);
        whole("fsdp_shard_gpus", s.shard_group);
        number("network_gbps_per_gpu", s.nic_gbps);
        number("layers_override", s.layers_override);
        number("step_time_s", s.step_s);
        number("tokens_per_s_per_gpu", s.tokens_per_s_per_gpu);
        number("tokens_per_s_total", s.tokens_per_s);
        number("model_tflops_per_s_per_gpu", s.model_tflops);
        number("hw_tflops_per_s_per_gpu", s.hw_tflops);
        if (const auto v = r["sequence_parallel"]) {
          const auto t = yaml.text("sequence_parallel", v);
          s.sequence_parallel = t == "true" || t == "True";
        }
        if (s.model.empty() || s.gpu.empty() || s.gpus == 0)
          yaml.problem(r, "a row needs model, gpu and n_gpus");
        else
          out.push_back(std::move(s));
      }
  }
  yaml.problems.throw_if_any();
  return out;
}

bool in_fitted_half(std::string_view file) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : file) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return ((h >> 4) & 1) == 0;
}

std::map<std::string, workloads::ModelCard> model_cards(const std::string& folder) {
  std::map<std::string, workloads::ModelCard> out;
  for (const auto& path : files_below(folder, {".yaml", ".json"})) {
    try {
      auto card = workloads::read_model_card(path.string());
      const auto name = path.stem().string();
      out.emplace(card.name.empty() ? name : card.name, card);
      out.emplace(name, std::move(card));
    } catch (const sim::InputError&) {
      continue;  // a card without dimensions: its rows say so
    }
  }
  return out;
}

}  // namespace linkcast::calibration
