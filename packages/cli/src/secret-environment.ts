import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that are secrets, or may hold one. */
const SECRETS = [
  "MAINSPRING_API_KEY",
  "MAINSPRING_API_KEY_ALSO",
  "MAINSPRING_CLUSTER_SECRET",
  "MAINSPRING_CLUSTER_SECRET_ALSO",
  "MAINSPRING_WEBHOOK_SECRET",
  "MAINSPRING_STORE",
] as const;
/** The file in which this process finds what it was started with before it replaced itself. */
const HANDED_OVER = "MAINSPRING_HANDED_OVER";

/**
 * The environment with its secrets, which from now on are in the returned copy only: what this process starts does not inherit them,
 * and nothing else that looks into `process.env` finds them.
 */
export function takeEnvironment(): Environment {
  const { [HANDED_OVER]: path, ...environment } = process.env;
  for (const name of [...SECRETS, HANDED_OVER]) delete process.env[name];
  if (path === undefined) return environment;
  const secrets = JSON.parse(readFileSync(path, "utf8")) as Environment;
  rmSync(dirname(path), { recursive: true });
  return { ...environment, ...secrets };
}

/**
 * Replaces this process by itself without the secrets where the environment was given some: the kernel shows every program of
 * the same user the environment that a process was started with (/proc/PID/environ), whatever the process deletes of it. To be called
 * before anything is started, where programs of others are to run. Windows shows nobody an environment, and cannot replace a process.
 * @param environment as `takeEnvironment` returned it
 */
export function hideSecrets(environment: Environment): void {
  const wasGiven = SECRETS.filter((name) => startedWith(name));
  if (wasGiven.length === 0 || process.execve === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "mainspring-"));
  chmodSync(folder, 0o700);
  const path = join(folder, "environment");
  const secrets = Object.fromEntries(SECRETS.map((name) => [name, environment[name]]));
  writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
  const { execPath, execArgv, argv } = process;
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], { ...process.env, [HANDED_OVER]: path });
}

/** Whether the kernel shows it. Where there is no /proc, nobody else is shown it. */
function startedWith(name: string): boolean {
  try {
    return `\0${readFileSync("/proc/self/environ", "utf8")}`.includes(`\0${name}=`);
  } catch {
    return false;
  }
}
