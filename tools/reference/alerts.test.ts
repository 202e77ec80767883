import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FIGURES, type Figure, PREFIX, PROCESS_FIGURES } from "../../packages/server/src/testing.ts";
import { metricsIn, queryFaults, readAlerts } from "../prometheus/rules.ts";

const figures: Record<string, Figure> = FIGURES;
const alerts = readAlerts();

describe("the example alerts", () => {
  it("ask for figures that there are, by labels that they have", () => {
    assert.ok(alerts.length > 20);
    for (const { alert, expr } of alerts) assert.deepEqual(queryFaults(expr), [], alert);
  });

  it("are there for every figure that is worth one", () => {
    const asked = new Set(alerts.flatMap(({ expr }) => metricsIn(expr)));
    const worth = Object.keys(figures).filter((name) => figures[name]?.alert !== undefined);
    const all = [...worth.map((name) => PREFIX + name), ...Object.keys(PROCESS_FIGURES)];
    assert.deepEqual(
      all.filter((name) => !asked.has(name)),
      [],
    );
  });

  it("have each a severity and a summary, and keep clusters apart", () => {
    for (const { alert, expr, labels, annotations } of alerts) {
      assert.match(labels.severity, /^(page|ticket)$/, alert);
      assert.notEqual(annotations.summary, "", alert);
      for (const [, by = ""] of expr.matchAll(/\b(?:sum|max|min)(?: by \(([^)]*)\))?\s*\(/g)) {
        assert.match(by, /\bcluster\b/, `${alert} adds up several clusters`);
      }
    }
  });
});
