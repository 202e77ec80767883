import assert from "node:assert/strict";
import { it } from "node:test";
import { task } from "@mainspring/sdk";
import { simulate } from "./index.ts";

it("a simulation runs jobs with onFinish, and refuses a wrong URL as a server does", async () => {
  const hello = task({ name: "hello", run: () => "done" });
  await using m = await simulate({ tasks: [hello] });
  const onFinish = { url: "https://hooks.example/ends" };
  const { jobId, executionId } = await m.client.submit({ target: { handler: "hello" }, onFinish });
  await m.clock.advance("1 min");
  assert.equal((await m.client.getExecution(executionId)).state, "SUCCEEDED");
  assert.deepEqual((await m.client.getJob(jobId)).onFinish, onFinish);
  const wrong = { target: { handler: "hello" }, onFinish: { url: "hooks.example" } };
  await assert.rejects(m.client.submit(wrong), /onFinish.url: must be an http or https URL/);
});
