import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { DOWNLOADS, installOnce } from "./install-once.ts";
import { type OtlpReceiver, receiverIn } from "./start-otlp-receiver.ts";

const run = promisify(execFile);
const SOURCE = join(import.meta.dirname, "otel-collector");
const SOURCES = ["go.mod", "go.sum", "main.go"];
/** Number of ports that are tried, because another program may take a port before the collector does. */
const TRIES = 5;
/** Shell script that runs a program until the standard input ends, so also where this process is killed. */
const LEASH = 'exec 3<&0; "$0" "$@" & c=$!; { cat <&3 > /dev/null; kill -9 $c; } 2> /dev/null & wait $c';

/** Starts a collector. It is built at its first use on a machine, which takes Go, a network and some minutes. */
export async function startOtelCollector(): Promise<OtlpReceiver> {
  const program = await collectorProgram();
  const folder = await mkdtemp(join(tmpdir(), "otel-collector-"));
  const { child, url } = await startOnFreePort(program, folder);
  return receiverIn(folder, url, async () => {
    child.stdin?.end();
    if (child.exitCode === null) await once(child, "exit");
  });
}

async function collectorProgram(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of SOURCES) hash.update(await readFile(join(SOURCE, name)));
  const installed = join(DOWNLOADS, `otel-collector-${hash.digest("hex").slice(0, 16)}`);
  await installOnce(installed, async (fresh) => {
    for (const name of SOURCES) await copyFile(join(SOURCE, name), join(fresh, name));
    await run("go", ["build", "-trimpath", "-o", "collector", "."], { cwd: fresh }).catch((cause: unknown) => {
      throw new Error("the collector of OpenTelemetry cannot be built: it needs Go and a network", { cause });
    });
  });
  return join(installed, "collector");
}

async function startOnFreePort(program: string, folder: string): Promise<{ child: ChildProcess; url: string }> {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const config = join(folder, "config.yaml");
    await writeFile(config, configOf(port, folder));
    const child = spawn("sh", ["-c", LEASH, program, "--config", config], { stdio: ["pipe", "ignore", "pipe"] });
    // A collector whose port is taken ends, so a ready one has the port.
    if (await isReady(child)) return { child, url: `http://127.0.0.1:${port}` };
    if (tries === TRIES) throw new Error("the collector of OpenTelemetry did not start");
  }
}

async function isReady(child: ChildProcess): Promise<boolean> {
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    if (!line.includes("Everything is ready")) continue;
    child.stderr?.resume();
    return true;
  }
  return false;
}

function configOf(port: number, folder: string): string {
  const pipeline = (name: string) => ({ receivers: ["otlp"], exporters: [`file/${name}`] });
  const file = (name: string) => ({ path: join(folder, `${name}.json`), flush_interval: "50ms" });
  // JSON is YAML, too.
  return JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { "file/traces": file("traces"), "file/metrics": file("metrics") },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { traces: pipeline("traces"), metrics: pipeline("metrics") },
    },
  });
}
