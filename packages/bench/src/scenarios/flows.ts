import type { BenchFlow, Contender } from "../contenders/contender.ts";
import { mainspring, mainspringDefault } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { type FlowRun, runFlows } from "../load/flow-run.ts";
import { chain, fanIn, fanOut, flowsOf, hopsOf, type Layers, layered } from "../load/flow-shapes.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import type { Case, Scenario } from "./scenario.ts";

export const flows: Scenario = {
  name: "flows",
  about:
    "Workflows whose nodes do nothing, beside BullMQ's flows (`FlowProducer`) and pg-boss's (`flow()`); Graphile Worker and River have none. The worker takes nodes all the time, the same workflows run three times before they are measured, and a rate counts from the first submit until the store has the last end. Costs are those of a node, which is a job of its workflow. A run fails if a node did not run exactly once, or started before a node that it waits for. In the chain a hop counts from the start of one handler to the start of the next one. pg-boss finds the nodes that are ready by a poll, here every second, which is the shortest interval that it accepts; its default is 5 s. So its chain is short. In the workflow of layers each node waits for about ten nodes of the layer before. The event loop counts as held for the CPU time that the server's thread uses between two turns of a timer. The ratios of the last case are the costs of a node to those of a job that is submitted in a batch and waits for nothing; both take turns in the same processes, and each pair counts as one run.",
  cases: ({ isQuick }) => {
    const nodes = isQuick ? 1_000 : 10_000;
    return [
      fanInCase(nodes),
      fanOutCase(nodes),
      manyCase({ count: isQuick ? 50 : 500, nodes: 20 }),
      chainCase(isQuick ? { hops: 100, polledHops: 4 } : { hops: 1_000, polledHops: 20 }),
      layeredCase({ layers: nodes / 100, width: 100, edges: isQuick ? 9_000 : 100_000 }),
      costsCase(isQuick ? { nodes: 5_000, pairs: 3 } : { nodes: 10_000, pairs: 10 }),
    ];
  },
};

/** Folder of the server that releases without workflows do not have. */
const NEEDS_FLOWS = "packages/server/src/domain/workflow";
/**
 * Runs of the measured workflows before the one that counts, in addition to the warm-up of every case: servers run for long, and
 * V8 compiles the code of workflows during the first 20,000 nodes or so.
 */
const WARM_UPS = 3;
/** Warm-up of a chain, as a part of its hops: hops take their time where nodes are polled for. */
const WARM_UP_PART = 0.2;

function fanInCase(nodes: number): Case {
  const title = `a workflow where one node waits for ${(nodes - 1).toLocaleString("en")}`;
  return flowCase("fan-in", title, (course) => measureRate(course, 1, fanIn, nodes));
}

function fanOutCase(nodes: number): Case {
  const title = `a workflow where ${(nodes - 1).toLocaleString("en")} nodes wait for one`;
  return {
    ...flowCase("fan-out", title, (course) => measureRate(course, 1, fanOut, nodes)),
    unsupported: ({ flows: traits }) =>
      traits?.areTrees === true ? "a job has one parent, so several nodes cannot wait for one" : null,
  };
}

function manyCase({ count, nodes }: { count: number; nodes: number }): Case {
  const title = `${count} workflows of ${nodes} nodes, of which one waits for all others`;
  return flowCase("many", title, (course) => measureRate(course, count, fanIn, nodes));
}

interface Hops {
  hops: number;
  /** Number of hops where nodes are polled for. */
  polledHops: number;
}

export function chainCase({ hops, polledHops }: Hops): Case {
  const title = `a chain of ${hops.toLocaleString("en")} hops, ${polledHops} where nodes are polled for`;
  return flowCase("chain", title, async (course, contender) => {
    const measured = contender.flows?.arePolled === true ? polledHops : hops;
    await runFlows(course, flowsOf(1, chain(Math.ceil(measured * WARM_UP_PART) + 1)));
    const { startedAtMs } = await runFlows(course, flowsOf(1, chain(measured + 1)));
    return latenessOf(hopsOf(startedAtMs));
  });
}

function flowCase(
  name: string,
  title: string,
  measure: (course: Course, contender: Contender) => Promise<Figures>,
): Case {
  return {
    name: `flows-${name}`,
    title,
    needs: NEEDS_FLOWS,
    takes: (contender) => contender.flows !== undefined,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { hasFlows: true });
      return await measure(course, contender);
    },
  };
}

async function measureRate(
  course: Course,
  count: number,
  shape: (nodes: number) => BenchFlow["nodes"],
  nodes: number,
): Promise<Figures> {
  for (let warmUps = 0; warmUps < WARM_UPS; warmUps++) await runFlows(course, flowsOf(count, shape(nodes)));
  const run = await runFlows(course, flowsOf(count, shape(nodes)));
  return { nodesPerSec: nodesPerSecOf(run), ...run.costs };
}

function nodesPerSecOf({ nodes, beganAtMs, endedAtMs }: FlowRun): number {
  return nodes / ((endedAtMs - beganAtMs) / 1_000);
}

export function layeredCase(size: Layers): Case {
  const [nodes, edges] = [size.layers * size.width, size.edges].map((count) => count.toLocaleString("en"));
  return {
    name: "flows-layered",
    title: `a workflow of ${size.layers} layers, ${nodes} nodes and ${edges} edges`,
    needs: NEEDS_FLOWS,
    contenders: [mainspringDefault, mainspring],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { hasTeller: true });
      const { rig } = course;
      if (!(rig instanceof MainspringRig)) throw new Error("only Mainspring runs workflows of layers");
      const workflow = flowsOf(1, layered(size));
      await runFlows(course, workflow);
      let submitHeldMs = Number.NaN;
      rig.watchLoops();
      const run = await runFlows(course, workflow, async () => {
        submitHeldMs = await rig.heldMs();
        rig.watchLoops();
      });
      const heldMs = Math.max(submitHeldMs, await rig.heldMs());
      const submitMs = run.submittedAtMs - run.beganAtMs;
      return { nodesPerSec: nodesPerSecOf(run), submitMs, submitHeldMs, heldMs, ...run.costs };
    },
  };
}

interface Costs {
  /** Number of nodes of each workflow, and of jobs beside it. */
  nodes: number;
  pairs: number;
}

export function costsCase({ nodes, pairs }: Costs): Case {
  const amount = nodes.toLocaleString("en");
  return {
    name: "flows-costs",
    title: `a node's costs beside a job's: ${pairs} workflows of ${amount} nodes, and as often ${amount} jobs`,
    needs: NEEDS_FLOWS,
    contenders: [mainspringDefault, mainspring],
    runsMax: 1,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      await costsOfPair(course, nodes, 0);
      const measured: Figures[] = [];
      while (measured.length < pairs) measured.push(await costsOfPair(course, nodes, measured.length));
      return measured;
    },
  };
}

async function costsOfPair(course: Course, nodes: number, index: number): Promise<Figures> {
  const nodeCosts = async () => (await runFlows(course, flowsOf(1, fanOut(nodes)))).costs;
  // Nodes come first in every second pair, so that neither they nor jobs always run on the warmer machine.
  const before = index % 2 === 0 ? await nodeCosts() : null;
  const job = await runJobs(course, nodes);
  const node = before ?? (await nodeCosts());
  const ratioOf = (name: "storeCpuUs" | "logBytes") => (node[name] ?? Number.NaN) / (job[name] ?? Number.NaN);
  return { storeCpuRatio: ratioOf("storeCpuUs"), logRatio: ratioOf("logBytes"), ...node };
}

/** Runs jobs that are submitted while the worker takes them. @returns costs of a job */
async function runJobs(course: Course, jobs: number): Promise<Figures> {
  const { rig } = course;
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  await prefill(rig, jobs);
  await course.finished(jobs, { meter });
  const costs = await meter.perJob(jobs);
  await course.verified(jobs);
  return costs;
}
