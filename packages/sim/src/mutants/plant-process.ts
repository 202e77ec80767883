import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { mutantNamed } from "./all.ts";
import type { Edit } from "./mutant.ts";

/**
 * For `node --import`: plants the mutant that MAINSPRING_MUTANT names. A process that cannot plant it, or that ends
 * without having loaded the file, fails, because it would report a bug as harmless that was not there.
 */
const mutant = mutantNamed(process.env["MAINSPRING_MUTANT"] ?? "");
const planted = new Map([mutant, ...(mutant.also ?? [])].map((edit) => [urlOf(edit), edited(edit)]));
const missing = new Set(planted.keys());

registerHooks({
  load(url, context, next) {
    const result = next(url, context);
    const source = planted.get(url);
    missing.delete(url);
    return source === undefined ? result : { ...result, source };
  },
});
process.on("exit", () => {
  for (const url of missing) {
    process.stderr.write(`the mutant "${mutant.name}" was not planted: ${url} was not loaded\n`);
    process.exitCode = 3;
  }
});

function urlOf({ file }: Edit): string {
  return new URL(`../../../../${file}`, import.meta.url).href;
}

function edited(edit: Edit): string {
  const source = readFileSync(new URL(urlOf(edit)), "utf8");
  const found = source.split(edit.find).length - 1;
  if (found === 1) return source.replace(edit.find, () => edit.replace);
  throw new Error(`the mutant "${mutant.name}" is to be planted once, and ${edit.file} has ${found} places for it`);
}
