import process from "node:process";
import { styleText } from "node:util";

/** What a command prints: JSON for programs, or text for people. */
export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** @param text made only where it is wanted */
  print(document: unknown, text: () => string): void {
    process.stdout.write(`${this.json ? JSON.stringify(document) : text()}\n`);
  }

  /**
   * A list: for programs one document a line, each as soon as it is there; for people all of it at once.
   * @param limit how many at most
   */
  async list<T>(items: AsyncIterable<T>, limit: number, text: (items: readonly T[]) => string): Promise<void> {
    const all: T[] = [];
    for await (const item of items) {
      if (this.json) process.stdout.write(`${JSON.stringify(item)}\n`);
      if (all.push(item) >= limit) break;
    }
    if (!this.json) process.stdout.write(`${text(all)}\n`);
  }
}

/** Rows under their headings, each column as wide as its widest cell. Control characters are shown, not obeyed. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const [first = "", ...others] = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  // Styled on a terminal only, and not where NO_COLOR asks for none.
  return [process.stdout.isTTY ? styleText("bold", first) : first, ...others].join("\n");
}

/** `name: value` lines with the values below each other. */
export function facts(pairs: readonly (readonly [name: string, value: string | null])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(width)}  ${printable(value ?? "")}`)
    .join("\n");
}

/** Names and messages come from whoever submitted the job: what a terminal would obey is escaped. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what it looks for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => JSON.stringify(char).slice(1, -1));
}
