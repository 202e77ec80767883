import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import packageJson from "../package.json" with { type: "json" };
import { riverVersion } from "./contenders/river/river-program.ts";
import { peerVersions } from "./peers.ts";
import { redisVersion } from "./services/redis.ts";
import type { Stage } from "./services/stage.ts";

/** Place and programs of a measurement, for people. */
export type Machine = Record<string, string>;

export async function describeMachine(stage: Stage, withPeers: boolean): Promise<Machine> {
  const { version } = await stage.postgres();
  return {
    CPU: `${cpus()[0]?.model.trim() ?? "unknown"}, ${availableParallelism()} cores`,
    memory: `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    system: `${type()} ${release()}${distribution()}`,
    Mainspring: packageJson.version,
    Node: process.version.slice(1),
    PostgreSQL: version,
    ...(withPeers && { Redis: await redisVersion(), ...(await peerVersions()), River: await riverVersion() }),
  };
}

function distribution(): string {
  try {
    const name = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
    return name === undefined ? "" : `, ${name}`;
  } catch {
    return "";
  }
}

/** Commit at the start of this process; `unknown`: the folder is no checkout. */
export const commit = commitHere();

function commitHere(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: import.meta.dirname, stdio: "pipe" })
      .toString()
      .trim();
  try {
    // Files that the report itself writes do not count as changes.
    const isChanged = git("status", "--porcelain", "--", "../..") !== "";
    return `${git("rev-parse", "--short=12", "HEAD")}${isChanged ? " with changes" : ""}`;
  } catch {
    return "unknown";
  }
}
