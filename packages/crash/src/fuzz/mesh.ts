import { EventEmitter } from "node:events";
import { setImmediate } from "node:timers/promises";
import { createGateway, createLog, MeshBus, systemRuntime } from "@mainspring/server/testing";
import fc from "fast-check";
import { type FuzzFigures, FuzzWatch } from "./figures.ts";
import { greetingInput, NODE, OTHER, packetInput, rightHello } from "./mesh-inputs.ts";

const KEY = "the-api-key-of-the-fuzzer";
/** Number of inputs that are created at once. */
const BATCH = 2_000;
/** Number of inputs after which the event loop does its other work. */
const TURN = 100;
/** Share of streams that send a valid hello and then fuzzed packets; the others send fuzzed bytes from the start. */
const WELCOMED = 0.8;
/** Number of inputs after which a stream ends, if it was not refused before. */
const STREAM = 20;

/** Sends random streams to the mesh of a real node with a gateway; some are welcomed as another node, and some not. */
export async function fuzzMesh(inputs: number, seed: number): Promise<FuzzFigures> {
  const watch = new FuzzWatch("mesh protocol", inputs);
  const [runtime, log] = [systemRuntime(), createLog("silent")];
  const isAuthorized = (authorization: string | undefined) => authorization === `Bearer ${KEY}`;
  const parts = { node: NODE, level: 3, apiKey: KEY, secrets: ["a-secret-that-nobody-knows"], isAuthorized };
  const bus = new MeshBus({ ...parts, leaseWithinMs: 50, runtime, log });
  const said = { name: OTHER, address: "127.0.0.1:9", roles: [], version: "1", level: 3, startedAt: 1 };
  // No server listens there, so the gateway's messages to that node are lost.
  bus.meet([{ ...said, incarnation: OTHER }]);
  const gateway = createGateway({ bus, runtime, log });
  const ends = (["api", "scheduler"] as const).map((role) => bus.listen(role, () => undefined));
  let stream = new RandomStream(bus, false, watch);
  for (let done = 0; done < inputs; done += BATCH) {
    const numRuns = Math.min(BATCH, inputs - done);
    const packets = fc.sample(packetInput, { numRuns, seed: seed + done });
    const greetings = fc.sample(greetingInput, { numRuns, seed: seed + done });
    for (let at = 0; at < numRuns; at++) {
      if (stream.isOver || at % STREAM === 0) {
        stream.leave();
        stream = new RandomStream(bus, (at % 10) / 10 < WELCOMED, watch);
      }
      stream.say((stream.isWelcome ? packets[at] : greetings[at]) as Buffer);
      if (at % TURN === 0) await setImmediate();
    }
  }
  stream.leave();
  gateway.close();
  for (const end of ends) end();
  bus.close();
  return watch.end();
}

/** A stream in the form in which the gRPC server gives it to the mesh. */
class RandomStream {
  isOver = false;
  readonly isWelcome: boolean;
  readonly #call = new EventEmitter();
  readonly #watch: FuzzWatch;

  constructor(bus: MeshBus, isWelcome: boolean, watch: FuzzWatch) {
    this.isWelcome = isWelcome;
    this.#watch = watch;
    const metadata = { get: () => [`Bearer ${KEY}`] };
    const nothing = () => undefined;
    const call = Object.assign(this.#call, {
      metadata,
      write: () => true,
      end: nothing,
      pause: nothing,
      resume: nothing,
    });
    this.#call.on("error", () => {
      if (!this.isOver) watch.refused();
      this.isOver = true;
    });
    bus.service.serve(call as unknown as Parameters<MeshBus["service"]["serve"]>[0]);
    if (isWelcome) this.#call.emit("data", Buffer.from(rightHello));
  }

  say(bytes: Buffer): void {
    this.#watch.hear(bytes, (input) => this.#call.emit("data", input));
  }

  leave(): void {
    this.isOver = true;
    this.#call.emit("cancelled");
  }
}
