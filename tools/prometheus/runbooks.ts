import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { code, table } from "../reference/markdown.ts";
import { readAlerts } from "./rules.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Questions that each runbook answers, in this order. */
export const QUESTIONS = ["Means", "Users notice", "Confirm", "Fix", "Prevent", "Harmless when"];

export interface Runbook {
  alert: string;
  /** Path of its page from the root of the repository. */
  page: string;
  text: string;
}

/** The runbooks of docs/runbooks: a section of a page for each alert. */
export function readRunbooks(): Runbook[] {
  return globSync("docs/runbooks/*.md", { cwd: ROOT }).sort().flatMap(runbooksOf);
}

function runbooksOf(page: string): Runbook[] {
  const sections = readFileSync(join(ROOT, page), "utf8").split(/^## /m).slice(1);
  return sections.flatMap((section) => {
    const [, alert, text] = /^(Mainspring\w+)\n([^]*)$/.exec(section) ?? [];
    return alert === undefined || text === undefined ? [] : [{ alert, page, text }];
  });
}

/** Texts of the fenced blocks of a language in a runbook. */
export function blocksOf({ text }: Runbook, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))].map(([, block = ""]) => block);
}

/** Table of all alerts for docs/runbooks/README.md, in the order of the rules. */
export function alertTable(): string {
  const rows = readAlerts().map(({ alert, labels, annotations }) => {
    const link = annotations.runbook_url.replace("docs/runbooks/", "");
    return [`[${code(alert)}](${link})`, labels.severity, annotations.summary.replace(/\{\{.*?\}\}/g, "…")];
  });
  return table(["alert", "severity", "summary"], rows);
}
