import type { Step } from "../state.ts";
import { endsBefore } from "./births.ts";
import type { Run } from "./runs.ts";

/**
 * Asks for the numbers of items of the run's READY maps. A map whose parents end in this batch waits for the commit,
 * because the array is in the result of a parent or of another node before it, and the read must find the result.
 */
export function countItems(step: Step, run: Run): void {
  for (const node of run.progress.uncounted) {
    if (run.counting.has(node)) continue;
    const isWritten = endsBefore(step, run, node).size > 0 || changesRun(step, run);
    const batch = isWritten ? step.batch.number : run.endsIn;
    if (batch <= step.state.runs.committed) ask(step, run, node);
    else {
      run.counting.set(node, batch);
      step.state.runs.toCount.add(run);
    }
  }
}

/** Whether the batch writes the run's row: a map before this one may have ended with it. */
function changesRun(step: Step, { id, shard }: Run): boolean {
  return step.batch.shards.get(shard)?.runs.has(id) === true;
}

/** Asks the questions that have waited for a commit. @param committed number of its batch */
export function askForCounts(step: Step, committed: number): void {
  for (const run of step.state.runs.toCount) {
    let isWaiting = false;
    for (const [node, batch] of run.counting) {
      if (batch !== null && batch <= committed) ask(step, run, node);
      else if (batch !== null) isWaiting = true;
    }
    if (!isWaiting) step.state.runs.toCount.delete(run);
  }
}

function ask({ wants }: Step, run: Run, node: number): void {
  const source = run.read.definitions[node]?.items;
  if (source === undefined) return;
  run.counting.set(node, null);
  wants.push({ kind: "COUNT_ITEMS", run: run.id, node, source });
}
