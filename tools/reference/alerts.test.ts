import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  ALERT_RULES,
  FIGURES,
  type Figure,
  PREFIX,
  PROCESS_FIGURES,
  UNJUDGED_ALERTS,
} from "../../packages/server/src/testing.ts";
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

  it("are judged by the series of the servers with the same time, severity and runbook, or there is a reason why not", () => {
    const seconds = (text: string) =>
      Number.parseInt(text, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[text.at(-1) ?? ""] ?? 0);
    const judged = new Map(ALERT_RULES.map((rule) => [rule.name, rule]));
    for (const { alert, labels, annotations, for: lasts = "0s" } of alerts) {
      assert.notEqual(judged.has(alert), alert in UNJUDGED_ALERTS, alert);
      const rule = judged.get(alert);
      if (rule === undefined) continue;
      assert.equal(rule.forSec, seconds(lasts), alert);
      assert.equal(rule.severity.toLowerCase(), labels.severity, alert);
      assert.equal(rule.runbook, annotations.runbook_url, alert);
    }
    assert.equal(judged.size + Object.keys(UNJUDGED_ALERTS).length, alerts.length);
  });
});
