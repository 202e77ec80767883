import { nowMs } from "../clock.ts";
import type { BenchFlow, Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Meter } from "../meter/meter.ts";
import type { Course } from "./course.ts";
import { outOfOrder } from "./flow-shapes.ts";

/** Workflows that have ended. */
export interface FlowRun {
  nodes: number;
  /** Times in milliseconds since 1970: of the first submit, of the last answer to one, and at which the store had the last end. */
  beganAtMs: number;
  submittedAtMs: number;
  endedAtMs: number;
  /** Start of each node, in milliseconds since 1970. */
  startedAtMs: Float64Array;
  /** Costs of a node. */
  costs: Figures;
}

/** Number of workflows whose submits are in progress at once. */
const CALLERS = 16;

/**
 * Submits workflows while the worker takes their nodes, and waits until all have ended.
 * @param submitted called after the answer to the last submit
 * @throws a node did not run exactly once, or before a node that it waits for
 */
export async function runFlows(
  course: Course,
  flows: readonly BenchFlow[],
  submitted: () => Promise<void> = async () => {},
): Promise<FlowRun> {
  const { rig } = course;
  const nodes = flows.reduce((sum, flow) => sum + flow.nodes.length, 0);
  await rig.worker.expect(nodes);
  const meter = await Meter.begin(rig);
  const beganAtMs = nowMs();
  await submitAll(rig, flows);
  const submittedAtMs = nowMs();
  await submitted();
  const endedAtMs = await course.finished(nodes, { meter });
  const costs = await meter.perJob(nodes);
  const { startedAtMs } = await course.verified(nodes);
  const wrong = flows.reduce((sum, flow) => sum + outOfOrder(flow, startedAtMs), 0);
  if (wrong > 0) throw new Error(`of ${wrong} dependencies the later node started first`);
  return { nodes, beganAtMs, submittedAtMs, endedAtMs, startedAtMs, costs };
}

async function submitAll(rig: Rig, flows: readonly BenchFlow[]): Promise<void> {
  if (rig.submitFlow === null) throw new Error("the contender has no workflows");
  const left = flows.values();
  const call = async () => {
    for (const flow of left) await rig.submitFlow?.(flow);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}
