import { until } from "../clock.ts";
import type { Member } from "../environment/process-group.ts";
import type { WorkerEvent } from "../history/events.ts";
import { HistoryReader } from "../history/history-file.ts";
import type { Users } from "./world.ts";

export interface InFlight {
  executionId: string;
  attempt: number;
}

interface Watched {
  reader: HistoryReader<WorkerEvent>;
  running: Map<string, InFlight>;
}

const LOAD_WITHIN_MS = 180_000;
const watched = new WeakMap<Member, Watched>();

/** Handlers that a worker is running. */
export function inFlight(member: Member): InFlight[] {
  let known = watched.get(member);
  if (known === undefined) {
    known = { reader: new HistoryReader(member.historyFile), running: new Map() };
    watched.set(member, known);
  }
  const { reader, running } = known;
  for (const { event, executionId, attempt } of reader.next()) {
    const name = `${executionId}:${attempt}`;
    if (event === "STARTED") running.set(name, { executionId, attempt });
    if (event === "ENDED") running.delete(name);
  }
  return [...running.values()];
}

/** Waits for a worker that runs at least this number of handlers. */
export function busyWorker({ workers, stopped, random }: Users, handlers: number): Promise<Member> {
  return until(`a worker runs ${handlers} handlers`, LOAD_WITHIN_MS, () => {
    const awake = workers.members.filter(({ child }) => !stopped.has(child.pid));
    return random.shuffle(awake).find((member) => inFlight(member).length >= handlers);
  });
}
