#pragma once

#include <utility>

namespace twinax {

/// The one move-only owner of native handles: closes exactly once.
///
/// Traits: `using Native`, `static Native null()`, `static void close(Native) noexcept`.
template <class Traits>
class Handle {
 public:
  using Native = typename Traits::Native;
  Handle() = default;
  explicit Handle(Native native) noexcept : native_(native) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : native_(std::exchange(other.native_, Traits::null())) {}
  Handle& operator=(Handle&& other) noexcept {
    Handle taken(std::move(other));
    std::swap(native_, taken.native_);  // the old one is closed here, not later
    return *this;
  }
  ~Handle() {
    if (native_ != Traits::null()) Traits::close(native_);
  }
  /// The view: the native handle, still owned here.
  [[nodiscard]] Native get() const noexcept { return native_; }
  /// Whether there is something to close.
  [[nodiscard]] bool is_open() const noexcept { return native_ != Traits::null(); }
  /// Gives the native handle up unclosed.
  [[nodiscard]] Native release() noexcept { return std::exchange(native_, Traits::null()); }

 private:
  Native native_ = Traits::null();
};

}  // namespace twinax
