import type { FaultEvent } from "../../history/events.ts";
import type { Accepted, Case } from "../case.ts";
import { refusedWell, takenInWell } from "./requests.ts";
import type { Rule } from "./rule.ts";

/** A record that the server accepted is decided, as its job deserves: none is lost, and none stays undecided. */
export const recordsAreDecided: Rule = (of) =>
  of.records.flatMap(({ accepted, shown }) => {
    const name = `record ${accepted.position} of job ${accepted.key}`;
    if (shown === null) return [`${name} was accepted, and is not there`];
    const wanted = accepted.isWrong ? "REFUSED" : "TAKEN_IN";
    if (shown.state !== wanted) return [`${name} is ${shown.state} (${shown.problem?.detail}) and must be ${wanted}`];
    return wanted === "REFUSED" ? refusedWell(shown, name) : takenInWell(of, shown, accepted.key, name);
  });

/** All records with the idempotency key of a job, and all other answers to its submits, lead to one execution. */
export const recordsMakeOneJob: Rule = (of) => {
  const byKey = Map.groupBy(rightRecords(of), ({ accepted }) => accepted.key);
  return [...byKey].flatMap(([key, records]) => {
    const taken = records.flatMap(({ shown }) => (shown?.state === "TAKEN_IN" ? [shown.executionId] : []));
    const answered = of.orders.get(key)?.answers.map(({ executionId }) => executionId) ?? [];
    const ids = new Set([...taken, ...answered]);
    return ids.size <= 1 ? [] : [`the records of job ${key} lead to ${[...ids].join(", ")}`];
  });
};

/** The topic of refused records names each record that was refused. */
export const refusalsAreTold: Rule = ({ records, evidence }) =>
  records
    .filter(({ shown }) => shown?.state === "REFUSED")
    .filter(({ accepted }) => evidence.records?.told.has(accepted.position) !== true)
    .map(({ accepted }) => `record ${accepted.position} was refused, and the topic of refused records lacks it`);

/**
 * Records met the faults. With `kafka`, some were refused, some repeated a key, and some were accepted while the store or a server was
 * down. With `fallback`, some were accepted while the store was down.
 */
export const recordsMetFaults: Rule = (of) => {
  const { records } = of.evidence;
  if (records === null) return [];
  const { recordsTakenIn, recordsRefused, recordsRepeated, recordsInOutages, recordsOfDeadServers } = recordFigures(of);
  const demanded =
    records.mode === "fallback"
      ? { recordsTakenIn, recordsInOutages }
      : { recordsTakenIn, recordsRefused, recordsRepeated, recordsInOutages, recordsOfDeadServers };
  return Object.entries(demanded).flatMap(([name, count = 0]) => (count > 0 ? [] : [`the run shows no ${name}`]));
};

/** Counts of records that the server accepted. */
export function recordFigures(of: Case): Record<string, number> {
  if (of.evidence.records === null) return {};
  const { records } = of;
  const byKey = Map.groupBy(rightRecords(of), ({ accepted }) => accepted.key);
  return {
    recordsAccepted: records.length,
    recordsTakenIn: records.filter(({ shown }) => shown?.state === "TAKEN_IN").length,
    recordsRefused: records.filter(({ shown }) => shown?.state === "REFUSED").length,
    recordsRepeated: [...byKey.values()].filter((list) => list.length > 1).length,
    recordsInOutages: records.filter((record) => isWhileDown(of, record, "STORE")).length,
    recordsOfDeadServers: records.filter((record) => isWhileDown(of, record, "SERVER")).length,
  };
}

function rightRecords({ records }: Case): Accepted[] {
  return records.filter(({ accepted }) => !accepted.isWrong);
}

/** Whether the record was accepted while the store, or a server, was down. */
function isWhileDown({ evidence }: Case, { accepted }: Accepted, side: "STORE" | "SERVER"): boolean {
  const isOf = ({ event, at }: FaultEvent) => event.startsWith(`${side}_`) && at < accepted.at;
  const last = evidence.faults.filter((fault) => isOf(fault) && !fault.event.includes("_LINK_")).at(-1);
  return /_(KILLED|ABORTED|DOWN)$/.test(last?.event ?? "");
}
