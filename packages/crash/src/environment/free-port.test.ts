import assert from "node:assert/strict";
import { it } from "node:test";
import { freePort } from "./free-port.ts";

it("gives no port twice, though nobody listens there yet", async () => {
  const ports = [];
  // Among fifteen thousand ports, chance alone would choose one twice.
  for (let asked = 0; asked < 600; asked++) ports.push(await freePort());
  assert.equal(new Set(ports).size, ports.length);
});
