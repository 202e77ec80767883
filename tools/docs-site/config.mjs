import { readFileSync } from "node:fs";

// Settings of VitePress. `npm run docs` copies this file beside the pages.

const sidebar = JSON.parse(readFileSync(new URL("../sidebar.json", import.meta.url), "utf8"));
const first = (name) => sidebar.find(({ text }) => text === name)?.items[0]?.link;
const nav = ["Guides", "Deploy", "Coming from", "Runbooks", "Reference"];

/** Anchor that hosts of repositories give a heading, so that a link holds in both places. */
const slugify = (text) =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

/** Pages are plain Markdown: nothing in them is HTML, a placeholder of Vue, a name without a scheme, or a picture of an emotion. */
function plain(md) {
  const { text } = md.renderer.rules;
  md.renderer.rules.text = (...args) => text(...args).replaceAll("{{", "&#123;&#123;");
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  md.core.ruler.disable("emoji", true);
}

export default {
  title: "Mainspring",
  description: "A distributed job scheduler",
  lang: "en",
  base: process.env.MAINSPRING_DOCS_BASE ?? "/",
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    html: false,
    attrs: { disable: true },
    anchor: { slugify },
    languageAlias: { promql: "sql" },
    config: plain,
  },
  themeConfig: {
    sidebar,
    nav: nav.filter((name) => first(name) !== undefined).map((text) => ({ text, link: first(text) })),
    outline: [2, 3],
    search: {
      provider: "local",
      options: { miniSearch: { searchOptions: { boost: { title: 4, text: 1, titles: 2 } } } },
    },
    docFooter: { prev: false, next: false },
  },
};
