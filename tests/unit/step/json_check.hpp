#pragma once

#include <cctype>
#include <string_view>

namespace twinax::step::test {

/// Whether a text is one value of JSON (RFC 8259), names and texts without bytes that are no UTF-8 lead, numbers finite by its grammar.
class JsonCheck {
 public:
  explicit JsonCheck(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool is_valid() { return value() && (blank(), rest_.empty()); }

 private:
  void blank() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos) rest_.remove_prefix(1);
  }
  bool eat(std::string_view word) {
    blank();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool value() {
    blank();
    if (rest_.starts_with('{')) return list("{", "}", true);
    if (rest_.starts_with('[')) return list("[", "]", false);
    if (rest_.starts_with('"')) return text();
    return eat("true") || eat("false") || eat("null") || number();
  }
  bool list(std::string_view open, std::string_view close, bool has_keys) {
    eat(open);
    if (eat(close)) return true;
    do {
      blank();
      if (has_keys && !(text() && eat(":"))) return false;
      if (!value()) return false;
    } while (eat(","));
    return eat(close);
  }
  bool text() {
    if (!eat("\"")) return false;
    while (!rest_.empty()) {
      const auto c = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c < 0x20) return false;
      if (c == '\\' && !escape()) return false;
      if (c >= 0x80 && !continues(c)) return false;
    }
    return false;
  }
  bool escape() {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      if (rest_.empty() || std::isxdigit(static_cast<unsigned char>(rest_.front())) == 0) return false;
      rest_.remove_prefix(1);
    }
    return true;
  }
  /// The rest of a character whose lead is `c`: its value is looked at, so that overlong forms and surrogates are found.
  bool continues(unsigned char c) {
    const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC0 || c > 0xF7) return false;
    unsigned point = c & (0x3FU >> more);
    for (int i = 0; i < more; ++i) {
      if (rest_.empty() || (static_cast<unsigned char>(rest_.front()) & 0xC0U) != 0x80U) return false;
      point = (point << 6U) | (static_cast<unsigned char>(rest_.front()) & 0x3FU);
      rest_.remove_prefix(1);
    }
    const unsigned least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
    return point >= least && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
  }
  bool digits() {
    const std::string_view before = rest_;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') rest_.remove_prefix(1);
    return rest_.size() < before.size();
  }
  bool number() {
    if (rest_.starts_with('-')) rest_.remove_prefix(1);
    const bool zero = rest_.starts_with('0');
    const std::string_view before = rest_;
    if (!digits() || (zero && before.size() - rest_.size() > 1)) return false;
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      if (!digits()) return false;
    }
    if (!rest_.empty() && (rest_.front() == 'e' || rest_.front() == 'E')) {
      rest_.remove_prefix(1);
      if (!rest_.empty() && (rest_.front() == '+' || rest_.front() == '-')) rest_.remove_prefix(1);
      return digits();
    }
    return true;
  }
  std::string_view rest_;
};

}  // namespace twinax::step::test
