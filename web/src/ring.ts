// The last frames of a run that goes on, for those who want to look back a little.
export class Ring<Frame> {
  private frames: { frame: Frame; bytes: number }[] = [];
  private bytes = 0;
  /// At most so many bytes and frames are kept.
  constructor(private mostBytes: number, private mostFrames: number) {}

  add(frame: Frame, bytes: number): void {
    this.frames.push({ frame, bytes });
    this.bytes += bytes;
    while (this.frames.length > 1 && (this.bytes > this.mostBytes || this.frames.length > this.mostFrames)) this.bytes -= this.frames.shift()!.bytes;
  }
  get size(): number { return this.frames.length; }
  /// The oldest is 0.
  at(place: number): Frame | undefined { return this.frames[place]?.frame; }
}
