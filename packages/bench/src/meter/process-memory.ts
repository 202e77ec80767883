import { readFileSync, writeFileSync } from "node:fs";

/** Resident memory of processes together, in MiB; a process that has ended has none. */
export function residentMiBOf(pids: readonly number[]): number {
  return sumOf(pids, "VmRSS");
}

/** Largest resident memory of each process since it began, or since `forgetPeaks`, together, in MiB. */
export function peakMiBOf(pids: readonly number[]): number {
  return sumOf(pids, "VmHWM");
}

/** Makes the present memory of a process its largest, as Linux does for the owner of a process. */
export function forgetPeaks(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function sumOf(pids: readonly number[], field: "VmRSS" | "VmHWM"): number {
  return pids.reduce((sum, pid) => sum + kiBOf(pid, field), 0) / 1_024;
}

function kiBOf(pid: number, field: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
