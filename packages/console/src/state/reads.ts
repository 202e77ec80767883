/** Intervals of reads that repeat themselves, in milliseconds. */
export interface Pace {
  /** Time from an answer to the next read. */
  everyMs: number;
  /** The same after an answer that differed from the one before: what changes all the time is read less often. */
  busyMs: number;
}

/** Window of the browser that shows the page. */
export interface PageWindow {
  isHidden(): boolean;
  /** @param tell called when the window becomes visible. @returns function that ends the calls */
  onShown(tell: () => void): () => void;
}

/**
 * Reads of one answer, one at a time. A read that takes long is neither repeated beside itself nor cut off by the next one. Only the first
 * read runs in a hidden window; one that is due later waits until the window is visible.
 */
export class Reads {
  readonly #read: (isNew: boolean) => Promise<boolean>;
  readonly #pace: () => Pace | null;
  readonly #window: PageWindow;
  readonly #unwatch: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRunning = false;
  #isAskedAgain = false;
  /** Whether the next read must not be answered by what another client has read. */
  #isNew = true;
  /** Whether a read waits for the window to be visible. */
  #isDue = false;
  #isStopped = false;

  /**
   * Starts the first read.
   * @param read resolves to whether its answer differs from the one before. `isNew`: the answer must be read for this page, because it is
   * the first one or something has happened. @param pace asked after each read; null: only calls read again
   */
  constructor(read: (isNew: boolean) => Promise<boolean>, pace: () => Pace | null, window: PageWindow) {
    this.#read = read;
    this.#pace = pace;
    this.#window = window;
    this.#unwatch = window.onShown(() => this.#isDue && this.again());
    void this.#run();
  }

  /** Reads at once, and after a read that runs. */
  again(): void {
    this.#isNew = true;
    this.#repeat();
  }

  /** Reads at once, or leaves it to the read that runs. */
  unlessRunning(): void {
    if (!this.#isRunning) this.again();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#unwatch();
  }

  #repeat(): void {
    this.#isDue = this.#window.isHidden();
    if (!this.#isDue) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isAskedAgain = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    clearTimeout(this.#timer);
    let isChanged = false;
    while (this.#isAskedAgain && !this.#isStopped) {
      this.#isAskedAgain = false;
      const isNew = this.#isNew;
      this.#isNew = false;
      isChanged = await this.#read(isNew);
    }
    this.#isRunning = false;
    const pace = this.#pace();
    if (pace === null || this.#isStopped) return;
    this.#timer = setTimeout(() => this.#repeat(), isChanged ? pace.busyMs : pace.everyMs);
  }
}
