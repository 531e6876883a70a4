// The spreads are judgements, in three steps: 0.1 where physics gives the number and the fit only corrects what is left
// (residuals of links), 0.3 to 0.5 where machines of one architecture differ by tens of per cent (rates, launches: the
// same configuration differs by 1.36 between sites below 1 MiB, corpus README), 0.7 to 1 where only the order of
// magnitude is known beforehand (latencies of flags, unevenness).
#include "fit_rules.hpp"

#include <array>

namespace linkcast::calibration {
namespace {

constexpr double us = 1e-6, GBps = 1e9;

constexpr std::array rules{
    FitRule{"gpus", "kernel_start", 0.4, 0.5 * us, 50 * us},
    FitRule{"gpus", "jitter", 1.0, 0.05 * us, 200 * us},
    FitRule{"gpus", "p2p_channel", 0.4, 0.5 * GBps, 200 * GBps},
    FitRule{"gpus", "nvls_efficiency", 0.15, 0.2, 1.0},
    FitRule{"gpus", "nvls_latency", 0.5, 0.5 * us, 100 * us},
    FitRule{"gpus", "nvls_overhead", 0.7, 0.01 * us, 10 * us},
    FitRule{"gpus", "nvls_tree_overhead", 0.7, 0.1 * us, 50 * us},
    FitRule{"gpus", "nvls_jitter", 0.8, 0.5 * us, 500 * us},
    FitRule{"gpus", "nvls_jitter_bound", 0.5, 10 * us, 5000 * us},
    FitRule{"gpus", "ll.send", 0.5, 0.2 * GBps, 60 * GBps},
    FitRule{"gpus", "ll.overhead", 0.7, 0.01 * us, 10 * us},
    FitRule{"gpus", "ll.hop", 0.7, 0.01 * us, 20 * us},
    FitRule{"gpus", "ll128.send", 0.4, 1 * GBps, 100 * GBps},
    FitRule{"gpus", "ll128.overhead", 0.7, 0.05 * us, 20 * us},
    FitRule{"gpus", "ll128.hop", 0.7, 0.02 * us, 20 * us},
    FitRule{"gpus", "ll128.all", 0.3, 5 * GBps, 2000 * GBps},
    FitRule{"gpus", "simple.send", 0.3, 1 * GBps, 200 * GBps},
    FitRule{"gpus", "simple.local", 0.5, 1 * GBps, 500 * GBps},
    FitRule{"gpus", "simple.overhead", 0.7, 0.05 * us, 20 * us},
    FitRule{"gpus", "simple.hop", 0.7, 0.05 * us, 30 * us},
    FitRule{"gpus", "simple.all", 0.2, 5 * GBps, 2000 * GBps},
    FitRule{"gpus", "copy_engine", 0.3, 1 * GBps, 2000 * GBps},
    // Copies between host and GPU measure it to within 2 % on every generation (catalog/parts/links.yaml).
    FitRule{"links", "residual", 0.01, 0.3, 1.2, "pcie-"},
    FitRule{"links", "residual", 0.1, 0.3, 1.4},
    FitRule{"cpus", "p2p_overhead", 0.3, 1.0, 20},
    FitRule{"cpus", "p2p_socket_overhead", 0.3, 1.0, 20},
    FitRule{"cpus", "nic_overhead", 0.3, 1.0, 20},
    FitRule{"cpus", "memory", 0.3, 1 * GBps, 2000 * GBps},
    FitRule{"hosts", "launch_single_process_per_gpu", 0.4, 0.2 * us, 100 * us},
    FitRule{"hosts", "launch_multi_process", 0.4, 1 * us, 500 * us},
    FitRule{"hosts", "launch_graph", 0.4, 1 * us, 200 * us},
    FitRule{"hosts", "launch_p2p", 0.5, 0.1 * us, 50 * us},
    // ib_write_bw measures it to within 2 % (catalog/parts/networks.yaml); other transports have software on the way.
    FitRule{"networks", "residual", 0.01, 0.3, 1.1, "ib"},
    FitRule{"networks", "residual", 0.01, 0.3, 1.1, "roce"},
    FitRule{"networks", "residual", 0.06, 0.3, 1.1},
    FitRule{"networks", "latency", 0.6, 0.3 * us, 200 * us},
    FitRule{"networks", "simple", 0.7, 0.1 * us, 200 * us},
    FitRule{"networks", "message", 0.7, 0.02 * us, 50 * us},
    FitRule{"networks", "p2p_efficiency", 0.3, 0.1, 1.0},
    FitRule{"networks", "flow_rate", 0.5, 0.05 * GBps, 400 * GBps},
    FitRule{"networks", "flush", 0.6, 0.1 * us, 50 * us},
    FitRule{"networks", "reduction", 0.6, 0.5 * us, 200 * us},
};

}  // namespace

std::span<const FitRule> fit_rules() { return rules; }

}  // namespace linkcast::calibration
