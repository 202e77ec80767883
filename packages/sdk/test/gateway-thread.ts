import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { assign, TinyGateway } from "./tiny-gateway.ts";

/** Memory that the gateway and the handler of a test share: whether the handler blocks its loop, and whether it may go on. */
export type Blocking = Int32Array<SharedArrayBuffer>;
export const IS_BLOCKED = 0;
export const MAY_GO_ON = 1;

/**
 * A gateway in a thread of its own, which hears heartbeats while the test's own loop is blocked by a handler. It lets the
 * handler go on once it has heard of the handler's start, of the lateness of that loop, and several heartbeats.
 */
async function main(port: MessagePort, blocking: Blocking): Promise<void> {
  const tell = (message: unknown) => port.postMessage(message);
  const gateway = await TinyGateway.start();
  tell(gateway.address);
  const stream = await gateway.stream();
  await stream.next((message) => message.hello !== undefined);
  stream.send({ welcome: { heartbeatIntervalMs: 10, gateway: "gateway-1" }, assigns: [assign("x")] });
  const { started } = await stream.next((message) => message.started.length + message.finished.length > 0);
  if (started.length === 0) throw new Error("the start was not told while the handler blocked its loop");
  const isBlockedAtStart = Atomics.load(blocking, IS_BLOCKED) === 1 && Atomics.load(blocking, MAY_GO_ON) === 0;
  let heartbeats = 0;
  await stream.next(({ heartbeat }) => {
    if (heartbeat === undefined || Atomics.load(blocking, IS_BLOCKED) === 0) return false;
    return ++heartbeats >= 5 && heartbeat.loopLagMs >= 600;
  });
  Atomics.store(blocking, MAY_GO_ON, 1);
  Atomics.notify(blocking, MAY_GO_ON);
  const { finished } = await stream.next((message) => message.finished.length > 0);
  const [result] = finished;
  stream.send({ acks: [{ executionId: "x", attempt: 1, shard: 7 }], drain: true });
  await stream.ended;
  gateway.stop();
  const starts = started.map(({ token, startedAtMs }) => [token?.executionId, token?.attempt, Number(startedAtMs)]);
  tell({ starts, isBlockedAtStart, heartbeats, result: Buffer.from(result?.result ?? []).toString() });
}

if (parentPort !== null) await main(parentPort, workerData);
