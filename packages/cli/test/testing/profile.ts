import { createHash } from "node:crypto";
import process from "node:process";

/** Servers on which tests run, in place of the embedded store. */
interface TestProfile {
  /** Settings of each node, in which `{space}` stands for the name of a cluster. */
  settings: Readonly<Record<string, string>>;
  /** Number of nodes of a cluster. */
  nodes: number;
}

const { MAINSPRING_TEST_PROFILE: text } = process.env;
const profile = text === undefined ? null : (JSON.parse(text) as TestProfile);

/** Number of nodes that run beside a server. */
export const NODES_BESIDE = profile === null ? 0 : profile.nodes - 1;

/**
 * Settings of a server whose data would be in this folder: those of a cluster of its own on the servers of the profile. None without a
 * profile, and none of a server with a store of its own.
 */
export function profileSettings(dataDir: string, env: Readonly<Record<string, string>>): Record<string, string> {
  if (profile === null || env["MAINSPRING_STORE"] !== undefined) return { ...env };
  const space = `t${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}`;
  const settings = Object.entries(profile.settings).map(([name, value]) => [name, value.replaceAll("{space}", space)]);
  const { MAINSPRING_EVENTS: events = "" } = profile.settings;
  const asked = (env["MAINSPRING_EVENTS"] ?? "").split(",");
  const all = new Set([...asked, ...events.split(",")].filter((sink) => sink !== ""));
  return {
    ...Object.fromEntries(settings),
    MAINSPRING_STOP_DELAY_SEC: "0",
    ...env,
    MAINSPRING_EVENTS: [...all].join(","),
  };
}
