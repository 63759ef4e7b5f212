import { Curves } from "./curves";
import { kindColours, mapColour, Scene, type Colouring } from "./scene";
import { decode, Line, type State } from "./wire";

const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const most = Math.min(Number(new URLSearchParams(location.search).get("most")) || 100000, 200000);

const scene = new Scene($<HTMLCanvasElement>("scene"));
const curves = new Curves($("curves"));
const points = new Line(), facts = new Line();
let state: State | null = null;
let lastSaid = "";
let following = true, playing = false, serial = 0, wanted = -1, frames = 0;

const say = (text: string) => { $("message").textContent = text; };
const number = (value: unknown, digits = 3) => {
  if (typeof value !== "number") return "–";
  const small = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
  return (small ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)))).replace("-", "−").replace("e-", "e−");
};

/// A length of 1, 2 or 5 times a power of ten that is about 120 pixels long.
function drawScale(): void {
  const header = scene.header;
  if (!header) return;
  const wish = 120 / scene.pixelsPerUnit(), power = 10 ** Math.floor(Math.log10(wish));
  const length = [5, 2, 1].map((k) => k * power).find((l) => l <= wish) ?? power;
  $("scale-bar").style.width = `${length * scene.pixelsPerUnit()}px`;
  $("scale-text").textContent = `${number(length)} ${header.units[0]}`;
}

function drawLegend(): void {
  const header = scene.header, legend = $("legend");
  legend.textContent = "";
  if (!header) return;
  if (scene.colouring === "kind") {
    const seen = new Set<number>(lastKinds);
    header.kinds.forEach((name, k) => {
      if (!seen.has(k)) return;
      const item = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = kindColours[k % kindColours.length];
      item.append(dot, name);
      legend.append(item);
    });
    return;
  }
  const bar = document.createElement("canvas");
  bar.width = 130; bar.height = 10;
  const pen = bar.getContext("2d")!;
  for (let k = 0; k < 130; k++) { pen.fillStyle = `rgb(${mapColour((scene.colouring === "speed" ? 0.15 : 0) + (scene.colouring === "speed" ? 0.85 : 1) * k / 129).map((c) => Math.round(255 * c)).join()})`; pen.fillRect(k, 0, 1, 10); }
  const [low, high] = scene.colouring === "speed" ? header.speed.map((v) => number(v)) : ["low", "high"];
  legend.append(low, bar, `${high} ${scene.colouring === "speed" && header.axes[2] === "vx" ? "|vx|" : scene.colouring === "order" ? "id" : scene.colouring}`);
}

let lastKinds: number[] = [];
function take(message: ArrayBuffer): number {
  const got = decode(message), { header } = got;
  const kinds = new Set<number>();
  for (let i = 0; i < header.count; i++) kinds.add(got.words[4 * i + 3] & 15);
  lastKinds = [...kinds];
  scene.show(got);
  frames++;
  $("time").textContent = header.time_text;
  $("count").textContent = `${header.count.toLocaleString("en")} of ${header.total.toLocaleString("en")} particles${header.axes[2] === "z" ? "" : " · axes " + header.axes.join(", ")}`;
  document.body.dataset.frames = String(frames);
  document.body.dataset.time = String(header.time);
  drawLegend(); drawScale();
  return header.number;
}

function drawState(now: State): void {
  state = now;
  $("title").textContent = now.title;
  document.title = `${now.title} – Pergola`;
  $("status").textContent = [now.paused ? "paused" : now.status, now.device_name, now.precision].filter(Boolean).join(" · ");
  document.body.dataset.status = now.paused ? "paused" : (now.status ?? "");
  $("control").hidden = !now.control;
  const scrub = $<HTMLInputElement>("scrub");
  scrub.max = String(Math.max(now.snapshots.length - 1, 0));
  if (following && now.snapshots.length) scrub.value = scrub.max;
  const lines = [`time ${number(now.time, 6)} of ${number(now.end_time, 6)}`];
  if (now.totals) lines.push(`${now.totals.steps.toLocaleString("en")} steps, ${now.totals.particle_steps.toLocaleString("en")} particle steps`);
  if (typeof now.energy_error === "number") lines.push(`energy error ${number(now.energy_error)}`);
  if (now.rate) lines.push(now.rate);
  if (typeof now.seconds_left === "number") lines.push(`${number(now.seconds_left)} s left`);
  $("facts").innerText = lines.join("\n");
  if (now.said && now.said !== lastSaid) say((lastSaid = now.said));
  curves.show(now);
  const table = $("checks");
  table.textContent = "";
  for (const check of now.checks ?? []) {
    const row = document.createElement("tr");
    for (const text of [check.passed ? "passed" : "FAILED", check.name, number(check.measured), `${number(check.expected)} ± ${number(check.tolerance, 2)}`]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      cell.className = check.passed ? "passed" : "failed";
      row.append(cell);
    }
    table.append(row);
  }
}

function drawWhere(): void {
  const at = Number($<HTMLInputElement>("scrub").value), snapshots = state?.snapshots ?? [];
  $("where").textContent = following ? (state?.live ? "live" : "newest") : snapshots.length ? `snapshot ${snapshots[at]}` : "";
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

/// Asks for the next points when the last are drawn: what the page cannot keep up with is never sent.
async function pointsLoop(): Promise<void> {
  while (true) {
    try {
      if (following) {
        const answer = await points.ask({ ask: "newest", after: serial, most });
        if (answer instanceof ArrayBuffer) serial = take(answer) + 1;
      } else if (wanted >= 0) {
        const asked = wanted;
        wanted = -1;
        const answer = await points.ask({ ask: "snapshot", number: asked, most });
        if (answer instanceof ArrayBuffer) take(answer); else say(JSON.parse(answer).message ?? "");
      } else await sleep(30);
      if (playing && wanted < 0) step(1);
    } catch (error) {
      say(String((error as Error).message));
      await sleep(1000);
    }
    drawWhere();
    await new Promise(requestAnimationFrame);
  }
}

async function stateLoop(): Promise<void> {
  while (true) {
    try {
      drawState((await facts.askJson({ ask: "state" })) as unknown as State);
      document.body.dataset.ready = "yes";
      await sleep(state?.live || state?.status === "running" ? 500 : 2000);
    } catch (error) {
      say(String((error as Error).message));
      await sleep(1000);
    }
  }
}

function goTo(place: number): void {
  const snapshots = state?.snapshots ?? [];
  if (!snapshots.length) return;
  following = false;
  const at = Math.min(Math.max(place, 0), snapshots.length - 1);
  $<HTMLInputElement>("scrub").value = String(at);
  wanted = snapshots[at];
  drawWhere();
}
function step(by: number): void {
  const scrub = $<HTMLInputElement>("scrub"), last = Number(scrub.max);
  goTo(Number(scrub.value) + by > last ? 0 : Number(scrub.value) + by);
}
function play(on: boolean): void { playing = on; $("play").textContent = on ? "❚❚" : "▶"; if (on) step(1); }

$("scrub").oninput = () => { play(false); goTo(Number($<HTMLInputElement>("scrub").value)); };
$("play").onclick = () => play(!playing);
$("follow").onclick = () => { play(false); following = true; serial = 0; };
$("colour").onchange = () => { scene.colouring = $<HTMLSelectElement>("colour").value as Colouring; scene.recolour(); drawLegend(); };
$("size").oninput = () => { scene.size = Number($<HTMLInputElement>("size").value); scene.draw(); };
$("trails").onchange = () => { scene.trails = $<HTMLInputElement>("trails").checked; scene.recolour(); };
addEventListener("keydown", (e) => { if (e.key === " " && e.target === document.body) play(!playing); });
const act = async (action: string, argument = "") => {
  try { say(String((await facts.askJson({ do: action, argument })).message)); } catch (error) { say(String((error as Error).message)); }
};
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-do]")) button.onclick = () => void act(button.dataset.do!);
$("fork").onclick = () => void act("fork", $<HTMLInputElement>("fork-keys").value);
scene.onmove = drawScale;

void stateLoop();
void pointsLoop();
