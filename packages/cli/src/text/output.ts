import process from "node:process";
import { styleText } from "node:util";
import { printable, printableLines } from "@mainspring/sdk";

/** Output of a command: JSON for programs, or text for people. */
export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** @param text function that is called only if text is wanted */
  print(document: unknown, text: () => string): void {
    process.stdout.write(`${this.json ? jsonLine(document) : screenText(text())}\n`);
  }

  /**
   * Prints a list: for programs one document per line, each as soon as it arrives; for people all items together.
   * @param limit largest number of items
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

/** Text of a table, each column as wide as its widest cell. Control characters are shown as escapes. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const [first = "", ...others] = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  // Headings are styled only on a terminal, and not if NO_COLOR is set.
  return [process.stdout.isTTY ? styleText("bold", first) : first, ...others].join("\n");
}

/** Lines of `name: value` with aligned values. */
export function facts(pairs: readonly (readonly [name: string, value: string | null])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(width)}  ${printable(value ?? "")}`)
    .join("\n");
}

/** Styles of this command's own, which foreign text cannot misuse. */
// oxlint-disable-next-line no-control-regex -- styles begin with a control character
const BOLD = /(\u001b\[(?:1|22)m)/;

/**
 * Last filter before the screen: escapes every control sequence except this command's own styles, even if another part
 * of the program forgot to.
 */
export function screenText(text: string): string {
  const parts = text.split(BOLD);
  return parts.map((part, index) => (index % 2 === 1 ? part : printableLines(part))).join("");
}

/** A document for programs, with the same value but with control characters as escapes. */
export function jsonLine(document: unknown): string {
  return printable(JSON.stringify(document));
}

/** Template for a sentence that stays on its line, whatever characters its values contain. */
export function sentence(parts: TemplateStringsArray, ...values: readonly unknown[]): string {
  return parts.map((part, index) => (index === 0 ? part : printable(String(values[index - 1])) + part)).join("");
}
