#include "twinax/data/token_cache.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/data/tokenizer.hpp"

#include "data/xxhash64.hpp"

namespace twinax::data {
namespace {

namespace fs = std::filesystem;

std::uint64_t hash_of(const std::string& text) {
  return xxhash64(std::as_bytes(std::span(text)));
}

std::uint64_t state_of(const Text& text) {
  std::string all;
  for (const auto& file : text.files) all += fmt::format("{}\n{} {}\n", file.path, file.size.value, file.modified_ns);
  return hash_of(all);
}

bool is_for(const TokenFileHeader& found, const TokenFileHeader& wanted) {
  return found.tokenizer == wanted.tokenizer && found.vocabulary == wanted.vocabulary && found.text_path == wanted.text_path &&
         found.text_state == wanted.text_state;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw SystemError(error.value(),
                      fmt::format("making the folder of prepared tokens {}: {}; data.cache names another folder", folder, error.message()));
  }
}

/// The tokens at `path`, if they are whole and of this very text.
std::optional<TokenFile> find_tokens(const std::string& path, const TokenFileHeader& wanted) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  try {
    TokenFile tokens(path);
    if (is_for(tokens.header(), wanted)) return tokens;
  } catch (const FileError& error) {
    log_warn(fmt::format("{}: the tokens are prepared again", error.what()));
  }
  return std::nullopt;
}

}  // namespace

std::string token_cache_folder(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return (fs::path(cache) / "twinax").string();
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return (fs::path(home) / ".cache" / "twinax").string();
  throw ConfigError(
      "data.cache: there is no folder for prepared tokens, since neither XDG_CACHE_HOME nor HOME is set; set data.cache to one");
}

std::string token_cache_path(const std::string& folder, const Text& text, std::string_view tokenizer) {
  const std::string stem = fs::path(text.path).stem().string().substr(0, 100);
  return (fs::path(folder) / fmt::format("{}-{:016x}.tokens", stem, hash_of(fmt::format("{}\n{}", tokenizer, text.path)))).string();
}

std::string vocabulary_path(const std::string& folder, const Text& text, std::string_view tokenizer) {
  return fs::path(token_cache_path(folder, text, tokenizer)).replace_extension("vocabulary").string();
}

std::string prepare_vocabulary(const std::string& text_path, std::string_view tokenizer, std::int64_t size,
                               const std::string& cache_folder) {
  const Text text = find_text(text_path);
  const std::string folder = token_cache_folder(cache_folder);
  std::string path = vocabulary_path(folder, text, tokenizer);
  make_folder(folder);
  train_vocabulary(tokenizer, text, size, path);
  return path;
}

PreparedTokens prepare_tokens(const std::string& text_path, std::string_view tokenizer, const std::string& cache_folder) {
  const bool needs_vocabulary = is_trained(tokenizer);
  const Text text = find_text(text_path);
  const std::string folder = token_cache_folder(cache_folder);
  const std::string vocabulary = needs_vocabulary ? vocabulary_path(folder, text, tokenizer) : "";
  if (needs_vocabulary && !fs::exists(vocabulary)) {
    throw ConfigError(
        fmt::format("data.tokenizer = {}: {} has no vocabulary in {} yet; make one by: twinax data prepare {} --tokenizer {}{}", tokenizer,
                    text_path, folder, text_path, tokenizer, cache_folder.empty() ? "" : " --cache " + cache_folder));
  }
  auto encoder = make_tokenizer(tokenizer, vocabulary);
  const std::string path = token_cache_path(folder, text, tokenizer);
  const TokenFileHeader header{
      .tokenizer = std::string(encoder->name()), .text_path = text.path, .text_state = state_of(text), .vocabulary = encoder->vocabulary()};
  if (auto found = find_tokens(path, header)) {
    return {.tokens = *std::move(found), .tokenizer = std::move(encoder), .path = path, .made = false};
  }
  make_folder(folder);
  write_token_file(path, header, [&](const auto& take) {
    std::vector<std::int32_t> tokens;
    read_text(text, [&](std::string_view piece) {
      tokens.clear();
      encoder->encode(piece, tokens);
      take(tokens);
    });
    tokens.clear();
    encoder->finish(tokens);
    take(tokens);
  });
  return {.tokens = TokenFile(path), .tokenizer = std::move(encoder), .path = path, .made = true};
}

}  // namespace twinax::data
