// The box around what is shown: its edges, and along three of them ticks, names and units.
import type { Scene } from "./scene";
import { named, number, roundNumbers } from "./words";

type Spot = [number, number];

export function drawAxes(canvas: HTMLCanvasElement, scene: Scene): void {
  const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d")!, header = scene.header;
  canvas.width = Math.round(canvas.clientWidth * ratio); canvas.height = Math.round(canvas.clientHeight * ratio);
  pen.scale(ratio, ratio);
  if (!header || header.count === 0) return;
  const picked = scene.pickedSpot;
  if (picked) { pen.strokeStyle = "#ffffff"; pen.beginPath(); pen.arc(...picked, 7, 0, 2 * Math.PI); pen.stroke(); }
  const middle = scene.project([0, 0, 0]);
  if (!middle) return;
  pen.strokeStyle = "#3d4a66"; pen.fillStyle = "#b8c3d6"; pen.lineWidth = 1; pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center"; pen.textBaseline = "middle";
  for (let axis = 0; axis < 3; axis++) {
    const edges: [Spot, Spot, number[]][] = [];
    for (const a of [-0.5, 0.5]) for (const b of [-0.5, 0.5]) {
      const from = [a, b], corner = [0, 1, 2].map((k) => (k === axis ? -0.5 : from.shift()!)), end = corner.map((c, k) => (k === axis ? 0.5 : c));
      const [p, q] = [scene.project(corner), scene.project(end)];
      if (!p || !q) continue;
      edges.push([p, q, corner]);
      pen.beginPath(); pen.moveTo(...p); pen.lineTo(...q); pen.stroke();
    }
    // The lowest edge has the ticks, of upright ones the one on the left.
    const upright = edges.every(([p, q]) => Math.abs(q[1] - p[1]) > Math.abs(q[0] - p[0]));
    edges.sort((one, other) => (upright ? one[0][0] + one[1][0] - other[0][0] - other[1][0] : other[0][1] + other[1][1] - one[0][1] - one[1][1]));
    if (edges.length) drawTicks(pen, scene, axis, edges[0], upright, middle);
  }
}

function drawTicks(pen: CanvasRenderingContext2D, scene: Scene, axis: number, [p, q, corner]: [Spot, Spot, number[]], upright: boolean, middle: Spot): void {
  const header = scene.header!, length = Math.hypot(q[0] - p[0], q[1] - p[1]);
  if (length < 40) return;
  // Away from the middle of the box, across the edge.
  let out: Spot = [-(q[1] - p[1]) / length, (q[0] - p[0]) / length];
  if (out[0] * ((p[0] + q[0]) / 2 - middle[0]) + out[1] * ((p[1] + q[1]) / 2 - middle[1]) < 0) out = [-out[0], -out[1]];
  const [low, high] = [-0.5, 0.5].map((s) => scene.valueAt(axis, s));
  let widest = 0;
  for (const value of roundNumbers(low, high, Math.max(1, Math.floor(length / (upright ? 45 : 65))))) {
    const at = scene.project(corner.map((c, k) => (k === axis ? (value - low) / (high - low) - 0.5 : c)));
    if (!at) continue;
    const text = number(value), wide = pen.measureText(text).width, gap = 8 + (Math.abs(out[0]) * wide) / 2;
    widest = Math.max(widest, wide);
    pen.beginPath(); pen.moveTo(...at); pen.lineTo(at[0] + 5 * out[0], at[1] + 5 * out[1]); pen.stroke();
    pen.fillText(text, at[0] + (gap + 4) * out[0], at[1] + (gap + 4) * out[1]);
  }
  const name = named(header.axes[axis], header.units[axis]), half = pen.measureText(name).width / 2, far = 24 + Math.abs(out[0]) * (widest + half);
  pen.fillText(name, Math.max((p[0] + q[0]) / 2 + far * out[0], half + 4), (p[1] + q[1]) / 2 + far * out[1]);
}
