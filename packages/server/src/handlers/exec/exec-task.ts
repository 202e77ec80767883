import { AttemptAborted, type Task, type TaskContext, TerminalError, task } from "@mainspring/sdk";
import type { Runtime } from "../../ports/runtime.ts";
import { type ExecPayload, execPayload } from "./exec-payload.ts";
import { type ProcessEnd, ProcessGroup } from "./process-group.ts";

export interface ExecResult {
  exitCode: 0;
  /** Last 64 KiB of standard output, as UTF-8; `stderr` likewise. */
  stdout: string;
  stderr: string;
  /** Number of bytes that are missing at the beginning of each output. */
  stdoutDroppedBytes: number;
  stderrDroppedBytes: number;
}

/** Largest part of the standard error that an error quotes, in characters. */
const COMPLAINT_MAX_CHARS = 4_000;
/** Error codes that a retry would meet again. */
const LASTING = ["ENOENT", "EACCES", "EPERM", "ENOEXEC", "ENOTDIR", "ELOOP", "E2BIG", "ENAMETOOLONG"];

/** Error: the program ended with an exit code other than 0, or by a signal. */
class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";
}

/** Runs a program, without a shell, as the user of this process. The attempt succeeds if the program exits with 0. */
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
  let stopWatching = () => undefined as void;
  try {
    const group = new ProcessGroup(payload, runtime);
    stopWatching = killOnAbort(group, ctx, runtime);
    return await group.ended;
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const message = `${payload.argv[0]} cannot be started in ${payload.cwd ?? "/"}: ${code}`;
    throw LASTING.includes(code) ? new TerminalError(message, { cause }) : cause;
  } finally {
    stopWatching();
  }
}

/**
 * On an abort, sends SIGTERM to the whole group, and SIGKILL once the grace time is over. @returns function that ends
 * the watch
 */
function killOnAbort(group: ProcessGroup, { signal, cancelGraceMs }: TaskContext, runtime: Runtime): () => void {
  let timer: ReturnType<Runtime["setTimer"]> | null = null;
  const stop = () => {
    const { reason } = signal;
    // The worker leaves, so nothing could kill the program when its grace time is over.
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
