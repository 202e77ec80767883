import { setImmediate } from "node:timers/promises";
import {
  type Assignment,
  type Bus,
  createGateway,
  createLog,
  type FromGateway,
  type Gateway,
  memoryBus,
  SHARD_COUNT,
  systemRuntime,
  WorkerIntake,
} from "@mainspring/server/testing";
import fc from "fast-check";
import { type FuzzFigures, FuzzWatch } from "./figures.ts";
import { executionId, rightHello, workerInput } from "./worker-inputs.ts";

const NODE = "fuzzed-node";
/** Number of inputs that are created at once. */
const BATCH = 2_000;
/** Number of inputs after which the event loop does its other work. */
const TURN = 100;
/** Number of inputs after which a connection ends, if it was not refused before. */
const CONNECTION = 30;

/** Connects random workers to a real gateway, whose owner assigns, acknowledges and refuses. */
export async function fuzzWorkers(inputs: number, seed: number): Promise<FuzzFigures> {
  const watch = new FuzzWatch("worker protocol", inputs);
  const bus = memoryBus(NODE);
  const gateway = createGateway({ bus, runtime: systemRuntime(), log: createLog("silent") });
  const endOwner = own(bus);
  let worker = new RandomWorker(gateway, 0, watch);
  for (let done = 0; done < inputs; done += BATCH) {
    const batch = fc.sample(workerInput, { numRuns: Math.min(BATCH, inputs - done), seed: seed + done });
    for (const [at, input] of batch.entries()) {
      if (worker.isOver || at % CONNECTION === 0) {
        worker.leave();
        worker = new RandomWorker(gateway, done + at, watch);
      }
      worker.say(input);
      if (at % TURN === 0) await setImmediate();
    }
  }
  gateway.close();
  endOwner();
  return watch.end();
}

/** One connection, as the gRPC server creates it from a stream. */
class RandomWorker {
  isOver = false;
  readonly #intake: WorkerIntake;
  readonly #watch: FuzzWatch;
  readonly #end: () => void;

  constructor(gateway: Gateway, turn: number, watch: FuzzWatch) {
    this.#watch = watch;
    const refused = () => {
      if (!this.isOver) watch.refused();
      this.isOver = true;
    };
    const connected = gateway.connect({ send: () => undefined, close: refused });
    const stream = { pause: () => undefined, resume: () => undefined };
    this.#intake = new WorkerIntake(stream, systemRuntime(), {
      take: (message) => connected.receive(message),
      refuse: () => {
        connected.closed();
        refused();
      },
    });
    this.#end = () => connected.closed();
    // Most inputs are useless before the hello; some must come first.
    if (turn % 7 !== 0) this.#intake.hear(rightHello(turn));
  }

  say(bytes: Buffer): void {
    this.#watch.hear(bytes, (input) => this.#intake.hear(input));
  }

  leave(): void {
    this.#intake.end();
    this.#end();
  }
}

/** Plays the owner of all shards. @returns function that ends it */
function own(bus: Bus): () => void {
  const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1 }));
  const gateway = { node: NODE, role: "gateway" } as const;
  let turn = 0;
  const judge = (message: FromGateway) => {
    if (message.kind === "FINISHED") {
      for (const { workerId, shard, executionId: id, attempt } of message.results) {
        const kind = ++turn % 3 === 0 ? "REFUSED" : "ACK";
        bus.send(gateway, { kind, workerId, tokens: [{ shard, executionId: id, attempt }] });
      }
    } else if (message.kind === "CREDITS") {
      const assigns = message.credits.map(({ workerId, account, granted }) =>
        assignmentTo(workerId, account, granted, ++turn),
      );
      bus.send(gateway, { kind: "ASSIGN", assigns });
    }
  };
  const end = bus.listen("scheduler", (envelopes) => {
    for (const { message } of envelopes) judge(message as FromGateway);
  });
  bus.send(gateway, { kind: "OWNER", term: 1, life: 1, shards, demand: [] });
  return end;
}

function assignmentTo(workerId: string, account: number, credit: number, turn: number): Assignment {
  return {
    ...{ shard: (turn % 40) % SHARD_COUNT, executionId: executionId(turn), attempt: 1, epoch: 1 },
    ...{ workerId, gateway: NODE, account, credit, handler: "echo", payload: null, payloadBytes: 0 },
    ...{ timeoutMs: 60_000, cancelGraceMs: 10_000, failures: 0, maxAttempts: 5, scheduledAt: 1_750_000_000_000 },
  };
}
