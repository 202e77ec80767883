import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dashboardJson } from "./dashboard-json.ts";
import { DASHBOARDS } from "./panels.ts";

const FOLDER = join(import.meta.dirname, "../../deploy/grafana");

/** Names of the files of deploy/grafana that differ from their plans. */
export function staleDashboards(): string[] {
  return DASHBOARDS.filter((plan) => readOr(fileOf(plan.name)) !== dashboardJson(plan)).map(({ name }) => name);
}

/** Writes the files of deploy/grafana anew, as part of `npm run generate`. */
export function writeDashboards(): void {
  for (const plan of DASHBOARDS) writeFileSync(fileOf(plan.name), dashboardJson(plan));
}

function fileOf(name: string): string {
  return join(FOLDER, `${name}.json`);
}

function readOr(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
