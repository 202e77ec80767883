import assert from "node:assert/strict";
import { it } from "node:test";
import { simulate } from "@mainspring/sdk/testing";
import { task } from "./index.ts";

it("simulates a Mainspring that runs the SDK's tasks", async () => {
  const double = task({ name: "double", run: (n: number) => 2 * n });
  await using m = await simulate({ tasks: [double] });
  assert.equal(await (await double.submit(m.client, 21)).result(), 42);
});
