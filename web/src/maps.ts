// Maps of a plasma beside its phase space: charge density and electric field over x and y.
import { mapColour } from "./scene";
import { pretty } from "./words";
import type { StateMap } from "./wire";

/// Where values have both signs: blue below zero, red above, dark at zero.
const signed = (f: number): [number, number, number] => (f < 0 ? [0.25 * -f, 0.55 * -f, -f] : [f, 0.45 * f, 0.2 * f]);

const colourOf = (map: StateMap): ((value: number) => [number, number, number]) => {
  const [low, high] = map.range, largest = Math.max(-low, high);
  if (low < 0 && high > 0) return (value) => signed(value / largest);
  return (value) => mapColour(high > low ? (value - low) / (high - low) : 0);
};

const short = (value: number): string => String(Number(value.toPrecision(3))).replace("-", "−");

export class Maps {
  private shown = "";
  constructor(private home: HTMLElement) {}

  show(maps: StateMap[]): void {
    const mark = maps.map((map) => map.title + map.data).join();
    if (mark === this.shown) return;
    this.shown = mark;
    this.home.replaceChildren(...maps.map((map) => this.figure(map)));
  }

  private figure(map: StateMap): HTMLElement {
    const figure = document.createElement("figure"), canvas = document.createElement("canvas"), title = document.createElement("figcaption");
    canvas.width = map.width; canvas.height = map.height;
    canvas.style.height = `${Math.min(300, Math.max(20, (300 * map.side[1]) / (map.side[0] || 1)))}px`;
    const bytes = atob(map.data), image = new ImageData(map.width, map.height), colour = colourOf(map), [low, high] = map.range;
    for (let y = 0; y < map.height; y++)
      for (let x = 0; x < map.width; x++) {
        const level = bytes.charCodeAt(y * map.width + x) / 255, at = 4 * ((map.height - 1 - y) * map.width + x);
        colour(low + level * (high - low)).forEach((c, k) => { image.data[at + k] = Math.round(255 * Math.min(Math.max(c, 0), 1)); });
        image.data[at + 3] = 255;
      }
    canvas.getContext("2d")!.putImageData(image, 0, 0);
    title.textContent = `${map.title} over x and y, ${short(low)} to ${short(high)} ${pretty(map.unit)}`;
    figure.append(title, canvas);
    return figure;
  }
}
