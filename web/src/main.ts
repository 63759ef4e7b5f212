import { drawAxes } from "./axes";
import { Curves, Pace } from "./curves";
import { Maps } from "./maps";
import { Ring } from "./ring";
import { kindColours, mapColour, Scene, type Colouring } from "./scene";
import { named, number, pretty } from "./words";
import { decode, decodeDensity, Line, type Density, type Points, type State } from "./wire";

const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const most = Math.min(Number(new URLSearchParams(location.search).get("most")) || 100000, 200000);

const scene = new Scene($<HTMLCanvasElement>("scene"));
const curves = new Curves($("curves")), pace = new Pace(), maps = new Maps($("maps"));
const ring = new Ring<Points>(64 << 20, 200);
const mostPoints = 200000;  // beyond it a picture of the density shows more than points do
const points = new Line(), facts = new Line();
let state: State | null = null;
let lastSaid = "", pickedId = "";
let following = true, playing = false, serial = 0, wanted = -1, frames = 0;
let shownNumber = -1, fromRing = false, lastPoints = 0;
let picture: { density: Density; sight: string; number: number } | null = null;

const say = (text: string) => { $("message").textContent = text; };
/// A length of 1, 2 or 5 times a power of ten that is about 120 pixels long.
function drawScale(): void {
  const header = scene.header;
  drawAxes($<HTMLCanvasElement>("axes"), scene);
  $("scale").hidden = !header || header.axes[2] !== "z";
  if (!header || $("scale").hidden) return;
  const wish = 120 / scene.pixelsPerUnit(), power = 10 ** Math.floor(Math.log10(wish));
  const length = [5, 2, 1].map((k) => k * power).find((l) => l <= wish) ?? power;
  $("scale-bar").style.width = `${length * scene.pixelsPerUnit()}px`;
  $("scale-text").textContent = `${number(length)} ${pretty(header.units[0])}`;
}

/// The particle that was picked, at its place now: as exact as the points are, a part in 65,000 of the frame.
function drawPicked(): void {
  const header = scene.header, picked = scene.picked;
  if (!header || !picked) { $("picked").textContent = ""; return; }
  const { place, kind, speed } = picked, where = place.map((value, k) => `${named(header.axes[k])} ${number(value, 4)} ${pretty(header.units[k])}`.trim());
  if (header.axes[2] === "z") where.push(`speed ${number(speed)}`);
  $("picked").innerText = `${pickedId ? `id ${pickedId}` : `point ${picked.point.toLocaleString("en")}`} (${header.kinds[kind] ?? "?"}):\n${where.join(", ")}`;
}

/// Its id is asked for: all points' would double every frame.
async function pick(): Promise<void> {
  pickedId = "";
  drawPicked();
  const picked = scene.picked, number = scene.header?.number;
  if (!picked || number === undefined) return;
  try {
    const { id } = await facts.askJson({ ask: "id", [scene.isNewest ? "moment" : "number"]: number, most, point: picked.point });
    if (scene.picked?.point === picked.point && id !== "0") pickedId = String(id);
    drawPicked();
  } catch (error) { say(String((error as Error).message)); }
}

/// Perspective, and flat views of each pair of axes; of a plasma x–vx first.
function offerViews(axes: string[]): void {
  const select = $<HTMLSelectElement>("view");
  if (select.dataset.axes === axes.join()) return;
  select.dataset.axes = axes.join();
  const pairs = axes[2] === "z" ? ["0,1", "0,2", "1,2"] : ["0,2", "0,1", "1,2"];
  $("slice").replaceChildren(new Option("none", ""), ...axes.map((axis, k) => new Option(pretty(axis), String(k))));
  select.replaceChildren(new Option("3-D", ""), ...pairs.map((pair) => new Option(pretty(pair.split(",").map((k) => axes[Number(k)]).join("–")), pair)));
}

function colourBar(colour: (f: number) => [number, number, number]): HTMLCanvasElement {
  const bar = document.createElement("canvas");
  bar.width = 130; bar.height = 10;
  const pen = bar.getContext("2d")!;
  for (let k = 0; k < 130; k++) { pen.fillStyle = `rgb(${colour(k / 129).map((c) => Math.round(255 * c)).join()})`; pen.fillRect(k, 0, 1, 10); }
  return bar;
}

function drawLegend(): void {
  const header = scene.header, legend = $("legend");
  legend.textContent = "";
  if (!header) return;
  if (scene.showsDensity) {
    legend.append("0", colourBar((f) => mapColour(f)), `${number(picture!.density.header.most)} particles per pixel`);
    return;
  }
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
  const bar = colourBar((f) => mapColour(scene.colouring === "speed" ? 0.15 + 0.85 * f : f));
  const [low, high] = scene.colouring === "speed" ? header.speed.map((v) => number(v)) : ["low", "high"];
  const ofPlasma = header.axes[2] === "vx";
  legend.append(low, bar, `${high} ${scene.colouring === "speed" && ofPlasma ? named("|vx|", header.units[2]) : scene.colouring === "order" ? "id" : scene.colouring}`);
}

let lastKinds: number[] = [];
function take(got: Points): number {
  const { header } = got;
  const kinds = new Set<number>();
  for (let i = 0; i < header.count; i++) kinds.add(got.words[4 * i + 3] & 15);
  lastKinds = [...kinds];
  offerViews(header.axes);
  scene.show(got);
  drawPicked();
  maps.show(header.maps ?? []);
  shownNumber = header.number;
  lastPoints = performance.now();
  if (scene.showsDensity) return header.number;  // they wait for the camera to move
  frames++;
  $("time").textContent = pretty(header.time_text);
  $("count").textContent = `${header.count.toLocaleString("en")} of ${header.total.toLocaleString("en")} particles`;
  document.body.dataset.frames = String(frames);
  document.body.dataset.time = String(header.time);
  drawLegend(); drawScale();
  if (header.curves) drawCurves();
  return header.number;
}

/// A picture of all particles in place of points that stand for them.
function takeDensity(density: Density, sight: string): void {
  picture = { density, sight, number: density.header.number };
  scene.showDensity(density, sight);
  frames++;
  $("time").textContent = pretty(density.header.time_text);
  $("count").textContent = `density of all ${density.header.total.toLocaleString("en")} particles`;
  document.body.dataset.frames = String(frames);
  document.body.dataset.time = String(density.header.time);
  document.body.dataset.pictures = String(Number(document.body.dataset.pictures ?? 0) + 1);
  drawLegend();
}
/// Of a plasma that goes on points come five times a second and pictures three times as slowly: its pictures wait for a pause.
const drawsDensity = (): boolean => {
  const wish = $<HTMLSelectElement>("draw").value, header = scene.header;
  if (fromRing || scene.slice || !header || header.count === 0) return false;
  return wish === "density" || (wish === "auto" && header.total > mostPoints && (header.axes[2] === "z" || !state?.live || state.paused === true));
};

/// Where the camera rests, for which a picture is worth making.
let sightSeen = "", restingSince = 0;
function restingSight(): ReturnType<Scene["sight"]> | null {
  const sight = scene.sight(), name = `${sight.camera} ${sight.width} ${sight.height}`;
  if (name !== sightSeen) { sightSeen = name; restingSince = performance.now(); }
  return performance.now() - restingSince >= 100 ? sight : null;
}

/// Points of the newest moment after the one that the page has; they may be waited for.
async function askPoints(after: number, wait: number): Promise<void> {
  const answer = await points.ask({ ask: "newest", after, most, wait });
  if (!(answer instanceof ArrayBuffer)) return;
  const got = decode(answer, true);
  ring.add(got, answer.byteLength);
  drawRing();
  if (following) serial = Math.max(serial, take(got) + 1);
}

/// A picture of the newest moment, and once a second points, which are shown while the camera moves: what there is not yet the run makes as it goes on.
async function askLive(): Promise<void> {
  if (picture && !drawsDensity()) { scene.dropDensity(); picture = null; }
  const sight = drawsDensity() ? restingSight() : null;
  if (!sight) return askPoints(serial, drawsDensity() ? 0 : 2000);
  if (!state!.paused) { sight.width = Math.ceil(sight.width / 2); sight.height = Math.ceil(sight.height / 2); }  // a quarter of the run's work
  const answer = await points.ask({ ask: "density", after: picture?.sight === sight.camera ? picture.number + 1 : 0, wait: 200, ...sight });
  if (answer instanceof ArrayBuffer && following) takeDensity(decodeDensity(answer), sight.camera);
  if (performance.now() - lastPoints > 1000) await askPoints(serial, 0);
}

/// Of files a picture is made once for a snapshot and a camera.
async function askDensityOfFile(): Promise<boolean> {
  const sight = drawsDensity() && shownNumber >= 0 ? restingSight() : null;
  if (!sight || (picture && picture.sight === sight.camera && picture.number === shownNumber)) return false;
  const answer = await points.ask({ ask: "density", number: shownNumber, ...sight });
  if (answer instanceof ArrayBuffer) takeDensity(decodeDensity(answer), sight.camera); else say(JSON.parse(answer).message ?? "");
  return true;
}

function drawRing(): void {
  $("ring").hidden = !(state?.live && ring.size > 1);
  const back = $<HTMLInputElement>("back");
  back.max = String(Math.max(ring.size - 1, 0));
  if (!fromRing) back.value = back.max;
}
function goBack(place: number): void {
  const frame = ring.at(Math.min(Math.max(place, 0), ring.size - 1));
  if (!frame) return;
  following = false; fromRing = true; wanted = -1;
  scene.dropDensity(); picture = null;
  $<HTMLInputElement>("back").value = String(place);
  take(frame);
  drawWhere();
}

/// A run that goes on says with its state what its last points were, a snapshot has its own.
function drawCurves(): void {
  if (state) curves.show(state, [...(state.live && following ? (state.curves ?? []) : (scene.header?.curves ?? [])), ...pace.curves()], scene.header);
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
  if (!scene.header) $("time").textContent = now.status === "starting" ? "waiting for the first step" : now.snapshots.length ? "" : "waiting for particles";
  $("facts").innerText = lines.join("\n");
  if (now.said && now.said !== lastSaid) say((lastSaid = now.said));
  pace.take(now);
  drawCurves();
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
  if (fromRing) { $("where").textContent = "live frame before"; return; }
  $("where").textContent = following ? (state?.live ? "live" : "newest") : snapshots.length ? `snapshot ${snapshots[at]}` : "";
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

/// Asks for the next points when the last are drawn: what the page cannot keep up with is never sent.
async function pointsLoop(): Promise<void> {
  while (true) {
    try {
      if (!state) await sleep(10);
      else if (following && state.live) await askLive();
      else if (following) {
        if (!(await askDensityOfFile())) {
          const answer = await points.ask({ ask: "newest", after: serial, most });
          if (answer instanceof ArrayBuffer) serial = take(decode(answer, true)) + 1;
        }
      } else if (wanted >= 0) {
        const asked = wanted;
        wanted = -1;
        const answer = await points.ask({ ask: "snapshot", number: asked, most });
        if (answer instanceof ArrayBuffer) take(decode(answer, false)); else say(JSON.parse(answer).message ?? "");
      } else if (fromRing || !(await askDensityOfFile())) await sleep(30);
      if (playing && wanted < 0) step(1);
    } catch (error) {
      say(String((error as Error).message));
      await sleep(1000);
    }
    drawWhere();
    await Promise.race([new Promise(requestAnimationFrame), sleep(1000)]);  // a hidden tab draws no frames, and yet sees the end
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
  following = false; fromRing = false;
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
$("follow").onclick = () => { play(false); following = true; fromRing = false; serial = 0; picture = null; };
$("back").oninput = () => { play(false); goBack(Number($<HTMLInputElement>("back").value)); };
$("draw").onchange = () => { scene.dropDensity(); picture = null; serial = 0; if (scene.header) $("count").textContent = ""; scene.recolour(); drawLegend(); };
$("colour").onchange = () => { scene.colouring = $<HTMLSelectElement>("colour").value as Colouring; scene.recolour(); drawLegend(); };
$("view").onchange = () => { const pair = $<HTMLSelectElement>("view").value; scene.look(pair ? (pair.split(",").map(Number) as [number, number]) : null); };
scene.onturn = () => { $<HTMLSelectElement>("view").value = ""; };
$("slice").onchange = $("slice-at").oninput = () => {
  const axis = $<HTMLSelectElement>("slice").value, at = Number($<HTMLInputElement>("slice-at").value);
  $("slice-at").hidden = !axis;
  scene.slice = axis ? { axis: Number(axis), at } : null;
  if (axis) scene.dropDensity();
  scene.draw();
};
scene.onpick = () => void pick();
$("size").oninput = () => { scene.size = Number($<HTMLInputElement>("size").value); scene.draw(); };
$("trails").onchange = () => { scene.trails = $<HTMLInputElement>("trails").checked; scene.recolour(); };
addEventListener("keydown", (e) => {
  if (e.key === " " && e.target === document.body) play(!playing);
  if ((e.key === "[" || e.key === "]") && !(e.target instanceof HTMLInputElement)) goBack(Number($<HTMLInputElement>("back").value) + (e.key === "[" ? -1 : 1));
});
const act = async (action: string, argument = "") => {
  try { say(String((await facts.askJson({ do: action, argument })).message)); } catch (error) { say(String((error as Error).message)); }
};
for (const button of document.querySelectorAll<HTMLButtonElement>("[data-do]")) button.onclick = () => void act(button.dataset.do!);
$("fork").onclick = () => void act("fork", $<HTMLInputElement>("fork-keys").value);
scene.onmove = drawScale;

void stateLoop();
void pointsLoop();
