import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pythonWith } from "./python-packages.ts";
import { restartable, startPythonServer, type TestChild } from "./python-server.ts";

const SOURCE = join(import.meta.dirname, "otlp-receiver");

/** A request of OTLP in its form of JSON. */
export type OtlpLine = Readonly<Record<string, unknown>>;

/** A receiver of OTLP for tests. */
export interface OtlpReceiver {
  /** Base URL of its receiver of OTLP over HTTP. */
  readonly url: string;
  /** All requests for spans, in the order of their arrival. */
  traces(): Promise<OtlpLine[]>;
  /** All requests for metrics, in the order of their arrival. */
  metrics(): Promise<OtlpLine[]>;
  stop(): Promise<void>;
}

/** A receiver that can be killed. */
export interface OtlpServer extends OtlpReceiver {
  readonly child: TestChild;
}

/** Starts a receiver that reads requests with the official protobufs. It ends with this process at the latest. */
export async function startOtlpReceiver(): Promise<OtlpServer> {
  const python = await pythonWith({ name: "opentelemetry-proto", constraints: join(SOURCE, "constraints.txt") });
  const folder = await mkdtemp(join(tmpdir(), "otlp-receiver-"));
  const child = await restartable((port) =>
    startPythonServer(python, join(SOURCE, "server.py"), [folder], { RECEIVER_PORT: String(port) }),
  );
  return { ...receiverIn(folder, `http://127.0.0.1:${child.port}`, child.kill), child };
}

/** Receiver that writes the requests of each kind into a file of a folder, which goes with it. */
export function receiverIn(folder: string, url: string, end: () => Promise<void>): OtlpReceiver {
  const lines = async (name: string) => {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    // The last line may be incomplete.
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as OtlpLine);
  };
  return {
    url,
    traces: () => lines("traces.json"),
    metrics: () => lines("metrics.json"),
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
