import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FIGURES, type Figure, PREFIX, PROCESS_FIGURES } from "../../packages/server/src/testing.ts";
import { staleDashboards } from "./dashboards.ts";
import { DASHBOARDS } from "./panels.ts";

const figures: Record<string, Figure> = FIGURES;
const queries = DASHBOARDS.flatMap(({ name, panels }) =>
  panels.flatMap((panel) =>
    panel.queries.map(([expr, legend]) => ({ where: `${name}: ${panel.title}`, expr, legend })),
  ),
);
/** Labels that Prometheus adds, and the bucket of a histogram. */
const ADDED = ["cluster", "instance", "le"];

describe("the dashboards for Grafana", () => {
  it("are those of their plans", () => {
    assert.deepEqual(staleDashboards(), [], "run `npm run generate`");
  });

  it("ask for figures that there are, by labels that they have", () => {
    assert.ok(queries.length > 60);
    for (const { where, expr, legend } of queries) {
      const names = expr.match(/\b(?:mainspring|nodejs|process)_[a-z0-9_]+/g) ?? [];
      assert.ok(names.length > 0, where);
      const labels = names.flatMap((name) => labelsOf(name) ?? assert.fail(`${where}: there is no ${name}`));
      for (const label of labelsIn(expr, legend)) {
        assert.ok(ADDED.includes(label) || labels.includes(label), `${where}: no figure has the label ${label}`);
      }
    }
  });

  it("show each figure that is worth an alert", () => {
    const shown = queries.map(({ expr }) => expr).join("\n");
    const worth = Object.keys(figures).filter((name) => figures[name]?.alert !== undefined);
    const missing = worth.filter((name) => !shown.includes(`${PREFIX}${name}`));
    assert.deepEqual(missing, []);
  });
});

function labelsOf(name: string): readonly string[] | undefined {
  if (name in PROCESS_FIGURES) return [];
  const base = name.slice(PREFIX.length);
  return (figures[base] ?? figures[base.replace(/_(bucket|count|sum)$/, "")])?.labels;
}

function labelsIn(expr: string, legend: string): string[] {
  const by = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(",").map((one) => one.trim()));
  const matched = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label = ""]) => label);
  const legends = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
  return [...by, ...matched, ...legends].filter((label) => label !== "");
}
