/** A table of Markdown. A line break within a cell becomes a space. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cellOf = (text: string) => text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
  const line = (cells: readonly string[]) => `| ${cells.map(cellOf).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** Link to a heading of the same page. */
export function linkTo(heading: string, text: string): string {
  return `[${code(text)}](#${anchorOf(heading)})`;
}

/** Anchor that GitHub gives a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** Joins blocks with an empty line between them; leaves empty blocks out. */
export function blocks(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}
