// What gravity/direct_instances.inl has made for each instruction set, behind the choice of one when the program runs.
// Included within the namespace of the law, once (HWY_ONCE).

HWY_EXPORT(sum_single);
HWY_EXPORT(sum_mixed);
HWY_EXPORT(sum_double);
HWY_EXPORT(packs);

Loops loops() {
  return {.packs = [](Kind kind) { return HWY_DYNAMIC_DISPATCH(packs)(kind); },
          .single =
              [](const TileTask<Precision::single>& task) {
                HWY_DYNAMIC_DISPATCH(sum_single)
                (task);
              },
          .mixed =
              [](const TileTask<Precision::mixed>& task) {
                HWY_DYNAMIC_DISPATCH(sum_mixed)
                (task);
              },
          .double_ =
              [](const TileTask<Precision::double_>& task) {
                HWY_DYNAMIC_DISPATCH(sum_double)
                (task);
              }};
}
