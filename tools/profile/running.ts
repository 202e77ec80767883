import type { RunningServer, ServerEntry, Settings } from "./servers.ts";

/** Servers of a profile that run. */
export interface RunningServers {
  /** Address of each server, with its title. */
  addresses: readonly (readonly [title: string, address: string])[];
  /** Settings of each node for all of them. */
  settings: Settings;
  stop(): Promise<void>;
}

/**
 * Starts servers side by side.
 * @param say called when a server answers
 * @throws {Error} a server did not start; none is left running, and the message is one sentence that names the server
 */
export async function startServers(
  entries: readonly ServerEntry[],
  say: (text: string) => void,
): Promise<RunningServers> {
  const started: RunningServer[] = [];
  const stop = async () => {
    const ends = await Promise.allSettled(started.map((server) => server.stop()));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  };
  const addresses: [string, string][] = [];
  const settings: Record<string, string> = {};
  const begun = entries.map(async ({ title, start, settings: settingsAt }) => {
    const server = await start().catch((cause: unknown) => {
      throw new Error(`${title} did not start: ${firstLine(cause)}`, { cause });
    });
    started.push(server);
    addresses.push([title, server.address]);
    Object.assign(settings, settingsAt(server.address));
    say(`${title} answers`);
  });
  // Each start ends before the others stop, so that no server starts after the stop.
  const ends = await Promise.allSettled(begun);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return { addresses, settings, stop };
}

/** First line of an error's message, without a full stop. */
export function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split("\n")[0] ?? "").replace(/[.:]$/, "");
}
