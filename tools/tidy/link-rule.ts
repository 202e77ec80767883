import { posix } from "node:path";
import { anchorsOf, linksOf } from "../docs-site/markdown-links.ts";
import type { Rule } from "./source.ts";

/** Looks a path of the repository up: the text of a page, or whether there is something else. */
export type LookUp = (path: string) => string | boolean;

/** Checks that a link of a page leads to an existing file, and to a heading of it. Links to other sites are not checked. */
export function linksLead(lookUp: LookUp): Rule {
  const anchors = new Map<string, string[]>();
  const hasAnchor = (path: string, text: string, anchor: string) => {
    const known = anchors.get(path) ?? anchorsOf(text);
    anchors.set(path, known);
    return known.includes(anchor);
  };
  return ({ path, text }) => {
    if (!path.endsWith(".md")) return [];
    return linksOf(text).flatMap(({ line, target }) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [written = "", anchor = ""] = target.split("#", 2);
      const to = written === "" ? path : posix.join(posix.dirname(path), decodeURI(written)).replace(/\/$/, "");
      const found = written === "" ? text : lookUp(to);
      if (found === false) return [{ path, line, message: `leads nowhere: ${target}` }];
      if (anchor === "" || (typeof found === "string" && hasAnchor(to, found, anchor))) return [];
      return [{ path, line, message: `there is no such heading: ${target}` }];
    });
  };
}
