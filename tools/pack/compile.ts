import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** Files in src that only tests use. */
const FOR_TESTS = ["**/*.test.ts", "**/*.fixture.ts", "**/*.conformance.ts", "**/testing/**"];

/**
 * Compiles packages to JavaScript and declarations: those of `packages/NAME/src` lie in `to/NAME/src`.
 * @throws where it does not compile; what is wrong goes to standard error
 */
export function compile(names: readonly string[], to: string): void {
  const config = join(to, "tsconfig.json");
  writeFileSync(config, JSON.stringify(compilerConfig(names, to)));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", config], { stdio: ["ignore", 2, 2] });
  for (const name of names) copyGenerated(join(ROOT, "packages", name, "src"), join(to, name, "src"));
}

function compilerConfig(names: readonly string[], to: string): object {
  const sources = names.map((name) => join(ROOT, "packages", name, "src"));
  return {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      // The compiler also compiles what a package imports from another one, so the common root is above them all.
      rootDir: join(ROOT, "packages"),
      outDir: to,
      typeRoots: [join(ROOT, "node_modules/@types")],
    },
    include: sources.map((source) => `${source}/**/*.ts`),
    exclude: sources.flatMap((source) => FOR_TESTS.map((pattern) => `${source}/${pattern}`)),
  };
}

/** Generated code is JavaScript with declarations already, which the compiler reads and does not write. */
function copyGenerated(source: string, to: string): void {
  const isCompiled = (path: string) => path.endsWith(".ts") && !path.endsWith(".d.ts");
  cpSync(source, to, { recursive: true, filter: (path) => !isCompiled(path) });
}
