import type { Report } from "./play.ts";

/** Largest number of violations of one rule in the report; more would say the same. */
const SHOWN = 10;

/** Report for people: figures and violations. */
export function formatReport({ figures, violations, folder }: Report): string {
  const counts = Object.entries(figures).map(([name, count]) => `${name} ${count}`);
  const byRule = Map.groupBy(violations, ({ rule }) => rule);
  const wrong = [...byRule].map(([rule, list]) => {
    const shown = list.slice(0, SHOWN).map(({ what }) => `\n  - ${what}`);
    return `${rule}: ${list.length} violations${shown.join("")}${list.length > SHOWN ? "\n  …" : ""}`;
  });
  return [counts.join(", "), ...wrong, ...(folder === null ? [] : [`see ${folder}`])].join("\n");
}
