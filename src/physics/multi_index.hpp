#pragma once
/// The terms of Cartesian expansions (physics/expansion.inl): multi-indices and the order of terms.

namespace pergola::physics {

/// Exponents of a monomial x^i y^j z^k, and of a partial derivative. The order of terms is 1, x, y, z, xx, xy, xz, yy,
/// yz, zz, xxx, …
struct MultiIndex {
  int i, j, k;
  constexpr int order() const { return i + j + k; }
};

/// Terms of an expansion up to and including `order`.
constexpr int expansion_terms(int order) { return (order + 1) * (order + 2) * (order + 3) / 6; }

constexpr int term_of(const MultiIndex& m) {
  const int n = m.order(), rest = n - m.i;
  return n * (n + 1) * (n + 2) / 6 + rest * (rest + 1) / 2 + m.k;
}

constexpr MultiIndex index_of(int term) {
  int n = 0;
  while (expansion_terms(n) <= term) ++n;
  const int at = n == 0 ? 0 : term - expansion_terms(n - 1);
  int rest = 0;
  while ((rest + 1) * (rest + 2) / 2 <= at) ++rest;
  const int k = at - rest * (rest + 1) / 2;
  return {n - rest, rest - k, k};
}

constexpr MultiIndex operator+(const MultiIndex& a, const MultiIndex& b) { return {a.i + b.i, a.j + b.j, a.k + b.k}; }
constexpr MultiIndex operator-(const MultiIndex& a, const MultiIndex& b) { return {a.i - b.i, a.j - b.j, a.k - b.k}; }
constexpr bool is_valid(const MultiIndex& m) { return m.i >= 0 && m.j >= 0 && m.k >= 0; }

/// A term of order n ≥ 1 as one of order n − 1 times a coordinate: the axis with the smallest exponent above 0.
struct Factor {
  int axis;      // 0: x, 1: y, 2: z
  int exponent;  // of that axis in the term
  int lower;     // the term with the exponent less one
  int lowest;    // … less two; −1 if there is none
};
constexpr Factor factor_of(int term) {
  const MultiIndex m = index_of(term);
  const int exponents[3] = {m.i, m.j, m.k};
  int axis = -1;
  for (int a = 0; a < 3; ++a)
    if (exponents[a] > 0 && (axis < 0 || exponents[a] < exponents[axis])) axis = a;
  const MultiIndex one{axis == 0, axis == 1, axis == 2};
  const MultiIndex lower = m - one, lowest = lower - one;
  return {axis, exponents[axis], term_of(lower), is_valid(lowest) ? term_of(lowest) : -1};
}

}  // namespace pergola::physics
