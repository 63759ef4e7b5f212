// The nearest image of separations along an axis, for packs of numbers. No include guard: after device/simd_pack.inl,
// once per instruction set, inside its namespace. One number's: particles/box.hpp.

template <class T>
HWY_INLINE Pack<T> nearest_image(Pack<T> d, double period) {
  const Pack<T> sides(hn::Round((d * Pack<T>(static_cast<T>(1 / period))).raw));
  return negative_mul_add(sides, Pack<T>(static_cast<T>(period)), d);
}
template <class T>
HWY_INLINE Vec3<Pack<T>> nearest_image(const Vec3<Pack<T>>& d, const Vec3<double>& period) {
  return {nearest_image(d.x, period.x), nearest_image(d.y, period.y), nearest_image(d.z, period.z)};
}
