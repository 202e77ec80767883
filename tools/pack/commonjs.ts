import { cpSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type BuildOptions, buildSync } from "esbuild";
import type { Door } from "./manifest.ts";

const COMMON: BuildOptions = { platform: "node", target: "node20", logLevel: "warning", absWorkingDir: "/" };

/**
 * Turns a `dist` of ES modules into `dist/cjs`, the CommonJS code, and `dist/esm`, which imports that code and exports it by
 * name. So a program that both imports and requires the package has each class once.
 * @param doors exports of the package
 */
export function addCommonJs(dist: string, doors: readonly Door[]): void {
  const modules = join(dirname(dist), "modules");
  renameSync(dist, modules);
  const exportsOf = exportedNames(modules, doors);
  translate(modules, join(dist, "cjs"));
  mkdirSync(join(dist, "esm"), { recursive: true });
  for (const { stem } of doors) writeWrapper(join(dist, "esm", stem), join(dist, "cjs", stem), exportsOf(stem));
}

function translate(from: string, to: string): void {
  const files = globSync("**/*.js", { cwd: from }).map((file) => join(from, file));
  const usesUrl = (file: string) => readFileSync(file, "utf8").includes("import.meta.url");
  const options: BuildOptions = { ...COMMON, format: "cjs", outbase: from, outdir: to, sourcemap: true };
  buildSync({ ...options, entryPoints: files.filter((file) => !usesUrl(file)) });
  buildSync({
    ...options,
    entryPoints: files.filter(usesUrl),
    define: { "import.meta.url": "moduleUrl" },
    banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
  for (const file of globSync("**/*.d.ts", { cwd: from })) cpSync(join(from, file), join(to, file));
  writeFileSync(join(to, "package.json"), '{ "type": "commonjs" }\n');
}

/** Names of values that each door exports; those of types are in its declarations alone. */
function exportedNames(modules: string, doors: readonly Door[]): (stem: string) => readonly string[] {
  const { metafile } = buildSync({
    ...COMMON,
    entryPoints: doors.map(({ stem }) => join(modules, `${stem}.js`)),
    bundle: true,
    packages: "external",
    format: "esm",
    outdir: modules,
    metafile: true,
    write: false,
  });
  const outputs = Object.values(metafile?.outputs ?? {});
  return (stem) => {
    const output = outputs.find(({ entryPoint }) => entryPoint?.endsWith(`/${stem}.js`));
    if (output === undefined) throw new Error(`the bundler told no exports of ${stem}`);
    return output.exports;
  };
}

function writeWrapper(path: string, target: string, names: readonly string[]): void {
  const specifier = JSON.stringify(`${relative(dirname(path), target)}.js`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.js`, `export { ${[...names].sort().join(", ")} } from ${specifier};\n`);
  writeFileSync(`${path}.d.ts`, `export * from ${specifier};\n`);
}
