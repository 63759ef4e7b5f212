// The loops of gravity/direct_loops.inl over SummedLaw, for one instruction set and each precision. Included within the
// namespace of a law and HWY_NAMESPACE, after direct_loops.inl and `using SummedLaw = …;`.

void sum_single(const TileTask<Precision::single>& task) { sum_tile<SummedLaw>(task); }
void sum_mixed(const TileTask<Precision::mixed>& task) { sum_tile<SummedLaw>(task); }
void sum_double(const TileTask<Precision::double_>& task) { sum_tile<SummedLaw>(task); }
int packs(Kind kind) { return packs_of(kind); }
