import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  ALERT_RULES,
  FIGURES,
  type Figure,
  PREFIX,
  PROCESS_FIGURES,
  UNJUDGED_ALERTS,
} from "../../packages/server/src/testing.ts";

const ROOT = join(import.meta.dirname, "../..");
const rules = readFileSync(join(ROOT, "deploy/prometheus/alerts.yml"), "utf8");
const runbook = readFileSync(join(ROOT, "docs/guides/operate.md"), "utf8");

const figures: Record<string, Figure> = FIGURES;
const alerts = [
  ...rules.matchAll(/^ +- alert: (\w+)\n +expr: (?:>-\n)?([^]*?)(?=^ +(?:for:|labels:|- alert|- name)|(?![^]))/gm),
];
/** Names of a metric, and of the parts of a histogram. */
const NAME = /\b(?:mainspring|nodejs|process)_[a-z0-9_]+/g;

describe("the example alerts", () => {
  it("ask for figures that there are, by labels that they have", () => {
    assert.ok(alerts.length > 20);
    for (const [, alert, expr = ""] of alerts) {
      for (const name of expr.match(NAME) ?? []) assert.ok(isShown(name), `${alert}: there is no ${name}`);
      for (const [, name = "", label = ""] of expr.matchAll(/(mainspring_[a-z0-9_]+)\{(\w+)=/g)) {
        assert.ok(figureOf(name)?.labels.includes(label), `${alert}: ${name} has no label ${label}`);
      }
    }
  });

  it("are there for every figure that is worth one", () => {
    const asked = new Set(alerts.flatMap(([, , expr = ""]) => (expr.match(NAME) ?? []).map(baseOf)));
    const worth = Object.keys(figures).filter((name) => figures[name]?.alert !== undefined);
    const all = [...worth.map((name) => PREFIX + name), ...Object.keys(PROCESS_FIGURES)];
    assert.deepEqual(
      all.filter((name) => !asked.has(name)),
      [],
    );
  });

  it("have each a severity, a summary and the address of their section, and keep clusters apart", () => {
    for (const [, alert = "", expr = ""] of alerts) {
      const [, rest = ""] = new RegExp(`- alert: ${alert}\n([^]*?)(?=- alert:|- name:|(?![^]))`).exec(rules) ?? [];
      assert.match(rest, /severity: (page|ticket)\n/, alert);
      assert.match(rest, /summary: "\S/, alert);
      assert.match(rest, new RegExp(`runbook_url: docs/guides/operate.md#${alert.toLowerCase()}\n`), alert);
      for (const [, by = ""] of expr.matchAll(/\b(?:sum|max|min)(?: by \(([^)]*)\))?\s*\(/g)) {
        assert.match(by, /\bcluster\b/, `${alert} adds up several clusters`);
      }
    }
  });

  it("are judged by the series of the servers with the same time and severity, or there is a reason why not", () => {
    const seconds = (text: string) =>
      Number.parseInt(text, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[text.at(-1) ?? ""] ?? 0);
    const judged = new Map(ALERT_RULES.map((rule) => [rule.name, rule]));
    for (const [, alert = ""] of alerts) {
      assert.notEqual(judged.has(alert), alert in UNJUDGED_ALERTS, alert);
      const rule = judged.get(alert);
      if (rule === undefined) continue;
      const [, rest = ""] = new RegExp(`- alert: ${alert}\n([^]*?)(?=- alert:|- name:|(?![^]))`).exec(rules) ?? [];
      assert.equal(rule.forSec, seconds(/for: (\w+)/.exec(rest)?.[1] ?? "0s"), alert);
      assert.match(rest, new RegExp(`severity: ${rule.severity.toLowerCase()}`), alert);
    }
    assert.equal(judged.size + Object.keys(UNJUDGED_ALERTS).length, alerts.length);
  });

  it("have a place each in the guide, which says what it means, where to look and what to do", () => {
    for (const [, alert = ""] of alerts) {
      const [, section = ""] = new RegExp(`^### ${alert}\n([^]*?)(?=^#|(?![^]))`, "m").exec(runbook) ?? [];
      for (const part of ["Means", "Look", "Do"])
        assert.match(section, new RegExp(`^\\*\\*${part}:\\*\\* \\S`, "m"), alert);
    }
    const described = [...runbook.matchAll(/^### (Mainspring\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(
      described,
      alerts.map(([, name]) => name),
      "in the order of the rules",
    );
  });
});

/** Name without the suffixes that histograms add. */
function baseOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, "");
}

function figureOf(name: string): Figure | undefined {
  return figures[baseOf(name).replace(PREFIX, "")];
}

function isShown(name: string): boolean {
  if (name in PROCESS_FIGURES) return true;
  return (figureOf(name)?.type === "histogram") === (name !== baseOf(name)) && figureOf(name) !== undefined;
}
