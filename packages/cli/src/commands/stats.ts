import type { Stats } from "@mainspring/sdk";
import type { Command } from "commander";
import { type ConnectionOptions, clientCommand, connect } from "../arguments/connection-options.ts";
import { counted } from "../text/counted.ts";
import { facts } from "../text/output.ts";

export function statsCommand(): Command {
  return clientCommand("stats")
    .description("show what the server is and has to do now")
    .action(async (options: ConnectionOptions) => {
      const { client, output } = connect(options);
      const stats = await client.stats();
      output.print(stats, () => statsText(stats));
    });
}

function statsText({ addresses, shards, executions, lateness, ...stats }: Stats): string {
  const count = (figure: number) => (figure >= executions.countedUpTo ? `${figure} or more` : String(figure));
  return facts([
    ["version", stats.version],
    ["api", addresses.http],
    ["workers", `${stats.workers.connected} connected, to ${addresses.grpc ?? "none of its own"}`],
    ["nodes", stats.nodes.map(({ node, roles }) => `${node} (${roles.join(", ")})`).join("; ")],
    ["shards", `${shards.owned} of ${shards.total} have an owner`],
    ["waiting", count(executions.waiting)],
    ["ready", count(executions.ready)],
    ["running", count(executions.running)],
    ["dead letters", count(executions.deadLetters)],
    ["open workflows", executions.openRuns == null ? "not known" : count(executions.openRuns)],
    ["finished", stats.finished.map((end) => `${end.count} ${end.state}`).join(", ") || "none"],
    ["time zone data", zonesText(stats)],
    ["recurring", recurringText(stats.recurring)],
    ["late by", latenessText(lateness)],
    ["durability", durabilityText(stats.durability)],
    ["store", stats.store.map(({ purpose, busy, max }) => `${purpose} ${busy}/${max}`).join(", ")],
  ]);
}

/** @param durability left out: the server is older than this command */
function durabilityText(durability?: Stats["durability"]): string {
  if (durability === undefined) return "not known";
  const { store, disk, replicas } = durability;
  const written = disk === "ALWAYS" ? "a change is on disk before it is answered" : "a crash loses the last changes";
  return `${store}: ${written}${replicas === 0 ? "" : `, and on ${counted(replicas, "replica")}`}`;
}

function zonesText({ timeZoneData, timeZoneDataAgeDays }: Pick<Stats, "timeZoneData" | "timeZoneDataAgeDays">): string {
  return timeZoneDataAgeDays === null ? timeZoneData : `${timeZoneData}, ${counted(timeZoneDataAgeDays, "day")} old`;
}

function recurringText({ planned, run, late, skipped, missed }: Stats["recurring"]): string {
  const lost = missed === null || missed === 0 ? "" : `; ${missed} MISSED within the last day: \`jobs missed\``;
  if (planned === 0) return `nothing was planned${lost}`;
  return `${planned} planned: ${run} run (${late} late), ${skipped} skipped${lost}`;
}

function latenessText({ p50Ms, p99Ms, starts }: Stats["lateness"]): string {
  return starts === 0 ? "nothing has started lately" : `${p50Ms} ms at the median, ${p99Ms} ms at the 99th percentile`;
}
