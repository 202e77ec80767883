import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { SECRET_SETTINGS } from "@mainspring/contract/enums";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variable with the file from which this process reads its original secrets after it has replaced itself. */
const HANDED_OVER = "MAINSPRING_HANDED_OVER";

/**
 * Takes the secrets out of `process.env` and returns a copy of the environment with them, so that child processes do
 * not inherit them and no other code finds them in `process.env`.
 */
export function takeEnvironment(): Environment {
  const { [HANDED_OVER]: path, ...environment } = process.env;
  for (const name of [...SECRET_SETTINGS, HANDED_OVER]) delete process.env[name];
  if (path === undefined) return environment;
  const secrets = JSON.parse(readFileSync(path, "utf8")) as Environment;
  rmSync(dirname(path), { recursive: true });
  return { ...environment, ...secrets };
}

/**
 * Replaces this process by the same program without the secrets, if its environment had some. The kernel shows every
 * program of the same user the environment with which a process was started (/proc/PID/environ), even if the process
 * deletes variables. Call this before anything is started, where foreign programs will run. Windows shows an
 * environment to no other program, and cannot replace a process.
 * @param environment result of `takeEnvironment`
 */
export function hideSecrets(environment: Environment): void {
  const wasGiven = SECRET_SETTINGS.filter((name) => startedWith(name));
  if (wasGiven.length === 0 || process.execve === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "mainspring-"));
  chmodSync(folder, 0o700);
  const path = join(folder, "environment");
  const secrets = Object.fromEntries(SECRET_SETTINGS.map((name) => [name, environment[name]]));
  writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
  const { execPath, execArgv, argv } = process;
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], { ...process.env, [HANDED_OVER]: path });
}

/** Whether the kernel shows the variable to others. Without /proc, no other program can see it. */
function startedWith(name: string): boolean {
  try {
    return `\0${readFileSync("/proc/self/environ", "utf8")}`.includes(`\0${name}=`);
  } catch {
    return false;
  }
}
