import type { Fault, FaultEvent, LinkFault, ProcessFault } from "../../history/events.ts";
import type { Case, Run } from "../case.ts";
import type { Rule } from "./rule.ts";

/**
 * Time limit of an answer while the store is down, in milliseconds: a client's usual wait, and a second for a busy
 * machine.
 */
const TOLD_WITHIN_MS = 16_000;

/** Every kind of fault happened, and hit something that was in progress. */
export const faultsHappened: Rule = (of) =>
  Object.entries(of.evidence.demanded).flatMap(([fault, least]) => {
    const seen = of.evidence.faults.filter((event) => event.event === fault && hitWork(of, event as Happened)).length;
    return seen >= least ? [] : [`${fault} was seen ${seen} times under load, ${least} were to be`];
  });

/** While the store is down, an API answers at once, with the time of the next try. */
export const outagesAreTold: Rule = ({ evidence }) =>
  evidence.faults.flatMap((event) => {
    if (event.event !== "OUTAGE_TOLD") return [];
    const { status, retryAfter, tookMs, pid } = event;
    if (status === 503 && retryAfter !== null && tookMs < TOLD_WITHIN_MS) return [];
    const answer = `${status ?? "nothing"}, Retry-After ${retryAfter ?? "missing"}, after ${Math.round(tookMs)} ms`;
    return [`the api of process ${pid} answered with ${answer} while the store was down`];
  });

/** Where Kafka carries the bus, messages went over it before each of its faults. */
export const kafkaCarriedTheBus: Rule = ({ evidence }) => {
  // Only a Kafka that carries the bus has topics that are deleted.
  if (evidence.demanded.KAFKA_TOPIC_DELETED === undefined) return [];
  return evidence.faults.some((event) => event.event === "BUS_CARRIED" && event.kafka > 0)
    ? []
    : ["no node has sent a message over Kafka"];
};

/** An attempt that runs while the store is down goes on, and its result counts when the store is back. */
export const attemptsOutliveTheStore: Rule = (of) =>
  spanning(of, "STORE_DOWN", "STORE_READY").length > 0
    ? []
    : ["no attempt that ended while the store was down succeeded in the end"];

/** A worker that was stopped past every timeout resumed, and the server had given its work to others. */
export const zombiesCameBack: Rule = (of) => {
  const isBack = of.evidence.faults.some(({ event }) => event === "WORKER_CONTINUED");
  if (!isBack) return ["no worker that was stopped went on"];
  return zombies(of).length > 0 ? [] : ["no worker that was declared lost came back with a late result"];
};

/** Work goes on while the server is dead, and counts when the server is back. */
export const attemptsOutliveTheServer: Rule = (of) =>
  outlivers(of).length > 0 ? [] : ["no attempt that ran when the server was killed succeeded in the end"];

/** Attempts that succeeded and had started before the death of a server. */
export function outlivers({ runs, evidence }: Case): Run[] {
  const kills = evidence.faults.filter(({ event }) => event === "SERVER_KILLED");
  return [...runs.values()].flat().filter(({ startedAt, endedAt, record }) => {
    return record?.state === "SUCCEEDED" && kills.some(({ at }) => startedAt < at && endedAt > at);
  });
}

/**
 * A worker without faults is not declared lost, however often its server or the store dies. A very busy machine may
 * starve one worker for seconds, but not several.
 */
export const theLivingAreKept: Rule = (of) => {
  const pids = new Set(lostAlive(of).map(({ pid }) => pid));
  return pids.size <= 1 ? [] : [`${pids.size} workers that nothing was done to were declared lost`];
};

/** Attempts that were declared lost although their worker never had a fault. */
export function lostAlive({ runs, evidence }: Case): Run[] {
  const harmed = new Set(evidence.faults.map(({ pid }) => pid));
  return [...runs.values()].flat().filter(({ pid, record }) => record?.state === "WORKER_LOST" && !harmed.has(pid));
}

/** Every process that died was killed by a fault. */
export const nobodyDiesUnasked: Rule = ({ evidence }) => [...evidence.unaskedDeaths];

/** Handlers that returned a value after their worker had been declared lost. */
export function zombies({ runs, evidence }: Case): Run[] {
  const returns = evidence.faults.filter(({ event }) => event === "WORKER_CONTINUED");
  return [...runs.values()].flat().filter(({ pid, startedAt, endedAt, resultSha, record }) => {
    if (resultSha === null || record?.state !== "WORKER_LOST") return false;
    return returns.some((back) => back.pid === pid && startedAt < back.at && endedAt >= back.at);
  });
}

/** Attempts that succeeded and whose handlers ended between the two events. */
function spanning({ runs, evidence }: Case, from: Fault, to: FaultEvent["event"]): Run[] {
  const spans = evidence.faults.flatMap(({ event, at }) => {
    const end = evidence.faults.find((later) => later.event === to && later.at > at);
    return event === from && end !== undefined ? [{ from: at, to: end.at }] : [];
  });
  const isWithin = (atMs: number) => spans.some((span) => span.from < atMs && atMs < span.to);
  return [...runs.values()].flat().filter(({ endedAt, record }) => record?.state === "SUCCEEDED" && isWithin(endedAt));
}

type Happened = Extract<FaultEvent, { event: ProcessFault | LinkFault }>;

function hitWork({ runs }: Case, happened: Happened): boolean {
  const { event: fault, pid, at } = happened;
  if ("hits" in happened) return happened.hits > 0;
  if (fault === "CLIENT_KILLED") return true;
  const isWorker = fault.startsWith("WORKER");
  return [...runs.values()]
    .flat()
    .some((run) => run.startedAt < at && run.endedAt >= at && (!isWorker || run.pid === pid));
}
