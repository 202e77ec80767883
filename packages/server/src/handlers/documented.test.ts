import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { execPayload } from "./exec/exec-payload.ts";
import { httpPayload } from "./http/http-payload.ts";

const page = await readFile(new URL("../../../../docs/reference/handlers.md", import.meta.url), "utf8");
const schemas = { http: httpPayload, exec: execPayload };

describe("the page about the handlers", () => {
  it("shows jobs whose payloads are taken", () => {
    const jobs = Array.from(page.matchAll(/```json\n(.*?)```/gs), ([, json = ""]) => JSON.parse(json));
    assert.equal(jobs.length, 2);
    for (const { target, payload } of jobs) {
      const answer = schemas[target.handler as keyof typeof schemas]["~standard"].validate(payload);
      assert.deepEqual(answer, { value: payload }, target.handler);
    }
  });

  it("names every field that there is, and no other", () => {
    for (const [handler, schema] of Object.entries(schemas)) {
      const answer = schema["~standard"].validate({ unknown: 1 });
      const message = answer.issues?.find(({ path }) => path[0] === "unknown")?.message ?? "";
      const fields = message.replace(/.*the fields are /, "").split(", ");
      const section = page.split(/^## /m).find((text) => text.startsWith(`${handler}\n`)) ?? "";
      const rows = Array.from(section.matchAll(/^\| `(\w+)` \|/gm), ([, field]) => field);
      assert.deepEqual(rows, fields, handler);
    }
  });
});
