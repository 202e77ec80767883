import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compile } from "./compile.ts";
import { type Manifest, publishedManifest } from "./manifest.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Builds packages in a temporary folder and packs them.
 * @param names folders of `packages`
 * @param folder absolute, where the tarballs go
 * @returns their paths, in the same order
 */
export function packPackages(names: readonly string[], folder: string): string[] {
  const manifests = names.map(readManifest);
  const published = manifests.map(publishedManifest);
  const work = mkdtempSync(join(tmpdir(), "mainspring-pack-"));
  try {
    const built = join(work, "built");
    mkdirSync(built);
    compile(names, built);
    return names.map((name, index) => {
      const staged = join(work, name);
      stage(name, join(built, name, "src"), staged, manifests[index]?.files ?? []);
      writeFileSync(join(staged, "package.json"), `${JSON.stringify(published[index], null, 2)}\n`);
      return npmPack(staged, folder);
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function readManifest(name: string): Manifest {
  const path = join(ROOT, "packages", name, "package.json");
  if (!existsSync(path)) throw new Error(`no such package: ${path}`);
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

function stage(name: string, compiled: string, staged: string, files: readonly string[]): void {
  cpSync(compiled, join(staged, "dist"), { recursive: true });
  for (const file of [...files, "README.md"]) {
    const path = join(ROOT, "packages", name, file);
    // Only the README may be missing: any other name in `files` without a file is a mistake.
    if (file !== "README.md" || existsSync(path)) cpSync(path, join(staged, file), { recursive: true });
  }
  cpSync(join(ROOT, "LICENSE"), join(staged, "LICENSE"));
}

function npmPack(staged: string, folder: string): string {
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const printed = execFileSync("npm", args, { cwd: staged, stdio: ["ignore", "pipe", 2] });
  return join(folder, printed.toString().trim());
}
