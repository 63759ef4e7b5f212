// Names and units as people write them; files and messages have them in ASCII.
const letters: [RegExp, string][] = [
  [/\/\(1\/omega_p\)/g, " omega_p"], [/1\/omega_p/g, "ωₚ⁻¹"], [/omega_p/g, "ωₚ"], [/lambda_D/g, "λ_D"], [/\bn_0\b/g, "n₀"], [/\bm_e\b/g, "mₑ"],
  [/\bv([xyz])\b/g, "v_$1"], [/\bE([xyz])\b/g, "E_$1"], [/\bk([xyz])\b/g, "k_$1"], [/\^2/g, "²"], [/\^3/g, "³"], [/\bpi\b/g, "π"], [/([vEk])_x/g, "$1ₓ"],
];
export const pretty = (text: string): string => letters.reduce((now, [from, to]) => now.replace(from, to), text);

/// "x [kpc]"; the unit may be empty.
export const named = (name: string, unit = ""): string => pretty(unit ? `${name} [${unit}]` : name);

export const number = (value: unknown, digits = 3): string => {
  if (typeof value !== "number") return "–";
  const small = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
  return (small ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)))).replace("-", "−").replace("e-", "e−").replace("e+", "e");
};

/// Round numbers from low to high, at most `most`: 1, 2 or 5 times a power of ten apart.
export function roundNumbers(low: number, high: number, most: number): number[] {
  if (!(high > low)) return [];
  const wish = (high - low) / most, power = 10 ** Math.floor(Math.log10(wish)), step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= wish)!;
  const found: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/// Powers of ten from low to high, at most `most`; of less than two decades round numbers.
export function roundPowers(low: number, high: number, most: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9), step = Math.ceil((last - first + 1) / most);
  if (last <= first) return roundNumbers(low, high, 2).filter((v) => v > 0);
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => Number(`1e${first + k * step}`));
}
