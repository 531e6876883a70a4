#include "linkcast/workloads/collective.hpp"

namespace linkcast::workloads {

double busbw_factor(models::nccl::Op op, int ranks) {
  using models::nccl::Op;
  const double n = ranks;
  switch (op) {
    case Op::all_reduce:
      return 2 * (n - 1) / n;
    case Op::all_gather:
    case Op::reduce_scatter:
    case Op::alltoall:
    case Op::gather:
    case Op::scatter:
      return (n - 1) / n;
    case Op::broadcast:
    case Op::reduce:
    case Op::sendrecv:
      break;
  }
  return 1;
}

std::string_view name_of(Fidelity f) {
  switch (f) {
    case Fidelity::flow:
      return "flow";
    case Fidelity::chunk:
      return "chunk";
    case Fidelity::packet:
      break;
  }
  return "packet";
}

}  // namespace linkcast::workloads
