import { commandDone } from "../jobs/answers.ts";
import type { Step } from "../state.ts";
import { isKeyed, passSignal } from "./keyed-nodes.ts";
import type { NodeSignal, Run } from "./runs.ts";

/** Signals to nodes that have no execution in memory. The signals are in the store, and a mark of the execution has them read. */

/**
 * Takes note of a signal to a node whose execution was not found by a read.
 * @returns LOAD: the execution exists, or is about to, and must be read again
 */
export function signalNode(step: Step, command: NodeSignal): "LOAD" | "DONE" {
  const { runs } = step.state;
  const run = runs.byId.get(command.ofNode.run);
  if (run !== undefined) return signalIn(step, run, command);
  runs.signals.set(command.ofNode.run, [...(runs.signals.get(command.ofNode.run) ?? []), command]);
  runs.expect(command.ofNode.run);
  return "DONE";
}

/** Takes note of the signals for which the run was read. */
export function signalLoaded(step: Step, run: Run): void {
  const { runs, loading } = step.state;
  const commands = runs.signals.get(run.id) ?? [];
  runs.signals.delete(run.id);
  const ids = new Set<string>();
  for (const command of commands) {
    if (signalIn(step, run, command) === "DONE") continue;
    loading.set(command.executionId, [...(loading.get(command.executionId) ?? []), command]);
    ids.add(command.executionId);
  }
  if (ids.size > 0) step.wants.push({ kind: "LOAD", ids: [...ids] });
}

function signalIn(step: Step, run: Run, command: NodeSignal): "LOAD" | "DONE" {
  const { progress } = run;
  const { node } = command.ofNode;
  const state = progress.stateOf(node);
  // A map has no execution of its own. The api refuses such signals.
  const isLive = state === "LIVE" && !progress.graph.isMap(node);
  const isPassed = isLive && isKeyed(run, node);
  if (isLive && !isPassed) return "LOAD";
  if (isPassed) passSignal(step, run, command);
  const isUnborn = state === "BLOCKED" || state === "READY";
  if (isUnborn) run.signalled.add(command.executionId);
  commandDone(step, command, isUnborn || isPassed ? "SIGNALLED" : "FINAL");
  return "DONE";
}
