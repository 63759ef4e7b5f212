// A rough root of a pack of numbers. No include guard: included once per instruction set, after device/simd_pack.inl.

/// 1/√a as good as one instruction gives it.
HWY_INLINE Pack<float> rough_rsqrt(Pack<float> a) { return Pack<float>(hn::ApproximateReciprocalSqrt(a.raw)); }
