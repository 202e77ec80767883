import { digestOf } from "../../history/digest.ts";
import type { StepEvent } from "../../history/events.ts";
import type { Case } from "../case.ts";
import type { Rule } from "./rule.ts";

type Of<Name extends StepEvent["event"]> = Extract<StepEvent, { event: Name }>;

/** The server never forgets a result that it acknowledged: no later attempt runs the step. */
export const recordedStepsAreKept: Rule = (of) =>
  eachStep(of).flatMap(({ name, began, known }) => {
    const first = Math.min(...known.map(({ attempt }) => attempt));
    return began
      .filter(({ attempt }) => attempt > first)
      .map(({ attempt }) => `${name} was recorded in attempt ${first}, and attempt ${attempt} ran it again`);
  });

/** A step runs once, and once more for each attempt whose worker was lost between the effect and its acknowledgement. */
export const stepsRepeatOnlyLosses: Rule = (of) =>
  eachStep(of).flatMap(({ executionId, name, began, known }) => {
    const acknowledged = new Set(known.map(({ attempt }) => attempt));
    const ran = [...new Set(began.map(({ attempt }) => attempt))];
    const lost = ran.filter((attempt) => !acknowledged.has(attempt) && isLost(of, executionId, attempt));
    if (began.length <= 1 + lost.length) return [];
    return [`${name} ran ${began.length} times, and ${lost.length} of its attempts were lost before its record`];
  });

/** All attempts get the same result of a step, which is the value of one of its effects. */
export const stepsHaveOneResult: Rule = (of) =>
  eachStep(of).flatMap(({ name, began, ended, known }) => {
    const values = new Set(known.map(({ value }) => value));
    if (values.size > 1) return [`${name} has the results ${[...values].join(", and ")}`];
    const strange = known.find(({ value, attempt }) => {
      return !ended.some((effect) => effect.value === value && effect.attempt <= attempt);
    });
    const isEffect = began.length + ended.length > 0;
    return isEffect && strange !== undefined ? [`${name} has the result ${strange.value}, which no effect had`] : [];
  });

/** A sleep is not over early, by the handlers' own clock. */
export const sleepsAreNotShort: Rule = (of) =>
  [...of.steps].flatMap(([executionId, events]) => {
    const sleeps = events.filter((event) => event.event === "WAIT_BEGAN").filter(({ signal }) => signal === null);
    return [...Map.groupBy(sleeps, ({ step }) => step)].flatMap(([step, [first]]) => {
      const over = events.find((event) => event.event === "STEP_KNOWN" && event.step === step);
      if (over === undefined || first === undefined) return [];
      const earlyMs = first.at + first.forMs - over.at;
      if (earlyMs <= of.evidence.toleranceMs) return [];
      return [`sleep "${step}" of execution ${executionId} was over ${Math.round(earlyMs)} ms too early`];
    });
  });

/** An attempt begins with the newest checkpoint that was acknowledged before it, or with a newer one. */
export const checkpointsNeverGoBack: Rule = ({ steps }) =>
  [...steps].flatMap(([executionId, events]) =>
    events.flatMap((read) => {
      if (read.event !== "CHECKPOINT_READ") return [];
      const earlier = events.filter(({ attempt }) => attempt < read.attempt);
      const stored = Math.max(0, ...valuesOf(earlier, "CHECKPOINT_KNOWN"), ...valuesOf(earlier, "CHECKPOINT_READ"));
      const name = `attempt ${read.attempt} of execution ${executionId} got checkpoint ${read.value}`;
      if (read.value < stored) return [`${name} after ${stored}`];
      const written = Math.max(0, ...valuesOf(earlier, "CHECKPOINT_ASKED"));
      return read.value > written ? [`${name}, and the newest one before it is ${written}`] : [];
    }),
  );

/** The result of an execution with steps is made of the values that its last attempt got from them. */
export const resultsHoldTheSteps: Rule = ({ evidence, runs, steps }) =>
  evidence.executions.flatMap(({ executionId, state, attempt, key, resultSha }) => {
    const events = steps.get(executionId);
    if (state !== "SUCCEEDED" || events === undefined) return [];
    const pid = runs.get(executionId)?.find((run) => run.attempt === attempt)?.pid;
    const known = events
      .flatMap((event) => (event.attempt === attempt && event.event === "STEP_KNOWN" ? (event.value ?? []) : []))
      .sort();
    if (digestOf({ key, executionId, attempt, pid, known }) === resultSha) return [];
    return [`the result of execution ${executionId} is not made of ${known.join(", ")}`];
  });

/** Workers were lost whose executions had recorded steps and went on with them. */
export const stepsOutliveTheirWorker: Rule = (of) =>
  survivors(of).length > 0 ? [] : ["no execution lost its worker after a recorded step and succeeded with it"];

/** Executions that succeeded with a step which an attempt before had recorded, and whose worker was lost. */
export function survivors(of: Case): string[] {
  return [...of.steps.keys()].filter((executionId) => {
    const { state, attempts = [] } = of.executions.get(executionId) ?? {};
    const lost = attempts.filter((record) => record.state === "WORKER_LOST").map(({ attempt }) => attempt);
    const known = of.steps.get(executionId)?.filter(({ event }) => event === "STEP_KNOWN") ?? [];
    return state === "SUCCEEDED" && known.some(({ attempt }) => lost.some((number) => number >= attempt));
  });
}

/** Number of effects beside the first one of each step. */
export function repeatedEffects(of: Case): number {
  return eachStep(of).reduce((sum, { began }) => sum + Math.max(0, began.length - 1), 0);
}

interface Step {
  executionId: string;
  /** Name of the step in sentences. */
  name: string;
  began: Of<"EFFECT_BEGAN">[];
  ended: Of<"EFFECT_ENDED">[];
  known: Of<"STEP_KNOWN">[];
}

function eachStep({ steps }: Case): Step[] {
  return [...steps].flatMap(([executionId, events]) =>
    [...Map.groupBy(events.filter(hasStep), ({ step }) => step)].map(([step, list]) => ({
      executionId,
      name: `step "${step}" of execution ${executionId}`,
      began: list.filter((event) => event.event === "EFFECT_BEGAN"),
      ended: list.filter((event) => event.event === "EFFECT_ENDED"),
      known: list.filter((event) => event.event === "STEP_KNOWN"),
    })),
  );
}

function hasStep(event: StepEvent): event is Extract<StepEvent, { step: string }> {
  return "step" in event;
}

function isLost({ executions }: Case, executionId: string, attempt: number): boolean {
  const record = executions.get(executionId)?.attempts.find((known) => known.attempt === attempt);
  return record?.state === "WORKER_LOST";
}

function valuesOf(events: readonly StepEvent[], name: `CHECKPOINT_${string}`): number[] {
  return events.flatMap((event) => (event.event === name && typeof event.value === "number" ? [event.value] : []));
}
