// Model cards: YAML with the project's keys, or a Hugging Face config.json, told apart by their keys. Facts that a
// card may carry beside (sources, notes) are left alone.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>

#include "linkcast/workloads/trace_fields.hpp"
#include "linkcast/sim/diagnostic.hpp"
#include "linkcast/workloads/step.hpp"

namespace linkcast::workloads {
namespace {

using trace::Value;

constexpr int most = 100'000'000;

class CardReader {
 public:
  CardReader(std::string_view text, const std::string& where) {
    auto source = std::make_shared<SourceText>();
    source->name = where;
    source->text = text;
    root_ = trace::parse_yaml(source, problems_);
    if (!root_.is_map() && problems_.empty()) problems_.add(root_, "a model card is a map of keys");
    problems_.throw_if_any();
  }

  ModelCard read() {
    if (root_.get("hidden_size") != nullptr || root_.get("n_embd") != nullptr || root_.get("d_model") != nullptr ||
        root_.get("text_config") != nullptr)
      hugging_face();
    else
      own();
    problems_.throw_if_any();
    return std::move(card_);
  }

 private:
  int whole(const Value& map, std::string_view key, int otherwise, int low = 0) {
    const auto* v = map.get(key);
    if (v == nullptr || v->kind == Value::Kind::null) return otherwise;
    const auto n = trace::integer_of(problems_, *v, key, low, most);
    return n ? static_cast<int>(*n) : otherwise;
  }
  int whole(std::string_view key, int otherwise, int low = 0) { return whole(root_, key, otherwise, low); }
  int need(std::string_view key) { return need(root_, key); }
  int need(const Value& map, std::string_view key) {
    const auto* v = map.get(key);
    if (v == nullptr || v->kind == Value::Kind::null) {
      problems_.add(root_, fmt::format("the model card has no '{}'", key),
                    "layers, hidden, heads, ffn and vocab (or those of a config.json) say what a model is");
      return 1;
    }
    return whole(map, key, 1, 1);
  }
  double number(std::string_view key) {
    const auto* v = root_.get(key);
    if (v == nullptr || v->kind == Value::Kind::null) return 0;
    double x = 0;
    const auto [end, error] = std::from_chars(v->text.data(), v->text.data() + v->text.size(), x);
    if (!v->is_scalar() || error != std::errc{} || end != v->text.data() + v->text.size() || !std::isfinite(x))
      problems_.add(*v, fmt::format("{} is not a number", key));
    return x;
  }
  bool flag(const Value& map, std::string_view key, bool otherwise) {
    const auto* v = map.get(key);
    if (v == nullptr || v->kind == Value::Kind::null) return otherwise;
    if (v->text == "true" || v->text == "True") return true;
    if (v->text == "false" || v->text == "False") return false;
    problems_.add(*v, fmt::format("{} is '{}'", key, v->text), "true or false");
    return otherwise;
  }
  std::string word(const Value& map, std::string_view key) {
    const auto* v = map.get(key);
    return v != nullptr && v->is_scalar() ? v->text : std::string{};
  }

  void own() {
    static const std::set<std::string> keys{"name",
                                            "layers",
                                            "hidden",
                                            "heads",
                                            "kv_heads",
                                            "head_dim",
                                            "ffn",
                                            "gated_mlp",
                                            "activation",
                                            "vocab",
                                            "tied_embeddings",
                                            "position_embedding",
                                            "default_seq_tokens",
                                            "experts",
                                            "top_k",
                                            "moe_ffn",
                                            "shared_expert_ffn",
                                            "dense_layers",
                                            "dense_ffn",
                                            "mla",
                                            "mtp_layers",
                                            "hybrid",
                                            "params_total",
                                            "params_active",
                                            "card_source",
                                            "card_verified",
                                            "card_notes",
                                            "sliding_window",
                                            "schema",
                                            "learned_positions"};
    const std::vector<std::string> known(keys.begin(), keys.end());
    for (const auto& [key, value] : root_.entries)
      if (!keys.contains(key.text))
        problems_.add(key, fmt::format("unknown key '{}' of a model card", key.text), trace::suggest(key.text, known));
    card_.name = word(root_, "name");
    const int layers = need("layers");
    card_.hidden = need("hidden");
    card_.heads = need("heads");
    card_.kv_heads = whole("kv_heads", card_.heads, 1);
    card_.vocab = need("vocab");
    card_.gated = flag(root_, "gated_mlp", true);
    card_.tied = flag(root_, "tied_embeddings", false);
    card_.sequence = whole("default_seq_tokens", 0);
    card_.experts = whole("experts", 0);
    card_.top_k = whole("top_k", 0);
    card_.expert_ffn = whole("moe_ffn", 0);
    card_.shared_ffn = whole("shared_expert_ffn", 0);
    card_.window = whole("sliding_window", 0);
    card_.mtp_layers = whole("mtp_layers", 0);
    card_.positions = whole("learned_positions", 0);
    if (word(root_, "position_embedding").starts_with("learned") && card_.positions == 0)
      card_.positions = card_.sequence;
    card_.stated_parameters = number("params_total");
    card_.stated_active = number("params_active");
    if (const auto* m = root_.get("mla"); m != nullptr && m->is_map())
      card_.latent =
          LatentAttention{whole(*m, "q_lora_rank", 0), need(*m, "kv_lora_rank"), need(*m, "qk_nope_head_dim"),
                          need(*m, "qk_rope_head_dim"), need(*m, "v_head_dim")};
    card_.head_dim = whole("head_dim", card_.heads > 0 ? card_.hidden / card_.heads : 1, 1);
    const int dense = whole("dense_layers", 0);
    card_.ffn = whole("dense_ffn", whole("ffn", 0));
    const auto* hybrid = root_.get("hybrid");
    if (hybrid != nullptr && hybrid->is_map()) {
      mixed(*hybrid, layers);
    } else if (card_.experts > 0) {
      // Dense layers come first where they are few (DeepSeek-V3), and alternate where they are half (Llama 4).
      const bool alternate = dense > 0 && 2 * dense == layers;
      if (dense > layers) problems_.add(*root_.get("dense_layers"), "more dense layers than layers");
      for (int i = 0; i < layers; ++i)
        card_.layers.push_back({LayerShape::Mixer::attention,
                                (alternate ? i % 2 == 0 : i < dense) ? LayerShape::Mlp::dense : LayerShape::Mlp::moe});
    } else {
      card_.layers.assign(static_cast<std::size_t>(layers), {});
    }
    whole_enough();
  }

  void mixed(const Value& h, int layers) {
    using Mixer = LayerShape::Mixer;
    using Mlp = LayerShape::Mlp;
    card_.mamba_heads = need(h, "mamba_heads");
    card_.mamba_head_dim = need(h, "mamba_head_dim");
    card_.mamba_state = need(h, "mamba_state");
    card_.mamba_groups = need(h, "mamba_groups");
    if (const auto pattern = word(h, "pattern"); !pattern.empty()) {
      for (const char x : pattern) {
        if (x == 'M')
          card_.layers.push_back({Mixer::mamba, Mlp::none});
        else if (x == '*')
          card_.layers.push_back({Mixer::attention, Mlp::none});
        else if (x == 'E')
          card_.layers.push_back({Mixer::none, Mlp::moe});
        else if (x == '-')
          card_.layers.push_back({Mixer::none, Mlp::dense});
        else
          problems_.add(*h.get("pattern"), fmt::format("'{}' in the pattern of layers", x),
                        "M Mamba-2, * attention, E mixture of experts, - dense MLP");
      }
      return;
    }
    const int attention = need(h, "attention_layers"), mamba = need(h, "mamba_layers"), mlp = need(h, "mlp_layers");
    if (attention + mamba + mlp != layers)
      problems_.add(h,
                    fmt::format("{} attention, {} Mamba and {} MLP layers are not {}", attention, mamba, mlp, layers));
    // Spread evenly: Mamba and MLP in turn, an attention layer instead of some Mamba.
    const int pairs = std::max(1, (attention + mamba + mlp) / 2);
    int given = 0;
    for (int i = 0; i < pairs; ++i) {
      const bool here = (i + 1) * attention / pairs > given;
      if (here) {
        card_.layers.push_back({Mixer::attention, Mlp::none});
        ++given;
      } else {
        card_.layers.push_back({Mixer::mamba, Mlp::none});
      }
      card_.layers.push_back({Mixer::none, Mlp::dense});
    }
    int mambas = 0, mlps = 0;
    for (auto& l : card_.layers) {
      if (l.mixer == Mixer::mamba) ++mambas;
      if (l.mlp == Mlp::dense) ++mlps;
    }
    for (; mambas < mamba; ++mambas) card_.layers.push_back({Mixer::mamba, Mlp::none});
    for (auto it = card_.layers.rbegin(); mlps > mlp && it != card_.layers.rend();) {
      if (it->mlp == Mlp::dense) {
        it = std::make_reverse_iterator(card_.layers.erase(std::next(it).base()));
        --mlps;
      } else {
        ++it;
      }
    }
  }

  void hugging_face() {
    const auto* text = root_.get("text_config");
    const Value& c = text != nullptr && text->is_map() ? *text : root_;
    const auto first = [&](std::initializer_list<const char*> names) {
      for (const auto* n : names)
        if (const auto* v = c.get(n); v != nullptr && v->kind != Value::Kind::null) return n;
      return *names.begin();
    };
    card_.name = word(root_, "_name_or_path");
    if (card_.name.empty()) card_.name = word(c, "model_type");
    const auto type = word(c, "model_type");
    const int layers = need(c, first({"num_hidden_layers", "n_layer", "n_layers"}));
    card_.hidden = need(c, first({"hidden_size", "n_embd", "d_model"}));
    card_.heads = need(c, first({"num_attention_heads", "n_head", "n_heads"}));
    card_.kv_heads = whole(c, "num_key_value_heads", card_.heads, 1);
    card_.head_dim = whole(c, "head_dim", card_.heads > 0 ? card_.hidden / card_.heads : 1, 1);
    card_.vocab = need(c, "vocab_size");
    static const std::set<std::string> plain{"gpt2", "gpt_neox", "opt", "bloom", "mpt", "gptj", "falcon"};
    card_.gated = !plain.contains(type);
    card_.ffn = whole(c, first({"intermediate_size", "n_inner", "ffn_dim"}), 4 * card_.hidden, 1);
    card_.tied = flag(root_.get("tie_word_embeddings") != nullptr ? root_ : c, "tie_word_embeddings",
                      plain.contains(type) && type != "gpt_neox");
    if (type == "gpt2" || type == "opt")
      card_.positions = whole(c, first({"n_positions", "max_position_embeddings"}), 0);
    card_.experts = whole(c, first({"num_local_experts", "n_routed_experts", "num_experts"}), 0);
    card_.top_k = whole(c, first({"num_experts_per_tok", "num_experts_per_token"}), 0);
    card_.expert_ffn = whole(c, "moe_intermediate_size", card_.ffn);
    card_.shared_ffn = whole(c, "shared_expert_intermediate_size",
                             whole(c, "n_shared_experts", type == "llama4_text" ? 1 : 0) * card_.expert_ffn);
    card_.mtp_layers = whole(c, "num_nextn_predict_layers", 0);
    if (flag(c, "use_sliding_window", true) && type == "gpt_oss") card_.window = whole(c, "sliding_window", 0);
    if (const auto* v = c.get("kv_lora_rank"); v != nullptr && v->kind != Value::Kind::null)
      card_.latent = LatentAttention{whole(c, "q_lora_rank", 0), need(c, "kv_lora_rank"), need(c, "qk_nope_head_dim"),
                                     need(c, "qk_rope_head_dim"), need(c, "v_head_dim")};
    if (card_.experts <= 0) {
      card_.layers.assign(static_cast<std::size_t>(layers), {});
    } else {
      const int dense = whole(c, "first_k_dense_replace", 0);
      const int every = std::max(1, whole(c, first({"interleave_moe_layer_step", "decoder_sparse_step"}), 1));
      if (type == "llama4_text") card_.expert_ffn = whole(c, "intermediate_size", card_.ffn);
      if (c.get("intermediate_size_mlp") != nullptr) card_.ffn = whole(c, "intermediate_size_mlp", card_.ffn);
      for (int i = 0; i < layers; ++i)
        card_.layers.push_back({LayerShape::Mixer::attention,
                                i < dense || (i + 1) % every != 0 ? LayerShape::Mlp::dense : LayerShape::Mlp::moe});
    }
    whole_enough();
  }

  /// A dense card without the width of its MLP that says how many parameters it has: the width follows.
  void width_from_total() {
    if (card_.ffn > 0 || card_.experts > 0 || card_.stated_parameters <= 0) return;
    const double rest = card_.stated_parameters - parameters_of(card_).total;
    const double width = rest / static_cast<double>(card_.layers.size()) / card_.hidden / (card_.gated ? 3 : 2);
    const double rounded = std::round(width / 128) * 128;  // widths are multiples of what kernels like
    if (rounded > 0 && rounded < most) card_.ffn = static_cast<int>(rounded);
  }

  void whole_enough() {
    if (!problems_.empty()) return;
    width_from_total();
    bool dense = false, moe = false;
    for (const auto& l : card_.layers) {
      dense = dense || l.mlp == LayerShape::Mlp::dense;
      moe = moe || l.mlp == LayerShape::Mlp::moe;
    }
    if (dense && card_.ffn <= 0) problems_.add(root_, "the model card has no 'ffn'", "its dense layers need one");
    if (moe && (card_.experts <= 0 || card_.top_k <= 0 || card_.expert_ffn <= 0))
      problems_.add(root_, "a mixture of experts needs 'experts', 'top_k' and 'moe_ffn'");
    if (moe && card_.top_k > card_.experts) problems_.add(root_, "top_k is larger than the number of experts");
    if (card_.layers.size() > 100'000) problems_.add(root_, "more than 100,000 layers");
  }

  trace::Problems problems_;
  Value root_;
  ModelCard card_;
};

}  // namespace

ModelCard read_model_card_text(std::string_view text, const std::string& where) {
  return CardReader{text, where}.read();
}

ModelCard read_model_card(const std::string& path) {
  const auto source = trace::read_source(path, "a model card is a few kilobytes of YAML or JSON");
  return read_model_card_text(source->text, path);
}

}  // namespace linkcast::workloads
