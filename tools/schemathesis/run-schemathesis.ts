import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { schemathesisPython } from "./install.ts";

export interface SchemathesisRun {
  /** Exit code; 0: every answer matched the description, and none was a server error. */
  exitCode: number | null;
  report: string;
}

interface Target {
  url: string;
  apiKey: string;
  /** Seed that, together with the description, determines the requests. */
  seed: number;
  /** Time for all requests, except the first of each kind, in seconds. */
  maxSec: number;
}

/** Sends a server valid and invalid requests by its description, and checks every answer against the description. */
export async function runSchemathesis({ url, apiKey, seed, maxSec }: Target): Promise<SchemathesisRun> {
  const folder = await mkdtemp(join(tmpdir(), "schemathesis-"));
  const config = join(import.meta.dirname, "schemathesis.toml");
  const args = ["-m", "schemathesis.cli", "--config-file", config, "run", `${url}/openapi.json`];
  args.push("--header", `Authorization: Bearer ${apiKey}`, "--seed", `${seed}`, "--max-time", `${maxSec}`);
  args.push("--continue-on-failure", "--no-color");
  for (const id of await streams(url)) args.push("--exclude-operation-id", id);
  // Schemathesis stores its memory of earlier runs in its working folder.
  const child = spawn(await schemathesisPython(), args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  try {
    const [exitCode, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { exitCode, report: out + err };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Description {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, { content?: object }> }>>;
}

/**
 * Operations whose answers last until an execution is final. The executions here are made up, so no worker runs them.
 */
async function streams(url: string): Promise<string[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ responses }) => Object.values(responses).some(({ content = {} }) => "text/event-stream" in content))
    .map(({ operationId }) => operationId);
}
