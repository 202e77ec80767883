import type { LinkConnection, LinkEvents } from "@mainspring/sdk/worker-core";
import type { Bus, Envelope, Mail, MailReceiver } from "@mainspring/server/testing";
import type { History, Ref } from "../history.ts";

type WorkerMessage = Parameters<LinkConnection["send"]>[0];
type ServerMessage = Parameters<LinkEvents["message"]>[0];

/** Wraps a server's bus and records the messages that checkers need. It changes nothing. */
export function tapped(bus: Bus, server: string, history: History): Bus {
  const tap = new BusTap(server, bus.node, history);
  return {
    node: bus.node,
    ownerOf: (shard) => bus.ownerOf(shard),
    nodes: (role) => bus.nodes(role),
    connected: () => bus.connected(),
    send: (to, message) => {
      tap.sent(to.node, message);
      bus.send(to, message);
    },
    listen: <R extends MailReceiver>(role: R, receive: (messages: readonly Envelope<Mail[R]>[]) => void) =>
      bus.listen<R>(role, (envelopes) => {
        for (const { from, message } of envelopes) tap.arrived(from, message);
        receive(envelopes);
      }),
  };
}

type AnyMail = Mail[MailReceiver];
type OwnerSaid = Extract<AnyMail, { kind: "OWNER"; demand: unknown }>;

class BusTap {
  readonly #server: string;
  readonly #node: string;
  readonly #history: History;
  readonly #owned = new Map<string, OwnerSaid>();
  /** Credits by owner, then by worker. */
  readonly #granted = new Map<string, Map<string, { account: number; granted: number }>>();

  constructor(server: string, node: string, history: History) {
    this.#server = server;
    this.#node = node;
    this.#history = history;
  }

  sent(to: string, message: AnyMail): void {
    const server = this.#server;
    if (message.kind === "CREDITS") {
      for (const { workerId, account, granted } of message.credits) this.#lent(to, workerId, account, granted);
    } else if (message.kind === "ASSIGN") {
      for (const assign of message.assigns)
        this.#history.add({ kind: "ASSIGN_LEFT", owner: this.#node, ...refOf(assign) });
    } else if (message.kind === "CANCEL" && "token" in message) {
      this.#history.add({ kind: "STOP_LEFT", owner: this.#node, ...refOf(message.token) });
    } else if (message.kind === "COMMAND_DONE") {
      const { commandId, outcome } = message;
      this.#history.add({ kind: "ANSWER_LEFT", owner: this.#node, commandId, outcome });
    } else if (message.kind === "WORKER_LOST") {
      this.#granted.get(to)?.delete(message.workerId);
      this.#history.add({ kind: "DECLARED_LOST", server, worker: message.workerId, reason: message.reason });
    }
  }

  arrived(from: string, message: AnyMail): void {
    const server = this.#server;
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- checkers need these messages only
    switch (message.kind) {
      case "OWNER":
        if ("demand" in message) this.#owns(from, message);
        break;
      case "ASSIGN":
        for (const { workerId: worker, account, credit, executionId, attempt } of message.assigns) {
          const ref = { executionId, attempt };
          this.#history.add({ kind: "ASSIGN_ARRIVED", server, worker, owner: from, account, credit, ...ref });
        }
        break;
      case "VOID": {
        const { workerId: worker, account, credits } = message;
        this.#history.add({ kind: "VOID_ARRIVED", server, worker, owner: from, account, credits });
        break;
      }
      case "HINT":
        this.#history.add({ kind: "HINTED", executionIds: message.rows.map(({ row }) => row.id) });
        break;
      case "COMMAND_DONE":
        this.#history.add({ kind: "COMMAND_ANSWERED", commandId: message.commandId, outcome: message.outcome });
    }
  }

  #owns(owner: string, said: OwnerSaid): void {
    const { term, life, shards } = said;
    const before = this.#owned.get(owner);
    // The message is repeated each second.
    if (before?.term === term && isSame(before.shards, shards)) return;
    this.#owned.set(owner, said);
    this.#history.add({ kind: "OWNER_ARRIVED", server: this.#server, owner, term, life, shards });
  }

  #lent(owner: string, worker: string, account: number, granted: number): void {
    const known = this.#granted.get(owner) ?? new Map<string, { account: number; granted: number }>();
    const before = known.get(worker);
    // The message is repeated each second.
    if (before?.account === account && before.granted === granted) return;
    this.#granted.set(owner, known.set(worker, { account, granted }));
    this.#history.add({ kind: "LENT", server: this.#server, worker, owner, account, granted });
  }
}

function isSame(before: OwnerSaid["shards"], now: OwnerSaid["shards"]): boolean {
  return (
    before.length === now.length &&
    before.every(({ shard, epoch }, i) => shard === now[i]?.shard && epoch === now[i]?.epoch)
  );
}

/** Records the stream between a worker and a gateway. */
export class StreamTap {
  readonly #worker: string;
  readonly #server: string;
  readonly #connection: number;
  readonly #history: History;

  /** @param connection number of the connection among all connections so far */
  constructor(worker: string, server: string, connection: number, history: History) {
    this.#worker = worker;
    this.#server = server;
    this.#connection = connection;
    this.#history = history;
  }

  /** Records a message that the worker sent. */
  said({ finished }: WorkerMessage): void {
    for (const { token } of finished) {
      if (token !== undefined) this.#history.add({ kind: "REPORTED", worker: this.#worker, ...refOf(token) });
    }
  }

  /** Records a message that arrived at the gateway. */
  heard({ hello }: WorkerMessage): void {
    if (hello === undefined) return;
    const holds = hello.holds.flatMap(({ token, finished }) => (token ? { ...refOf(token), finished } : []));
    const [worker, server, connection] = [this.#worker, this.#server, this.#connection];
    this.#history.add({ kind: "GREETED", worker, server, connection, count: hello.connection, holds });
  }

  /** Records a message that the gateway sent. */
  ordered({ assigns }: ServerMessage): void {
    const [worker, server] = [this.#worker, this.#server];
    for (const { token } of assigns) {
      if (token !== undefined) this.#history.add({ kind: "ASSIGN_SENT", worker, server, ...refOf(token) });
    }
  }

  /** Records a message that arrived at the worker. */
  received({ acks, refused, assigns }: ServerMessage): void {
    const worker = this.#worker;
    for (const token of acks) this.#history.add({ kind: "ACKED", worker, ...refOf(token) });
    for (const token of refused) this.#history.add({ kind: "REFUSED", worker, ...refOf(token) });
    for (const { token } of assigns) {
      if (token !== undefined) this.#history.add({ kind: "DELIVERED", worker, ...refOf(token) });
    }
  }

  parted(): void {
    const [worker, server, connection] = [this.#worker, this.#server, this.#connection];
    this.#history.add({ kind: "PARTED", worker, server, connection });
  }
}

function refOf({ executionId, attempt }: Ref): Ref {
  return { executionId, attempt };
}
