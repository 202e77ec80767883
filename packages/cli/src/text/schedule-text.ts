import { type DescribedSchedule, type LedgerItem, type PreviewedFire, printable } from "@mainspring/sdk";
import { table } from "./output.ts";

/** Text of a schedule: its words, and future fires, one per line. */
export function scheduleText({ words, fires }: DescribedSchedule): string {
  return words === null ? firesText(fires) : `${printable(words)}\n\n${firesText(fires)}`;
}

function firesText(fires: readonly PreviewedFire[]): string {
  if (fires.length === 0) return "no fires";
  const rows = fires.map(({ at, local, note = "" }) => [local, shortly(at), note]);
  return table(["LOCAL", "UTC", "CLOCK CHANGE"], rows);
}

/** Text of planned instants with their outcomes, one per line. */
export function ledgerText(items: readonly LedgerItem[]): string {
  if (items.length === 0) return "nothing was planned";
  const rows = items.map(({ local, at, outcome, run, reason, until, count = 1 }) => [
    local,
    until === undefined ? shortly(at) : `${shortly(at)} to ${shortly(until)}`,
    count === 1 ? outcome : `${outcome} (${count})`,
    reason ?? run?.state ?? "",
    run === undefined ? "" : latenessText(run),
    run?.executionId ?? "",
  ]);
  return table(["LOCAL", "UTC", "OUTCOME", "STATE", "LATE BY", "EXECUTION"], rows);
}

function latenessText({ latenessMs, late }: NonNullable<LedgerItem["run"]>): string {
  const figure = latenessMs === null ? "not started" : `${latenessMs} ms`;
  return late ? `${figure}, LATE` : figure;
}

function shortly(at: string): string {
  return at.replace(".000Z", "Z");
}
