import { posix } from "node:path";

/** A page of the site: a Markdown file of the repository. */
export interface SitePage {
  /** Path from the root of the repository. */
  path: string;
  title: string;
}

export interface SidebarGroup {
  text: string;
  collapsed: boolean;
  items: { text: string; link: string }[];
}

interface Group {
  name: string;
  /** Folders whose pages belong to the group, so that a new file appears by itself. */
  folders: string[];
  /** Single pages of other folders, which come first. */
  pages: string[];
}

/** Groups by need, in the order of the sidebar. */
const GROUPS: Group[] = [
  {
    name: "Start",
    folders: ["docs"],
    pages: ["README.md", "docs/tutorial.md", "docs/guides/use-in-your-project.md", "docs/correctness.md"],
  },
  { name: "Guides", folders: ["docs/guides"], pages: ["packages/sdk/README.md", "packages/testkit/README.md"] },
  { name: "Deploy", folders: ["docs/deploy"], pages: ["docs/guides/cluster.md", "docs/security.md", "docs/scale.md"] },
  { name: "Coming from", folders: ["docs/coming-from"], pages: ["docs/coming-from/README.md"] },
  { name: "Runbooks", folders: ["docs/runbooks"], pages: ["docs/guides/operate.md"] },
  { name: "Reference", folders: ["docs/reference"], pages: ["CHANGELOG.md"] },
  {
    name: "Internals",
    folders: ["docs/internals", "", "packages"],
    pages: ["ARCHITECTURE.md", "CONTRIBUTING.md"],
  },
  { name: "Decisions", folders: ["docs/decisions"], pages: [] },
];

/** The sidebar: each page once, in the group that names it or its folder. */
export function sidebarOf(pages: readonly SitePage[]): SidebarGroup[] {
  const named = new Set(GROUPS.flatMap((group) => group.pages));
  return GROUPS.map(({ name, folders, pages: first }) => {
    const inFolders = pages.filter(({ path }) => !named.has(path) && folders.includes(folderOf(path)));
    const own = [
      ...first.flatMap((path) => pages.find((page) => page.path === path) ?? []),
      ...inFolders.sort(byTitle),
    ];
    const items = own.map((page) => ({
      text: page.path === "README.md" ? "Mainspring" : page.title,
      link: linkTo(page.path),
    }));
    return { text: name, collapsed: name !== "Start", items };
  }).filter(({ items }) => items.length > 0);
}

/** The page of a folder itself comes first, and decisions in the order of their numbers. */
function byTitle(one: SitePage, other: SitePage): number {
  const isIndex = (page: SitePage) => Number(page.path.endsWith("/README.md"));
  return isIndex(other) - isIndex(one) || one.title.localeCompare(other.title, "en", { numeric: true });
}

function folderOf(path: string): string {
  const folder = posix.dirname(path);
  if (folder === ".") return "";
  return folder.startsWith("packages/") ? "packages" : folder;
}

/** Address of a page in the site, from its root. */
export function linkTo(path: string): string {
  return `/${sitePath(path)}`.replace(/index[.]md$/, "").replace(/[.]md$/, "");
}

/** Path of a page among the pages of the site: a README is the page of its folder. */
export function sitePath(path: string): string {
  return path.replace(/(^|\/)README[.]md$/, "$1index.md");
}
