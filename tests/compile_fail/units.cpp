// Arithmetic of quantities that makes no physical sense, each beside the twin that does.
#include "twinax/base/units.hpp"

#include <cstdint>

namespace twinax {

constexpr Bytes kVolume{1000};
constexpr Seconds kTime{2};
constexpr BytesPerSecond kRate{500};
constexpr Flops kWork{1e9};
constexpr FlopsPerSecond kSpeed{1e9};

constexpr Bytes kSum = kVolume + kVolume;
#ifdef BYTES_PLUS_SECONDS
constexpr auto kWrong = kVolume + kTime;
#endif
#ifdef BYTES_PLUS_A_NUMBER
constexpr auto kWrong = kVolume + 1;
#endif
#ifdef SECONDS_PLUS_A_NUMBER
constexpr auto kWrong = kTime + 1.0;
#endif

constexpr Bytes kNamed{5};
#ifdef BYTES_FROM_A_NUMBER
constexpr Bytes kWrong = 5;
#endif
#ifdef SECONDS_FROM_A_NUMBER
constexpr Seconds kWrong = 5.0;
#endif
#ifdef RATE_FROM_SECONDS
constexpr BytesPerSecond kWrong = kTime;
#endif

constexpr double kPlain = kTime.value;
#ifdef A_NUMBER_FROM_SECONDS
constexpr double kWrong = kTime;
#endif
#ifdef A_NUMBER_FROM_BYTES
constexpr std::int64_t kWrong = kVolume;
#endif

constexpr Seconds takes(Seconds time) {
  return time;
}
constexpr Seconds kGiven = takes(kTime);
#ifdef A_NUMBER_FOR_SECONDS
constexpr Seconds kWrong = takes(1.0);
#endif
#ifdef BYTES_FOR_SECONDS
constexpr Seconds kWrong = takes(kVolume);
#endif

constexpr Bytes kTwice = kVolume * 2;
#ifdef BYTES_TIMES_BYTES
constexpr auto kWrong = kVolume * kVolume;
#endif
#ifdef SECONDS_TIMES_SECONDS
constexpr auto kWrong = kTime * kTime;
#endif

constexpr Seconds kTransfer = kVolume / kRate;
#ifdef RATE_OVER_BYTES
constexpr auto kWrong = kRate / kVolume;
#endif
#ifdef FLOPS_OVER_A_RATE_OF_BYTES
constexpr auto kWrong = kWork / kRate;
#endif
#ifdef BYTES_OVER_A_RATE_OF_FLOPS
constexpr auto kWrong = kVolume / kSpeed;
#endif

static_assert(kTime < kTransfer + kTime && kTwice > kSum - kNamed && kPlain == 2 && kGiven == kTime);
#ifdef BYTES_COMPARED_WITH_SECONDS
constexpr bool kWrong = kVolume < kTime;
#endif
#ifdef SECONDS_COMPARED_WITH_A_NUMBER
constexpr bool kWrong = kTime < 1.0;
#endif

}  // namespace twinax

int main() {}
