// The separation of a pair. No include guard, as physics/pair.inl. In a box with images it is particles/box.hpp's.

/// b − a.
template <class R>
PERGOLA_HD_INLINE Vec3<R> separation(const Vec3<R>& a, const Vec3<R>& b) {
  return {b.x - a.x, b.y - a.y, b.z - a.z};
}
/// The same for positions of two numbers each, the second being the rounding error of the first.
template <class R>
PERGOLA_HD_INLINE Vec3<R> separation(const Vec3<R>& a, const Vec3<R>& a_rest, const Vec3<R>& b, const Vec3<R>& b_rest) {
  const Vec3<R> d = separation(a, b);
  return {(d.x + b_rest.x) - a_rest.x, (d.y + b_rest.y) - a_rest.y, (d.z + b_rest.z) - a_rest.z};
}
