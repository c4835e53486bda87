#include "app/bench_sizes.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Call>
std::string refusal_of(Call&& call) {
  try {
    (void)call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BenchSizes, AreAListInTheOrderGiven) {
  EXPECT_THAT(parse_sizes("64KiB"), ElementsAre(Bytes{65536}));
  EXPECT_THAT(parse_sizes("1MB, 64B,4KiB"), ElementsAre(Bytes{1000000}, Bytes{64}, Bytes{4096}));
}

TEST(BenchSizes, RangesDoubleOrGrowByAFactorUpToTheirLast) {
  EXPECT_THAT(parse_sizes("1B..8B"), ElementsAre(Bytes{1}, Bytes{2}, Bytes{4}, Bytes{8}));
  EXPECT_THAT(parse_sizes("1KiB..1MiB*32"), ElementsAre(Bytes{1024}, Bytes{32768}, Bytes{1048576}));
  EXPECT_THAT(parse_sizes("3B..10B, 1KiB"), ElementsAre(Bytes{3}, Bytes{6}, Bytes{1024}));
  EXPECT_THAT(parse_sizes("5B..5B"), ElementsAre(Bytes{5}));
}

TEST(BenchSizes, ReachTheLargestWithoutOverflow) {
  EXPECT_THAT(parse_sizes("256MiB..1GiB*4"), ElementsAre(mib(256), mib(1024)));
  EXPECT_THAT(parse_sizes("768MiB..1GiB*9000000000000000000"), ElementsAre(mib(768)));
}

TEST(BenchSizes, AreRefusedWithWhatWasFoundAndWhatIsAllowed) {
  for (const std::string wrong :
       {"", "64", "1..64MiB", "64KiB,", "many", "0B", "5GiB", "-1B", "8B..4B", "1B..8B*1", "1B..8B*x", "1B..", "1B..8B*"}) {
    const std::string refusal = refusal_of([&] { return parse_sizes(wrong); });
    EXPECT_THAT(refusal, HasSubstr("--sizes")) << wrong;
    EXPECT_THAT(refusal, HasSubstr("1KiB..64MiB")) << wrong;
  }
}

TEST(BenchSizes, AreRefusedWhereAMessagesBytesAreNoInt) {
  for (const std::string wrong : {"4GiB", "1073741825B", "1MiB..2GiB"}) {
    const std::string refusal = refusal_of([&] { return parse_sizes(wrong); });
    EXPECT_THAT(refusal, HasSubstr("--sizes: \"" + wrong + "\""));
    EXPECT_THAT(refusal, HasSubstr("is not from 1B to 1GiB"));
  }
}

TEST(BenchNames, AreThoseAskedForOrAllOfThem) {
  const std::vector<std::string> known{"ring", "pairwise", "native"};
  EXPECT_THAT(parse_names("native,ring", known, "--algorithm"), ElementsAre("native", "ring"));
  EXPECT_THAT(parse_names("ring,all", known, "--algorithm"), ElementsAre("ring", "pairwise", "native"));
  EXPECT_THAT(parse_names("ring, ring", known, "--algorithm"), ElementsAre("ring"));
  const std::string refusal = refusal_of([&] { return parse_names("rin", known, "--algorithm"); });
  EXPECT_THAT(refusal, HasSubstr("--algorithm: \"rin\""));
  EXPECT_THAT(refusal, HasSubstr("did you mean ring"));
  EXPECT_THAT(refusal, HasSubstr("all, ring, pairwise, native"));
}

}  // namespace
}  // namespace twinax::app
