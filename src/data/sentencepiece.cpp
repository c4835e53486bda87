#include "data/sentencepiece.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <unordered_map>

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "data/file_handle.hpp"
#include "data/xxhash64.hpp"

namespace twinax::data {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;  // longer ones are cut; so much is held back at most
constexpr std::size_t kTrainingBytes = 64 << 20;
constexpr std::string_view kSpace = "\xe2\x96\x81";  // stands for a space in pieces
constexpr std::int64_t kReserved = 3;

/// The text that a piece stands for.
std::string spelled(std::string_view piece) {
  std::string text;
  while (!piece.empty()) {
    if (piece.starts_with(kSpace)) {
      text += ' ';
      piece.remove_prefix(kSpace.size());
    } else {
      text += piece.front();
      piece.remove_prefix(1);
    }
  }
  return text;
}

class SentencepieceTokenizer final : public Tokenizer {
 public:
  explicit SentencepieceTokenizer(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError(fmt::format("the vocabulary {} can't be read; `twinax data prepare` makes it", path));
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto status = processor_.LoadFromSerializedProto(bytes);
    if (!status.ok()) throw FileError(fmt::format("the vocabulary {} is damaged: {}", path, status.ToString()));
    name_ = fmt::format("sentencepiece-{:016x}", xxhash64(std::as_bytes(std::span(bytes))));
    read_pieces(path);
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::int64_t vocabulary() const override { return std::ssize(pieces_); }
  [[nodiscard]] std::int64_t reserved() const override { return kReserved; }
  [[nodiscard]] std::int64_t bytes_of(std::int32_t token) const override { return std::ssize(pieces_.at(static_cast<std::size_t>(token))); }

  void encode(std::string_view piece, std::vector<std::int32_t>& tokens) override {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::size_t line = std::min(end == std::string_view::npos ? piece.size() : end, kLongestLine - held_.size());
      held_ += piece.substr(0, line);
      piece.remove_prefix(line);
      const bool is_whole = !piece.empty() && piece.front() == '\n';
      if (!is_whole && held_.size() < kLongestLine) continue;
      encode_line(tokens);
      if (!is_whole) continue;
      tokens.push_back(byte_tokens_['\n']);
      piece.remove_prefix(1);
    }
  }
  void finish(std::vector<std::int32_t>& tokens) override { encode_line(tokens); }

 private:
  void read_pieces(const std::string& path) {
    byte_tokens_.fill(-1);
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      const std::string& piece = processor_.IdToPiece(id);
      if (unsigned byte = 0; processor_.IsByte(id) && std::sscanf(piece.c_str(), "<0x%2X>", &byte) == 1) {
        byte_tokens_.at(byte) = id;
        pieces_.emplace_back(1, static_cast<char>(byte));
      } else {
        pieces_.push_back(processor_.IsControl(id) || processor_.IsUnknown(id) ? "" : spelled(piece));
      }
    }
    if (std::ranges::find(byte_tokens_, -1) != byte_tokens_.end() || processor_.pad_id() != 0 || processor_.eos_id() != 1 ||
        processor_.unk_id() != 2) {
      throw FileError(fmt::format("the vocabulary {} has not all 256 bytes, or not padding, end and unknown as its first ids", path));
    }
  }

  void encode_line(std::vector<std::int32_t>& tokens) {
    std::vector<int> ids;
    const bool is_encoded = processor_.Encode(held_, &ids).ok();
    std::string text;
    for (const int id : ids) text += pieces_[static_cast<std::size_t>(id)];
    if (is_encoded && text == held_) {
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    } else {
      for (const char c : held_) tokens.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
    }
    held_.clear();
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string name_;
  std::vector<std::string> pieces_;  // what each token spells
  std::array<std::int32_t, 256> byte_tokens_{};
  std::string held_;  // the line so far
};

/// A text's lines, for the trainer.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const Text& text) {
    read_text(text, [&](std::string_view piece) { all_ += piece.substr(0, kTrainingBytes - std::min(all_.size(), kTrainingBytes)); });
    Next();
  }
  [[nodiscard]] bool done() const override { return is_done_; }
  void Next() override {
    line_.clear();
    while (line_.empty() && begin_ < all_.size()) {
      const std::size_t end = std::min({all_.find('\n', begin_), all_.size(), begin_ + kLine});
      line_ = all_.substr(begin_, end - begin_);
      begin_ = end + (end < all_.size() && all_[end] == '\n' ? 1 : 0);
    }
    is_done_ = line_.empty();
  }
  [[nodiscard]] const std::string& value() const override { return line_; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
  static constexpr std::size_t kLine = 4000;  // the trainer leaves out lines of more than 4192 bytes
  std::string all_;
  std::size_t begin_ = 0;
  std::string line_;
  bool is_done_ = false;
};

void put_in_place(const std::string& path, const std::string& bytes) {
  const std::string aside = fmt::format("{}.{}.partial", path, ::getpid());
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << bytes;
    file.flush();
    if (!file) throw SystemError(errno, fmt::format("writing the vocabulary {}: {}", aside, errno_text(errno)));
  }
  if (std::rename(aside.c_str(), path.c_str()) != 0) {
    throw SystemError(errno, fmt::format("putting the vocabulary {} in place: {}", path, errno_text(errno)));
  }
}

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece(const std::string& vocabulary_path) {
  return std::make_unique<SentencepieceTokenizer>(vocabulary_path);
}

void train_sentencepiece(const Text& text, std::int64_t size, const std::string& path) {
  constexpr std::int64_t kLeast = 300;  // 256 bytes, what is reserved, and some letters
  constexpr std::int64_t kMost = 65'536;
  if (size < kLeast || size > kMost)
    throw ConfigError(fmt::format("a vocabulary of {} tokens: {} to {} are possible", size, kLeast, kMost));
  Lines lines(text);
  std::string model;
  const std::unordered_map<std::string, std::string> options{
      {"model_type", "unigram"},
      {"vocab_size", std::to_string(size)},
      {"hard_vocab_limit", "false"},  // a short text has fewer pieces
      {"character_coverage", "0.9995"},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"pad_id", "0"},
      {"eos_id", "1"},
      {"unk_id", "2"},
      {"bos_id", "-1"},
      {"num_threads", "1"},
      {"minloglevel", "2"},
  };
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
  if (!status.ok()) {
    throw ConfigError(fmt::format("training a vocabulary of {} tokens on {}: {}", size, text.path, status.ToString()));
  }
  put_in_place(path, model);
}

}  // namespace twinax::data
