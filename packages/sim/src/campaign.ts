import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { neverHappened } from "./coverage.ts";
import { RUN_FLAGS } from "./run-flags.ts";
import type { SimulationOptions, Verdict } from "./simulation.ts";

const STDIO: StdioOptions = ["ignore", "inherit", "inherit", "ipc"];

interface Ran {
  verdict: Verdict;
  tookSec: number;
}

/**
 * Runs all simulations, on as many processors as there are, and prints results in the order of `runs`.
 * @param isCovering whether the campaign must have seen every kind of fault and every rare way
 * @returns whether every invariant held and, in a campaign that is long enough, every required event occurred
 */
export async function campaign(
  runs: readonly SimulationOptions[],
  isCovering: boolean,
  say: (text: string) => void,
): Promise<boolean> {
  const seen = new Set<string>();
  let failed = 0;
  const waiting = [...runs.entries()];
  const ran: Ran[] = [];
  let told = 0;
  const worker = async () => {
    const child = fork(new URL("run-process.ts", import.meta.url), { execArgv: RUN_FLAGS, stdio: STDIO });
    const ended = once(child, "exit");
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      ran[next[0]] = await ask(child, ended, next[1]);
      for (let done = ran[told]; done !== undefined; done = ran[++told]) say(lineOf(done));
    }
    child.disconnect();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), runs.length) }, worker));
  for (const { verdict } of ran) {
    for (const what of Object.keys(verdict.figures)) seen.add(what);
    if (verdict.violation !== null) failed++;
  }
  const hours = runs.reduce((sum, run) => sum + run.hours, 0);
  const never = isCovering ? neverHappened(seen, hours) : [];
  for (const what of never) say(`NEVER HAPPENED: ${what}`);
  say(failed === 0 ? "everything held" : `${failed} failed`);
  return failed === 0 && never.length === 0;
}

/** @param ended resolves if the child ends instead of answering; then every run has failed */
async function ask(child: ChildProcess, ended: Promise<unknown[]>, options: SimulationOptions): Promise<Ran> {
  child.send(options);
  const failed = ended.then(([code]) => {
    throw new Error(`the process that ran seed ${options.seed} ended with ${code}`);
  });
  const [answer] = (await Promise.race([once(child, "message"), failed])) as [Ran];
  return answer;
}

function lineOf({ verdict, tookSec }: Ran): string {
  const { seed, violation, traceHash, simulatedMs, events, figures } = verdict;
  const speed = Math.round(simulatedMs / 1_000 / tookSec);
  return `seed ${seed}: ${violation ?? "everything held"}
  trace-hash ${traceHash}
  ${events} events, ${speed} simulated seconds a second, ${JSON.stringify(figures)}`;
}
