import type { Finding, Rule } from "./source.ts";

const LINK = /\]\(([^)\s]+)\)/g;

/** Checks that a link of a page leads to an existing file. Links to other sites are not checked. */
export function linksLead(exists: (path: string) => boolean): Rule {
  return ({ path, text }) => {
    if (!path.endsWith(".md")) return [];
    const findings: Finding[] = [];
    for (const [index, line] of text.split("\n").entries()) {
      for (const [, target = ""] of line.matchAll(LINK)) {
        if (/^([a-z]+:|#)/.test(target)) continue;
        const to = new URL(target, `file:///${path}`).pathname.slice(1).replace(/\/$/, "");
        if (!exists(decodeURI(to))) findings.push({ path, line: index + 1, message: `leads nowhere: ${target}` });
      }
    }
    return findings;
  };
}
