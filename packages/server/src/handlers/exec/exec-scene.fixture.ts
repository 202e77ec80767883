import { on, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { HandTimers, invoke } from "../handlers.fixture.ts";
import type { ExecPayload } from "./exec-payload.ts";
import { execTask } from "./exec-task.ts";

/**
 * A program that has started. Its connection shows that it lives, because the connection breaks when the process ends
 * in any way.
 */
export interface Begun {
  /** Resolves when the program has ended. */
  ended: Promise<unknown>;
  /** Resolves when the program sends another message. */
  said: Promise<unknown>;
  say(text: string): void;
}

/** Runs programs that report to the test when they have started. */
export async function execScene(test: TestContext) {
  const clock = new HandTimers();
  const task = execTask(clock.runtime);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const arrivals = on(server, "connection");
  const { port } = server.address() as AddressInfo;
  const pids: number[] = [];
  test.after(() => {
    for (const pid of pids) kill(pid);
    return new Promise((resolve) => server.close(resolve));
  });
  /** The next program that reports. */
  const begun = async (): Promise<Begun> => {
    const [socket] = (await arrivals.next()).value as [Socket];
    const ended = new Promise((resolve) => socket.once("close", resolve));
    // A killed process resets its connection.
    socket.on("error", () => undefined);
    const [pid] = await once(socket.setEncoding("utf8"), "data");
    pids.push(Number(pid));
    const said = new Promise((resolve) => socket.once("data", resolve));
    return { ended, said, say: (text) => void socket.write(text) };
  };
  const call = (payload: object, cancelGraceMs?: number) => invoke(task, payload, cancelGraceMs);
  return { clock, call, begun, reporting: (body: string) => reporting(port, body) };
}

/** A program that runs `body` and then reports; it does not end by itself while its connection is open. */
function reporting(port: number, body: string): Pick<ExecPayload, "argv"> {
  const program = `const socket = require("node:net").connect(${port}, "127.0.0.1", () => {
    ${body}
    socket.on("error", () => {}).write(String(process.pid));
  });`;
  return { argv: [process.execPath, "-e", program] };
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended, as it should.
  }
}
