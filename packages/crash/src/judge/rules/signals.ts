import type { ClientEvent, StepEvent } from "../../history/events.ts";
import type { Case } from "../case.ts";
import type { Rule } from "./rule.ts";

type SignalEvent = Extract<ClientEvent, { event: `SIGNAL_${string}` }>;
type Known = Extract<StepEvent, { event: "STEP_KNOWN" }>;

interface SignalFigures {
  signals: number;
  signalsBeforeTheirWait: number;
  signalsAfterTheirWait: number;
  signalsRepeated: number;
}

/** The signals of one execution, as its senders and its steps wrote them down. */
interface Signalled {
  executionId: string;
  sent: SignalEvent[];
  /** Results of steps that waited for signals, in the order of their times. */
  received: (Known & { signal: string })[];
  waits: Extract<StepEvent, { event: "WAIT_BEGAN" }>[];
}

/** Each signal is consumed by one step of the execution that it was sent to. */
export const signalsAreConsumedOnce: Rule = (of) =>
  allSignalled(of).flatMap(({ executionId, sent, received }) => {
    const asked = new Set(sent.map(({ value }) => value));
    const consumed = received.filter(({ value }) => value !== null);
    const stepsOf = (value: string) => new Set(consumed.filter((by) => by.value === value).map(({ step }) => step));
    const isSuccess = of.executions.get(executionId)?.state === "SUCCEEDED";
    const strange = consumed.filter(({ value }) => !asked.has(value as string));
    return [
      ...strange.map(({ value }) => `execution ${executionId} got the signal "${value}", which was not sent to it`),
      ...[...asked].flatMap((value) => {
        const steps = [...stepsOf(value)];
        if (steps.length === 1 || (steps.length === 0 && !isSuccess)) return [];
        return [`the signal "${value}" to execution ${executionId} was consumed by ${steps.join(", ") || "no step"}`];
      }),
    ];
  });

/** A signal is accepted once, and the answer to a repeat says that it is one. */
export const signalsAreAcceptedOnce: Rule = (of) =>
  allSignalled(of).flatMap(({ executionId, sent }) =>
    [...Map.groupBy(sent, ({ value }) => value)].flatMap(([value, events]) => {
      const name = `the signal "${value}" to execution ${executionId}`;
      const answers = events.filter((event) => event.event === "SIGNAL_ANSWERED");
      return [
        ...events.flatMap((event) =>
          event.event === "SIGNAL_REFUSED" ? [`${name} was refused: ${event.message}`] : [],
        ),
        ...answers.slice(1).flatMap(({ isRepeated }) => (isRepeated ? [] : [`${name} was accepted twice`])),
      ];
    }),
  );

/**
 * No step waits in vain for a signal that was accepted before the end of the wait, and before the server could assign the
 * attempt that ended it.
 */
export const signalsInTimeCount: Rule = (of) =>
  allSignalled(of).flatMap((signalled) => {
    const { executionId, sent, received } = signalled;
    return vainWaits(signalled).flatMap((vain) => {
      const before = Math.min(vain.endsAt, endBefore(of, vain)) - of.evidence.toleranceMs;
      const wasFree = ({ value }: SignalEvent) => !received.some((by) => by.value === value && by.at < vain.at);
      const inTime = sent.find((event) => {
        return event.event === "SIGNAL_ANSWERED" && event.name === vain.signal && event.at < before && wasFree(event);
      });
      if (inTime === undefined) return [];
      return [
        `step "${vain.step}" of execution ${executionId} waited in vain for "${inTime.value}", which came in time`,
      ];
    });
  });

/** Signals came before, during and after waits for them. */
export const signalsComeAtAllTimes: Rule = (of) => {
  const { signals, signalsBeforeTheirWait, signalsAfterTheirWait } = signalFigures(of);
  const during = signals - signalsBeforeTheirWait - signalsAfterTheirWait;
  const seen = { before: signalsBeforeTheirWait, during, after: signalsAfterTheirWait };
  return Object.entries(seen).flatMap(([when, count]) => (count > 0 ? [] : [`no signal came ${when} a wait for it`]));
};

/** Number of signals by the time of their acceptance, and of answers to repeats. */
export function signalFigures(of: Case): SignalFigures {
  const all = allSignalled(of);
  const accepted = all.flatMap(({ sent, waits }) => {
    const answers = sent.filter((event) => event.event === "SIGNAL_ANSWERED");
    const firsts = [...Map.groupBy(answers, ({ value }) => value).values()].flatMap(([first]) => first ?? []);
    return firsts.map(
      ({ at, name }) => at < Math.min(...waits.filter((wait) => wait.signal === name).map((w) => w.at)),
    );
  });
  return {
    signals: accepted.length,
    signalsBeforeTheirWait: accepted.filter((isBefore) => isBefore).length,
    signalsAfterTheirWait: all.flatMap(vainWaits).length,
    signalsRepeated: of.evidence.clients.filter((event) => event.event === "SIGNAL_ANSWERED" && event.isRepeated)
      .length,
  };
}

function allSignalled(of: Case): Signalled[] {
  const sent = Map.groupBy(of.evidence.clients.filter(isOfSignal), ({ executionId }) => executionId);
  return [...new Set([...sent.keys(), ...of.steps.keys()])].map((executionId) => {
    const events = of.steps.get(executionId) ?? [];
    const waits = events.filter((event) => event.event === "WAIT_BEGAN");
    const signals = new Map(waits.flatMap(({ step, signal }) => (signal === null ? [] : [[step, signal]])));
    const received = events.flatMap((event) => {
      const signal = event.event === "STEP_KNOWN" ? signals.get(event.step) : undefined;
      return event.event === "STEP_KNOWN" && signal !== undefined ? [{ ...event, signal }] : [];
    });
    return { executionId, sent: sent.get(executionId) ?? [], received, waits };
  });
}

function isOfSignal(event: ClientEvent): event is SignalEvent {
  return event.event.startsWith("SIGNAL_");
}

/** Steps that ended without a signal. `endsAt`: earliest end of the wait. */
function vainWaits({ received, waits }: Signalled): (Signalled["received"][number] & { endsAt: number })[] {
  const ends = Map.groupBy(received, ({ step }) => step);
  return [...ends.values()].flatMap(([end]) => {
    const began = waits.find(({ step }) => step === end?.step);
    return end?.value === null && began !== undefined ? [{ ...end, endsAt: began.at + began.forMs }] : [];
  });
}

/** End of the attempt before, by the monotonic clock; -Infinity: there is none. */
function endBefore({ executions, evidence }: Case, { executionId, attempt }: Known): number {
  const before = executions.get(executionId)?.attempts.filter((record) => record.attempt < attempt) ?? [];
  const finishedAt = before.at(-1)?.finishedAt;
  return finishedAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(finishedAt) + evidence.wallClockZeroMs;
}
