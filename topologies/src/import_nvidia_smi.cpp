// `nvidia-smi topo -m` to a machine: classes of paths become PCIe trees and NUMA domains, NV# become NVLinks. Also
// `nvidia-smi nvlink -s` and `-L`, for the GPUs' name. Knows the matrix as import_matrix.hpp reads it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "import_matrix.hpp"
#include "import_nvlink.hpp"
#include "import_parts.hpp"
#include "import_profile.hpp"
#include "import_text.hpp"

namespace linkcast::topologies {
namespace {

/// Devices in groups that grow from class to class: a switch, a root port's tree, a host bridge, a NUMA domain.
class Groups {
 public:
  explicit Groups(std::size_t n) {
    for (auto& level : parent_) {
      level.resize(n);
      std::iota(level.begin(), level.end(), std::size_t{0});
    }
  }
  static constexpr std::array levels{PathClass::pix, PathClass::pxb, PathClass::phb, PathClass::node};

  void join(std::size_t a, std::size_t b, PathClass c) {
    for (std::size_t l = 0; l < levels.size(); ++l) {
      if (levels[l] >= c) parent_[l][of(a, levels[l])] = of(b, levels[l]);
    }
  }
  std::size_t of(std::size_t i, PathClass c) const {
    const auto& p = parent_[static_cast<std::size_t>(c) - static_cast<std::size_t>(PathClass::pix)];
    while (p[i] != i) i = p[i];
    return i;
  }
  bool same(std::size_t a, std::size_t b, PathClass c) const { return of(a, c) == of(b, c); }

 private:
  std::array<std::vector<std::size_t>, 4> parent_;
};

class SmiImporter {
 public:
  SmiImporter(const ImportInput& in, const std::optional<std::string>& gpu_seen)
      : in_{in}, seen_{gpu_seen}, matrix_{read_topo_matrix(in)}, groups_{matrix_.names.size()} {}

  ImportedMachine run() {
    if (!in_.problems.empty()) return {};
    gpus_ = static_cast<std::size_t>(matrix_.gpus);
    all_ = matrix_.names.size();
    join_known();
    if (!in_.problems.empty()) return {};
    if (!read_links()) return {};
    const auto profile = choose();
    if (!profile) return {};
    profile_ = &*profile;
    model_ = profile->parts;
    model_.switch_links.clear();
    model_.nvswitch.clear();
    model_.nvlink.clear();
    model_.c2c.clear();
    model_.mesh.clear();
    model_.boards = 1;
    model_.trunk_links = 0;
    model_.gpus = matrix_.gpus;
    model_.nics = static_cast<int>(all_ - gpus_);
    choose_nic(in_, *profile, model_);
    wire_nvlinks(
        in_, *profile, links_, nvlink_ports(model_.gpu),
        [&](int i, int j, std::string problem, std::string help) {
          const auto& cell = matrix_.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
          in_.problems.add(in_.file, cell.line, cell.column, std::move(problem), std::move(help));
        },
        model_);
    if (!in_.problems.empty()) return {};
    fill_hidden();
    domains();
    trees();
    c2c();
    notes();
    auto out = machine_yaml(model_);
    out.title = fmt::format("{} x {}, from nvidia-smi topo -m", model_.gpus, model_.gpu);
    out.nic_names = matrix_.nics;
    if (std::ranges::any_of(out.nic_names, [](const auto& n) { return n.empty(); })) out.nic_names.clear();
    return out;
  }

 private:
  bool known(const MatrixCell& c) const { return c.path >= PathClass::pix && c.path <= PathClass::sys; }

  /// A tree has one path between two devices: whoever shares a switch with the same third one shares it.
  void join_known() {
    for (std::size_t i = 0; i < all_; ++i) {
      for (std::size_t j = i + 1; j < all_; ++j) {
        const auto& c = matrix_.at(i, j);
        if (known(c) && c.path != PathClass::sys) groups_.join(i, j, c.path);
      }
    }
    for (std::size_t i = 0; i < all_; ++i) {
      for (std::size_t j = i + 1; j < all_ && !in_.problems.full(); ++j) {
        const auto& c = matrix_.at(i, j);
        if (!known(c)) continue;
        for (const auto nearer : Groups::levels) {
          if (nearer >= c.path || !groups_.same(i, j, nearer)) continue;
          contradiction(i, j, nearer);
          break;
        }
      }
    }
  }

  void contradiction(std::size_t i, std::size_t j, PathClass nearer) {
    const auto& c = matrix_.at(i, j);
    std::string why;
    for (std::size_t k = 0; k < all_ && why.empty(); ++k) {
      const auto &a = matrix_.at(i, k), &b = matrix_.at(k, j);
      if (k != i && k != j && known(a) && known(b) && a.path <= nearer && b.path <= nearer)
        why = fmt::format("{} is {} from {} and {} from {}", matrix_.names[k], name_of(a.path), matrix_.names[i],
                          name_of(b.path), matrix_.names[j]);
    }
    in_.problems.add(in_.file, c.line, c.column,
                     fmt::format("{} and {} are {}, yet other paths bring them to {}", matrix_.names[i],
                                 matrix_.names[j], name_of(c.path), name_of(nearer)),
                     why);
  }

  bool read_links() {
    links_.assign(gpus_, std::vector<int>(gpus_, 0));
    for (std::size_t i = 0; i < gpus_; ++i) {
      for (std::size_t j = 0; j < gpus_; ++j) {
        const auto& c = matrix_.at(i, j);
        links_[i][j] = c.nvlinks;
        if (i < j && c.path == PathClass::unknown) {
          in_.problems.add(in_.file, matrix_.line, matrix_.column,
                           fmt::format("nothing is said of {} and {}", matrix_.names[i], matrix_.names[j]),
                           "is the text cut off? copy the whole output of nvidia-smi topo -m");
          return false;
        }
      }
    }
    return true;
  }

  std::optional<MachineProfile> choose() {
    Wanted w;
    w.gpu_words = matrix_.product;
    w.gpu = seen_ ? seen_ : matrix_.product.empty() ? std::nullopt : gpu_part_of(matrix_.product);
    if (seen_) w.gpu_words = "nvidia-smi nvlink";
    w.gpus = matrix_.gpus;
    w.nics = static_cast<int>(all_ - gpus_);
    if (in_.options.nic) w.nic = *in_.options.nic;
    w.links = links_;
    w.line = matrix_.line;
    w.column = matrix_.column;
    return choose_profile(in_, w);
  }

  /// NVLink hides which PCIe path a pair of GPUs has. It follows from the NICs, from the affinities, or is taken from
  /// the like machine.
  void fill_hidden() {
    const auto key = [&](std::size_t g) {
      return matrix_.numa_affinity[g].empty() ? matrix_.cpu_affinity[g] : matrix_.numa_affinity[g];
    };
    for (std::size_t i = 0; i < gpus_; ++i) {
      for (std::size_t j = i + 1; j < gpus_; ++j) {
        if (!key(i).empty() && key(i) == key(j) && !apart(i, j)) groups_.join(i, j, PathClass::node);
      }
    }
    const bool as_profile = profile_->parts.gpus == matrix_.gpus;
    const auto undecided = [&](std::size_t g) {
      for (std::size_t k = 0; k < all_; ++k) {
        if (k != g && (groups_.same(g, k, PathClass::pxb) || (k >= gpus_ && known(matrix_.at(g, k))))) return false;
      }
      return true;
    };
    std::vector<bool> open(gpus_);
    for (std::size_t g = 0; g < gpus_; ++g) open[g] = undecided(g);
    bool nothing = std::ranges::all_of(open, [](bool o) { return o; });
    for (std::size_t g = 0; g < gpus_; ++g) nothing = nothing && key(g).empty();
    if (!as_profile || all_ > gpus_) {
      if (nothing && gpus_ > 1 && hidden()) {
        in_.notes.assume("all GPUs are in one NUMA domain: the file does not say");
        for (std::size_t g = 1; g < gpus_; ++g) groups_.join(0, g, PathClass::node);
      }
      return;
    }
    if (!hidden()) return;
    for (const auto& chip : profile_->switch_of) {
      for (int g : chip) {
        const auto a = static_cast<std::size_t>(chip.front()), b = static_cast<std::size_t>(g);
        if (open[b]) behind_chip_.push_back(b);
        if (a == b || !open[a] || !open[b] || matrix_.at(a, b).path != PathClass::nvlink || apart(a, b)) continue;
        if (key(a) == key(b)) groups_.join(a, b, PathClass::pix);
      }
    }
    if (nothing) {  // not even affinities: the sockets of the like machine
      const auto cpus = std::max<std::size_t>(1, profile_->parts.numa.size());
      for (std::size_t g = 1; g < gpus_; ++g) {
        if (g * cpus / gpus_ == (g - 1) * cpus / gpus_) groups_.join(g, g - 1, PathClass::node);
      }
    }
    if (!behind_chip_.empty())
      in_.notes.assume(fmt::format("which GPUs share a PCIe switch is as in {}: NVLink hides it", profile_->name));
  }

  bool hidden() const { return has_nvlink(links_); }
  /// Some pair of their groups is known to be in different domains.
  bool apart(std::size_t i, std::size_t j) const {
    for (std::size_t a = 0; a < all_; ++a) {
      for (std::size_t b = 0; b < all_; ++b) {
        if (groups_.same(a, i, PathClass::node) && groups_.same(b, j, PathClass::node) &&
            matrix_.at(a, b).path == PathClass::sys)
          return true;
      }
    }
    return false;
  }

  static int leading_number(const std::string& text) {
    int n = 0;
    std::size_t i = 0;
    for (; i < text.size() && i < 4 && text[i] >= '0' && text[i] <= '9'; ++i) n = n * 10 + (text[i] - '0');
    return i == 0 || n > 1023 ? -1 : n;
  }

  void domains() {
    std::map<std::size_t, int> number;  // group -> NUMA id, -1 where unknown
    std::vector<std::size_t> order;
    const bool coherent = !profile_->parts.c2c.empty();
    for (std::size_t d = 0; d < all_; ++d) {
      const auto group = groups_.of(d, PathClass::node);
      const bool gpu = d < gpus_;
      if (!number.contains(group)) {
        if (!gpu && coherent && !order.empty()) {  // NICs that nothing places: spread over the CPUs below
          strays_.push_back(d);
          continue;
        }
        number[group] = -1;
        order.push_back(group);
        if (!gpu)
          in_.notes.assume(fmt::format("{} is SYS from every GPU: it hangs on a CPU of its own", matrix_.names[d]));
      }
      if (gpu && number[group] < 0) number[group] = leading_number(matrix_.numa_affinity[d]);
    }
    std::vector<int> taken;
    for (auto g : order) taken.push_back(number[g]);
    std::ranges::sort(taken);
    if (taken.front() < 0 || std::ranges::adjacent_find(taken) != taken.end()) {
      // Ids that are missing or stand for several domains are worth nothing: the order of appearance counts.
      for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int>(i);
    } else {
      std::ranges::sort(order, {}, [&](std::size_t g) { return number[g]; });
    }
    const auto known_numa = profile_->parts.numa;
    model_.numa.clear();
    for (auto g : order) {
      cpu_of_group_[g] = static_cast<int>(model_.numa.size());
      model_.numa.push_back(number[g]);
    }
    sockets(known_numa.size());
  }

  void sockets(std::size_t in_profile) {
    const auto n = model_.numa.size();
    const auto& p = profile_->parts;
    if (n == in_profile) return;  // per_socket as in the profile
    model_.per_socket = 1;
    if (n > 2 && n % 2 == 0 && !p.die_link.empty()) model_.per_socket = static_cast<int>(n / 2);
    if (n > 1 && model_.cpu_link.empty()) model_.cpu_link = p.cpu == "grace" ? "nvlink-c2c-grace" : "upi-spr";
    in_.notes.assume(fmt::format("{} NUMA domain{} with a GPU or a NIC, {} of them on a socket", n, n == 1 ? "" : "s",
                                 model_.per_socket));
  }

  PcieDevice device(std::size_t d) const {
    return {d < gpus_, static_cast<int>(d < gpus_ ? d : d - gpus_), profile_->pcie};
  }

  void trees() {
    std::map<int, PcieTree> straight;
    std::vector<std::pair<int, PcieTree>> chips;
    std::map<std::size_t, std::vector<std::size_t>> roots;  // first device of a root port's tree -> devices
    std::map<std::size_t, std::size_t> first;
    for (std::size_t d = 0; d < all_; ++d) {
      const auto group = groups_.of(d, PathClass::pxb);
      first.emplace(group, d);
      roots[first.at(group)].push_back(d);
    }
    for (const auto& [at, devices] : roots) {
      const auto group = cpu_of_group_.find(groups_.of(at, PathClass::node));
      if (group == cpu_of_group_.end()) continue;  // strays
      const int cpu = group->second;
      if (devices.size() == 1 && std::ranges::find(behind_chip_, at) == behind_chip_.end()) {
        straight[cpu].devices.push_back(device(at));
        continue;
      }
      PcieTree root{true, profile_->pcie, {}, {}};
      std::map<std::size_t, PcieTree> inner;
      std::vector<std::size_t> order;
      for (auto d : devices) {
        const auto chip = groups_.of(d, PathClass::pix);
        if (!inner.contains(chip)) order.push_back(chip);
        auto& tree = inner[chip];
        tree.chip = true;
        tree.wire = profile_->pcie;
        tree.devices.push_back(device(d));
      }
      if (order.size() == 1) {
        root = inner[order.front()];
      } else {
        for (auto c : order) root.below.push_back(inner[c]);
        in_.notes.assume("devices at PXB are behind switches of their own below a common one");
      }
      chips.emplace_back(cpu, std::move(root));
    }
    for (std::size_t i = 0; i < strays_.size(); ++i)
      straight[static_cast<int>(i * model_.numa.size() / strays_.size())].devices.push_back(device(strays_[i]));
    if (!strays_.empty())
      in_.notes.assume(
          "NICs that are SYS from every GPU are spread over the CPUs in order: the file does not place them");
    for (int cpu = 0; cpu < static_cast<int>(model_.numa.size()); ++cpu) {
      if (straight.contains(cpu)) model_.trees.emplace_back(cpu, straight[cpu]);
      for (auto& [at, tree] : chips) {
        if (at == cpu) model_.trees.emplace_back(cpu, std::move(tree));
      }
    }
  }

  void c2c() {
    if (profile_->parts.c2c.empty()) return;
    model_.c2c = profile_->parts.c2c;
    for (std::size_t g = 0; g < gpus_; ++g) model_.c2c_cpus.push_back(cpu_of_group_.at(groups_.of(g, PathClass::node)));
    in_.notes.assume(fmt::format("each GPU is on its CPU by {}, as in {}", model_.c2c, profile_->name));
  }

  void notes() {
    const auto& p = profile_->parts;
    in_.notes.know(
        fmt::format("{} GPUs, {} NICs, {} NUMA domains with devices", model_.gpus, model_.nics, model_.numa.size()));
    if (model_.nics > 0) in_.notes.know("which GPUs and NICs share PCIe switches, host bridges and NUMA domains");
    in_.notes.assume(fmt::format("CPUs are {}{}, the host is {}, as in {}", p.cpu,
                                 model_.numa.size() > 1 ? ", joined by " + model_.cpu_link : "", p.host,
                                 profile_->name));
    in_.notes.assume(
        fmt::format("every PCIe link is {} x{}, as in {}", profile_->pcie.link, profile_->pcie.lanes, profile_->name));
    int cut = 0;
    for (std::size_t i = 0; i < all_; ++i) {
      for (std::size_t j = i + 1; j < all_; ++j) cut += matrix_.at(i, j).path == PathClass::unknown ? 1 : 0;
    }
    if (cut > 0) in_.notes.lack(fmt::format("{} pairs of devices that were cut off", cut));
    const auto roce = std::ranges::count_if(matrix_.nics, [](const auto& n) { return n.rfind("roce", 0) == 0; });
    if (roce > 0 && roce == model_.nics && model_.fabric.empty()) {
      model_.fabric = "roce";
      in_.notes.know("NICs are Ethernet by their names: RoCE");
    }
    if (roce > 0 && roce < model_.nics)
      in_.notes.lack(
          fmt::format("{} of {} NICs are Ethernet by their names; one rate is taken for all", roce, model_.nics));
    in_.notes.lack("PCIe generation and lanes of each link, rates of the NICs, and what they are cabled to");
  }

  const ImportInput& in_;
  std::optional<std::string> seen_;
  TopoMatrix matrix_;
  Groups groups_;
  std::size_t gpus_ = 0, all_ = 0;
  PairLinks links_;
  const MachineProfile* profile_ = nullptr;
  MachineModel model_;
  std::vector<std::size_t> behind_chip_;  // GPUs behind a switch of which the file does not tell
  std::vector<std::size_t> strays_;       // NICs without a place
  std::map<std::size_t, int> cpu_of_group_;
};

}  // namespace

ImportedMachine import_nvidia_smi(const ImportInput& in, const std::optional<std::string>& gpu_seen) {
  return SmiImporter{in, gpu_seen}.run();
}

std::optional<std::string> import_gpu_name(const ImportInput& in) {
  std::optional<std::string> part;
  std::string words;
  for (const auto& line : lines_of(in.text())) {
    const auto text = trimmed(line.text);
    if (text.rfind("GPU ", 0) != 0) continue;
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) continue;
    const auto product = trimmed(text.substr(colon + 1, 80));
    const auto found = gpu_part_of(product);
    if (!found) {
      in.problems.add(in.file, line.number, 1, fmt::format("GPU '{}' is not in the catalog", quoted(product)),
                      "--gpu names the part to take, without this file");
    } else if (part && *part != *found) {
      in.problems.add(in.file, line.number, 1, fmt::format("a {}, but the GPUs above are {}", *found, *part),
                      "one machine has GPUs of one kind");
    }
    if (!part) part = found;
    if (in.problems.full()) break;
  }
  return part;
}

}  // namespace linkcast::topologies
