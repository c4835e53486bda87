#include "twinax/data/tokenizer.hpp"

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax::data {
namespace {

using testing::ElementsAre;

TEST(BytesTokenizer, MakesOneTokenOfEachByteWhateverItIs) {
  const auto tokenizer = make_tokenizer("bytes");
  std::vector<std::int32_t> tokens{7};
  tokenizer->encode(std::string_view("a\0\n\xff\xc3\xa4", 6), tokens);
  EXPECT_THAT(tokens, ElementsAre(7, 97, 0, 10, 255, 195, 164));
}

TEST(BytesTokenizer, GivesTheSameTokensHoweverTheTextIsCut) {
  const auto tokenizer = make_tokenizer("bytes");
  std::vector<std::int32_t> whole;
  std::vector<std::int32_t> cut;
  tokenizer->encode("in the beginning", whole);
  tokenizer->encode("in the", cut);
  tokenizer->encode("", cut);
  tokenizer->encode(" beginning", cut);
  EXPECT_EQ(cut, whole);
}

TEST(BytesTokenizer, SaysItsNameAndVocabulary) {
  EXPECT_EQ(make_tokenizer("bytes")->name(), "bytes");
  EXPECT_EQ(make_tokenizer("bytes")->vocabulary(), 256);
  EXPECT_EQ(make_tokenizer("bytes")->reserved(), 0);
  EXPECT_EQ(make_tokenizer("bytes")->bytes_of(255), 1);
}

TEST(MakeTokenizer, NamesThoseThereAreForAnUnknownOne) {
  try {
    (void)make_tokenizer("byte");
    FAIL() << "made one";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("data.tokenizer: \"byte\" is unknown; there are: bytes"));
  }
}

}  // namespace
}  // namespace twinax::data
