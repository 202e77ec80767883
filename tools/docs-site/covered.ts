import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Block, readPage } from "../guide/blocks.ts";
import { commandFault, commandLines } from "../guide/command-line.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Pages whose blocks a test runs or checks. The first one that fits counts. */
const RUNNERS: readonly { pages: RegExp; by: string }[] = [
  {
    pages: /^docs\/(tutorial|guides\/[\w-]+|coming-from\/[\w-]+|deploy\/capacity)\.md$/,
    by: "tools/guide/guides.test.ts",
  },
  { pages: /^docs\/runbooks\/[\w-]+\.md$/, by: "tools/prometheus/runbooks.test.ts" },
  { pages: /^README\.md$/, by: "tools/fresh-clone.ts" },
  { pages: /^packages\/sdk\/README\.md$/, by: "packages/sdk/src/readme.test.ts" },
  { pages: /^docs\/reference\/sdk\.md$/, by: "tools/reference/reference.test.ts" },
];

/** Commands of all pages, and faults of some. */
interface Covered {
  /** Number of blocks that a test runs or checks. */
  blocks: number;
  /** Number of command lines of `mainspring` and of `npm run` that exist, wherever they stand. */
  commands: number;
  /** A line for each block that nothing runs, and for each command that does not exist. */
  faults: string[];
}

/** Checks that tests know each block of the pages, unless its fence says `no-run`, and that each command exists. @param texts pages by their paths */
export function covered(texts: ReadonlyMap<string, string>): Covered {
  const all: Covered = { blocks: 0, commands: 0, faults: [] };
  for (const [path, text] of texts) {
    // Releases of the past had other commands.
    if (path === "CHANGELOG.md") continue;
    const found = checkPage(path, text);
    all.blocks += found.blocks;
    all.commands += found.commands;
    all.faults.push(...found.faults);
  }
  return all;
}

function checkPage(path: string, text: string): Covered {
  let blocks: readonly Block[];
  try {
    blocks = readPage(text).blocks.filter(({ kind }) => kind !== "output");
  } catch (error) {
    return { blocks: 0, commands: 0, faults: [`${path}: ${(error as Error).message}`] };
  }
  const runner = RUNNERS.find(({ pages }) => pages.test(path));
  const isRun = runner !== undefined && existsSync(join(ROOT, runner.by));
  const reason =
    runner === undefined ? "no test runs this block, and its fence does not say no-run" : `there is no ${runner.by}`;
  const commands = [
    ...commandLines(text).map((line) => ({
      ...line,
      text: `mainspring ${line.words.join(" ")}`,
      fault: commandFault(line),
    })),
    ...scriptLines(text).map((line) => ({ ...line, fault: scriptFault(line.text) })),
  ];
  return {
    blocks: isRun ? blocks.length : 0,
    commands: commands.length,
    faults: [
      ...(isRun ? [] : blocks.map(({ line }) => `${path}:${line}  ${reason}`)),
      ...commands.flatMap(({ line, text: command, fault }) =>
        fault === null ? [] : [`${path}:${line}  ${command}: ${fault}`],
      ),
    ],
  };
}

/** Lines with a script of this repository. */
function scriptLines(page: string): { line: number; text: string }[] {
  const lines = page.split("\n").map((text, index) => ({ text, line: index + 1 }));
  return lines.flatMap(({ text, line }) =>
    Array.from(text.matchAll(/\bnpm run (?!…)[^`;&|#]*/g), ([call]) => ({ line, text: call.trim() })),
  );
}

/** Why npm would not find the script of a line; null: it would. */
function scriptFault(call: string): string | null {
  const script = /^npm run (?:(?:-s|--silent) )*([\w:-]+)/.exec(call)?.[1];
  if (script === undefined) return "it names no script";
  const workspace = /--workspace @mainspring\/([\w-]+)/.exec(call)?.[1];
  const file = join(ROOT, workspace === undefined ? "" : `packages/${workspace}`, "package.json");
  if (!existsSync(file)) return `there is no package @mainspring/${workspace}`;
  const { scripts = {} } = JSON.parse(readFileSync(file, "utf8")) as { scripts?: Record<string, string> };
  return Object.hasOwn(scripts, script) ? null : `package.json has no script \`${script}\``;
}
