import assert from "node:assert/strict";
import { it } from "node:test";

import pino from "pino";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { settingsAuthenticator } from "../../security/key-authenticator.ts";
import { countingMetrics } from "../api.fixture.ts";
import { createHttpApp } from "./http-app.ts";

it("does not start with a route that declares no scope", async () => {
  const runtime = new ManualRuntime();
  const authenticator = settingsAuthenticator({ apiKey: "the-key-until-today" }, runtime);
  const app = createHttpApp({ authenticator, metrics: countingMetrics([]), log: pino({ level: "silent" }), runtime });
  app.get("/v1/declared", { config: { scope: "jobs:read" } }, () => ({}));
  app.get("/v1/forgotten", () => ({}));
  await assert.rejects(async () => await app.ready(), /the route GET \/v1\/forgotten has no scope/);
});
