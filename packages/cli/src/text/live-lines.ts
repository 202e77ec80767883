import { printable } from "@mainspring/sdk";

/** Output stream for the lines, a terminal or not. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const ERASE_BELOW = "\u001b[J";

/** A few lines that change below lines that stay. Where there is no terminal, only those that stay are written. */
export class LiveLines {
  readonly isTerminal: boolean;
  readonly #screen: Screen;
  #shown: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
    this.isTerminal = screen.isTTY === true;
  }

  /** A line that stays, above those that change. */
  print(line: string): void {
    this.#screen.write(`${this.#erasing()}${printable(line)}\n${this.#drawn(this.#shown)}`);
  }

  /** Replaces the lines that change. */
  show(lines: readonly string[]): void {
    if (!this.isTerminal) return;
    this.#screen.write(this.#erasing() + this.#drawn(lines));
    this.#shown = lines;
  }

  #erasing(): string {
    return this.#shown.length === 0 ? "" : `\u001b[${this.#shown.length}A\r${ERASE_BELOW}`;
  }

  /** A line that wraps would be counted as one, and its rest stay on the screen for ever: it is cut. */
  #drawn(lines: readonly string[]): string {
    const width = (this.#screen.columns ?? 80) - 1;
    return lines.map((line) => `${printable(line).slice(0, width)}\n`).join("");
  }
}

/** How far something is, as `[#####.....]  50 %`. @param fraction 0 to 1 */
export function bar(fraction: number, width = 24): string {
  const share = Math.min(1, Math.max(0, fraction));
  const filled = Math.floor(share * width);
  return `[${"#".repeat(filled)}${".".repeat(width - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}
