#include "twinax/tensor/matmul.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::tensor {
namespace {

TEST(Product, ComesBackFromItsText) {
  Product product = dense_product(Precision::Fp64, Form::TN, Into::Add, 12, 34, 56);
  EXPECT_EQ(to_text(product), "fp64 TN add 12x34x56 strides 12 34 34");
  product.stride_a = 99;
  EXPECT_EQ(parse_product(to_text(product)), product);
}

TEST(Product, RefusesOtherTexts) {
  for (const char* bad : {"", "fp32", "fp16 NT set 1x2x3 strides 3 3 2", "fp32 NT set 1x2 strides 3 3 2", "fp32 NT set 1x2x3 strides 3 3",
                          "fp32 NT set 1x2x3 strides 3 3 2 9", "fp32 NX set 1x2x3 strides 3 3 2"}) {
    EXPECT_THROW((void)parse_product(bad), InvalidArgument) << bad;
  }
}

TEST(Choices, ComeBackFromTheirText) {
  const std::vector<Choice> choices{{dense_product(Precision::Fp32, Form::NN, Into::Set, 1, 2, 3), "one"},
                                    {dense_product(Precision::Fp32, Form::NT, Into::Add, 4, 5, 6), "two"}};
  EXPECT_EQ(parse_choices(to_text(choices)), choices);
  EXPECT_THROW((void)parse_choices("fp32 NN set 1x2x3 strides 3 2 2 one\n"), InvalidArgument);
}

/// A clock of which the test says how long each backend takes: it is read at the beginning, then around each trial, in turn.
class ScriptedTime {
 public:
  explicit ScriptedTime(std::vector<double> seconds) : seconds_(std::move(seconds)) {}
  Seconds operator()() {
    // calls: begin; then per round (from the second on, one for the budget) two per backend
    const auto n = static_cast<int>(seconds_.size());
    if (call_++ == 0) return {now_};
    const int in_round = (call_ - 2) % (2 * n);
    if (in_round % 2 == 1) now_ += seconds_[static_cast<std::size_t>(in_round / 2)];
    return {now_};
  }

 private:
  std::vector<double> seconds_;
  double now_ = 0;
  int call_ = 0;
};

TEST(Matmul, KeepsTheBackendThatTheClockSaysIsFastest) {
  const std::vector<std::string> names = Matmul::backends(Precision::Fp32);
  for (std::size_t fastest = 0; fastest < names.size(); ++fastest) {
    std::vector<double> seconds(names.size(), 1.0);  // two rounds and the time is up
    seconds[fastest] = 0.5;
    Matmul matmul(ScriptedTime{seconds});
    const std::vector<Product> products{dense_product(Precision::Fp32, Form::NT, Into::Set, 3, 4, 5)};
    matmul.prepare(products);
    ASSERT_EQ(matmul.choices().size(), 1U);
    EXPECT_EQ(matmul.choices().front(), (Choice{products.front(), names[fastest]}));
  }
}

TEST(Matmul, NeverDecidesAShapeTwice) {
  int reads = 0;
  Matmul matmul([&reads] { return Seconds{static_cast<double>(reads++)}; });
  std::vector<float> a(6, 1.0F), b(12, 2.0F), c(8);
  const auto multiply = [&] {
    matmul.multiply<float>(Form::NN, as_matrix<const float>(a, 2, 3), as_matrix<const float>(b, 3, 4), as_matrix<float>(c, 2, 4));
  };
  multiply();
  const int after_first = reads;
  const std::vector<Choice> chosen = matmul.choices();
  multiply();
  matmul.prepare(std::vector<Product>{chosen.front().product});
  EXPECT_EQ(reads, after_first);
  EXPECT_EQ(matmul.choices(), chosen);
  EXPECT_THAT(c, testing::Each(6.0F));
}

TEST(Matmul, UsesTheChoicesItIsGivenWithoutTiming) {
  const Product product = dense_product(Precision::Fp32, Form::NN, Into::Add, 2, 4, 3);
  for (const std::string& backend : Matmul::backends(Precision::Fp32)) {
    Matmul matmul([]() -> Seconds { throw Error("timed"); });
    matmul.set_choices(std::vector<Choice>{{product, backend}});
    std::vector<float> a(6, 1.0F), b(12, 2.0F), c(8, 1.0F);
    matmul.multiply<float>(Form::NN, as_matrix<const float>(a, 2, 3), as_matrix<const float>(b, 3, 4), as_matrix<float>(c, 2, 4),
                           Into::Add);
    EXPECT_THAT(c, testing::Each(7.0F)) << backend;
  }
}

TEST(Matmul, NamesTheBackendsItHasWhenAskedForAnother) {
  Matmul matmul;
  try {
    matmul.set_choices(std::vector<Choice>{{dense_product(Precision::Fp32, Form::NN, Into::Set, 1, 1, 1), "abacus"}});
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("abacus"), testing::HasSubstr(Matmul::backends(Precision::Fp32).front())));
  }
}

TEST(Matmul, OfNoDepthIsZeroOrNothing) {
  Matmul matmul;
  std::vector<double> none, c(4, 5.0);
  matmul.multiply<double>(Form::NN, as_matrix<const double>(none, 2, 0), as_matrix<const double>(none, 0, 2), as_matrix<double>(c, 2, 2),
                          Into::Add);
  EXPECT_THAT(c, testing::Each(5.0));
  matmul.multiply<double>(Form::NN, as_matrix<const double>(none, 2, 0), as_matrix<const double>(none, 0, 2), as_matrix<double>(c, 2, 2));
  EXPECT_THAT(c, testing::Each(0.0));
  matmul.multiply<double>(Form::NT, as_matrix<const double>(none, 0, 3), as_matrix<const double>(c, 1, 3), as_matrix<double>(none, 0, 1));
}

TEST(Matmul, RefusesShapesThatDoNotFitTogether) {
  Matmul matmul;
  std::vector<float> a(6), b(12), c(8), small(7);
  const auto multiply = [&](Form form, std::span<float> into) {
    matmul.multiply<float>(form, as_matrix<const float>(a, 2, 3), as_matrix<const float>(b, 3, 4), as_matrix<float>(into, 2, 4));
  };
  EXPECT_THROW(multiply(Form::NT, c), InvalidArgument);
  EXPECT_THROW(multiply(Form::NN, small), InvalidArgument);
}

}  // namespace
}  // namespace twinax::tensor
