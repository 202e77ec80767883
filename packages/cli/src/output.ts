/** What a command prints: one JSON document for programs, or text for people. */
export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** @param text made only where it is wanted */
  print(document: unknown, text: () => string): void {
    process.stdout.write(`${this.json ? JSON.stringify(document) : text()}\n`);
  }
}

/** Rows under their headings, each column as wide as its widest cell. Control characters are shown, not obeyed. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** `name: value` lines with the values below each other. */
export function facts(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join("\n");
}

/** Names and messages come from whoever submitted the job: what a terminal would obey is escaped. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what it looks for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => JSON.stringify(char).slice(1, -1));
}
