import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ServerMessageSchema, type WorkerMessage } from "@mainspring/proto";
import type { ClosedReason, LinkConnection, LinkEvents, WorkerLink } from "../src/session/worker-link.ts";

export type ServerInit = MessageInitShape<typeof ServerMessageSchema>;

/** One connection of a worker, with the test as its gateway. */
export class ScriptedConnection implements LinkConnection {
  readonly #events: LinkEvents;
  readonly #sent: WorkerMessage[] = [];
  /** The worker said goodbye. */
  isClosed = false;
  isBroken = false;
  congested = false;
  /** Says that it is closed while it is being closed, as a link in memory may. */
  echoesClose = false;

  constructor(events: LinkEvents) {
    this.#events = events;
  }

  send(message: WorkerMessage): void {
    this.#sent.push(message);
  }

  close(): void {
    this.isClosed = true;
    if (this.echoesClose) this.#events.closed({ message: "closed" });
  }

  isCongested(): boolean {
    return this.congested;
  }

  say(message: ServerInit): void {
    this.#events.message(create(ServerMessageSchema, message));
  }

  break(reason: ClosedReason = { message: "it broke" }): void {
    this.isBroken = true;
    this.#events.closed(reason);
  }

  /** Messages of the worker since the last look. */
  take(): WorkerMessage[] {
    return this.#sent.splice(0);
  }
}

/** A link whose other end is the test. */
export class ScriptedLink implements WorkerLink {
  readonly connections: ScriptedConnection[] = [];

  open(events: LinkEvents): ScriptedConnection {
    const connection = new ScriptedConnection(events);
    this.connections.push(connection);
    return connection;
  }

  /** The latest. */
  get connection(): ScriptedConnection {
    const latest = this.connections.at(-1);
    if (latest === undefined) throw new Error("nobody has connected");
    return latest;
  }
}
