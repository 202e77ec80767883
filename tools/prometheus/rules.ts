import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { FIGURES, type Figure, PREFIX, PROCESS_FIGURES } from "../../packages/server/src/testing.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

/** The example alerts of deploy/prometheus, in their order. */
export function readAlerts(): Alert[] {
  const text = readFileSync(join(ROOT, "deploy/prometheus/alerts.yml"), "utf8");
  return (parse(text) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules);
}

const figures: Record<string, Figure> = FIGURES;
/** Names of a metric, and of the parts of a histogram. */
const NAME = /\b(?:mainspring|nodejs|process)_[a-z0-9_]+/g;

/** Names of the metrics that a query asks for, without the suffixes of histograms. */
export function metricsIn(query: string): string[] {
  return (query.match(NAME) ?? []).map(baseOf);
}

/** Faults of a query in PromQL: metrics that a node does not have, and labels that a metric does not have. */
export function queryFaults(query: string): string[] {
  const names = (query.match(NAME) ?? []).filter((name) => !isShown(name)).map((name) => `there is no ${name}`);
  const labels = [...query.matchAll(/(mainspring_[a-z0-9_]+)\{(\w+)=/g)]
    .filter(([, name = "", label = ""]) => figureOf(name)?.labels.includes(label) !== true)
    .map(([, name, label]) => `${name} has no label ${label}`);
  return [...names, ...labels];
}

function baseOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, "");
}

function figureOf(name: string): Figure | undefined {
  return figures[baseOf(name).replace(PREFIX, "")];
}

function isShown(name: string): boolean {
  if (name in PROCESS_FIGURES) return true;
  const figure = figureOf(name);
  return figure !== undefined && (figure.type === "histogram") === (name !== baseOf(name));
}
