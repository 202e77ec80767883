import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { lockedPackages } from "../services/locked-packages.ts";
import { type Staged, stage } from "./stage.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Folder of the site, which git ignores. */
export const SITE = join(ROOT, "dist/docs");
const PAGES = join(ROOT, "dist/docs-pages");

/**
 * Makes the site from the pages of the repository, unless a link of a page leads nowhere, which the answer's faults say.
 * @param base path at which a server shows the site, such as `/` or `/mainspring/`
 * @throws {Error} VitePress failed
 */
export async function buildSite(base: string): Promise<Staged> {
  const staged = stage(PAGES);
  if (staged.faults.length > 0) return staged;
  const packages = await lockedPackages(import.meta.dirname);
  symlinkSync(packages, join(PAGES, "node_modules"), "junction");
  mkdirSync(join(PAGES, ".vitepress"));
  copyFileSync(join(import.meta.dirname, "config.mjs"), join(PAGES, ".vitepress/config.mjs"));
  // The compiler of the site does not know the target of the repository.
  writeFileSync(join(PAGES, "tsconfig.json"), "{}\n");
  rmSync(SITE, { recursive: true, force: true });
  await vitepress(join(packages, "vitepress/bin/vitepress.js"), base);
  return staged;
}

async function vitepress(program: string, base: string): Promise<void> {
  const child = spawn(process.execPath, [program, "build", PAGES, "--outDir", SITE], {
    env: { ...process.env, MAINSPRING_DOCS_BASE: base, CI: "1", NO_COLOR: "1" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`VitePress ended with ${code}`);
}
