import process from "node:process";
import { styleText } from "node:util";
import { printable, printableLines } from "@mainspring/sdk";

/** Output of a command: JSON for programs, or text for people. */
export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** @param text made only where it is wanted */
  print(document: unknown, text: () => string): void {
    process.stdout.write(`${this.json ? jsonLine(document) : screenText(text())}\n`);
  }

  /**
   * A list: for programs one document a line, each as soon as it is there; for people all of it at once.
   * @param limit how many at most
   */
  async list<T>(items: AsyncIterable<T>, limit: number, text: (items: readonly T[]) => string): Promise<void> {
    const all: T[] = [];
    for await (const item of items) {
      if (this.json) process.stdout.write(`${jsonLine(item)}\n`);
      if (all.push(item) >= limit) break;
    }
    if (!this.json) process.stdout.write(`${screenText(text(all))}\n`);
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

/** Styles of this command's own; no text can do harm with them. */
// oxlint-disable-next-line no-control-regex -- it is what styles begin with
const BOLD = /(\u001b\[(?:1|22)m)/;

/** The last guard before the screen: whatever a part of the text forgot, a terminal obeys nothing but our own styles. */
export function screenText(text: string): string {
  const parts = text.split(BOLD);
  return parts.map((part, index) => (index % 2 === 1 ? part : printableLines(part))).join("");
}

/** A document for programs: the same value, though a terminal obeys nothing of it. */
export function jsonLine(document: unknown): string {
  return printable(JSON.stringify(document));
}

/** A sentence that stays on its line, whatever characters its values have. */
export function sentence(parts: TemplateStringsArray, ...values: readonly unknown[]): string {
  return parts.map((part, index) => (index === 0 ? part : printable(String(values[index - 1])) + part)).join("");
}
