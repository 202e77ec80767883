import { AttemptAborted, type Task, type TaskContext, TerminalError, task } from "@mainspring/sdk";
import type { Runtime } from "../../ports/runtime.ts";
import { type ExecPayload, execPayload } from "./exec-payload.ts";
import { type ProcessEnd, ProcessGroup } from "./process-group.ts";

export interface ExecResult {
  exitCode: 0;
  /** The last 64 KiB of each, as UTF-8. */
  stdout: string;
  stderr: string;
  /** Bytes that are missing at their beginnings. */
  stdoutDroppedBytes: number;
  stderrDroppedBytes: number;
}

/** An error tells so much of the end of what the program complained. */
const COMPLAINT_MAX_CHARS = 4_000;
/** Trying again would meet the same. */
const LASTING = ["ENOENT", "EACCES", "EPERM", "ENOEXEC", "ENOTDIR", "ELOOP", "E2BIG", "ENAMETOOLONG"];

/** The program ended with another exit code than 0, or by a signal. */
class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";
}

/** Runs a program: SUCCEEDED where it exits with 0. It runs as the user of this process; no shell is between. */
export function execTask(runtime: Runtime): Task<ExecPayload, ExecResult> {
  return task({
    name: "exec",
    schema: execPayload,
    run: async (payload: ExecPayload, ctx): Promise<ExecResult> => {
      if (process.platform === "win32") throw new TerminalError("exec needs process groups, which Windows has not");
      ctx.signal.throwIfAborted();
      return resultOf(payload, await finished(payload, ctx, runtime));
    },
  });
}

async function finished(payload: ExecPayload, ctx: TaskContext, runtime: Runtime): Promise<ProcessEnd> {
  let letGo = () => undefined as void;
  try {
    const group = new ProcessGroup(payload, runtime);
    letGo = killOnAbort(group, ctx, runtime);
    return await group.ended;
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const message = `${payload.argv[0]} cannot be started in ${payload.cwd ?? "/"}: ${code}`;
    throw LASTING.includes(code) ? new TerminalError(message, { cause }) : cause;
  } finally {
    letGo();
  }
}

/** SIGTERM to all of the group, and SIGKILL once the grace time is over. @returns ends the watch */
function killOnAbort(group: ProcessGroup, { signal, cancelGraceMs }: TaskContext, runtime: Runtime): () => void {
  let timer: ReturnType<Runtime["setTimer"]> | null = null;
  const stop = () => {
    const { reason } = signal;
    // Nobody will be here when its grace time is over.
    if (reason instanceof AttemptAborted && reason.reason === "WORKER_LEAVES") return group.stop("SIGKILL");
    group.stop("SIGTERM");
    timer = runtime.setTimer(cancelGraceMs, () => group.stop("SIGKILL"));
  };
  signal.addEventListener("abort", stop, { once: true });
  return () => {
    signal.removeEventListener("abort", stop);
    timer?.cancel();
  };
}

function resultOf({ argv }: ExecPayload, end: ProcessEnd): ExecResult {
  const { exitCode, signal, wasStopped, stdout, stderr } = end;
  // A program that exits with 0 because it was told to stop has not done its work.
  if (exitCode === 0 && !wasStopped) {
    return {
      exitCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutDroppedBytes: stdout.droppedBytes,
      stderrDroppedBytes: stderr.droppedBytes,
    };
  }
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  const said =
    stderr.text().trimEnd().slice(-COMPLAINT_MAX_CHARS) || stdout.text().trimEnd().slice(-COMPLAINT_MAX_CHARS);
  throw new ProgramFailed(`${argv[0]} ${how}${wasStopped ? " after it was told to stop" : ""}${said && `: ${said}`}`);
}
