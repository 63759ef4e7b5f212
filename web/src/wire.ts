// What goes over the WebSocket; src/view/messages.hpp and src/view/requests.hpp are the other side.
export interface Header {
  time: number; time_text: string; number: number; count: number; total: number; axes: string[]; units: string[]; kinds: string[];
  corner: number[]; side: number[]; speed: number[]; box_side: number; maps?: StateMap[]; curves?: StateCurve[];
}
/// Over x and y: a byte a cell in base64, x fastest, from the corner at the origin on.
export interface StateMap { title: string; unit: string; width: number; height: number; side: number[]; range: number[]; cells: number[]; data: string; }
/// All particles as a camera sees them, counted by the run's own device.
export interface Density { header: { time: number; time_text: string; number: number; total: number; width: number; height: number; most: number }; pixels: Uint8Array; }
/// `newest`: of the newest moment, as opposed to a snapshot that was asked for by its number.
export interface Points { header: Header; words: Uint16Array; newest: boolean; }
/// Of the moment, of a run that goes on.
export interface StateCurve { title: string; look: "line" | "logarithmic" | "bars"; x: (number | null)[]; y: (number | null)[]; }
export interface State {
  title: string; live: boolean; control: boolean; paused?: boolean; status?: string; device_name?: string; precision?: string; n?: number;
  start_time?: number; time?: number; end_time?: number; energy_error?: number | null; seconds_left?: number | null; rate?: string; said?: string; snapshots: number[];
  totals?: { steps: number; particle_steps: number; wall_seconds: number };
  checks?: { name: string; measured: number | null; expected: number | null; tolerance: number | null; passed: boolean }[];
  energy?: Record<string, (number | null)[]>; audit?: Record<string, (number | null)[]>; curves?: StateCurve[];
}

/// The text of a message that begins with these letters, and where the rest begins.
function open<T>(message: ArrayBuffer, letters: string): [T, number] {
  const view = new DataView(message);
  if (view.byteLength < 8 || [0, 1, 2, 3].some((k) => view.getUint8(k) !== letters.charCodeAt(k))) throw new Error(`not a message ${letters}`);
  const length = view.getUint32(4, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(message, 8, length))) as T, 8 + length];
}

export function decode(message: ArrayBuffer, newest: boolean): Points {
  const [header, at] = open<Header>(message, "PGV1");
  return { header, words: new Uint16Array(message, at, 4 * header.count), newest };
}

export function decodeDensity(message: ArrayBuffer): Density {
  const [header, at] = open<Density["header"]>(message, "PGD1");
  return { header, pixels: new Uint8Array(message, at, header.width * header.height) };
}

/// One question at a time: the next is sent when the answer to the last has come.
export class Line {
  private socket: WebSocket | null = null;
  private waiting: ((answer: string | ArrayBuffer) => void) | null = null;
  private broken: ((reason: Error) => void) | null = null;
  private queue: Promise<unknown> = Promise.resolve();

  private open(): Promise<WebSocket> {
    if (this.socket && this.socket.readyState === WebSocket.OPEN) return Promise.resolve(this.socket);
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${location.host}/socket${location.search}`);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => resolve(socket);
      socket.onmessage = (event) => this.waiting?.(event.data);
      socket.onclose = () => {
        const reason = new Error("the program does not answer");
        reject(reason);
        this.broken?.(reason);
      };
      this.socket = socket;
    });
  }

  ask(question: object): Promise<string | ArrayBuffer> {
    const answer = this.queue.then(async () => {
      const socket = await this.open();
      return new Promise<string | ArrayBuffer>((resolve, reject) => {
        this.waiting = resolve;
        this.broken = reject;
        socket.send(JSON.stringify(question));
      });
    });
    this.queue = answer.catch(() => undefined);
    return answer;
  }

  /// The JSON of an answer; what the program refuses is an Error.
  async askJson(question: object): Promise<Record<string, unknown>> {
    const answer = JSON.parse((await this.ask(question)) as string);
    if (answer.kind === "error") throw new Error(answer.message);
    return answer;
  }
}
