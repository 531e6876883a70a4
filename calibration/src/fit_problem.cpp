// Derivatives are forward differences of 1 % in the number: predictions are smooth in it (NCCL's choices do not depend
// on fitted numbers), and times are whole picoseconds. Robust loss: that of Student's t with 4 degrees of freedom,
//   rho(s) = 5 log(1 + s / 4),
// applied to each point (a residual r becomes sign(r) sqrt(rho(r^2))), so that one bad point does not condemn its
// series.
#include "fit_problem.hpp"

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <Eigen/Dense>
#include <map>
#include <set>

#include "linkcast/calibration/expected_error.hpp"

namespace linkcast::calibration {
namespace {

constexpr double step = 0.01;
constexpr double freedom = 4;
// Before any residual is known: repeatability between sites (corpus README) and what the model misses.
constexpr std::array<double, 3> first_deviations{0.15, 0.08, 0.04};
// However badly a first solution misses a class, the second one must not give the class up.
constexpr std::array<double, 3> least_deviations{0.010, 0.008, 0.005}, most_deviations{0.30, 0.15, 0.05};

// The same configuration measured at different sites differs by 1.36, 1.06 and 1.04 (slowest over fastest of two to
// ten, median; corpus README), and no model reproduces what is particular to one: an offset of a site in a class of
// size has this standard deviation. Without it the twenty points of one odd site would outvote everybody. It is robust
// like the points: a site whose NICs or slots carry less than their kind (226 of 400 Gb/s by ib_write_bw from host
// memory) is odd as a whole, and must not make the kind slower.
constexpr std::array<double, 3> site_deviations{0.20, 0.08, 0.03};

struct Robust {
  double value, slope;
};
Robust robust(double r) {
  const double s = r * r;
  const double rho = (freedom + 1) * std::log1p(s / freedom);
  if (s < 1e-12) return {r * std::sqrt((freedom + 1) / freedom), std::sqrt((freedom + 1) / freedom)};
  const double value = std::copysign(std::sqrt(rho), r);
  return {value, (freedom + 1) / freedom * r / (1 + s / freedom) / value};
}

}  // namespace

double robust_deviation(std::vector<double> residuals) {
  if (residuals.empty()) return 0;
  for (auto& r : residuals) r = std::fabs(r);
  const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2);
  std::nth_element(residuals.begin(), middle, residuals.end());
  return 1.4826 * *middle;
}

struct FitProblem::Impl {
  const std::vector<std::unique_ptr<Observation>>& observations;
  std::vector<std::vector<std::size_t>> used;
  std::shared_ptr<const topologies::Profile> start;
  std::vector<FreeNumber> numbers;
  std::vector<std::vector<std::size_t>> touching = {};  // of an observation: numbers that its predictions depend on
  std::array<double, 3> deviations = first_deviations;
  bool solved = false, sites = false;
  int iterations = 40;
  std::function<void(int, double)> progress = {};
  std::vector<std::array<double, 3>> offsets = {};  // of an observation's site, by class of size

  std::map<std::string, double> values() const {
    std::map<std::string, double> out;
    for (const auto& n : numbers) out[n.path] = std::exp(n.value);
    return out;
  }

  std::vector<double> logs(std::size_t o, std::map<std::string, double> at) const {
    auto t = observations[o]->predict(topologies::Profile::with(start, at), used[o]);
    for (auto& x : t) x = std::log(x);
    return t;
  }

  double deviation(std::size_t o, std::size_t point) const {
    const auto c = static_cast<std::size_t>(size_class(observations[o]->points()[point].size));
    return std::hypot(deviations[c], observations[o]->rounding(point));
  }

  void link() {
    touching.assign(observations.size(), {});
    for (std::size_t o = 0; o < observations.size(); ++o) {
      std::set<std::string> mine;
      for (const auto& part : observations[o]->parts()) mine.insert(part + ".");
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        const auto& path = numbers[n].path;
        const auto second = path.find('.', path.find('.') + 1);
        for (const auto& part : mine) {
          // The number's own part, or one that extends it and does not say the number itself.
          if (path.compare(0, second + 1, part) == 0 ||
              (part.substr(0, part.find('.')) == path.substr(0, path.find('.')) &&
               topologies::origin_of(part + path.substr(second + 1), start.get()) == path)) {
            touching[o].push_back(n);
            break;
          }
        }
      }
    }
  }

  class Cost final : public ceres::CostFunction {
   public:
    Cost(const Impl& impl, std::size_t o) : impl_{impl}, o_{o} {
      set_num_residuals(static_cast<int>(impl.used[o].size()));
      for (std::size_t i = 0; i < impl.touching[o].size(); ++i) mutable_parameter_block_sizes()->push_back(1);
      if (impl.sites) mutable_parameter_block_sizes()->push_back(3);
    }
    bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
      auto at = impl_.values();
      const auto& touching = impl_.touching[o_];
      for (std::size_t i = 0; i < touching.size(); ++i)
        at[impl_.numbers[touching[i]].path] = std::exp(parameters[i][0]);
      const auto& used = impl_.used[o_];
      const auto& points = impl_.observations[o_]->points();
      try {
        const auto base = impl_.logs(o_, at);
        std::vector<double> slopes(used.size());
        for (std::size_t k = 0; k < used.size(); ++k) {
          const auto c = static_cast<std::size_t>(size_class(points[used[k]].size));
          const double offset = impl_.sites ? parameters[touching.size()][c] : 0.0;
          const auto r = robust((base[k] + offset - std::log(points[used[k]].measured)) / impl_.deviation(o_, used[k]));
          residuals[k] = r.value;
          slopes[k] = r.slope;
        }
        if (!jacobians) return true;
        if (impl_.sites && jacobians[touching.size()]) {
          std::fill_n(jacobians[touching.size()], 3 * used.size(), 0.0);
          for (std::size_t k = 0; k < used.size(); ++k)
            jacobians[touching.size()][3 * k + static_cast<std::size_t>(size_class(points[used[k]].size))] =
                slopes[k] / impl_.deviation(o_, used[k]);
        }
        for (std::size_t i = 0; i < touching.size(); ++i) {
          if (!jacobians[i]) continue;
          const auto& number = impl_.numbers[touching[i]];
          // Backwards at the upper bound, so that an efficiency never exceeds 1.
          const double d = parameters[i][0] + step > number.high ? -step : step;
          auto moved = at;
          moved[number.path] = std::exp(parameters[i][0] + d);
          const auto there = impl_.logs(o_, moved);
          for (std::size_t k = 0; k < used.size(); ++k)
            jacobians[i][k] = slopes[k] * (there[k] - base[k]) / d / impl_.deviation(o_, used[k]);
        }
      } catch (const sim::InputError&) {
        return false;  // an impossible combination: Ceres takes a smaller step
      }
      return true;
    }

   private:
    const Impl& impl_;
    std::size_t o_;
  };

  class Prior final : public ceres::SizedCostFunction<1, 1> {
   public:
    Prior(double centre, double spread) : centre_{centre}, spread_{spread} {}
    bool Evaluate(double const* const* p, double* r, double** j) const override {
      r[0] = (p[0][0] - centre_) / spread_;
      if (j && j[0]) j[0][0] = 1 / spread_;
      return true;
    }

   private:
    double centre_, spread_;
  };

  class Offsets final : public ceres::SizedCostFunction<3, 3> {
   public:
    bool Evaluate(double const* const* p, double* r, double** j) const override {
      const bool slopes = j && j[0];
      if (slopes) std::fill_n(j[0], 9, 0.0);
      for (std::size_t c = 0; c < 3; ++c) {
        const auto x = robust(p[0][c] / site_deviations[c]);
        r[c] = x.value;
        if (slopes) j[0][4 * c] = x.slope / site_deviations[c];
      }
      return true;
    }
  };

  void once(std::vector<double>& x, const std::stop_token& stop, bool uncertainty) {
    ceres::Problem::Options options;
    options.disable_all_safety_checks = true;
    ceres::Problem problem{options};
    for (auto& v : x) problem.AddParameterBlock(&v, 1);
    for (std::size_t o = 0; o < observations.size(); ++o) {
      if (used[o].empty() || touching[o].empty()) continue;
      std::vector<double*> blocks;
      for (const auto n : touching[o]) blocks.push_back(&x[n]);
      if (sites) {
        blocks.push_back(offsets[o].data());
        problem.AddResidualBlock(new Offsets, nullptr, offsets[o].data());
      }
      problem.AddResidualBlock(new Cost(*this, o), nullptr, blocks);
    }
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      problem.AddResidualBlock(new Prior(numbers[n].prior, numbers[n].spread), nullptr, &x[n]);
      problem.SetParameterLowerBound(&x[n], 0, numbers[n].low);
      problem.SetParameterUpperBound(&x[n], 0, numbers[n].high);
    }
    struct Stop final : ceres::IterationCallback {
      const std::stop_token& token;
      const std::function<void(int, double)>& progress;
      Stop(const std::stop_token& t, const std::function<void(int, double)>& p) : token{t}, progress{p} {}
      ceres::CallbackReturnType operator()(const ceres::IterationSummary& now) override {
        if (progress) progress(now.iteration, now.cost);
        return token.stop_requested() ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
      }
    } watch{stop, progress};
    ceres::Solver::Options solver;
    solver.linear_solver_type = ceres::DENSE_QR;
    solver.max_num_iterations = iterations;
    solver.function_tolerance = 1e-4;
    solver.parameter_tolerance = 1e-4;
    // One: with more, Ceres adds cost and gradient up in the order in which threads end, and the last digits would
    // differ.
    solver.num_threads = 1;
    solver.logging_type = ceres::SILENT;
    solver.callbacks.push_back(&watch);
    ceres::Solver::Summary summary;
    ceres::Solve(solver, &problem, &summary);
    if (!summary.IsSolutionUsable())
      throw sim::InputError("the fit found no solution: " + summary.message,
                            "fit fewer numbers (--only), or start from --from-priors");
    if (uncertainty) deviations_of(problem, x);
  }

  /// Gauss-Newton: covariance = inverse of J^T J, priors among the rows.
  void deviations_of(ceres::Problem& problem, std::vector<double>& x) {
    ceres::Problem::EvaluateOptions all;
    for (auto& v : x) all.parameter_blocks.push_back(&v);
    for (std::size_t o = 0; sites && o < observations.size(); ++o)
      if (problem.HasParameterBlock(offsets[o].data())) all.parameter_blocks.push_back(offsets[o].data());
    all.num_threads = 1;
    ceres::CRSMatrix j;
    if (!problem.Evaluate(all, nullptr, nullptr, nullptr, &j)) {
      for (auto& n : numbers) n.deviation = n.spread;  // nothing is told
      return;
    }
    Eigen::MatrixXd information = Eigen::MatrixXd::Zero(j.num_cols, j.num_cols);
    for (int row = 0; row < j.num_rows; ++row)
      for (int a = j.rows[row]; a < j.rows[row + 1]; ++a)
        for (int b = j.rows[row]; b < j.rows[row + 1]; ++b)
          information(j.cols[a], j.cols[b]) += j.values[a] * j.values[b];
    const Eigen::MatrixXd covariance = information.ldlt().solve(Eigen::MatrixXd::Identity(j.num_cols, j.num_cols));
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const auto i = static_cast<Eigen::Index>(n);
      numbers[n].deviation = std::sqrt(std::max(0.0, covariance(i, i)));
    }
  }

  void take_deviations() {
    std::array<std::vector<double>, 3> residuals;
    for (std::size_t o = 0; o < observations.size(); ++o) {
      if (used[o].empty()) continue;
      const auto base = logs(o, values());
      for (std::size_t k = 0; k < used[o].size(); ++k) {
        const auto& p = observations[o]->points()[used[o][k]];
        const auto c = static_cast<std::size_t>(size_class(p.size));
        residuals[c].push_back(base[k] + offsets[o][c] - std::log(p.measured));
      }
    }
    for (std::size_t c = 0; c < 3; ++c) {
      if (residuals[c].size() < 4) continue;
      deviations[c] = std::clamp(robust_deviation(residuals[c]), least_deviations[c], most_deviations[c]);
    }
  }
};

FitProblem::FitProblem(const std::vector<std::unique_ptr<Observation>>& observations,
                       std::vector<std::vector<std::size_t>> used, std::shared_ptr<const topologies::Profile> start,
                       std::vector<FreeNumber> numbers, bool sites)
    : impl_{new Impl{observations, std::move(used), std::move(start), std::move(numbers)}} {
  impl_->sites = sites;
  impl_->offsets.assign(observations.size(), {0, 0, 0});
  impl_->link();
}
FitProblem::~FitProblem() = default;

std::vector<FreeNumber> FitProblem::drop_untouched() {
  auto& p = *impl_;
  std::vector<double> most(p.numbers.size(), 0.0);
  const auto at = p.values();
  for (std::size_t o = 0; o < p.observations.size(); ++o) {
    if (p.used[o].empty()) continue;
    const auto base = p.logs(o, at);
    for (const auto n : p.touching[o]) {
      auto moved = at;
      const double d = p.numbers[n].value + step > p.numbers[n].high ? -step : step;
      moved[p.numbers[n].path] = std::exp(p.numbers[n].value + d);
      const auto there = p.logs(o, moved);
      for (std::size_t k = 0; k < base.size(); ++k) most[n] = std::max(most[n], std::fabs(there[k] - base[k]) / step);
    }
  }
  std::vector<FreeNumber> kept, dropped;
  for (std::size_t n = 0; n < p.numbers.size(); ++n) (most[n] < 1e-3 ? dropped : kept).push_back(p.numbers[n]);
  p.numbers = std::move(kept);
  p.link();
  return dropped;
}

std::vector<FreeNumber> FitProblem::drop_untold(double told) {
  std::vector<FreeNumber> kept, dropped;
  for (const auto& n : impl_->numbers) {
    const double share = n.deviation / n.spread;
    (1 - share * share < told ? dropped : kept).push_back(n);
  }
  impl_->numbers = std::move(kept);
  impl_->link();
  return dropped;
}

void FitProblem::know(const std::array<double, 3>& deviations, int iterations) {
  impl_->deviations = deviations;
  impl_->iterations = iterations;
  impl_->solved = true;
}

void FitProblem::watch(std::function<void(int, double)> progress) { impl_->progress = std::move(progress); }

void FitProblem::solve(std::stop_token stop) {
  std::vector<double> x;
  for (const auto& n : impl_->numbers) x.push_back(n.value);
  for (const bool last : {false, true}) {
    if (!last && impl_->solved) continue;  // the uncertainties are known
    impl_->once(x, stop, last);
    for (std::size_t n = 0; n < x.size(); ++n) impl_->numbers[n].value = x[n];
    if (!last) impl_->take_deviations();
  }
  impl_->solved = true;
}

const std::vector<FreeNumber>& FitProblem::numbers() const { return impl_->numbers; }
std::shared_ptr<const topologies::Profile> FitProblem::profile() const {
  return topologies::Profile::with(impl_->start, impl_->values(), "fitted");
}
const std::array<double, 3>& FitProblem::deviations() const { return impl_->deviations; }

}  // namespace linkcast::calibration
