#include "twinax/record/dump.hpp"

#include <array>
#include <filesystem>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"

#include "support/scratch_folder.hpp"
#include "unit/record/stored.hpp"

namespace twinax::record {
namespace {

using test::ScratchFolder;
using test::Stored;
using ::testing::ElementsAre;

constexpr std::array kWeights{1.5F, -2.0F, 3.25F, 4.0F, 5.0F, 6.0F};
constexpr std::array kBias{0.5F, 0.25F};
constexpr std::array<std::int64_t, 2> kMatrix{3, 2};
constexpr std::array<std::int64_t, 1> kVector{2};

TEST(DumpFile, HoldsTensorsByTheirDottedNamesRowMajor) {
  const ScratchFolder folder;
  DumpFile dump(folder / "dump.h5", 4);
  dump.add_parameter("h.0.attn.c_attn.weight", kWeights, kMatrix);
  dump.add_parameter("h.0.attn.c_attn.bias", kBias, kVector);
  dump.add_gradient("h.0.attn.c_attn.weight", kWeights, kMatrix);
  dump.set_batch(std::array<std::int64_t, 6>{1, 2, 3, 4, 5, 6}, 2, 0);
  dump.set_loss(5.125);
  dump.finish();
  const Stored file(folder / "dump.h5");
  EXPECT_THAT(file.names("/"), ElementsAre("batch", "gradients", "loss", "parameters"));
  EXPECT_THAT(file.names("/parameters"), ElementsAre("h.0.attn.c_attn.bias", "h.0.attn.c_attn.weight"));
  EXPECT_THAT(file.names("/gradients"), ElementsAre("h.0.attn.c_attn.weight"));
  EXPECT_THAT(file.shape("/parameters/h.0.attn.c_attn.weight"), ElementsAre(3, 2));
  EXPECT_THAT(file.shape("/parameters/h.0.attn.c_attn.bias"), ElementsAre(2));
  EXPECT_THAT(file.values<float>("/parameters/h.0.attn.c_attn.weight"), ::testing::ElementsAreArray(kWeights));
  EXPECT_THAT(file.shape("/batch/tokens"), ElementsAre(2, 3));
  EXPECT_THAT(file.values<std::int64_t>("/batch/tokens"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(file.shape("/loss").empty());
  EXPECT_THAT(file.values<double>("/loss"), ElementsAre(5.125));
  EXPECT_EQ(read_int_attribute(file.file(), "heads", folder / "dump.h5"), 4);
}

TEST(DumpFile, KeepsInputsAndTargetsApartWhereTheyAre) {
  const ScratchFolder folder;
  DumpFile dump(folder / "dump.h5", 1);
  dump.set_batch(std::array<std::int64_t, 10>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3, 2);
  dump.finish();
  const Stored file(folder / "dump.h5");
  EXPECT_THAT(file.shape("/batch/inputs"), ElementsAre(2, 3));
  EXPECT_THAT(file.values<std::int64_t>("/batch/inputs"), ElementsAre(1, 2, 3, 6, 7, 8));
  EXPECT_THAT(file.shape("/batch/targets"), ElementsAre(2, 2));
  EXPECT_THAT(file.values<std::int64_t>("/batch/targets"), ElementsAre(4, 5, 9, 10));
}

TEST(DumpFile, AppearsOnlyWhenFinished) {
  const ScratchFolder folder;
  {
    DumpFile dump(folder / "dump.h5", 1);
    dump.set_loss(1);
    EXPECT_FALSE(std::filesystem::exists(folder / "dump.h5"));
  }
  EXPECT_EQ(folder.entries(), 0) << "a dump that was given up leaves nothing";
}

TEST(DumpFile, RefusesValuesThatDoNotFillTheirShape) {
  const ScratchFolder folder;
  DumpFile dump(folder / "dump.h5", 1);
  EXPECT_THROW(dump.add_parameter("weight", kBias, kMatrix), InvalidArgument);
  EXPECT_THROW(dump.set_batch(std::array<std::int64_t, 5>{}, 1, 0), InvalidArgument);
}

}  // namespace
}  // namespace twinax::record
