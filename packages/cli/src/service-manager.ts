import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Time that systemd-notify may take, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Tells the service manager what this program does. Without a manager that listens, it does nothing. */
export interface ServiceManager {
  /** Reports that the program is ready. @param status what it does, for people */
  ready(status: string): Promise<void>;
  /** Reports that the program stops. @param status why, for people */
  stopping(status: string): Promise<void>;
}

/**
 * The systemd that started this program as a unit of `Type=notify`, as sd_notify(3) describes. systemd's own command sends the
 * messages, because Node has no datagram sockets of Unix; the unit needs `NotifyAccess=all`. The socket leaves the environment, so
 * that programs which a handler runs cannot speak for the server.
 */
export function serviceManager(): ServiceManager {
  const socket = process.env["NOTIFY_SOCKET"] ?? "";
  delete process.env["NOTIFY_SOCKET"];
  const tell = async (...states: string[]) => {
    if (socket === "") return;
    try {
      const env = { PATH: process.env["PATH"], NOTIFY_SOCKET: socket };
      await run("systemd-notify", states, { env, timeout: PATIENCE_MS });
    } catch (error) {
      const reason = error instanceof Error ? error.message.trim() : String(error);
      process.stderr.write(`mainspring: systemd was not told (${states[0]}): ${reason}\n`);
    }
  };
  return {
    ready: (status) => tell("--ready", `--status=${status}`),
    stopping: (status) => tell("STOPPING=1", `--status=${status}`),
  };
}
