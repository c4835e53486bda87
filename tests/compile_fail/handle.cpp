// What an owner of native handles refuses, each beside what it allows.
#include "twinax/base/handle.hpp"

#include <utility>

namespace {

struct Traits {
  using Native = int;
  static Native null() { return -1; }
  static void close(Native /*native*/) noexcept {}
};
using Owner = twinax::Handle<Traits>;

Owner from(Owner& owner) {
  return std::move(owner);
}
#ifdef COPIED
Owner wrong(Owner& owner) {
  return owner;
}
#endif

void assign(Owner& to, Owner& owner) {
  to = std::move(owner);
}
#ifdef COPY_ASSIGNED
void wrong(Owner& to, Owner& owner) {
  to = owner;
}
#endif

Owner adopt(int native) {
  return Owner(native);
}
#ifdef MADE_BY_ACCIDENT
Owner wrong(int native) {
  return native;
}
#endif

int view(const Owner& owner) {
  return owner.get();
}
#ifdef VIEWED_BY_ACCIDENT
int wrong(const Owner& owner) {
  return owner;
}
#endif

}  // namespace

int main() {
  Owner owner = adopt(1);
  assign(owner, owner);
  return view(from(owner));
}
