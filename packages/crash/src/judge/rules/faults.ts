import { FAULTS, type Fault } from "../../history/events.ts";
import type { Case, Run } from "../case.ts";
import type { Rule } from "./rule.ts";

/** How often each fault must be seen, or the run shows nothing. */
const LEAST: Record<Fault, number> = {
  SERVER_KILLED: 2,
  SERVER_PAUSED: 1,
  STORE_KILLED: 1,
  WORKER_KILLED: 1,
  WORKER_STOPPED: 1,
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
  const isWorker = fault === "WORKER_KILLED" || fault === "WORKER_STOPPED";
  return [...runs.values()]
    .flat()
    .some((run) => run.startedAt < at && run.endedAt >= at && (!isWorker || run.pid === pid));
}
