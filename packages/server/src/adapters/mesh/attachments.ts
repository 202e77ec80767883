import type { Assignment, FinishedAttempt } from "../../ports/messages.ts";
import type { Spawned } from "../../ports/step-messages.ts";
import type { Letter } from "./packet.ts";

type Message = Letter["message"];
/** A value with bytes on one side, and the number of an attachment on the other. */
type Holder<Field extends string> = { [field in Field]: Uint8Array | number | null };

/** Bytes of a packet's messages, which the packet carries beside the JSON. */
export class Attachments {
  readonly all: Uint8Array[];

  constructor(all: Uint8Array[] = []) {
    this.all = all;
  }

  /** Copy of the message with numbers instead of its bytes. */
  detached(message: Message): unknown {
    const put = (bytes: Uint8Array | null) => (bytes === null ? null : this.all.push(bytes) - 1);
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- only these four messages hold bytes
    switch (message.kind) {
      case "HINT":
        return { ...message, rows: message.rows.map((row) => ({ ...row, payload: put(row.payload) })) };
      case "ASSIGN":
        return { ...message, assigns: message.assigns.map((item) => detachedAssignment(item, put)) };
      case "FINISHED":
        return { ...message, results: message.results.map((item) => detachedResult(item, put)) };
      case "STEPS":
        return { ...message, steps: message.steps.map((item) => ({ ...item, data: put(item.data) })) };
      default:
        return message;
    }
  }

  /** Puts the bytes back into a message that has just been parsed. @returns false if some are missing */
  attach(message: Message): boolean {
    if (message.kind === "HINT") return message.rows.every((row) => this.#fill(row, "payload"));
    if (message.kind === "ASSIGN") {
      return message.assigns.every((item) => {
        return this.#fill(item, "payload") && (item.steps === undefined || this.#fill(item, "steps"));
      });
    }
    if (message.kind === "STEPS") return message.steps.every((item) => this.#fill(item, "data"));
    if (message.kind === "FINISHED") {
      return message.results.every(
        (item) => this.#fill(item, "result") && (item.spawn === undefined || this.#fillSpawn(item.spawn)),
      );
    }
    return true;
  }

  #fillSpawn(spawn: Spawned): boolean {
    const isWhole = this.#fill(spawn, "graph") && this.#fill(spawn, "definitions");
    return isWhole && spawn.payloads.every((payload) => this.#fill(payload, "payload"));
  }

  #fill<Field extends string>(holder: Readonly<Holder<Field>> | object, field: Field): boolean {
    const open = holder as Holder<Field>;
    const number = open[field];
    if (number === null) return true;
    const bytes = this.all[number as number];
    if (bytes === undefined) return false;
    // The bytes are copied, because a message that is kept for long must not keep the whole packet in memory.
    open[field] = new Uint8Array(bytes);
    return true;
  }
}

function detachedResult(
  { result, spawn, ...rest }: FinishedAttempt,
  put: (bytes: Uint8Array | null) => number | null,
): unknown {
  if (spawn === undefined) return { ...rest, result: put(result) };
  const payloads = spawn.payloads.map(({ node, payload }) => ({ node, payload: put(payload) }));
  const graph = put(spawn.graph);
  return { ...rest, result: put(result), spawn: { graph, definitions: put(spawn.definitions), payloads } };
}

function detachedAssignment(assignment: Assignment, put: (bytes: Uint8Array | null) => number | null): unknown {
  const payload = put(assignment.payload);
  const { steps } = assignment;
  return steps === undefined ? { ...assignment, payload } : { ...assignment, payload, steps: put(steps) };
}
