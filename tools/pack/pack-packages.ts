import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildConsole } from "../console/build.ts";
import { addCommonJs } from "./commonjs.ts";
import { compile } from "./compile.ts";
import { codeDoors, hasCommonJs, type Manifest, publishedManifest } from "./manifest.ts";
import { FROM_REPOSITORY } from "./published.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Builds packages in a temporary folder and packs them.
 * @param names folders of `packages`
 * @param folder absolute, where the tarballs go
 * @param repository URL for the field of that name; null: the packages have none
 * @returns their paths, in the same order
 */
export function packPackages(names: readonly string[], folder: string, repository: string | null): string[] {
  const field = repository === null ? {} : { repository: { type: "git", url: repository } };
  const manifests = names.map((name) => ({ name, manifest: { ...readManifest(name), ...field } }));
  const work = mkdtempSync(join(tmpdir(), "mainspring-pack-"));
  try {
    const built = join(work, "built");
    mkdirSync(built);
    compile(names, built);
    // The package of the server contains the console.
    if (names.includes("server")) buildConsole();
    return manifests.map(({ name, manifest }) => {
      const staged = join(work, name);
      stage(name, manifest, join(built, name, "src"), staged);
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

function stage(name: string, manifest: Manifest, compiled: string, staged: string): void {
  cpSync(compiled, join(staged, "dist"), { recursive: true });
  if (hasCommonJs(manifest)) addCommonJs(join(staged, "dist"), codeDoors(manifest));
  for (const file of manifest.files ?? [])
    cpSync(join(ROOT, "packages", name, file), join(staged, file), { recursive: true });
  for (const path of FROM_REPOSITORY[name] ?? []) stageFromRepository(path, staged);
  stagePage(join(ROOT, "packages", name, "README.md"), join(staged, "README.md"));
  if (manifest.bin !== undefined) stagePrograms(name, staged);
  cpSync(join(ROOT, "LICENSE"), join(staged, "LICENSE"));
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
}

function stageFromRepository(path: string, staged: string): void {
  cpSync(join(ROOT, path), join(staged, path), { recursive: true });
  for (const page of globSync(`${path}/*.md`, { cwd: ROOT })) stagePage(join(ROOT, page), join(staged, page));
}

/** Links to files outside the folder of a page lead nowhere in a package, so their text alone remains. */
function stagePage(path: string, to: string): void {
  writeFileSync(to, readFileSync(path, "utf8").replace(/\[([^\]]+)\]\((?!https?:|#|[\w-]+[.]md)[^)]*\)/g, "$1"));
}

/** Programs in `bin` are JavaScript that imports the sources. In the published package they import the compiled code. */
function stagePrograms(name: string, staged: string): void {
  const programs = join(staged, "bin");
  cpSync(join(ROOT, "packages", name, "bin"), programs, { recursive: true });
  const path = join(programs, "mainspring.mjs");
  const text = readFileSync(path, "utf8");
  const published = text.replace('"../src/main.ts"', '"../dist/main.js"');
  if (published === text) throw new Error(`${path} does not import ../src/main.ts`);
  writeFileSync(path, published);
}

function npmPack(staged: string, folder: string): string {
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const printed = execFileSync("npm", args, { cwd: staged, stdio: ["ignore", "pipe", 2] });
  return join(folder, printed.toString().trim());
}
