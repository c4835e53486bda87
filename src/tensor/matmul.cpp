#include "twinax/tensor/matmul.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/tensor/buffer.hpp"

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

// A shape's trials end after this many rounds, or once they have taken this long (but not before two rounds).
constexpr int kMostRounds = 7;
constexpr Seconds kTrialTime{0.05};

bool transposes_a(Form form) {
  return form == Form::TN || form == Form::TT;
}
bool transposes_b(Form form) {
  return form == Form::NT || form == Form::TT;
}

/// Elements from the first to the last of an operand.
std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  return (rows - 1) * stride + columns;
}
std::int64_t extent_a(const Product& p) {
  return transposes_a(p.form) ? extent(p.k, p.m, p.stride_a) : extent(p.m, p.k, p.stride_a);
}
std::int64_t extent_b(const Product& p) {
  return transposes_b(p.form) ? extent(p.n, p.k, p.stride_b) : extent(p.k, p.n, p.stride_b);
}

/// The backends of one precision and what has been chosen among them.
template <class Real>
class Chooser {
 public:
  Chooser() {
    for (const GemmBackendRow<Real>& row : gemm_backends<Real>()) backends_.push_back(row.make());
  }

  [[nodiscard]] GemmBackend<Real>& chosen(const Product& product, const std::function<Seconds()>& time) {
    auto found = choices_.find(product);
    if (found == choices_.end()) found = choices_.emplace(product, fastest(product, time)).first;
    return *backends_[found->second];
  }

  void append(std::vector<Choice>& choices) const {
    for (const auto& [product, index] : choices_) choices.push_back({product, std::string(gemm_backends<Real>()[index].name)});
  }

  void set(const Choice& choice) {
    const auto rows = gemm_backends<Real>();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == choice.backend; });
    if (found == rows.end()) {
      std::string known;
      for (const auto& row : rows) known += (known.empty() ? "" : ", ") + std::string(row.name);
      throw InvalidArgument(
          fmt::format("{}: this build has no backend \"{}\" for it; it has {}", to_text(choice.product), choice.backend, known));
    }
    choices_[choice.product] = static_cast<std::size_t>(found - rows.begin());
  }

 private:
  [[nodiscard]] std::size_t fastest(const Product& product, const std::function<Seconds()>& time) {
    if (backends_.size() == 1) return 0;
    const Buffer<Real> a(extent_a(product));
    const Buffer<Real> b(extent_b(product));
    const Buffer<Real> c(extent(product.m, product.n, product.stride_c));
    std::fill(a.span().begin(), a.span().end(), Real(0.5));
    std::fill(b.span().begin(), b.span().end(), Real(0.25));
    const auto run = [&](std::size_t index) { backends_[index]->run(product, a.span().data(), b.span().data(), c.span().data()); };
    for (std::size_t index = 0; index < backends_.size(); ++index) run(index);  // code is generated and pages are touched in the first
    std::vector<Seconds> best(backends_.size(), Seconds{std::numeric_limits<double>::infinity()});
    const Seconds begin = time();
    for (int round = 0; round < kMostRounds && (round < 2 || time() - begin < kTrialTime); ++round) {
      for (std::size_t index = 0; index < backends_.size(); ++index) {
        const Seconds before = time();
        run(index);
        best[index] = std::min(best[index], time() - before);
      }
    }
    return static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin());
  }

  std::vector<std::unique_ptr<GemmBackend<Real>>> backends_;  // in the order of gemm_backends
  std::map<Product, std::size_t> choices_;
};

}  // namespace

struct Matmul::State {
  std::function<Seconds()> time;
  Chooser<float> fp32;
  Chooser<double> fp64;
};

Matmul::Matmul(std::function<Seconds()> time) {
  use_one_thread();
  state_ = std::make_unique<State>();
  state_->time = std::move(time);
}
Matmul::~Matmul() = default;

std::vector<std::string> Matmul::backends(Precision precision) {
  std::vector<std::string> names;
  if (precision == Precision::Fp32) {
    for (const auto& row : gemm_backends<float>()) names.emplace_back(row.name);
  } else {
    for (const auto& row : gemm_backends<double>()) names.emplace_back(row.name);
  }
  return names;
}

void Matmul::prepare(std::span<const Product> products) {
  use_one_thread();
  for (const Product& product : products) {
    if (product.m < 1 || product.n < 1 || product.k < 1) continue;
    if (product.precision == Precision::Fp32) {
      (void)state_->fp32.chosen(product, state_->time);
    } else {
      (void)state_->fp64.chosen(product, state_->time);
    }
  }
}

template <class Real>
void Matmul::multiply(Form form, Matrix<const Real> a, Matrix<const Real> b, Matrix<Real> c, Into into) {
  constexpr bool kSingle = std::is_same_v<Real, float>;
  const std::int64_t m = transposes_a(form) ? a.columns : a.rows;
  const std::int64_t k = transposes_a(form) ? a.rows : a.columns;
  const std::int64_t k_of_b = transposes_b(form) ? b.columns : b.rows;
  const std::int64_t n = transposes_b(form) ? b.rows : b.columns;
  const Product product{kSingle ? Precision::Fp32 : Precision::Fp64, form, into, m, n, k, a.stride, b.stride, c.stride};
  if (k != k_of_b || c.rows != m || c.columns != n || !fits(a) || !fits(b) || !fits(c)) {
    throw InvalidArgument(
        fmt::format("matmul {}: b's depth is {}, c is {}x{}, and a, b, c have {}, {}, {} elements: they do not fit together",
                    to_text(product), k_of_b, c.rows, c.columns, a.data.size(), b.data.size(), c.data.size()));
  }
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t row = 0; into == Into::Set && row < m; ++row) std::fill_n(c.row(row), n, Real(0));
    return;
  }
  use_one_thread();
  if constexpr (kSingle) {
    state_->fp32.chosen(product, state_->time).run(product, a.data.data(), b.data.data(), c.data.data());
  } else {
    state_->fp64.chosen(product, state_->time).run(product, a.data.data(), b.data.data(), c.data.data());
  }
}

template void Matmul::multiply<float>(Form, Matrix<const float>, Matrix<const float>, Matrix<float>, Into);
template void Matmul::multiply<double>(Form, Matrix<const double>, Matrix<const double>, Matrix<double>, Into);

std::vector<Choice> Matmul::choices() const {
  std::vector<Choice> choices;
  state_->fp32.append(choices);
  state_->fp64.append(choices);
  return choices;
}

void Matmul::set_choices(std::span<const Choice> choices) {
  for (const Choice& choice : choices) {
    if (choice.product.precision == Precision::Fp32) {
      state_->fp32.set(choice);
    } else {
      state_->fp64.set(choice);
    }
  }
}

}  // namespace twinax::tensor
