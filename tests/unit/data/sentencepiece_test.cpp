#include "data/sentencepiece.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/data/token_cache.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::data {
namespace {

using ::twinax::test::ScratchFolder;

/// A text with words to find, runs of spaces, and lines of their own.
std::string rhyme() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "the cat sat on the mat,  and the other cat   sat on the other mat;\n";
    text += "\tthe hat of cat number " + std::to_string(i * 7919 % 1000) + " was fat \n\n";
  }
  return text;
}

struct Trained {
  ScratchFolder folder;
  std::string text_path, vocabulary;
  std::unique_ptr<Tokenizer> tokenizer;
  Trained() : text_path(folder.write("rhyme.txt", rhyme())), vocabulary(folder / "rhyme.vocabulary") {
    train_vocabulary("sentencepiece", find_text(text_path), 400, vocabulary);
    tokenizer = make_tokenizer("sentencepiece", vocabulary);
  }
  std::vector<std::int32_t> tokens_of(const std::vector<std::string>& pieces) const {
    std::vector<std::int32_t> tokens;
    for (const std::string& piece : pieces) tokenizer->encode(piece, tokens);
    tokenizer->finish(tokens);
    return tokens;
  }
  std::int64_t bytes_of(const std::vector<std::int32_t>& tokens) const {
    std::int64_t bytes = 0;
    for (const std::int32_t token : tokens) bytes += tokenizer->bytes_of(token);
    return bytes;
  }
};

TEST(Sentencepiece, CountsEveryByteOfTheTextDroppedByNormalizersOrNot) {
  const Trained trained;
  for (const std::string& text : {rhyme(), std::string("  two  spaces at both ends  "), std::string("\n\n \t\n"),
                                  std::string("caf\xc3\xa9 na\xc3\xafve \xf0\x9f\x90\x88"), std::string("no \xff\xfe UTF-8 \xc3"),
                                  std::string("a \xe2\x96\x81 in the text"), std::string("nul \0 inside", 12), std::string("\r\n"),
                                  std::string("<unk> </s> <0x41>"), std::string()}) {
    EXPECT_EQ(trained.bytes_of(trained.tokens_of({text})), std::ssize(text)) << text;
  }
}

TEST(Sentencepiece, FindsTheWordsOfItsText) {
  const Trained trained;
  const std::string text = "the cat sat on the other mat";
  EXPECT_LT(trained.tokens_of({text}).size(), text.size() * 2 / 3);
}

TEST(Sentencepiece, GivesTheSameTokensHoweverTheTextIsCut) {
  const Trained trained;
  const std::string text = rhyme() + std::string(200'000, 'a') + "\xc3\xa4 end";
  const auto whole = trained.tokens_of({text});
  for (const std::size_t step : {1UL, 7UL, 65'536UL, 100'000UL}) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += step) pieces.push_back(text.substr(at, step));
    EXPECT_EQ(trained.tokens_of(pieces), whole) << step;
  }
}

TEST(Sentencepiece, LeavesThreeIdsAndHasAllBytes) {
  const Trained trained;
  EXPECT_EQ(trained.tokenizer->reserved(), 3);
  EXPECT_LE(trained.tokenizer->vocabulary(), 400);
  for (std::int32_t id = 0; id < 3; ++id) EXPECT_EQ(trained.tokenizer->bytes_of(id), 0);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto tokens = trained.tokens_of({all});
  EXPECT_EQ(trained.bytes_of(tokens), 256);
  EXPECT_THAT(tokens, testing::Each(testing::AllOf(testing::Ge(3), testing::Lt(trained.tokenizer->vocabulary()))));
}

TEST(Sentencepiece, TrainsTheSameVocabularyOnTheSameText) {
  const Trained a, b;
  EXPECT_EQ(a.tokenizer->name(), b.tokenizer->name());
  EXPECT_THAT(std::string(a.tokenizer->name()), testing::MatchesRegex("sentencepiece-[0-9a-f]+"));
}

TEST(Sentencepiece, RefusesWhatIsNoVocabulary) {
  const ScratchFolder folder;
  EXPECT_THROW((void)make_tokenizer("sentencepiece", folder / "none"), FileError);
  EXPECT_THROW((void)make_tokenizer("sentencepiece", folder.write("other", "not a vocabulary")), FileError);
  const std::string text = folder.write("text.txt", rhyme());
  EXPECT_THROW(train_vocabulary("sentencepiece", find_text(text), 100, folder / "small"), ConfigError);
  EXPECT_THROW(train_vocabulary("bytes", find_text(text), 400, folder / "bytes"), ConfigError);
}

TEST(PreparedVocabulary, MustBeTrainedBeforeTokensAreMadeAndReplacesTheirs) {
  const ScratchFolder folder;
  const std::string text = folder.write("text.txt", rhyme());
  const std::string cache = folder / "cache";
  try {
    (void)prepare_tokens(text, "sentencepiece", cache);
    FAIL() << "made tokens without a vocabulary";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("twinax data prepare " + text + " --tokenizer sentencepiece --cache " + cache));
  }
  (void)prepare_vocabulary(text, "sentencepiece", 400, cache);
  const PreparedTokens first = prepare_tokens(text, "sentencepiece", cache);
  EXPECT_TRUE(first.made);
  EXPECT_EQ(first.tokens.header().tokenizer, first.tokenizer->name());
  EXPECT_FALSE(prepare_tokens(text, "sentencepiece", cache).made);
  (void)prepare_vocabulary(text, "sentencepiece", 320, cache);
  EXPECT_TRUE(prepare_tokens(text, "sentencepiece", cache).made) << "another vocabulary";
}

}  // namespace
}  // namespace twinax::data
