#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace twinax::record {

/// Writes one step for others to check: /parameters/NAME and /gradients/NAME (fp32), /batch, /loss, and the attribute `heads`.
/// Written aside; it appears under its name only when finish() has succeeded.
///
/// Threads: the one of all HDF5 calls. Throws FileError or Hdf5Error.
class DumpFile {
 public:
  /// Starts the file.
  DumpFile(const std::string& path, std::int64_t heads);
  ~DumpFile();
  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  /// A whole tensor, row-major. The product of `shape` is the size of `values`.
  void add_parameter(const std::string& name, std::span<const float> values, std::span<const std::int64_t> shape);
  /// Likewise its gradient, before clipping.
  void add_gradient(const std::string& name, std::span<const float> values, std::span<const std::int64_t> shape);
  /// The batch. Without targets rows of length + 1 tokens, /batch/tokens; else rows of length + targets, /batch/inputs and /batch/targets.
  void set_batch(std::span<const std::int64_t> tokens, std::int64_t length, std::int64_t targets);
  /// The loss, nats a token.
  void set_loss(double loss);
  /// Closes the file and gives it its name.
  void finish();

 private:
  class Content;
  std::unique_ptr<Content> content_;
};

}  // namespace twinax::record
