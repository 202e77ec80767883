import process from "node:process";
import { type ProfileOptions, runProfile } from "./run-profile.ts";

/**
 * Process of a profile, which `tools/profile.ts` starts in a session of its own. So Ctrl-C in a terminal reaches only the
 * process that waits, and the servers end in their order. TEMPORARY folders of all servers are in TMPDIR.
 */

const options = JSON.parse(process.argv[2] ?? "{}") as ProfileOptions;
const stopping = new AbortController();
let isStarting = true;
const stop = () => {
  // Servers that start are killed by their exit handlers.
  if (isStarting) process.exit(130);
  stopping.abort();
};
process.on("message", stop);
// The waiting process is gone, however it ended.
process.on("disconnect", stop);
const code = await runProfile(options, { signal: stopping.signal, started: () => (isStarting = false) });
process.exit(code);
