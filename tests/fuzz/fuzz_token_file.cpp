#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "twinax/data/token_file.hpp"

#include "data/token_format.hpp"
#include "data/xxhash64.hpp"
#include "fuzz/fuzz.hpp"

namespace twinax::test {
namespace {

using data::TokenFile;

constexpr std::size_t kHeadHash = 16;  // where the header holds them
constexpr std::size_t kPayloadHash = 24;
constexpr std::size_t kPayloadOffset = 32;
constexpr std::size_t kHeadBytes = 136;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Puts the right checksums in, so that what stands behind them is reached too.
void seal(std::vector<std::byte>& bytes) {
  if (bytes.size() < kHeadBytes) return;
  std::uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + kPayloadOffset, sizeof offset);
  if (offset < kHeadBytes || offset > bytes.size()) return;
  put(bytes, kPayloadHash, data::xxhash64(std::span(bytes).subspan(offset)));
  put(bytes, kHeadHash, 0);
  put(bytes, kHeadHash, data::xxhash64(std::span(bytes).first(offset)));
}

/// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("tokens", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
    expect(descriptor_ >= 0, "a file in memory can be made");
  }
  void write(std::span<const std::byte> bytes) {
    expect(::ftruncate(descriptor_, static_cast<off_t>(bytes.size())) == 0, "its size can be set");
    expect(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "it can be written");
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// All tokens of a file that was accepted are there, and in its vocabulary.
void check(const TokenFile& file) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(file.size()));
  file.read(0, tokens);
  for (const std::int32_t token : tokens) expect(token >= 0 && token < file.header().vocabulary, "a token is in the vocabulary");
  std::vector<std::int32_t> one(1);
  expect(!is_accepted([&] { file.read(file.size(), one); }), "nothing is read behind the end");
  expect(file.header().tokenizer.size() < 64, "a tokenizer's name ends in the header");
}

}  // namespace
}  // namespace twinax::test

/// A file of prepared tokens: as it is if the first byte is even, else with its checksums put right.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  static test::MemoryFile file;
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin() + 1, input.end());
  if (data[0] % 2 == 1) test::seal(bytes);
  file.write(bytes);
  (void)test::is_accepted([&] { test::check(data::TokenFile(file.path())); });
  return 0;
}
