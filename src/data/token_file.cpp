#include "twinax/data/token_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"

#include "data/file_handle.hpp"
#include "data/token_format.hpp"

namespace twinax::data {
namespace {

/// A file's bytes in memory, read-only.
class Map {
 public:
  Map(const FileHandle& file, const std::string& path) : size_(narrow<std::size_t>(status_of(file, path).st_size)) {
    if (size_ == 0) return;
    void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) throw SystemError(errno, fmt::format("mapping the token file {}: {}", path, errno_text(errno)));
    data_ = static_cast<const std::byte*>(data);
  }
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);  // mmap gave it; its const is ours
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::size_t size_;
  const std::byte* data_ = nullptr;
};

/// A new file beside `path`, whose name no other process has; removed unless it is put in place.
class FileAside {
 public:
  explicit FileAside(const std::string& path) : path_(path) {
    for (int n = 0; !file_.is_open(); ++n) {
      aside_ = fmt::format("{}.{}-{}.partial", path, ::getpid(), n);
      file_ = FileHandle(::open(aside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!file_.is_open() && errno != EEXIST) fail("making");
    }
  }
  FileAside(const FileAside&) = delete;
  FileAside& operator=(const FileAside&) = delete;
  ~FileAside() {
    if (!aside_.empty()) ::unlink(aside_.c_str());
  }
  [[nodiscard]] const FileHandle& file() const { return file_; }
  [[nodiscard]] const std::string& name() const { return aside_; }

  void write(std::span<const std::byte> bytes, std::size_t offset) {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(file_.get(), bytes.data(), bytes.size(), narrow<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail("writing");
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::size_t>(done);
    }
  }
  void put_in_place() {
    if (::rename(aside_.c_str(), path_.c_str()) != 0) fail("putting in place");
    aside_.clear();
  }

 private:
  [[noreturn]] void fail(const char* doing) const {
    const int code = errno;
    throw SystemError(
        code, fmt::format("{} the prepared tokens {}: {}; data.cache names another folder for them", doing, path_, errno_text(code)));
  }
  std::string path_;
  std::string aside_;
  FileHandle file_;
};

void append_packed(std::span<const std::int32_t> tokens, const TokenFileHeader& header, std::vector<std::byte>& packed) {
  const std::size_t token_bytes = token_bytes_of(header.vocabulary);
  packed.resize(tokens.size() * token_bytes);
  std::byte* to = packed.data();
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= header.vocabulary) {
      throw InvalidArgument(
          fmt::format("token {} of the tokenizer {}, whose vocabulary is {}", token, header.tokenizer, header.vocabulary));
    }
    std::memcpy(to, &token, token_bytes);  // little-endian: the low bytes come first
    to += token_bytes;
  }
}

}  // namespace

struct TokenFile::Mapping {
  explicit Mapping(const std::string& path) : map(open_regular(path, "the token file"), path), layout(parse_tokens(map.bytes(), path)) {}
  Map map;
  TokenLayout layout;
};

TokenFile::TokenFile(const std::string& path) : mapping_(std::make_shared<const Mapping>(path)) {}

const TokenFileHeader& TokenFile::header() const {
  return mapping_->layout.header;
}

std::int64_t TokenFile::size() const {
  return mapping_->layout.tokens();
}

void TokenFile::read(std::int64_t first, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || count > size() || first > size() - count) {
    throw InvalidArgument(fmt::format("{} tokens from token {} of the {} of {}", count, first, size(), header().text_path));
  }
  const std::size_t token_bytes = mapping_->layout.token_bytes;
  const std::byte* from = mapping_->layout.payload.data() + static_cast<std::size_t>(first) * token_bytes;
  for (std::int32_t& token : out) {
    token = 0;
    std::memcpy(&token, from, token_bytes);
    from += token_bytes;
  }
}

void write_token_file(const std::string& path, const TokenFileHeader& header,
                      const std::function<void(const std::function<void(std::span<const std::int32_t>)>&)>& produce) {
  FileAside aside(path);
  std::size_t end = token_header_bytes(header);
  const std::size_t begin = end;
  std::vector<std::byte> packed;
  produce([&](std::span<const std::int32_t> tokens) {
    append_packed(tokens, header, packed);
    aside.write(packed, end);
    end += packed.size();
  });
  if (end == begin) aside.write(std::vector<std::byte>(begin), 0);  // so that there is something to map
  const Map map(aside.file(), aside.name());
  aside.write(seal_tokens(header, map.bytes().subspan(begin)), 0);
  aside.put_in_place();
}

}  // namespace twinax::data
