#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>

#include "twinax/step/op.hpp"

namespace twinax::step {

/// A place in a lane's queue: all that was put there up to it. Positions count from 1.
struct Mark {
  LaneKind lane = LaneKind::Compute;
  std::uint64_t position = 0;
  friend auto operator<=>(const Mark&, const Mark&) = default;
};

/// What somebody wants of an arena.
struct Ask {
  Bytes size{0};
  std::string holder;                 ///< who holds it, for people: "gradients h.3"
  LaneKind lane = LaneKind::Compute;  ///< whose pool serves it: the lane that writes it first
  bool in_common = false;             ///< whether it is best in the memory that peers read
  /// Positions in the lanes' queues that the asker waits for before it touches the memory: what lanes use no longer than that will do.
  std::array<std::uint64_t, kLanes> waits_for{};
};

/// What an arena's memory did since its peaks were reset.
struct MemoryUse {
  Bytes allocated_peak{0};   ///< as asked for, by those who hold it
  Bytes active_peak{0};      ///< blocks held, or given back and still used by a lane
  Bytes reserved_peak{0};    ///< from the system: active, cached and cut off
  std::int64_t retries = 0;  ///< times that the budget was met, all lanes drained and the cache given back
  Seconds stalled{0};        ///< that the issuing thread stood still for it
};

/// A caching allocator with a budget and a pool for each lane, by the rules of a GPU's.
///
/// A block serves its own lane alone, whose order protects it: given back, it may be had again at once by later work of that lane. What
/// lanes do with it is recorded (`use`): it serves again only once other lanes have passed, and is unmapped only once its own has. Blocks
/// are cut from segments of the system and merge with free neighbours; buffers under 1 MiB and larger ones don't mix. Segments go back to
/// the system by `give_back_cached` alone. All memory is 512-byte aligned and counted in reserved bytes against the budget. Threads: any.
class Arena {
 public:
  /// `budget` 0: as much as the system has.
  explicit Arena(Bytes budget = {0});
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// A buffer of exactly the size asked for; none if budget or system don't hold it. Throws InvalidArgument for a negative size.
  [[nodiscard]] std::optional<std::span<std::byte>> try_take(const Ask& ask);
  /// The same, but gives cached segments back that no lane uses if that helps. Throws OutOfBudget that says who holds what.
  std::span<std::byte> take(const Ask& ask);
  /// Takes beyond the budget, so that a step in which other ranks take part can be brought to its end; `overdraft` tells of it from then
  /// on. Throws OutOfBudget if the system has no memory.
  std::span<std::byte> overdraw(const Ask& ask);
  /// The message of the first overdraft; empty if there was none.
  [[nodiscard]] std::string overdraft() const;

  /// Positions for so many ops of a run, on all lanes together; returns the one before the first. Runs follow one another: all of one's
  /// positions have passed before the next one gets its own.
  [[nodiscard]] std::uint64_t begin_marks(std::size_t ops);
  /// Records that a lane uses the buffer up to a mark. Throws InvalidArgument if it is not taken.
  void use(std::span<std::byte> buffer, Mark mark);
  /// Gives a buffer back. Throws InvalidArgument if it is not one of this arena's that is taken now.
  void give(std::span<std::byte> buffer);
  /// All work of the lane up to the mark is over.
  void passed(Mark mark);

  /// Unmaps all segments of which nothing is held and nothing used by a lane.
  void give_back_cached();
  /// Counts a retry that took so long.
  void count_retry(Seconds time);

  /// Memory for what lives longer than a step, held in the name of `holder`: from the compute lane's pool. It lives as long as the arena,
  /// and throws OutOfBudget.
  [[nodiscard]] std::pmr::memory_resource& resource(const std::string& holder);
  /// Where buffers asked for `in_common` come from as long as it has some (it throws std::bad_alloc where not); null: nowhere. What was had
  /// from the one before is given back first. Throws InvalidArgument if somebody still holds some of that.
  void set_common(std::pmr::memory_resource* memory);

  /// Bytes held now, bytes in use, and bytes from the system.
  [[nodiscard]] Bytes allocated() const;
  [[nodiscard]] Bytes active() const;
  [[nodiscard]] Bytes reserved() const;
  /// Bytes of segments that were asked for in common and had elsewhere.
  [[nodiscard]] Bytes not_in_common() const;
  [[nodiscard]] Bytes budget() const;
  /// What may be had from the system from now on; what is held already stays. Throws InvalidArgument if negative.
  void set_budget(Bytes budget);
  /// Who holds how much now, largest first, for people: "activations 3.00 MB, workspaces 1.00 MB"; empty if nobody does.
  [[nodiscard]] std::string holders() const;
  /// Peaks start again from what is now, retries from 0.
  void reset_use();
  [[nodiscard]] MemoryUse memory_use() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lets an arena have memory that it does not outlive.
class CommonMemory {
 public:
  CommonMemory(Arena& arena, std::pmr::memory_resource* memory) : arena_(arena) { arena_.set_common(memory); }
  CommonMemory(const CommonMemory&) = delete;
  CommonMemory& operator=(const CommonMemory&) = delete;
  ~CommonMemory() { arena_.set_common(nullptr); }

 private:
  Arena& arena_;
};

}  // namespace twinax::step
