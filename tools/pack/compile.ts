import { execFileSync } from "node:child_process";
import { cpSync, globSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** Files in src that only tests use. */
const FOR_TESTS = ["**/*.test.ts", "**/*.fixture.ts", "**/*.conformance.ts", "**/testing/**"];
/** The server's door for tests of the repository. */
const TESTING_DOOR = join(ROOT, "packages/server/src/testing.ts");

/**
 * Compiles packages to ES modules, declarations and source maps: those of `packages/NAME/src` lie in `to/NAME/src`.
 * @throws where it does not compile; the compiler's messages go to standard error
 */
export function compile(names: readonly string[], to: string): void {
  const compiled = names.filter((name) => globSync(join(ROOT, "packages", name, "src/**/*.ts")).length > 0);
  const config = join(to, "tsconfig.json");
  writeFileSync(config, JSON.stringify(compilerConfig(compiled, to)));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", config], { stdio: ["ignore", 2, 2] });
  for (const name of names) copyOthers(join(ROOT, "packages", name, "src"), join(to, name, "src"));
}

function compilerConfig(names: readonly string[], to: string): object {
  const sources = names.map((name) => join(ROOT, "packages", name, "src"));
  return {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      // Syntax that Node 20 runs; packages/sdk/tsconfig.node20.json checks the functions.
      target: "es2022",
      declaration: true,
      sourceMap: true,
      // The sources are in the maps, and have no other address.
      inlineSources: true,
      sourceRoot: "mainspring:///",
      // The compiler also compiles imported packages, so the common root is above them all.
      rootDir: join(ROOT, "packages"),
      outDir: to,
      typeRoots: [join(ROOT, "node_modules/@types")],
    },
    include: sources.map((source) => `${source}/**/*.ts`),
    exclude: [...sources.flatMap((source) => FOR_TESTS.map((pattern) => `${source}/${pattern}`)), TESTING_DOOR],
  };
}

/** Copies generated code, which is JavaScript with declarations already, and data. */
function copyOthers(source: string, to: string): void {
  const isCopied = (path: string) =>
    !/(^|[/\\])testing$/.test(path) && (!path.endsWith(".ts") || path.endsWith(".d.ts"));
  cpSync(source, to, { recursive: true, filter: isCopied });
}
