import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { CloudEventBody, EventDataBody } from "@mainspring/contract";
import { EVENT_KINDS } from "@mainspring/contract/enums";
import { Compile } from "typebox/compile";
import { eventId } from "../../domain/lifecycle-event.ts";
import { AT, eventOf, idOf } from "./events.fixture.ts";

const page = await readFile(new URL("../../../../../docs/reference/events.md", import.meta.url), "utf8");
const sections = new Map(page.split(/^## /m).map((text) => [text.split("\n", 1)[0], text]));
const rowsOf = (section: string) => {
  const lines = (sections.get(section) ?? "").matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm);
  return Array.from(lines, ([, name = "", second = ""]) => ({ name, second }));
};

describe("the page about events", () => {
  it("has a row for each kind, and no other, with the form of its id", () => {
    const rows = rowsOf("Kinds");
    assert.deepEqual(
      rows.map(({ name }) => name),
      EVENT_KINDS,
    );
    for (const kind of EVENT_KINDS) {
      const second = rows.find(({ name }) => name === kind)?.second ?? "";
      const ofWorker = { executionId: null, workerId: "WORKER", session: "SESSION" };
      const isOfJob = kind === "JobReplaced" || kind === "JobDeleted";
      const event = eventOf(1, {
        kind,
        ...(isOfJob && { executionId: null }),
        ...(kind === "StepRecorded" && { step: "NAME" }),
        ...(kind.startsWith("Worker") && ofWorker),
      });
      const form = eventId(event)
        .replace(idOf(1), "EXECUTION")
        .replace(idOf(1, "b"), "JOB")
        .replace("/1/", kind === "JobCreated" ? "/0/" : "/ATTEMPT/")
        .replace("/v1/", "/vVERSION/");
      assert.ok(second.includes(`\`${form}\``), `${kind}: ${form}`);
    }
    const skipped = eventId(eventOf(1, { kind: "JobSkipped", executionId: null, scheduledAt: AT }));
    assert.ok(skipped.startsWith(`${idOf(1, "b")}/`));
  });

  it("has a row for each field, and no other", () => {
    assert.deepEqual(
      rowsOf("Fields").map(({ name }) => name),
      Object.keys(EventDataBody.properties),
    );
  });

  it("shows an event as the API sends it", () => {
    const [, json = ""] = /```json\n(.*?)```/s.exec(page) ?? [];
    const event = JSON.parse(json);
    assert.deepEqual([...Compile(CloudEventBody).Errors(event)], []);
    assert.deepEqual(Object.keys(event), Object.keys(CloudEventBody.properties));
    assert.deepEqual(Object.keys(event.data), Object.keys(EventDataBody.properties));
  });
});
