import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import packageJson from "../package.json" with { type: "json" };
import { peerVersions } from "./peers.ts";
import { redisVersion } from "./services/redis.ts";
import type { Stage } from "./services/stage.ts";

/** Where and with what something was measured; for people. */
export type Machine = Record<string, string>;

export async function describeMachine(stage: Stage, withPeers: boolean): Promise<Machine> {
  const { version } = await stage.postgres();
  return {
    CPU: `${cpus()[0]?.model.trim() ?? "unknown"}, ${availableParallelism()} cores`,
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    system: `${type()} ${release()}${distribution()}`,
    "load average before": busyness(),
    Mainspring: `${packageJson.version}${commit()}`,
    Node: process.version.slice(1),
    PostgreSQL: version,
    ...(withPeers && { Redis: await redisVersion(), ...(await peerVersions()) }),
  };
}

/** What others did here in the minutes before; a word with it where that spoils rates. */
function busyness(): string {
  const loads = loadavg();
  const text = loads.map((load) => load.toFixed(1)).join(", ");
  return (loads[0] ?? 0) > 1 ? `${text}: others use this machine too, so only CPU of a job says much` : text;
}

function distribution(): string {
  try {
    const name = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
    return name === undefined ? "" : `, ${name}`;
  } catch {
    return "";
  }
}

/** Empty where this is no checkout. */
function commit(): string {
  try {
    const output = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], {
      cwd: import.meta.dirname,
      stdio: "pipe",
    });
    return `, commit ${output.toString().trim()}`;
  } catch {
    return "";
  }
}
