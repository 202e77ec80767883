import { until } from "../clock.ts";
import type { WorkerEvent } from "../history/events.ts";
import { readHistory } from "../history/history-file.ts";
import type { Member } from "../stage/crew.ts";
import type { World } from "./world.ts";

export interface InFlight {
  executionId: string;
  attempt: number;
}

const LOAD_WITHIN_MS = 90_000;

/** The handlers that a worker is running. */
export function inFlight({ historyFile }: Member): InFlight[] {
  const running = new Map<string, InFlight>();
  for (const { event, executionId, attempt } of readHistory<WorkerEvent>(historyFile)) {
    const name = `${executionId}:${attempt}`;
    if (event === "STARTED") running.set(name, { executionId, attempt });
    if (event === "ENDED") running.delete(name);
  }
  return [...running.values()];
}

/** A worker that runs at least so many handlers, as soon as there is one. */
export function busyWorker({ workers, stopped, dice }: World, handlers: number): Promise<Member> {
  return until(`a worker runs ${handlers} handlers`, LOAD_WITHIN_MS, () => {
    const awake = workers.members.filter(({ child }) => !stopped.has(child.pid));
    return dice.shuffle(awake).find((member) => inFlight(member).length >= handlers);
  });
}
