import type { Ask, Assign, Cancel, ServerMessage, Token } from "@mainspring/proto";
import { attemptKey } from "../../domain/ids.ts";
import { ACKS_WAITING_MAX, MESSAGE_MAX_ASSIGNS, MESSAGE_MAX_PAYLOAD_BYTES, MESSAGE_MAX_TOKENS } from "../limits.ts";
import type { ReportedHold } from "../translate.ts";

/** Next messages to one worker, gathered so that messages that arrived together leave together. */
export class Outgoing {
  assigns: Assign[] = [];
  cancels: Cancel[] = [];
  acks: Token[] = [];
  refused: Token[] = [];
  takeBack: Token[] = [];
  ask: Ask | null = null;
  resendResults = false;
  drain = false;

  get isEmpty(): boolean {
    return this.acks.length === 0 && !this.isUrgent;
  }

  /**
   * Whether there is anything for which the worker waits. It frees a slot when it has a result, not when that was
   * acknowledged.
   */
  get isUrgent(): boolean {
    const { assigns, cancels, acks, refused, takeBack, ask, resendResults, drain } = this;
    if (resendResults || drain || ask !== null || acks.length >= ACKS_WAITING_MAX) return true;
    return assigns.length + cancels.length + refused.length + takeBack.length > 0;
  }

  /** Empties it. Usually one message; more where payloads are large. */
  take(): ServerMessage[] {
    const parts = splitAssigns(this.assigns);
    const messages = parts.map((assigns) => serverMessage({ assigns }));
    const { cancels, acks, refused, takeBack, ask, resendResults, drain } = this;
    if (messages.length === 0) messages.push(serverMessage({}));
    const [first, ...others] = splitTokens(acks, refused);
    Object.assign(messages[0] as ServerMessage, { ...first, resendResults });
    // After the assigns that they may be about.
    Object.assign(messages.at(-1) as ServerMessage, { cancels, drain, takeBack, ...(ask !== null && { ask }) });
    this.clear();
    return others.length === 0 ? messages : [...others.map(serverMessage), ...messages];
  }

  /**
   * Without results whose acknowledgement the worker did not get. A handler that outlives its attempt keeps its slot
   * all the same.
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

  /** Acknowledgements stay, whatever becomes of the connection. */
  clearAllButAcks(): void {
    this.assigns = [];
    this.cancels = [];
    this.refused = [];
    this.takeBack = [];
    this.ask = null;
    this.resendResults = false;
    this.drain = false;
  }
}

/** A literal, because it is made for every batch and `create` costs several times as much. */
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
