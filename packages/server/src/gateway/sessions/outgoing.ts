import type { Ask, Assign, Cancel, RecordedSteps, ServerMessage, StepAck, Token } from "@mainspring/proto";
import { attemptKey } from "../../domain/ids.ts";
import { ACKS_WAITING_MAX, MESSAGE_MAX_ASSIGNS, MESSAGE_MAX_PAYLOAD_BYTES, MESSAGE_MAX_TOKENS } from "../limits.ts";
import type { ReportedHold } from "../translate.ts";

/** Next messages to one worker, collected so that contents which arrived together leave together. */
export class Outgoing {
  assigns: Assign[] = [];
  cancels: Cancel[] = [];
  acks: Token[] = [];
  refused: Token[] = [];
  takeBack: Token[] = [];
  stepAcks: StepAck[] = [];
  /** Recorded steps of the assigns, in parts that each fit into a message. */
  recorded: RecordedSteps[] = [];
  ask: Ask | null = null;
  resendResults = false;
  drain = false;

  get isEmpty(): boolean {
    return this.acks.length === 0 && !this.isUrgent;
  }

  /**
   * Whether anything is collected that the worker waits for. Acknowledgements are not urgent, because a worker frees a
   * slot when it has a result, not when the result is acknowledged.
   */
  get isUrgent(): boolean {
    const { assigns, cancels, acks, refused, takeBack, stepAcks, recorded, ask, resendResults, drain } = this;
    if (resendResults || drain || ask !== null || acks.length >= ACKS_WAITING_MAX) return true;
    const waiting = assigns.length + cancels.length + refused.length + takeBack.length;
    return waiting + stepAcks.length + recorded.length > 0;
  }

  /** Removes and returns what was collected: usually one message, or more if payloads are large. */
  take(): ServerMessage[] {
    const messages = splitAssigns(this.assigns).map((assigns) => serverMessage({ assigns }));
    const { cancels, acks, refused, takeBack, stepAcks, recorded, ask, resendResults, drain } = this;
    if (messages.length === 0) messages.push(serverMessage({}));
    const [first, ...others] = splitTokens(acks, refused);
    Object.assign(messages[0] as ServerMessage, { ...first, stepAcks, resendResults });
    // These parts follow the assigns that they may refer to.
    Object.assign(messages.at(-1) as ServerMessage, { cancels, drain, takeBack, ...(ask !== null && { ask }) });
    this.clear();
    if (others.length + recorded.length === 0) return messages;
    // The worker must have the recorded steps of an attempt before its assign.
    const parts = recorded.map((part) => serverMessage({ recorded: [part] }));
    return [...others.map(serverMessage), ...parts, ...messages];
  }

  /**
   * Removes results from a hello's holds whose acknowledgement waits here to be sent. A handler that outlives its
   * attempt keeps its slot.
   */
  unacknowledged(holds: readonly ReportedHold[]): readonly ReportedHold[] {
    if (this.acks.length === 0) return holds;
    const acked = new Set(this.acks.map(({ executionId, attempt }) => attemptKey(executionId, attempt)));
    return holds.flatMap((hold) => {
      if (!acked.has(attemptKey(hold.token.executionId, hold.token.attempt))) return [hold];
      return hold.over ? [{ ...hold, finished: false }] : [];
    });
  }

  clear(): void {
    this.acks = [];
    this.clearAllButAcks();
  }

  /** Drops everything except acknowledgements, which stay valid over any connection. */
  clearAllButAcks(): void {
    this.assigns = [];
    this.cancels = [];
    this.refused = [];
    this.takeBack = [];
    this.stepAcks = [];
    this.recorded = [];
    this.ask = null;
    this.resendResults = false;
    this.drain = false;
  }
}

/** Builds a message as a literal, because `create` costs several times as much and each batch makes a message. */
export function serverMessage(fields: Partial<ServerMessage>): ServerMessage {
  return {
    $typeName: "mainspring.worker.v1.ServerMessage",
    assigns: [],
    cancels: [],
    acks: [],
    refused: [],
    resendResults: false,
    drain: false,
    takeBack: [],
    stepAcks: [],
    recorded: [],
    ...fields,
  };
}

function splitTokens(acks: Token[], refused: Token[]): Pick<ServerMessage, "acks" | "refused">[] {
  const longest = Math.max(acks.length, refused.length);
  if (longest <= MESSAGE_MAX_TOKENS) return [{ acks, refused }];
  return Array.from({ length: Math.ceil(longest / MESSAGE_MAX_TOKENS) }, (_, part) => {
    const [from, to] = [part * MESSAGE_MAX_TOKENS, (part + 1) * MESSAGE_MAX_TOKENS];
    return { acks: acks.slice(from, to), refused: refused.slice(from, to) };
  });
}

function splitAssigns(assigns: Assign[]): Assign[][] {
  const parts: Assign[][] = [];
  let from = 0;
  let bytes = 0;
  assigns.forEach((assign, index) => {
    const isFull = index - from >= MESSAGE_MAX_ASSIGNS || bytes + assign.payload.length > MESSAGE_MAX_PAYLOAD_BYTES;
    if (isFull && index > from) {
      parts.push(assigns.slice(from, index));
      from = index;
      bytes = 0;
    }
    bytes += assign.payload.length;
  });
  if (from === 0) return assigns.length === 0 ? [] : [assigns];
  parts.push(assigns.slice(from));
  return parts;
}
