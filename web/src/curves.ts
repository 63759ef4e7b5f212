// Curves of a run's logs.
import uPlot from "uplot";
import { named, pretty, roundPowers } from "./words";
import type { Header, State, StateCurve } from "./wire";

type Column = (number | null)[];
interface Curve { title: string; x: Column; y: Column; log: boolean; bars?: boolean; along: string; }

const tick = (value: number | null): string => {
  if (value === null) return "";
  const text = value !== 0 && (Math.abs(value) < 1e-2 || Math.abs(value) >= 1e5) ? value.toExponential(0) : String(Number(value.toPrecision(3)));
  return text.replace("e+", "e").replace("-", "−").replace("e-", "e−");
};
const positive = (column: Column): Column => column.map((v) => (v === null || v === 0 ? null : Math.abs(v)));

/// What of the logs and of the moment that is shown is worth a curve. `header`: of the points beside them, whose units they have.
export function curvesOf(state: State, ofMoment: StateCurve[], header: Header | null): Curve[] {
  const curves: Curve[] = [], energy = state.energy ?? {}, audit = state.audit ?? {};
  // Logs have times in the units of the run; a time for people may have others, and then says nothing of the logs' unit.
  const [, shown, unit] = header?.time_text.match(/^t = (\S+) (.+)$/) ?? [];
  const timeUnit = header && (header.axes[2] !== "z" || Math.abs(Number(shown) / header.time - 1) < 1e-4) ? (unit ?? "") : "";
  const length = header?.units[0] ?? "", time = named("t", timeUnit);
  if (energy.time?.length > 1) {
    if (energy.relative_error) curves.push({ title: "|ΔE/E|", x: energy.time, y: positive(energy.relative_error), log: true, along: time });
    const plasma = Object.keys(energy).some((key) => key.startsWith("kinetic_"));  // whose potential energy is that of the field
    if (plasma) curves.push({ title: "field energy", x: energy.time, y: positive(energy.potential), log: true, along: time });
    else if (energy.kinetic && energy.potential) curves.push({ title: "−T/W", x: energy.time, y: energy.kinetic.map((t, k) => (t !== null && energy.potential[k] ? -t / (energy.potential[k] as number) : null)), log: false, along: time });
  }
  const name = Object.keys(audit).find((key) => key.includes("median"));
  if (audit.time?.length > 1 && name) curves.push({ title: "force error (median)", x: audit.time, y: positive(audit[name]), log: true, along: time });
  for (const { title, look, x, y } of ofMoment) {
    const [, place, wave] = title.match(/\(([xyz])\)$| by (k[xyz])$/) ?? [];
    const along = place ? named(place, length) : wave ? named(wave, length && `1/${length}`) : look === "bars" ? named("step", timeUnit) : time;
    curves.push({ title: pretty(title), x, y: look === "line" ? y : positive(y), log: look !== "line", bars: look === "bars", along });
  }
  return curves;
}

/// How fast a run goes, and how long it will, since the page was opened: a state says of now only.
export class Pace {
  private time: number[] = []; private rate: Column = []; private left: Column = [];

  take(state: State): void {
    const now = state.time ?? NaN, rate = parseFloat(state.rate ?? "");
    if (!state.live || !(now > (this.time[this.time.length - 1] ?? -Infinity)) || !(rate > 0)) return;
    this.time.push(now); this.rate.push(rate); this.left.push(state.seconds_left ?? null);
    if (this.time.length > 2000) for (const list of [this.time, this.rate, this.left]) list.shift();
  }
  curves(): StateCurve[] {
    if (this.time.length < 2) return [];
    return [{ title: "particle steps/s", look: "line", x: [...this.time], y: [...this.rate] }, { title: "seconds left", look: "line", x: [...this.time], y: [...this.left] }];
  }
}

export class Curves {
  private plots = new Map<string, uPlot>();
  constructor(private home: HTMLElement) {}

  show(state: State, ofMoment: StateCurve[], header: Header | null): void {
    const curves = curvesOf(state, ofMoment, header);
    const keyOf = (curve: Curve) => curve.title + curve.along;
    for (const [key, plot] of this.plots) if (!curves.some((c) => keyOf(c) === key)) { plot.destroy(); this.plots.delete(key); }
    for (const curve of curves) {
      const data = [curve.x, curve.y] as uPlot.AlignedData, known = this.plots.get(keyOf(curve));
      if (known) known.setData(data); else this.plots.set(keyOf(curve), this.make(curve, data));
    }
  }

  private make(curve: Curve, data: uPlot.AlignedData): uPlot {
    const usable = curve.y.some((v) => v !== null && v > 0), log = (curve.log || curve.bars) && usable;
    const axis = { stroke: "#9aa7bd", grid: { stroke: "#1d2536", width: 1 }, ticks: { stroke: "#1d2536", width: 1, size: 4 }, font: "11px system-ui, sans-serif", labelFont: "11px system-ui, sans-serif", labelSize: 14, values: (_: uPlot, ticks: number[]) => ticks.map(tick), filter: (_: uPlot, ticks: number[]) => ticks };
    const powers = (most: number) => (_: uPlot, __: number, low: number, high: number) => roundPowers(low, high, most);
    return new uPlot({
      width: 300, height: 128, title: curve.title, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: curve.bars ? { x: { time: false, distr: 3, log: 2, range: (_, low, high) => [low / 2, high * 2] }, y: { distr: 3, range: (_, low, high) => [0.5, high * 2] } }
        : { x: { time: false }, y: { distr: log ? 3 : 1 } },
      axes: [{ ...axis, size: 24, label: curve.along, ...(curve.bars ? { splits: powers(5) } : {}) }, { ...axis, size: 52, space: 20, ...(log ? { splits: powers(4) } : {}) }],
      series: [{}, { stroke: "#6eb4ff", width: 1.5, spanGaps: true, ...(curve.bars ? { fill: "#2d5c94", paths: uPlot.paths.bars!({ size: [0.8, 40] }), points: { show: false } } : {}) }],
    }, data, this.home);
  }
}
