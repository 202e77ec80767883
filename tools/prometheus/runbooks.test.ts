import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { commandFault, commandLines } from "../guide/command-line.ts";
import { queryFaults, readAlerts } from "./rules.ts";
import { blocksOf, QUESTIONS, readRunbooks } from "./runbooks.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const alerts = readAlerts();
const runbooks = readRunbooks();

describe("the runbooks", () => {
  it("are one for each alert, and each alert leads to its own", () => {
    assert.deepEqual(runbooks.map(({ alert }) => alert).sort(), alerts.map(({ alert }) => alert).sort());
    for (const { alert, page } of runbooks) {
      const rule = alerts.find((one) => one.alert === alert);
      assert.equal(rule?.annotations.runbook_url, `${page}#${alert.toLowerCase()}`);
    }
  });

  it("answer every question, in one order", () => {
    for (const { alert, text } of runbooks) {
      const asked = [...text.matchAll(/^\*\*([^*]+):\*\*(?= \S|$)/gm)].map(([, question]) => question);
      assert.deepEqual(asked, QUESTIONS, alert);
    }
  });

  it("confirm by commands or queries", () => {
    for (const runbook of runbooks) {
      const confirm = runbook.text.slice(runbook.text.indexOf("**Confirm:**"), runbook.text.indexOf("**Fix:**"));
      assert.match(confirm, /```(sh|promql|sql)\n/, runbook.alert);
    }
  });

  it("ask for figures that there are, by labels that they have", () => {
    for (const runbook of runbooks) {
      for (const query of blocksOf(runbook, "promql")) assert.deepEqual(queryFaults(query), [], runbook.alert);
    }
  });

  it("name commands that exist, with their options and arguments", () => {
    const pages = globSync("docs/runbooks/*.md", { cwd: ROOT });
    const lines = pages.flatMap((page) => {
      return commandLines(readFileSync(join(ROOT, page), "utf8")).map((line) => ({
        page,
        line,
        fault: commandFault(line),
      }));
    });
    assert.ok(lines.length > 80);
    assert.deepEqual(
      lines.filter(({ fault }) => fault !== null),
      [],
    );
  });
});
