import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { builtFaults } from "./built-links.ts";
import { covered } from "./covered.ts";
import { anchorsOf, linksOf, titleOf, withTargets } from "./markdown-links.ts";
import { serveSite } from "./serve.ts";
import { linkTo, sidebarOf, sitePath } from "./sidebar.ts";

const PROGRAM = join(import.meta.dirname, "../docs.ts");

describe("links of a page", () => {
  it("are found outside code, with pictures told apart", () => {
    const page = "[a](b.md#c) `[d](e.md)` ![f](g.png)\n```md\n[h](i.md)\n```\n[`j`](k.md)";
    assert.deepEqual(linksOf(page), [
      { line: 1, target: "b.md#c", isPicture: false },
      { line: 1, target: "g.png", isPicture: true },
      { line: 5, target: "k.md", isPicture: false },
    ]);
    const changed = withTargets(page, ({ target }) => target.toUpperCase());
    assert.equal(changed, "[a](B.MD#C) `[d](e.md)` ![f](G.PNG)\n```md\n[h](i.md)\n```\n[`j`](K.MD)");
  });

  it("lead to anchors as hosts of repositories make them", () => {
    const page = "# One: two\n## `submit HANDLER`\n## One: two\n```sh\n# none\n```\n## [A](b.md) *c*";
    assert.deepEqual(anchorsOf(page), ["one-two", "submit-handler", "one-two-1", "a-c"]);
    assert.equal(titleOf(page), "One: two");
  });
});

describe("the sidebar", () => {
  const titles = (group: string, paths: string[]) => {
    const groups = sidebarOf(paths.map((path) => ({ path, title: path.replace(/^.*\//, "") })));
    return groups.find(({ text }) => text === group)?.items.map(({ text }) => text);
  };

  it("has each page in the group of its folder, so that a new file appears by itself", () => {
    assert.deepEqual(titles("Coming from", ["docs/coming-from/bullmq.md", "docs/coming-from/README.md"]), [
      "README.md",
      "bullmq.md",
    ]);
    assert.deepEqual(titles("Deploy", ["docs/deploy/new.md", "docs/security.md"]), ["security.md", "new.md"]);
    assert.deepEqual(titles("Internals", ["packages/bench/README.md", "CONTRIBUTING.md"]), [
      "CONTRIBUTING.md",
      "README.md",
    ]);
    assert.deepEqual(titles("Decisions", ["docs/decisions/0010-a.md", "docs/decisions/0002-b.md"]), [
      "0002-b.md",
      "0010-a.md",
    ]);
  });

  it("has each page once, and no empty group", () => {
    const paths = ["README.md", "docs/a.md", "docs/guides/operate.md", "docs/runbooks/README.md", "docs/runbooks/a.md"];
    const groups = sidebarOf(paths.map((path) => ({ path, title: path })));
    const links = groups.flatMap(({ items }) => items.map(({ link }) => link));
    assert.deepEqual(links, ["/", "/docs/a", "/docs/guides/operate", "/docs/runbooks/", "/docs/runbooks/a"]);
    assert.deepEqual(
      groups.map(({ text }) => text),
      ["Start", "Runbooks"],
    );
  });

  it("leads to a README as the page of its folder", () => {
    assert.equal(sitePath("packages/sdk/README.md"), "packages/sdk/index.md");
    assert.equal(linkTo("packages/sdk/README.md"), "/packages/sdk/");
  });
});

describe("the commands of the pages", () => {
  const faultsOf = (path: string, text: string) => covered(new Map([[path, text]])).faults;

  it("exist, and tests know their blocks, or the fence says that none runs them", () => {
    assert.deepEqual(faultsOf("docs/guides/a.md", "```sh\nmainspring stats\n```"), []);
    assert.deepEqual(
      faultsOf("docs/deploy/a.md", "Run `npm run docs` or `npm run …`.\n```sh no-run\nmainspring stats\n```"),
      [],
    );
    assert.deepEqual(faultsOf("docs/deploy/a.md", "# A\n```sh\nmainspring stats\n```"), [
      "docs/deploy/a.md:3  no test runs this block, and its fence does not say no-run",
    ]);
    assert.deepEqual(faultsOf("docs/a.md", "`npm run nothing -- --a`\n```sh no-run\nmainspring explode\n```"), [
      "docs/a.md:3  mainspring explode: there is no command `explode`",
      "docs/a.md:1  npm run nothing -- --a: package.json has no script `nothing`",
    ]);
    assert.deepEqual(faultsOf("docs/a.md", "```sh\nls"), ["docs/a.md: line 1: this fence is not closed"]);
    assert.deepEqual(faultsOf("docs/a.md", "`npm run x --workspace @mainspring/y`"), [
      "docs/a.md:1  npm run x --workspace @mainspring/y: there is no package @mainspring/y",
    ]);
  });
});

describe("npm run docs", () => {
  it("says in a sentence what is wrong with its options, before it makes anything", () => {
    for (const [args, problem] of [
      [["--chek"], /^Unknown option '--chek'/],
      [["--base", "a"], /^docs: --base begins and ends with \/, unlike "a"\nUsage: npm run docs/],
    ] as const) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8" });
      assert.match(stderr, problem);
      assert.doesNotMatch(stderr, /\n +at /);
      assert.deepEqual([status, stdout], [2, ""]);
    }
  });
});

describe("a built site", () => {
  it("has no link, anchor or picture that leads nowhere, and no part from elsewhere", async () => {
    const site = mkdtempSync(join(tmpdir(), "mainspring-site-"));
    try {
      mkdirSync(join(site, "a"));
      writeFileSync(join(site, "404.html"), "none");
      writeFileSync(join(site, "a.css"), "@font-face { src: url(https://fonts.example/a.woff2) }");
      writeFileSync(
        join(site, "a/index.html"),
        '<h1 id="here">A</h1><a href="#here">b</a><a href="/p/index.html#no">c</a>',
      );
      const links =
        '<a href="/p/a/#here">a</a><a href="https://b.example">b</a><a href="/else/">c</a><img src="d.png">';
      writeFileSync(join(site, "index.html"), `${links}<script src="https://e.example/e.js"></script>`);
      assert.deepEqual(builtFaults(site, "/p/"), [
        "a/index.html: /p/index.html#no leads nowhere",
        "index.html: /else/ leads nowhere",
        "index.html: d.png leads nowhere",
        "index.html: https://e.example/e.js comes from another site",
        "a.css: a part comes from another site",
      ]);
      const { server, url } = await serveSite(site, 0);
      assert.match(await (await fetch(`${url}/a/`)).text(), /id="here"/);
      const missing = await fetch(`${url}/%2e%2e/%2e%2e/etc/passwd`);
      assert.deepEqual([missing.status, await missing.text()], [404, "none"]);
      server.close();
    } finally {
      rmSync(site, { recursive: true });
    }
  });
});
