#pragma once
#include <utility>
#include <variant>

namespace pergola {

/// A std::variant whose copies may run out of memory: that of libstdc++ 12 takes a variant of strings and vectors for
/// one that always holds a value, and destroys one that never was when copying it throws.
template <class... Types>
class Variant : public std::variant<Types...> {
  using Base = std::variant<Types...>;

 public:
  using Base::Base;
  using Base::operator=;
  Variant() = default;
  Variant(const Variant& other) : Base(copied(other)) {}
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant& other) { return *this = Variant(other); }
  Variant& operator=(Variant&&) noexcept = default;
  ~Variant() = default;

 private:
  static Base copied(const Base& other) {
    return std::visit([]<class T>(const T& value) { return Base(std::in_place_type<T>, value); }, other);
  }
};

}  // namespace pergola
