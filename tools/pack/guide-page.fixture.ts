import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const PAGE = join(resolve(import.meta.dirname, "../.."), "docs/guides/use-in-your-project.md");

/** Commands, programs and files of the guide "Use it in your project". */
export interface GuidePage {
  install: string;
  serve: string;
  file: { name: string; text: string };
  run: string;
  output: string;
  pnpmWorkspace: string;
}

/** @throws where the page has no longer these blocks in this order */
export function guidePage(): GuidePage {
  const page = readFileSync(PAGE, "utf8");
  const first = page.slice(page.indexOf("## A first job"));
  const pattern =
    /```sh no-run\n(.+?)```.+?```sh no-run\n(.+?)```.+?```js (\S+)\n(.+?)```.+?```sh no-run\n(.+?)```.+?```text\n(.+?)```/s;
  const [, install, serve, name, text, run, output] = pattern.exec(first) ?? [];
  const pnpmWorkspace = /```yaml pnpm-workspace[.]yaml\n(.+?)```/s.exec(page)?.[1];
  if (!install || !serve || !name || !text || !run || !output || !pnpmWorkspace)
    throw new Error(`${PAGE} has other blocks than the test expects`);
  return { install, serve, file: { name, text }, run, output, pnpmWorkspace };
}
