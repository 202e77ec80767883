import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "node_modules/vite/bin/vite.js");

/** Builds the console, as `npm run build --workspace @mainspring/console` does. @param out other folder, absolute */
export function buildConsole(out?: string): void {
  const env = { ...process.env, ...(out !== undefined && { MAINSPRING_CONSOLE_OUT: out }) };
  const cwd = join(ROOT, "packages/console");
  execFileSync(process.execPath, [PROGRAM, "build", "--logLevel", "warn"], { cwd, env, stdio: ["ignore", 2, 2] });
}
