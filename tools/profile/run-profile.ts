import { tmpdir } from "node:os";
import { checkOn } from "./check.ts";
import { type RunningCluster, startCluster } from "./cluster.ts";
import { PROFILES, usableServers } from "./profiles.ts";
import { firstLine, type RunningServers, startServers } from "./running.ts";
import { SERVERS, type Settings, settingsIn } from "./servers.ts";

export interface ProfileOptions {
  /** Name of the profile. */
  name: string;
  /** Number of nodes. */
  nodes: number;
  /** Settings of nodes in addition to those of the profile. */
  settings: Settings;
  /** Whether the demo and the end-to-end tests run, in place of a wait for the end. */
  check: boolean;
  /** Parts of names of test files; empty: all files. */
  only: readonly string[];
}

interface Control {
  /** Aborts when the profile is to stop. */
  signal: AbortSignal;
  /** Called when everything runs. */
  started(): void;
}

const say = (text: string) => console.log(text);

/** Runs a profile until it is stopped, or its check. @returns exit code */
export async function runProfile(options: ProfileOptions, control: Control): Promise<number> {
  const profile = PROFILES[options.name];
  if (profile === undefined) throw new Error(`there is no profile ${options.name}`);
  const { usable, unusable } = usableServers(profile);
  say(`Profile ${options.name}: ${profile.about}.`);
  for (const name of unusable) say(`${SERVERS[name].title} is left out: this version has no ${SERVERS[name].setting}.`);
  let servers: RunningServers | null = null;
  let cluster: RunningCluster | null = null;
  try {
    servers = await startServers(
      usable.map((name) => SERVERS[name]),
      say,
    );
    const settings = { ...servers.settings, ...profile.settings, ...options.settings };
    cluster = await startCluster(settingsIn("ms", settings), { folder: tmpdir(), count: options.nodes });
    control.started();
    say(addressesText(servers, cluster));
    if (!options.check) return await untilStopped(cluster, control.signal);
    return await checkOn({ ...options, settings, cluster, signal: control.signal });
  } catch (error) {
    console.error(`profile ${options.name}: ${firstLine(error)}. Everything is stopped.`);
    return 1;
  } finally {
    await cluster?.stop();
    await servers?.stop();
  }
}

async function untilStopped({ broken }: RunningCluster, signal: AbortSignal): Promise<number> {
  say("\nCtrl-C stops everything and removes all data.");
  const stopped = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
  const end = await Promise.race([stopped, broken]);
  if (end !== null) throw new Error(end);
  say("Stopping …");
  return 0;
}

function addressesText({ addresses }: RunningServers, { nodes }: RunningCluster): string {
  const rows: (readonly [string, string])[] = [...addresses].sort(([a], [b]) => a.localeCompare(b));
  for (const [index, { httpUrl, grpcAddress }] of nodes.entries())
    rows.push([
      `Node ${index + 1}`,
      `${httpUrl}  (documentation of its API: ${httpUrl}/docs, workers: ${grpcAddress})`,
    ]);
  const width = Math.max(...rows.map(([title]) => title.length));
  const urls = `export MAINSPRING_URL=${nodes[0]?.httpUrl} MAINSPRING_GRPC_URL=${nodes[0]?.grpcAddress}`;
  return ["", ...rows.map(([title, address]) => `  ${title.padEnd(width)}  ${address}`), "", urls].join("\n");
}
