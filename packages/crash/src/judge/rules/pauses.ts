import type { ClientEvent } from "../../history/events.ts";
import type { GraphNode } from "../../history/workflow-events.ts";
import type { Case, Run } from "../case.ts";
import type { Flow } from "../workflows/flows.ts";
import { endsOf, readyAt } from "../workflows/outcomes.ts";
import { nameOf, runsOf } from "./nodes.ts";
import type { Rule } from "./rule.ts";

/** Time between the confirmed pause of a run and the request to resume it. */
interface Pause {
  from: number;
  to: number;
}

/** Attempt of a node that could be assigned only in a pause of its run or after it. */
interface HeldAttempt {
  flow: Flow;
  node: GraphNode;
  run: Run;
  pause: Pause;
}

/**
 * While a run is paused, no attempt of its nodes starts, unless a worker may have had it before: the parents of the node,
 * or the attempt before, had ended when the server confirmed the pause.
 */
export const pausedRunsStartNothing: Rule = (of) =>
  heldAttempts(of)
    .filter(({ run, pause }) => run.startedAt < pause.to && run.startedAt < run.currentUntil)
    .map(({ flow, node, run, pause }) => {
      const afterMs = Math.round(run.startedAt - pause.from);
      return `attempt ${run.attempt} of ${nameOf(flow, node)} began ${afterMs} ms after its run was paused`;
    });

/** Some pause kept a node from starting until its run was resumed. */
export const pausesHappened: Rule = (of) =>
  heldAttempts(of).length > 0 ? [] : ["no pause kept a node from starting until its run was resumed"];

/** Counts of pauses. */
export function pauseFigures(of: Case): Record<string, number> {
  const pauses = [...pausesOf(of).values()].flat();
  const kills = of.evidence.faults.filter(({ event }) => event === "SERVER_KILLED");
  return {
    runsPaused: pauses.length,
    attemptsHeldByPauses: heldAttempts(of).length,
    pausesAtAServersDeath: pauses.filter(({ from, to }) => kills.some(({ at }) => from < at && at < to)).length,
  };
}

/** Attempts whose node became ready, or whose attempt before ended, in a pause of the run. */
function heldAttempts(of: Case): HeldAttempt[] {
  const pauses = pausesOf(of);
  return runsOf(of).flatMap(({ flow, run }) => {
    const ends = endsOf(flow, run);
    return (pauses.get(run.workflowId) ?? []).flatMap((pause) =>
      flow.intended.graph.nodes.flatMap((node) =>
        (flow.handled.get(node.name) ?? [])
          .filter((attempt, index, all) => {
            const before = all[index - 1];
            const possibleAt = before === undefined ? readyAt(node, ends) : before.currentUntil;
            return possibleAt > pause.from && possibleAt < pause.to && attempt.startedAt > pause.from;
          })
          .map((attempt) => ({ flow, node, run: attempt, pause })),
      ),
    );
  });
}

/** Pauses of each run. A run that nobody resumed is paused for ever. */
function pausesOf({ evidence }: Case): Map<string, Pause[]> {
  const pauses = new Map<string, Pause[]>();
  for (const event of evidence.clients) {
    if (event.event === "WORKFLOW_PAUSED") add(pauses, event);
    if (event.event !== "WORKFLOW_RESUME_ASKED") continue;
    const last = pauses.get(event.workflowId)?.at(-1);
    if (last !== undefined) last.to = event.at;
  }
  return pauses;
}

function add(pauses: Map<string, Pause[]>, { workflowId, at }: Extract<ClientEvent, { event: "WORKFLOW_PAUSED" }>) {
  const own = pauses.get(workflowId) ?? [];
  own.push({ from: at, to: Number.POSITIVE_INFINITY });
  pauses.set(workflowId, own);
}
