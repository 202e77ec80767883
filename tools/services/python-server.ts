import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";

/**
 * Starts a Python program that serves HTTP on a free port of the loopback, prints the port, answers `/identity` with its last
 * argument, and ends when its standard input does, so also where this process is killed.
 * @throws the program did not start, or another one answers
 */
export async function startPythonServer(
  python: string,
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ child: ChildProcess; port: number }> {
  const identity = randomUUID();
  const child = spawn(python, [script, ...args, identity], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  const [line] = await Promise.race([once(child.stdout as NodeJS.EventEmitter, "data"), once(child, "exit")]);
  const port = Number(String(line).trim());
  if (!(port > 0) || child.exitCode !== null) throw new Error(`${script} did not start: ${line}`);
  const answer = await fetch(`http://127.0.0.1:${port}/identity`);
  if ((await answer.text()) !== identity) throw new Error(`another program answers on the port ${port}`);
  return { child, port };
}

/** A program that a test kills, stops and starts again. Each signal is sent to this process alone. */
export interface TestChild {
  readonly port: number;
  /** Process id; of a killed program the last one. */
  readonly pid: number;
  /** Kills the program as a power cut would. Repeated calls do nothing. */
  kill(): Promise<void>;
  /** Starts a killed program again, at the same port. */
  restart(): Promise<void>;
  /** Makes the program stand still until `resume`. */
  freeze(): void;
  resume(): void;
}

/** @param start starts the program at a port; 0: any free one */
export async function restartable(start: (port: number) => ReturnType<typeof startPythonServer>): Promise<TestChild> {
  let { child, port } = await start(0);
  return {
    port,
    get pid() {
      return child.pid ?? 0;
    },
    kill: () => killed(child),
    async restart() {
      ({ child, port } = await start(port));
    },
    freeze: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
