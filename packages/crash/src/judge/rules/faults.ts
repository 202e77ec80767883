import { FAULTS, type Fault } from "../../history/events.ts";
import type { Case, Run } from "../case.ts";
import type { Rule } from "./rule.ts";

/** How often each fault must be seen, or the run shows nothing. */
const LEAST: Record<Fault, number> = {
  SERVER_KILLED: 2,
  SERVER_PAUSED: 1,
  SERVER_RESTARTED: 1,
  STORE_KILLED: 1,
  WORKER_KILLED: 1,
  WORKER_STOPPED: 1,
  WORKER_RETIRED: 1,
  CLIENT_KILLED: 1,
};

/** Every kind of fault happened, and hit something that was under way. */
export const faultsHappened: Rule = (of) =>
  FAULTS.flatMap((fault) => {
    const hits = of.evidence.faults.filter(({ event, pid, at }) => event === fault && hitWork(of, fault, pid, at));
    if (hits.length >= LEAST[fault]) return [];
    return [`${fault} was seen ${hits.length} times under load, ${LEAST[fault]} were to be`];
  });

/** A worker that was stopped past every timeout came back, and the server had given its work to others. */
export const zombiesCameBack: Rule = (of) => {
  const isBack = of.evidence.faults.some(({ event }) => event === "WORKER_CONTINUED");
  if (!isBack) return ["no worker that was stopped went on"];
  return zombies(of).length > 0 ? [] : ["no worker that was declared lost came back with a late result"];
};

/** Work goes on while the server is dead, and counts when the server is back. */
export const attemptsOutliveTheServer: Rule = (of) =>
  outlivers(of).length > 0 ? [] : ["no attempt that ran when the server was killed succeeded in the end"];

/** Attempts that succeeded and had begun before the death of a server. */
export function outlivers({ runs, evidence }: Case): Run[] {
  const kills = evidence.faults.filter(({ event }) => event === "SERVER_KILLED");
  return [...runs.values()].flat().filter(({ startedAt, endedAt, record }) => {
    return record?.state === "SUCCEEDED" && kills.some(({ at }) => startedAt < at && endedAt > at);
  });
}

/**
 * A worker that nothing was done to is not declared lost, however often its server or the store dies. A machine that is
 * very busy may starve one for seconds; not several.
 */
export const theLivingAreKept: Rule = (of) => {
  const pids = new Set(lostAlive(of).map(({ pid }) => pid));
  return pids.size <= 1 ? [] : [`${pids.size} workers that nothing was done to were declared lost`];
};

/** Attempts that were declared lost although nothing was ever done to their worker. */
export function lostAlive({ runs, evidence }: Case): Run[] {
  const harmed = new Set(evidence.faults.map(({ pid }) => pid));
  return [...runs.values()].flat().filter(({ pid, record }) => record?.state === "WORKER_LOST" && !harmed.has(pid));
}

/** What dies was killed by us. */
export const nobodyDiesUnasked: Rule = ({ evidence }) => [...evidence.unaskedDeaths];

/** Handlers that returned a value after their worker had been declared lost. */
export function zombies({ runs, evidence }: Case): Run[] {
  const returns = evidence.faults.filter(({ event }) => event === "WORKER_CONTINUED");
  return [...runs.values()].flat().filter(({ pid, startedAt, endedAt, resultSha, record }) => {
    if (resultSha === null || record?.state !== "WORKER_LOST") return false;
    return returns.some((back) => back.pid === pid && startedAt < back.at && endedAt >= back.at);
  });
}

function hitWork({ runs }: Case, fault: Fault, pid: number, at: number): boolean {
  if (fault === "CLIENT_KILLED") return true;
  const isWorker = fault.startsWith("WORKER");
  return [...runs.values()]
    .flat()
    .some((run) => run.startedAt < at && run.endedAt >= at && (!isWorker || run.pid === pid));
}
