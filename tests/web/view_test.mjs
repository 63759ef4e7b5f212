// The page of `pergola view` in a headless Chromium: node view_test.mjs PERGOLA CHROMIUM. Exit code 77: skipped.
import assert from "node:assert";
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, browser] = process.argv.slice(2);
const require = createRequire(process.env.PERGOLA_NODE_MODULES + "/");
const { chromium } = require("playwright-core");

const folder = mkdtempSync(join(tmpdir(), "pergola-web-"));
const config = `
[run]
end_time = 0.5
[particles]
model = "plummer"
n = 2000
seed = 3
[gravity]
solver = "tree"
softening = 0.05
[time]
integrator = "leapfrog"
step = 0.03125
[output]
snapshots_every = 0.125
energy_every = 0.0625
`;

const plasma = `
[run]
end_time = 0.5
[plasma]
background = true
cells = [32, 16]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 16
temperature = 1
[time]
step = 0.1
[output]
snapshots_every = 0.5
`;

function start(...args) {
  const child = spawn(program, ["--json", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let text = "", errors = "";
    child.stderr.on("data", (piece) => { errors += piece; });
    child.stdout.on("data", (piece) => {
      text += piece;
      try { resolve([child, JSON.parse(text).url]); } catch { /* not all of it yet */ }
    });
    child.on("exit", () => reject(new Error(`ended: ${errors}`)));
  });
}

/// `pergola run`, which says on stderr where its page is.
function startRun(...args) {
  const child = spawn(program, ["--quiet", "run", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (piece) => {
      said += piece;
      const found = said.match(/(http:\S+)\n/);
      if (found) resolve([child, found[1]]);
    });
    child.on("exit", () => reject(new Error(`ended: ${said}`)));
  });
}

/// A run writes into its folder until it has ended.
async function stop(run) {
  if (!run || run.exitCode !== null) return;
  const over = new Promise((done) => run.once("exit", done));
  run.kill("SIGKILL");
  await over;
}

/// Bright pixels of the canvas, and a number that changes with any of them.
const look = (page) => page.evaluate(() => {
  const canvas = document.getElementById("scene"), copy = document.createElement("canvas");
  copy.width = canvas.width; copy.height = canvas.height;
  const pen = copy.getContext("2d");
  pen.drawImage(canvas, 0, 0);
  const data = pen.getImageData(0, 0, copy.width, copy.height).data;
  let bright = 0, mark = 0;
  for (let k = 0; k < data.length; k += 4) {
    if (data[k] + data[k + 1] + data[k + 2] > 90) bright++;
    mark = (mark * 31 + data[k] + 7 * data[k + 1] + 13 * data[k + 2]) | 0;
  }
  return { bright, mark };
});

/// A source of the page by itself.
async function source(name) {
  const { outputFiles } = await require("esbuild").build({ entryPoints: [join(process.env.PERGOLA_NODE_MODULES, "../src", name)], bundle: true, write: false, format: "esm" });
  return import("data:text/javascript," + encodeURIComponent(outputFiles[0].text));
}

/// Names, units and ticks: worked out by hand.
async function checkWords() {
  const { pretty, named, roundNumbers, roundPowers } = await source("words.ts");
  assert.equal(pretty("t = 30 1/omega_p"), "t = 30 ωₚ⁻¹");
  assert.equal(named("vx", "cell/(1/omega_p)"), "vₓ [cell ωₚ]");
  assert.equal(named("x", "kpc"), "x [kpc]");
  assert.equal(named("y"), "y");
  assert.deepEqual(roundNumbers(-1.3, 2.1, 4), [-1, 0, 1, 2]);
  assert.deepEqual(roundNumbers(0, 0.5, 5), [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(roundNumbers(3, 3, 5), []);
  assert.deepEqual(roundPowers(2e-9, 3e-5, 4), [1e-8, 1e-7, 1e-6, 1e-5]);
  assert.deepEqual(roundPowers(1e-9, 1, 4), [1e-9, 1e-6, 1e-3, 1]);
  assert.deepEqual(roundPowers(0.3, 0.9, 4), [0.5]);
}

/// A chart says the unit of its times only where the times that people read are in the unit of the logs.
async function checkTimeUnits() {
  const { curvesOf } = await source("curves.ts");
  const along = (time, time_text, axes) => curvesOf({ snapshots: [], energy: { time: [0, 1], relative_error: [0, 1e-3] } }, [], { time, time_text, axes, units: ["kpc", "kpc", "kpc"] })[0].along;
  assert.equal(along(5, "t = 4.88896 Gyr", ["x", "y", "z"]), "t");
  assert.equal(along(5, "t = 5 Gyr", ["x", "y", "z"]), "t [Gyr]");
  assert.equal(along(0, "t = 0 Gyr", ["x", "y", "z"]), "t");
  assert.equal(along(0, "t = 0 1/omega_p", ["x", "y", "vx"]), "t [ωₚ⁻¹]");
}

const box = (page, id) => page.evaluate((of) => { const { left, right, top, bottom } = document.getElementById(of).getBoundingClientRect(); return { left, right, top, bottom }; }, id);

let chrome, server, live;
try {
  await checkWords();
  await checkTimeUnits();
  writeFileSync(join(folder, "run.toml"), config);
  execFileSync(program, ["--quiet", "run", join(folder, "run.toml"), "-o", join(folder, "cluster")]);
  chrome = await chromium.launch({
    executablePath: browser, headless: true,
    args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"],
  });
  const page = await chrome.newPage({ viewport: { width: 1000, height: 640 } });
  page.setDefaultTimeout(120000);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  let url;
  [server, url] = await start("view", join(folder, "cluster"));
  await page.goto(url);
  await page.waitForFunction(() => Number(document.body.dataset.frames) >= 1 && document.body.dataset.ready === "yes");
  const last = await look(page);
  assert(last.bright > 300, `the canvas shows ${last.bright} bright pixels`);
  assert.equal(await page.evaluate(() => document.body.dataset.time), "0.5");

  await page.fill("#scrub", "0");
  await page.waitForFunction(() => document.body.dataset.time === "0");
  const first = await look(page);
  assert(first.bright > 300);
  assert.notEqual(first.mark, last.mark, "scrubbing changes the picture");
  if (process.env.PERGOLA_SCREENSHOT) { await page.waitForTimeout(800); await page.screenshot({ path: process.env.PERGOLA_SCREENSHOT }); }

  await page.focus("#scene");
  await page.keyboard.press("ArrowLeft");
  assert.notEqual((await look(page)).mark, first.mark, "keys turn it");
  await page.selectOption("#colour", "kind");
  assert.match(await page.textContent("#legend"), /halo/);
  assert.match(await page.textContent("#checks"), /energy_error/);
  assert((await page.$$("#curves .uplot")).length >= 2);

  // The report card is above the fold, particles do not shine through the panel, and a box with its axes stands around them.
  await page.setViewportSize({ width: 1400, height: 900 });
  assert((await box(page, "checks")).bottom < 450);
  assert((await box(page, "scene")).right <= (await box(page, "panel")).left);
  const axesDrawn = () => page.evaluate(() => {
    const axes = document.getElementById("axes"), data = axes.getContext("2d").getImageData(0, 0, axes.width, axes.height).data;
    return data.reduce((mark, value, k) => (mark * 31 + value * (k % 101)) | 0, 0);
  });
  const inSpace = await axesDrawn();
  await page.selectOption("#view", { label: "x–z" });
  const flat = await axesDrawn();
  assert(inSpace !== 0 && flat !== 0 && inSpace !== flat, "each view has its axes");
  await page.focus("#scene");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.inputValue("#view"), "", "a flat view that is turned is none");
  // A slice has fewer points; a click picks one of them.
  const whole = await look(page);
  await page.selectOption("#slice", { label: "x" });
  const sliced = await look(page);
  assert(sliced.bright > 0 && sliced.bright < 0.7 * whole.bright, `${sliced.bright} of ${whole.bright} pixels`);
  await page.selectOption("#slice", "");
  assert.equal((await look(page)).mark, whole.mark);
  const { left, right, top, bottom } = await box(page, "scene");
  await page.mouse.click((left + right) / 2, (top + bottom) / 2);
  await page.waitForFunction(() => /^id \d+ \(halo\):.*x .*, y .*, z .*, speed/s.test(document.getElementById("picked").textContent), null, { timeout: 5000 });
  assert.notEqual(await axesDrawn(), inSpace, "it has a ring");
  await page.mouse.click(left + 3, bottom - 3);
  assert.equal(await page.textContent("#picked"), "");
  // On a phone the panel stands below.
  await page.setViewportSize({ width: 390, height: 844 });
  assert((await box(page, "panel")).top >= (await box(page, "scene")).bottom);
  assert((await box(page, "panel")).right <= 390);
  await page.setViewportSize({ width: 1000, height: 640 });

  // All particles as a picture that the program draws; it is drawn anew when the camera has moved.
  const pictures = () => page.evaluate(() => Number(document.body.dataset.pictures ?? 0));
  const morePictures = (before) => page.waitForFunction((n) => Number(document.body.dataset.pictures) > n, before);
  await page.selectOption("#draw", "density");
  await morePictures(0);
  const drawn = await look(page);
  assert(drawn.bright > 300, `the picture has ${drawn.bright} bright pixels`);
  assert.match(await page.textContent("#legend"), /particles per pixel/);
  assert.match(await page.textContent("#count"), /all 2,000 particles/);
  let before = await pictures();
  await page.focus("#scene");
  await page.keyboard.press("ArrowUp");
  await morePictures(before);
  assert.notEqual((await look(page)).mark, drawn.mark, "the picture has the page's camera");

  // A run as it goes on, which the page pauses.
  [live, url] = await startRun(join(folder, "run.toml"), "-o", join(folder, "live"), "--control", "--set", "run.end_time=100000", "--set", "output.snapshots_every=0");
  await page.goto(url);
  await page.waitForFunction(() => Number(document.body.dataset.frames) >= 2 && document.body.dataset.status === "running");
  assert((await look(page)).bright > 300);
  await page.waitForFunction(() => [...document.querySelectorAll("#curves .u-title")].some((title) => title.textContent === "particles by step"));
  await page.waitForFunction(() => ["particle steps/s", "seconds left"].every((name) => [...document.querySelectorAll("#curves .u-title")].some((title) => title.textContent === name)));
  await page.click("[data-do=pause]");
  await page.waitForFunction(() => document.body.dataset.status === "paused");
  const stood = await page.textContent("#facts");
  await page.waitForTimeout(1500);  // three states
  assert.equal(await page.textContent("#facts"), stood, "pause stops time");
  await page.selectOption("#draw", "density");  // of the moment at which it is held
  await page.waitForFunction(() => Number(document.body.dataset.pictures) >= 1);
  assert((await look(page)).bright > 300);
  assert.equal(await page.textContent("#facts"), stood, "a picture does not let it go on");
  // Back through the frames that the page has seen, and forth to the newest.
  const now = await page.evaluate(() => Number(document.body.dataset.time));
  await page.fill("#back", "0");
  assert.match(await page.textContent("#where"), /before/);
  assert(await page.evaluate(() => Number(document.body.dataset.time)) < now, "the oldest frame is earlier");
  await page.click("#follow");
  await page.waitForFunction((time) => Number(document.body.dataset.time) >= time, now);
  await page.click("[data-do=go]");
  await page.waitForFunction((before) => document.body.dataset.status === "running" && document.getElementById("facts").textContent !== before, stood);
  // A hidden tab gets no animation frames, and yet follows.
  const hidden = await chrome.newPage();
  await hidden.addInitScript(() => { window.requestAnimationFrame = () => 0; });
  await hidden.goto(url);
  await hidden.waitForFunction(() => Number(document.body.dataset.frames) >= 3, null, { polling: 100 });
  await hidden.close();

  // A plasma: phase space, and the fields beside it.
  writeFileSync(join(folder, "plasma.toml"), plasma);
  execFileSync(program, ["--quiet", "run", join(folder, "plasma.toml"), "-o", join(folder, "plasma")]);
  server.kill();
  [server, url] = await start("view", join(folder, "plasma"));
  await page.goto(url);
  await page.waitForFunction(() => Number(document.body.dataset.frames) >= 1 && document.querySelectorAll("#maps canvas").length === 2);
  assert.match(await page.textContent("#maps"), /charge density over x and y.*e n₀.*\|E\|/);
  const colours = await page.evaluate(() => {
    const map = document.querySelector("#maps canvas"), data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
    return new Set(Array.from({ length: data.length / 4 }, (_, k) => data.slice(4 * k, 4 * k + 3).join())).size;
  });
  assert(colours > 20, `the map has ${colours} colours`);
  await page.waitForFunction(() => [...document.querySelectorAll("#curves .u-title")].some((title) => title.textContent === "Eₓ by kₓ"));
  assert.deepEqual(await page.evaluate(() => [...document.getElementById("view").options].map((option) => option.text)), ["3-D", "x–vₓ", "x–y", "y–vₓ"]);

  // One that goes on is drawn as points, and as a picture of all particles while it is paused.
  writeFileSync(join(folder, "plasma.toml"), plasma.replace("end_time = 0.5", "end_time = 1e6").replace("[32, 16]", "[64, 64]").replace("= 16\n", "= 64\n"));
  await stop(live);
  [live, url] = await startRun(join(folder, "plasma.toml"), "-o", join(folder, "live-plasma"), "--control", "--set", "output.snapshots_every=0");
  await page.goto(url);
  await page.waitForFunction(() => Number(document.body.dataset.frames) >= 3 && document.getElementById("count").textContent === "100,000 of 262,144 particles");
  assert.equal(await pictures(), 0);
  await page.click("[data-do=pause]");
  await morePictures(0);
  assert.match(await page.textContent("#count"), /all 262,144 particles/);
  await page.click("[data-do=go]");
  await page.waitForFunction(() => document.getElementById("count").textContent === "100,000 of 262,144 particles");

  const wrong = await page.goto(url.replace(/token=.{4}/, "token=0000"));
  assert.equal(wrong.status(), 401);
  assert.deepEqual(complaints, []);
  console.log("1 passed, 0 failed");
} finally {
  server?.kill();
  await stop(live);
  await chrome?.close();
  rmSync(folder, { recursive: true, force: true });
}
