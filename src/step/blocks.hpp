#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "twinax/step/arena.hpp"

namespace twinax::step {

/// The segments of an arena, cut into blocks. A block is taken, waits for other lanes after it was given back, or is free.
///
/// Threads: one at a time.
class Blocks {
 public:
  /// Blocks begin at and are multiples of it.
  static constexpr std::size_t kGrain = 512;
  /// From here on blocks are large: they have pools and segments of their own.
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  /// The size of the block that serves `bytes`.
  [[nodiscard]] static std::size_t rounded(std::size_t bytes);

  /// The smallest block of the ask's pool that is free (or will be when the asker touches it) and holds it, cut to size; none if there is
  /// none.
  [[nodiscard]] std::optional<std::span<std::byte>> find(const Ask& ask);
  /// A new segment that serves an ask from its beginning. `is_common` says where it is from.
  [[nodiscard]] std::span<std::byte> add_segment(std::span<std::byte> segment, bool is_common, const Ask& ask);
  /// Taken blocks only, else InvalidArgument.
  void use(std::span<std::byte> buffer, Mark mark);
  void give(std::span<std::byte> buffer);
  void passed(Mark mark);

  struct Segment {
    std::span<std::byte> memory;
    bool is_common = false;
    bool wanted_common = false;
  };
  /// Takes out all segments that are wholly free and that not even their own lanes use any more.
  [[nodiscard]] std::vector<Segment> take_free_segments();
  /// All segments there are.
  [[nodiscard]] std::vector<Segment> segments() const;

  /// Bytes held by name, largest first.
  [[nodiscard]] std::vector<std::pair<std::string, Bytes>> holders() const;

  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t active() const { return active_; }

 private:
  enum class State : std::uint8_t { Taken, Waiting, Free };
  struct Block {
    std::size_t size = 0;
    std::size_t asked = 0;  // by its holder
    std::size_t pool = 0;
    std::byte* segment = nullptr;
    State state = State::Free;
    LaneKind lane = LaneKind::Compute;
    std::string holder;
    std::array<std::uint64_t, kLanes> used_until{};  // positions of other lanes
    std::uint64_t own_until = 0;                     // of its own lane, whose order protects it as long as it is mapped
  };
  using Place = std::map<std::byte*, Block>::iterator;
  using Sizes = std::set<std::pair<std::size_t, std::byte*>>;
  static constexpr std::size_t kPools = kLanes * 4;

  [[nodiscard]] static std::size_t pool_of(const Ask& ask);
  [[nodiscard]] Place taken_block(std::span<std::byte> buffer);
  [[nodiscard]] std::span<std::byte> hold(Place place, const Ask& ask);
  /// Of the waiting blocks of a pool.
  [[nodiscard]] Place find_waiting(const Ask& ask, std::size_t pool);
  void cut(Place place, std::size_t size);
  void free(Place place);
  void merge_next(Place place);
  [[nodiscard]] bool is_passed(const Block& block) const;

  std::map<std::byte*, Block> all_;         // every block by its beginning
  std::map<std::byte*, Segment> segments_;  // by its beginning
  std::array<Sizes, kPools> free_;
  std::array<Sizes, kPools> waiting_;
  std::array<std::uint64_t, kLanes> passed_{};
  std::int64_t allocated_ = 0;
  std::int64_t active_ = 0;
};

}  // namespace twinax::step
