// What the unevenness of many independent channels adds to a collective.
//
// A channel does not progress at a constant rate: its steps are late and early at random. A collective ends with its
// slowest channel. If the progress of a channel over a time t has the variance D * t, the slowest of many channels is
// late by about k * sqrt(D * t) where k grows only with the root of the logarithm of their number; k is taken into D.
// When the channels share a link that is much slower than the channels could be, a late one finds the link emptier
// and catches up: the delay shrinks with the fourth power of (share of the link) / (own rate of a channel).
//
// NVLS: all channels wait for the same flags of all heads, which bounds how far one falls behind. With the time b after
// which that pulls it back, the variance is D * t / (1 + t / b): it stops growing at D * b. On 8 H100 and H200 the
// excess over the wire's time grows from 15 us at 4 MiB to 90 us at 256 MiB and no further up to 8 GiB.
//
// Measured on: H100, H200, GH200 (D = 8 us), A100 (11 us); on H800 and V100, whose links are slow for their SMs, the
// same rule gives the small value that is seen there. Right for Simple and NVLS from about 1 MiB; negligible below.
#pragma once

#include "linkcast/sim/units.hpp"

namespace linkcast::workloads {

/// `transfer`: how long the bytes of one channel take; `share` and `own`: rates of one channel.
sim::Time jitter(sim::Time diffusion, sim::Time transfer, sim::Rate share, sim::Rate own);

/// The same where flags that all channels wait for pull a late one back after `bound` > 0.
sim::Time bounded_jitter(sim::Time diffusion, sim::Time transfer, sim::Time bound);

}  // namespace linkcast::workloads
