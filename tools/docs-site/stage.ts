import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { anchorsOf, type Link, mapProse, titleOf, withTargets } from "./markdown-links.ts";
import { type SitePage, sidebarOf, sitePath } from "./sidebar.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Files of the repository that are pages. */
const PAGE = /^([A-Z]+|packages\/[\w-]+\/README|docs\/.+)[.]md$/;
const EXTERNAL = /^[a-z]+:/;

/** Files and pages of the repository that links lead to. */
interface Repository {
  files: ReadonlySet<string>;
  folders: ReadonlySet<string>;
  texts: ReadonlyMap<string, string>;
  /** Anchors of the headings of each page. */
  anchors: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface Staged {
  pages: number;
  /** Links to other sites, each with the pages that have it. */
  external: Map<string, string[]>;
  faults: string[];
  /** Pages as the repository has them, by their paths. */
  texts: ReadonlyMap<string, string>;
}

/**
 * Writes the pages of the site into a folder, as the repository has them but for links: a link to a file that is no page
 * leads to a copy of the file, and comments go. The sidebar is beside them, in `sidebar.json`.
 */
export function stage(folder: string): Staged {
  rmSync(folder, { recursive: true, force: true });
  const repository = readRepository();
  const staged: Staged = { pages: repository.texts.size, external: new Map(), faults: [], texts: repository.texts };
  for (const [path, text] of repository.texts) {
    const stager = new PageStager(path, folder, repository, staged);
    write(
      join(folder, sitePath(path)),
      withTargets(withoutComments(text), (link) => stager.target(link)),
    );
  }
  const pages: SitePage[] = [...repository.texts].map(([path, text]) => ({ path, title: titleOf(text) ?? path }));
  for (const index of missingIndexes(pages)) write(join(folder, index.path), index.text);
  write(join(folder, "sidebar.json"), JSON.stringify(sidebarOf(pages)));
  return staged;
}

function readRepository(): Repository {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  const files = listed
    .toString()
    .split("\0")
    .filter((path) => path !== "" && existsSync(join(ROOT, path)));
  const pages = files.filter((path) => PAGE.test(path));
  const texts = new Map(pages.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
  return {
    files: new Set(files),
    folders: new Set(files.flatMap(foldersOf)),
    texts,
    anchors: new Map([...texts].map(([path, text]) => [path, new Set(anchorsOf(text))])),
  };
}

function foldersOf(path: string): string[] {
  const folder = posix.dirname(path);
  return folder === "." ? [] : [folder, ...foldersOf(folder)];
}

/** Decides for one page where its links lead. */
class PageStager {
  readonly #path: string;
  readonly #folder: string;
  readonly #repository: Repository;
  readonly #staged: Staged;

  constructor(path: string, folder: string, repository: Repository, staged: Staged) {
    this.#path = path;
    this.#folder = folder;
    this.#repository = repository;
    this.#staged = staged;
  }

  target(link: Link): string {
    if (EXTERNAL.test(link.target)) return this.#external(link.target);
    const [written = "", anchor = ""] = link.target.split("#", 2);
    const to =
      written === "" ? this.#path : posix.join(posix.dirname(this.#path), decodeURI(written)).replace(/\/$/, "");
    const { files, folders, texts } = this.#repository;
    if (texts.has(to)) return this.#page(link, { to, anchor, isSame: written === "" });
    if (files.has(to)) return link.isPicture ? this.#picture(link.target, to) : this.#file(to);
    if (folders.has(to)) return this.#listing(to);
    return this.#dead(link, "leads nowhere");
  }

  #external(target: string): string {
    const pages = this.#staged.external.get(target) ?? [];
    if (!pages.includes(this.#path)) pages.push(this.#path);
    this.#staged.external.set(target, pages);
    return target;
  }

  #page(link: Link, { to, anchor, isSame }: { to: string; anchor: string; isSame: boolean }): string {
    if (anchor !== "" && this.#repository.anchors.get(to)?.has(anchor) !== true)
      return this.#dead(link, "there is no such heading");
    const hash = anchor === "" ? "" : `#${anchor}`;
    return isSame ? hash : this.#relative(sitePath(to)) + hash;
  }

  /** A picture lies at the same place beside its page. */
  #picture(target: string, path: string): string {
    copy(path, join(this.#folder, path));
    return target;
  }

  /** A file that is no page is shown as text. */
  #file(path: string): string {
    const copied = `source/${path}.txt`;
    copy(path, join(this.#folder, "public", copied));
    return this.#relative(copied);
  }

  #listing(folder: string): string {
    const index = `${folder}/README.md`;
    const { files, texts } = this.#repository;
    const hasPages = [...texts.keys()].some((path) => posix.dirname(path) === folder);
    if (texts.has(index) || hasPages) return this.#relative(sitePath(index));
    const names = [...files].filter((path) => path.startsWith(`${folder}/`)).sort();
    const listing = `source/${folder}/index.txt`;
    write(join(this.#folder, "public", listing), `${names.join("\n")}\n`);
    return this.#relative(listing);
  }

  #dead({ line, target }: Link, reason: string): string {
    this.#staged.faults.push(`${this.#path}:${line}  ${target}: ${reason}`);
    return target;
  }

  #relative(path: string): string {
    const relative = posix.relative(posix.dirname(sitePath(this.#path)), path);
    return relative.startsWith(".") ? relative : `./${relative}`;
  }
}

/** Folders of pages without a README get a list of their pages. */
function missingIndexes(pages: readonly SitePage[]): { path: string; text: string }[] {
  const folders = new Set(pages.map(({ path }) => posix.dirname(path)).filter((folder) => /^docs\/./.test(folder)));
  return [...folders].flatMap((folder) => {
    if (pages.some(({ path }) => path === `${folder}/README.md`)) return [];
    const own = pages.filter(({ path }) => posix.dirname(path) === folder);
    const lines = own.map(({ path, title }) => `- [${title}](./${posix.basename(path)})`).sort();
    const name = posix.basename(folder).replaceAll("-", " ");
    const heading = `# ${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return [{ path: `${folder}/index.md`, text: `${heading}\n\n${lines.join("\n")}\n` }];
  });
}

function withoutComments(markdown: string): string {
  return mapProse(markdown, (text) => text.replace(/<!--.*?-->/g, ""));
}

function copy(path: string, to: string): void {
  mkdirSync(join(to, ".."), { recursive: true });
  if (statSync(join(ROOT, path)).isFile()) copyFileSync(join(ROOT, path), to);
}

function write(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}
