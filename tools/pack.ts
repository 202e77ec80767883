import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { packPackages } from "./pack/pack-packages.ts";

/**
 * Makes the tarballs that would be published: `pack.ts PACKAGE… --to FOLDER`, as `pack.ts proto sdk --to dist`.
 * Prints the path of each. Here TypeScript runs as it is; Node does not strip types below node_modules.
 */

const { values, positionals } = parseArgs({ options: { to: { type: "string" } }, allowPositionals: true });
if (values.to === undefined || positionals.length === 0) {
  console.error("pack: say what to pack and where to put it, as: pack.ts proto sdk --to dist");
  process.exit(2);
}
const folder = resolve(values.to);
mkdirSync(folder, { recursive: true });
for (const tarball of packPackages(positionals, folder)) console.log(tarball);
