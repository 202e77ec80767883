import { printable } from "@mainspring/sdk";

/** Output stream for the lines, which may be a terminal. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const ERASE_BELOW = "\u001b[J";

/** A few changing lines below permanent lines. Without a terminal, only the permanent lines are written. */
export class LiveLines {
  readonly isTerminal: boolean;
  readonly #screen: Screen;
  #shown: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
    this.isTerminal = screen.isTTY === true;
  }

  /** Adds a permanent line above the changing ones. */
  print(line: string): void {
    this.#screen.write(`${this.#erasing()}${printable(line)}\n${this.#drawn(this.#shown)}`);
  }

  /** Replaces the changing lines. */
  show(lines: readonly string[]): void {
    if (!this.isTerminal) return;
    this.#screen.write(this.#erasing() + this.#drawn(lines));
    this.#shown = lines;
  }

  #erasing(): string {
    return this.#shown.length === 0 ? "" : `\u001b[${this.#shown.length}A\r${ERASE_BELOW}`;
  }

  /**
   * Cuts each line at the width of the screen, because a wrapped line would count as one, and its rest would stay on
   * the screen.
   */
  #drawn(lines: readonly string[]): string {
    const width = (this.#screen.columns ?? 80) - 1;
    return lines.map((line) => `${printable(line).slice(0, width)}\n`).join("");
  }
}

/** Progress bar, as `[#####.....]  50 %`. @param fraction 0 to 1 */
export function bar(fraction: number, width = 24): string {
  const share = Math.min(1, Math.max(0, fraction));
  const filled = Math.floor(share * width);
  return `[${"#".repeat(filled)}${".".repeat(width - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}
