import type { Mail, Role } from "../../ports/bus.ts";

type Message = Mail[Role];
/** Something that has bytes on one side, and the number of an attachment on the other. */
type Holder<Field extends string> = { [field in Field]: Uint8Array | number | null };

/** The bytes of a packet's messages, which travel beside the JSON. */
export class Attachments {
  readonly all: Uint8Array[];

  constructor(all: Uint8Array[] = []) {
    this.all = all;
  }

  /** The message with numbers for its bytes. */
  detached(message: Message): unknown {
    const put = (bytes: Uint8Array | null) => (bytes === null ? null : this.all.push(bytes) - 1);
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- only these three messages hold bytes
    switch (message.kind) {
      case "HINT":
        return { ...message, rows: message.rows.map((row) => ({ ...row, payload: put(row.payload) })) };
      case "ASSIGN":
        return { ...message, assigns: message.assigns.map((item) => ({ ...item, payload: put(item.payload) })) };
      case "FINISHED":
        return { ...message, results: message.results.map((item) => ({ ...item, result: put(item.result) })) };
      default:
        return message;
    }
  }

  /** Puts the bytes back into a message that has just been read. @returns false where some are missing */
  attach(message: Message): boolean {
    if (message.kind === "HINT") return message.rows.every((row) => this.#fill(row, "payload"));
    if (message.kind === "ASSIGN") return message.assigns.every((item) => this.#fill(item, "payload"));
    if (message.kind === "FINISHED") return message.results.every((item) => this.#fill(item, "result"));
    return true;
  }

  #fill<Field extends string>(holder: Readonly<Holder<Field>> | object, field: Field): boolean {
    const open = holder as Holder<Field>;
    const number = open[field];
    if (number === null) return true;
    const bytes = this.all[number as number];
    if (bytes === undefined) return false;
    // A copy: what is kept for long must not keep the whole packet.
    open[field] = new Uint8Array(bytes);
    return true;
  }
}
