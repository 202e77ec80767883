import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

/** End of a program. `code` is null if a signal ended the program. */
export interface ProgramEnd {
  readonly code: number | null;
  /** stdout and stderr together, at most the last `OUTPUT_CHARS` characters. */
  readonly output: string;
}

const OUTPUT_CHARS = 16_000;

/** Runs a short program to its end. @throws the platform's error (ENOENT, EACCES) when it cannot be started */
export function runProgram(file: string, args: readonly string[], options: SpawnOptions = {}): Promise<ProgramEnd> {
  return programEnd(spawn(file, [...args], { ...options, stdio: ["ignore", "pipe", "pipe"], windowsHide: true }));
}

/** Waits for a child started with its outputs piped (or ignored). @throws when it could not be started */
export function programEnd(child: ChildProcess): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    let output = "";
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(-OUTPUT_CHARS);
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output: output.trim() }));
  });
}
