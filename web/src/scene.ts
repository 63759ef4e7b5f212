// Points in WebGL2, turned and zoomed by mouse, touch and keys.
import type { Density, Header, Points } from "./wire";

export type Colouring = "speed" | "kind" | "density" | "order";
export const kindColours = ["#5adc8c", "#a58bff", "#6eb4ff", "#ffaa50", "#bed2ff", "#969696", "#ff6e9c", "#ffe066"];
const map = [[12, 7, 60], [80, 18, 120], [160, 40, 110], [225, 80, 70], [250, 150, 40], [252, 255, 190]];

export function mapColour(f: number): [number, number, number] {
  const place = Math.min(Math.max(f, 0), 1) * (map.length - 1), k = Math.min(Math.floor(place), map.length - 2), rest = place - k;
  return [0, 1, 2].map((c) => (map[k][c] * (1 - rest) + map[k + 1][c] * rest) / 255) as [number, number, number];
}
const colourMap = Array.from({ length: 256 }, (_, k) => mapColour(k / 255));  // for many points
const rgb = (hex: string): [number, number, number] => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255) as [number, number, number];

const vertexShader = `#version 300 es
in vec3 place; in vec3 colour; uniform mat4 camera; uniform float size; uniform float glow; uniform vec4 slice; out vec3 shade;
void main() { gl_Position = abs(dot(place, slice.xyz) - slice.w) > 0.05 ? vec4(2.0, 2.0, 2.0, 1.0) : camera * vec4(place, 1.0); gl_PointSize = clamp(size / gl_Position.w, 1.0, 64.0); shade = colour * glow; }`;
const fragmentShader = `#version 300 es
precision mediump float; in vec3 shade; out vec4 result;
void main() { vec2 d = gl_PointCoord * 2.0 - 1.0; float r = dot(d, d); if (r > 1.0) discard; result = vec4(shade * (1.0 - 0.7 * r), 1.0); }`;

// The picture of the density covers the canvas; a row of 256 colours is its map.
const pictureVertices = `#version 300 es
out vec2 at;
void main() { vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1); at = vec2(corner.x, 1.0 - corner.y); gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0); }`;
const pictureFragments = `#version 300 es
precision mediump float; in vec2 at; uniform sampler2D levels; uniform sampler2D colours; out vec4 result;
void main() { float level = texture(levels, at).r; result = vec4(texture(colours, vec2(0.998 * level + 0.001, 0.5)).rgb * min(1.0, 12.0 * level), 1.0); }`;

interface Cloud { buffer: WebGLBuffer; colours: WebGLBuffer; array: WebGLVertexArrayObject; count: number; }

export class Scene {
  private gl: WebGL2RenderingContext;
  private program: WebGLProgram;
  private pictureProgram: WebGLProgram;
  private picture: { texture: WebGLTexture; colours: WebGLTexture; key: string } | null = null;
  private pickedPoint = -1;              // its place among the points; -1: none
  onpick: () => void = () => undefined;
  private clouds: Cloud[] = [];          // the newest last; those before it are trails
  private shown: Points | null = null;
  private centre = [0, 0, 0];
  private scale = [1, 1, 1];             // of each axis: what makes its longest side 1
  private distance = 2.6; private azimuth = 0.6; private height = 0.5; private pan = [0, 0];
  /// The axes to the right and up of a flat view; null: a perspective.
  private flat: [number, number] | null = null;
  private framed = "";
  colouring: Colouring = "speed"; size = 2; trails = false;
  /// Only points in a tenth of the box across an axis are drawn, about a place of the frame; null: all.
  slice: { axis: number; at: number } | null = null;
  onmove: () => void = () => undefined;
  onturn: () => void = () => undefined;  // a flat view has become a perspective

  constructor(private canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser has no WebGL2");
    this.gl = gl;
    this.program = this.link(vertexShader, fragmentShader);
    this.pictureProgram = this.link(pictureVertices, pictureFragments);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  private link(vertices: string, fragments: string): WebGLProgram {
    const gl = this.gl, program = gl.createProgram()!;
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertices], [gl.FRAGMENT_SHADER, fragments]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  /// The camera as a run draws for it: right, up and depth of a place, each as factors of x, y, z and 1, and the distance.
  sight(): { camera: string; width: number; height: number } {
    const m = this.camera(), shrink = Math.min(1, 1024 / Math.max(this.canvas.clientWidth, this.canvas.clientHeight, 1));
    const row = (r: number) => {
      const inner = [0, 1, 2].map((c) => m[4 * c + r] * this.scale[c]);
      return [...inner, m[12 + r] - inner.reduce((sum, f, c) => sum + f * this.centre[c], 0)];
    };
    const numbers = [...row(0), ...row(1), ...row(3), this.distance];
    const pixels = (length: number) => Math.max(1, Math.round(length * shrink));
    return { camera: numbers.map((v) => v.toPrecision(12)).join(" "), width: pixels(this.canvas.clientWidth), height: pixels(this.canvas.clientHeight) };
  }

  /// A picture is shown for as long as the camera for which it was made stays; points are shown meanwhile.
  showDensity(density: Density, key: string): void {
    const gl = this.gl, { width, height } = density.header;
    this.dropDensity();
    const make = (format: number, from: number, w: number, h: number, data: Uint8Array, filter: number) => {
      const texture = gl.createTexture()!;
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
      gl.texImage2D(gl.TEXTURE_2D, 0, format, w, h, 0, from, gl.UNSIGNED_BYTE, data);
      for (const which of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, which, filter);
      for (const which of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, which, gl.CLAMP_TO_EDGE);
      return texture;
    };
    const row = Uint8Array.from({ length: 1024 }, (_, k) => (k % 4 === 3 ? 255 : Math.round(255 * mapColour((k >> 2) / 255)[k % 4])));
    this.picture = { texture: make(gl.R8, gl.RED, width, height, density.pixels, gl.LINEAR), colours: make(gl.RGBA8, gl.RGBA, 256, 1, row, gl.LINEAR), key };
    this.draw();
  }
  dropDensity(): void {
    if (!this.picture) return;
    this.gl.deleteTexture(this.picture.texture); this.gl.deleteTexture(this.picture.colours);
    this.picture = null;
  }
  /// Whether the picture is what is drawn now.
  get showsDensity(): boolean { return this.picture !== null && this.picture.key === this.sight().camera; }

  private drawPicture(): void {
    const gl = this.gl;
    gl.disable(gl.BLEND);
    gl.useProgram(this.pictureProgram);
    [this.picture!.texture, this.picture!.colours].forEach((texture, k) => {
      gl.activeTexture(gl.TEXTURE0 + k); gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform1i(gl.getUniformLocation(this.pictureProgram, k ? "colours" : "levels"), k);
    });
    gl.activeTexture(gl.TEXTURE0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  get header(): Header | null { return this.shown ? this.shown.header : null; }

  show(points: Points): void {
    // Trails begin anew after a jump.
    const before = this.shown?.header, now = points.header;
    if (before && !(now.time >= before.time && now.number - before.number <= 4)) while (this.clouds.length) this.remove(this.clouds.pop()!);
    this.shown = points;
    this.frame(points.header);
    while (this.clouds.length > (this.trails ? 24 : 0)) this.remove(this.clouds.shift()!);
    this.clouds.push(this.upload(points));
    this.draw();
  }

  recolour(): void {
    const points = this.shown;
    while (this.clouds.length) this.remove(this.clouds.pop()!);
    if (points) this.show(points);
  }

  /// Set once per run: a series keeps its frame. Axes of other kinds (x, y, vx) are each drawn to their own length.
  private frame(header: Header): void {
    const name = header.axes.join() + header.total;
    if (name === this.framed || header.count === 0) return;
    this.framed = name;
    this.look(this.flat);
    const same = header.axes.join() === "x,y,z", longest = Math.max(...header.side, 1e-300);
    if (header.box_side > 0 && same) {
      this.centre = [0, 1, 2].map(() => header.box_side / 2);
      this.scale = [0, 1, 2].map(() => 1 / header.box_side);
      return;
    }
    const [middle, extent] = this.core(this.shown!);
    this.centre = same ? middle : header.corner.map((c, k) => c + header.side[k] / 2);
    this.scale = same ? [0, 1, 2].map(() => 1 / (extent || longest)) : header.side.map((side) => 1 / (side || 1));
  }

  /// The median place, and a cube that holds nine tenths of the points: a few that escape do not set the frame.
  private core(points: Points): [number[], number] {
    const { header, words } = points, middle = [0, 0, 0];
    let extent = 0;
    for (let k = 0; k < 3; k++) {
      const sorted = Float64Array.from({ length: header.count }, (_, i) => words[4 * i + k]).sort();
      const at = (f: number) => header.corner[k] + (sorted[Math.floor(f * (header.count - 1))] / 65535) * header.side[k];
      middle[k] = at(0.5);
      extent = Math.max(extent, at(0.95) - at(0.05));
    }
    return [middle, 1.6 * extent];
  }

  private places(points: Points): Float32Array {
    const { header, words } = points, places = new Float32Array(3 * header.count);
    for (let i = 0; i < header.count; i++)
      for (let k = 0; k < 3; k++)
        places[3 * i + k] = (header.corner[k] + (words[4 * i + k] / 65535) * header.side[k] - this.centre[k]) * this.scale[k];
    return places;
  }

  private colours(points: Points, places: Float32Array): Float32Array {
    const { header, words } = points, colours = new Float32Array(3 * header.count), kinds = kindColours.map(rgb);
    const density = this.colouring === "density" ? this.densities(places, header.count) : null;
    for (let i = 0; i < header.count; i++) {
      const word = words[4 * i + 3];
      const colour = this.colouring === "kind" ? kinds[(word & 15) % kinds.length]
        : colourMap[Math.round(255 * (density ? density[i] : this.colouring === "order" ? i / Math.max(header.count - 1, 1) : 0.15 + 0.85 * (word >> 4) / 4095))];
      for (let k = 0; k < 3; k++) colours[3 * i + k] = colour[k];
    }
    return colours;
  }

  /// Points in the same cell of 48 cubed, as the fraction of the logarithm of the most.
  private densities(places: Float32Array, count: number): Float32Array {
    const cells = 48, number = new Uint32Array(cells ** 3), cell = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      let at = 0;
      for (let k = 0; k < 3; k++) at = at * cells + Math.min(Math.max(Math.floor((places[3 * i + k] + 0.5) * cells), 0), cells - 1);
      cell[i] = at;
      number[at]++;
    }
    const most = Math.log(1 + number.reduce((a, b) => Math.max(a, b), 1));
    return Float32Array.from(cell, (at) => Math.log(1 + number[at]) / most);
  }

  private upload(points: Points): Cloud {
    const gl = this.gl, places = this.places(points), array = gl.createVertexArray()!;
    const fill = (data: Float32Array, name: string): WebGLBuffer => {
      const buffer = gl.createBuffer()!, at = gl.getAttribLocation(this.program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
      return buffer;
    };
    gl.bindVertexArray(array);
    const buffer = fill(places, "place"), colours = fill(this.colours(points, places), "colour");
    gl.bindVertexArray(null);
    return { buffer, colours, array, count: points.header.count };
  }

  private remove(cloud: Cloud): void {
    this.gl.deleteBuffer(cloud.buffer); this.gl.deleteBuffer(cloud.colours); this.gl.deleteVertexArray(cloud.array);
  }

  /// A flat view of two axes, or a perspective.
  look(flat: [number, number] | null): void {
    this.flat = flat; this.pan = [0, 0];
    this.distance = (flat ? 1.5 : 2.6) / (flat && this.mixed ? 1 : Math.min(1, this.canvas.clientWidth / Math.max(this.canvas.clientHeight, 1)));
    this.draw();
  }
  /// Whether the axes are of different kinds (x, y, vx): then each has its own scale.
  private get mixed(): boolean { return this.shown !== null && this.shown.header.axes.join() !== "x,y,z"; }
  /// Where a place of the frame is seen, in pixels of the page; the frame is a cube of side 1 about the origin. Null: behind the camera.
  project(place: number[], m = this.camera()): [number, number] | null {
    const row = (r: number) => m[r] * place[0] + m[4 + r] * place[1] + m[8 + r] * place[2] + m[12 + r], w = row(3);
    return w > 0.05 * this.distance ? [(0.5 + (0.5 * row(0)) / w) * this.canvas.clientWidth, (0.5 - (0.5 * row(1)) / w) * this.canvas.clientHeight] : null;
  }
  /// The value on an axis at a place of the frame.
  valueAt(axis: number, place: number): number { return this.centre[axis] + place / this.scale[axis]; }

  /// Length on the canvas, in pixels, of a unit of the first axis at the centre.
  pixelsPerUnit(): number { return (this.scale[0] * this.canvas.clientHeight) / (2 * Math.tan(0.4) * this.distance); }

  private camera(): Float32Array {
    const aspect = this.canvas.width / Math.max(this.canvas.height, 1), f = 1 / Math.tan(0.4), near = 0.01 * this.distance, far = 100 * this.distance + 100;
    const [ca, sa, ch, sh] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.height), Math.sin(this.height)];
    const along = (axis: number) => [0, 1, 2].map((k) => (k === axis ? 1 : 0)), flat = this.flat;
    const right = flat ? along(flat[0]) : [-sa, ca, 0], up = flat ? along(flat[1]) : [-ca * sh, -sa * sh, ch], back = flat ? [0, 0, 0] : [ca * ch, sa * ch, sh];
    const row = (v: number[], shift: number, gain: number) => [gain * v[0], gain * v[1], gain * v[2], gain * shift];
    const x = row(right, this.pan[0], flat && this.mixed ? f : f / aspect), y = row(up, this.pan[1], f), depth = [-back[0], -back[1], -back[2], this.distance];
    const z = flat ? [0, 0, 0, 0] : depth.map((d, k) => ((far + near) / (far - near)) * d - (k === 3 ? (2 * far * near) / (far - near) : 0));
    const rows = [x, y, z, depth], columns = new Float32Array(16);
    for (let r = 0; r < 4; r++) for (let c = 0; c < 4; c++) columns[4 * c + r] = rows[r][c];
    return columns;
  }

  draw(): void {
    const gl = this.gl, ratio = devicePixelRatio || 1, [width, height] = [this.canvas.clientWidth * ratio, this.canvas.clientHeight * ratio].map(Math.round);
    if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0.02, 0.024, 0.04, 1); gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.showsDensity) { this.drawPicture(); return this.onmove(); }
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE);
    gl.useProgram(this.program);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.program, "camera"), false, this.camera());
    const normal = [0, 1, 2].map((k) => (this.slice?.axis === k ? 1 : 0));
    gl.uniform4f(gl.getUniformLocation(this.program, "slice"), normal[0], normal[1], normal[2], this.slice?.at ?? 0);
    const few = (this.shown?.header.count ?? 0) < 5000 ? 2 : 1;
    gl.uniform1f(gl.getUniformLocation(this.program, "size"), this.size * ratio * 2.2 * few);
    this.clouds.forEach((cloud, k) => {
      const last = k === this.clouds.length - 1;
      gl.uniform1f(gl.getUniformLocation(this.program, "glow"), (last ? 1 : (0.5 * (k + 1)) / this.clouds.length) * (cloud.count > 20000 ? (this.flat ? 0.15 : 0.45) : 0.9));
      gl.bindVertexArray(cloud.array); gl.drawArrays(gl.POINTS, 0, cloud.count);
    });
    gl.bindVertexArray(null);
    this.onmove();
  }

  get isNewest(): boolean { return this.shown?.newest ?? false; }
  /// The point that was picked, as it is now.
  get picked(): { point: number; place: number[]; kind: number; speed: number } | null {
    if (!this.shown || this.pickedPoint < 0 || this.pickedPoint >= this.shown.header.count) return null;
    const { header, words } = this.shown, at = 4 * this.pickedPoint, [low, high] = header.speed;
    const place = [0, 1, 2].map((k) => header.corner[k] + (words[at + k] / 65535) * header.side[k]);
    return { point: this.pickedPoint, place, kind: words[at + 3] & 15, speed: low + ((words[at + 3] >> 4) / 4095) * (high - low) };
  }
  /// Where the picked point is seen.
  get pickedSpot(): [number, number] | null {
    const picked = this.picked;
    return picked && this.project(picked.place.map((value, k) => (value - this.centre[k]) * this.scale[k]));
  }
  /// Picks the point that is seen nearest to a place of the page, within 12 pixels.
  private pick(x: number, y: number): void {
    let nearest = 12 ** 2;
    this.pickedPoint = -1;
    if (!this.shown || this.showsDensity) return this.onpick();
    const places = this.places(this.shown), camera = this.camera();
    for (let i = 0; i < this.shown.header.count; i++) {
      const place = [places[3 * i], places[3 * i + 1], places[3 * i + 2]];
      if (this.slice && Math.abs(place[this.slice.axis] - this.slice.at) > 0.05) continue;
      const spot = this.project(place, camera), far = spot ? (spot[0] - x) ** 2 + (spot[1] - y) ** 2 : Infinity;
      if (far < nearest) { nearest = far; this.pickedPoint = i; }
    }
    this.onpick();
    this.draw();
  }
  private turn(dx: number, dy: number): void {
    if (this.flat) { this.look(null); this.onturn(); }
    this.azimuth -= dx; this.height = Math.min(Math.max(this.height + dy, -1.55), 1.55);
    this.draw();
  }
  private zoom(factor: number): void { this.distance = Math.min(Math.max(this.distance * factor, 1e-4), 1e3); this.draw(); }

  private listen(): void {
    const fingers = new Map<number, [number, number]>(), canvas = this.canvas;
    let moved = 0;  // pixels, since the pointer went down
    canvas.onpointerdown = (e) => { moved = 0; fingers.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); canvas.focus(); };
    canvas.onpointerup = (e) => { fingers.delete(e.pointerId); if (moved < 4) this.pick(e.offsetX, e.offsetY); };
    canvas.onpointercancel = (e) => { fingers.delete(e.pointerId); };
    canvas.onpointermove = (e) => {
      const before = fingers.get(e.pointerId);
      if (!before) return;
      const [dx, dy] = [e.clientX - before[0], e.clientY - before[1]], span = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
      moved += Math.abs(dx) + Math.abs(dy);
      const wide = fingers.size === 2 ? span() : 0;
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
      if (fingers.size === 2) return this.zoom(wide / Math.max(span(), 1));
      if (e.shiftKey || e.buttons === 2) { this.pan[0] += (dx * 0.8 * this.distance) / canvas.clientHeight; this.pan[1] -= (dy * 0.8 * this.distance) / canvas.clientHeight; return this.draw(); }
      this.turn(dx * 0.006, dy * 0.006);
    };
    canvas.oncontextmenu = (e) => e.preventDefault();
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(e.deltaY * 0.001)); }, { passive: false });
    canvas.onkeydown = (e) => {
      const turns: Record<string, [number, number]> = { ArrowLeft: [0.05, 0], ArrowRight: [-0.05, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] };
      if (turns[e.key]) { e.preventDefault(); this.turn(...turns[e.key]); }
      if (e.key === "+" || e.key === "=") this.zoom(0.9);
      if (e.key === "-") this.zoom(1 / 0.9);
      if (e.key === "0") { this.azimuth = 0.6; this.height = 0.5; this.look(this.flat); }
    };
  }
}
