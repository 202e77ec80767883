import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

/** Faults of a built site: links, anchors and pictures that lead nowhere, and parts that come from elsewhere. */
export function builtFaults(site: string, base: string): string[] {
  const pages = globSync("**/*.html", { cwd: site }).sort();
  const anchors = new Map(pages.map((page) => [page, idsOf(readFileSync(join(site, page), "utf8"))]));
  return [
    ...pages.flatMap((page) => pageFaults(site, { page, base, anchors })),
    ...globSync("**/*.css", { cwd: site }).flatMap((path) => {
      const foreign = /(url\(|@import )["']?(https?:|\/\/)/.test(readFileSync(join(site, path), "utf8"));
      return foreign ? [`${path}: a part comes from another site`] : [];
    }),
  ];
}

interface BuiltPage {
  page: string;
  base: string;
  anchors: ReadonlyMap<string, ReadonlySet<string>>;
}

function idsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}

function pageFaults(site: string, { page, base, anchors }: BuiltPage): string[] {
  const html = readFileSync(join(site, page), "utf8");
  const faults: string[] = [];
  for (const [, tag = "", attributes = ""] of html.matchAll(/<(a|img|link|script|iframe|source)\b([^>]*)>/g)) {
    const target = /\s(?:href|src)="([^"]*)"/.exec(attributes)?.[1];
    if (target === undefined || target.startsWith("data:")) continue;
    if (/^([a-z]+:|\/\/)/.test(target)) {
      if (tag !== "a") faults.push(`${page}: ${target} comes from another site`);
    } else if (!leads(site, { page, base, anchors }, unescaped(target)))
      faults.push(`${page}: ${target} leads nowhere`);
  }
  return faults;
}

function leads(site: string, { page, base, anchors }: BuiltPage, target: string): boolean {
  const [path = "", anchor = ""] = target.split("#", 2);
  if (path.startsWith("/") && !path.startsWith(base)) return false;
  const rooted = path.startsWith("/") ? path.slice(base.length) : posix.join(posix.dirname(page), path);
  const file = path === "" ? page : fileOf(site, decodeURI(rooted));
  if (file === null) return false;
  return anchor === "" || anchors.get(file)?.has(decodeURIComponent(anchor)) === true;
}

/** File that a server of static files shows for a path; null: none. */
function fileOf(site: string, path: string): string | null {
  const isFolder = path === "" || path === "." || path.endsWith("/");
  const file = isFolder ? posix.join(path, "index.html") : path;
  return existsSync(join(site, file)) && statSync(join(site, file)).isFile() ? file : null;
}

function unescaped(text: string): string {
  return text.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'");
}
