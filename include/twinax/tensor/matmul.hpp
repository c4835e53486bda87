#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/tensor/view.hpp"

namespace twinax::tensor {

/// Which operands are transposed. With a linear layer's weight as [out, in]: NT forward, NN input gradient, TN weight gradient.
enum class Form : std::uint8_t { NN, NT, TN, TT };
/// Whether a product replaces or is added to what is there.
enum class Into : std::uint8_t { Set, Add };
/// The element type of a product.
enum class Precision : std::uint8_t { Fp32, Fp64 };

/// C [m, n] (+)= op(A) [m, k] op(B) [k, n], row-major; what a choice of backend is made for.
struct Product {
  Precision precision = Precision::Fp32;
  Form form = Form::NN;
  Into into = Into::Set;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  ///< elements from one stored row to the next
  auto operator<=>(const Product&) const = default;
};

/// The product that multiplies whole matrices without gaps.
[[nodiscard]] Product dense_product(Precision precision, Form form, Into into, std::int64_t m, std::int64_t n, std::int64_t k);
/// As in "fp32 NT set 1024x768x256 strides 256 256 768".
[[nodiscard]] std::string to_text(const Product& product);
/// Reads to_text's form. Throws InvalidArgument: what was found, and an example.
[[nodiscard]] Product parse_product(std::string_view text);

/// A shape and the name of the backend that computes it.
struct Choice {
  Product product;
  std::string backend;
  bool operator==(const Choice&) const = default;
};
/// One choice a line: to_text(product), ": ", the backend.
[[nodiscard]] std::string to_text(std::span<const Choice> choices);
/// Reads to_text's form; empty lines are skipped. Throws InvalidArgument.
[[nodiscard]] std::vector<Choice> parse_choices(std::string_view text);

/// All matrix products, each by the fastest of the backends that this build has: `dnnl_sgemm`, `dnnl_matmul`, `cblas`, or `eigen` where
/// neither library is there. The backends are timed once per shape, in prepare() or at its first use, and the choice never changes after.
/// The same backend gives the same bits, so runs that must agree exchange choices() and set_choices(). Uses one thread.
///
/// Threads: one at a time.
class Matmul {
 public:
  /// `time` is read around each trial; CPU time is steadier than the host's clock where cores are shared.
  explicit Matmul(std::function<Seconds()> time = &thread_cpu_time);
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul();

  /// The backends of this build for a precision, by name.
  [[nodiscard]] static std::vector<std::string> backends(Precision precision);

  /// Chooses now for all shapes that have no choice yet. Allocates, and forgets, operands of their size.
  void prepare(std::span<const Product> products);
  /// c (+)= op(a) op(b).
  ///
  /// Throws:     InvalidArgument if the shapes disagree; NativeError if the backend fails.
  template <class Real>
  void multiply(Form form, Matrix<const Real> a, Matrix<const Real> b, Matrix<Real> c, Into into = Into::Set);

  /// What has been chosen so far, in the order of Product.
  [[nodiscard]] std::vector<Choice> choices() const;
  /// Puts other choices in the place of its own, so that all ranks agree or a recorded run is repeated: before the first step. Throws
  /// InvalidArgument for a backend that this build lacks, naming those it has.
  void set_choices(std::span<const Choice> choices);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twinax::tensor
