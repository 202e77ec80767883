import process from "node:process";
import { pino } from "pino";
import type { Authenticator } from "../ports/authenticator.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { ChangedKey } from "../ports/store-keys.ts";
import { KeyAuthenticator, settingsAuthenticator } from "./key-authenticator.ts";
import { KeyRing } from "./key-ring.ts";
import { newKey } from "./new-key.ts";
import { SettingsKeys } from "./settings-keys.ts";
import { tenantOf } from "./tenant.ts";

const KEYS = 100_000;
const CALLS = 100_000;
const ROUNDS = 10;

/** Measures the CPU time of the judgement of one request, in microseconds. */
export async function measureAuthentication(runtime: Runtime): Promise<{ name: string; us: number }[]> {
  const made = Array.from({ length: KEYS }, (_, at) => {
    const asked = { kind: "CLIENT", name: "a", tenant: tenantOf(null), createdBy: "store", expiresAt: null } as const;
    const { key, text } = newKey(asked, runtime);
    return { text, key: { ...key, revokedAt: null, version: at + 1 } satisfies ChangedKey };
  });
  const changedSince = async (version: number, limit: number) =>
    made.slice(version, version + limit).map(({ key }) => key);
  const ring = new KeyRing({
    store: { version: async () => KEYS, changedSince },
    runtime,
    log: pino({ level: "silent" }),
  });
  await ring.start();
  ring.stop();
  const stored = new KeyAuthenticator({
    ...{ settings: new SettingsKeys({ apiKey: null }), ring, tenants: null, runtime, staleMs: 900_000 },
    used: { note: () => undefined },
  });
  const settings = settingsAuthenticator({ apiKey: "a-key-of-some-length" }, runtime);
  const headers = made.slice(0, 1_000).map(({ text }) => `Bearer ${text}`);
  return [
    { name: "the key of the settings", us: best(settings, ["Bearer a-key-of-some-length"]) },
    { name: `one of ${KEYS} keys of the store`, us: best(stored, headers) },
  ];
}

/** Judges headers as a request does: once at its beginning, once before its handler, and as a use until its end. */
function best(authenticator: Authenticator, headers: readonly string[]): number {
  let bestUs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) {
      const judged = authenticator.judge(headers[call % headers.length], "127.0.0.1");
      if (judged instanceof Promise || "code" in judged) throw new Error("the key was refused");
      const release = authenticator.hold({ principal: judged, end: () => undefined });
      authenticator.judgeAgain(judged);
      release();
    }
    const { user, system } = process.cpuUsage(began);
    bestUs = Math.min(bestUs, user + system);
  }
  return bestUs / CALLS;
}
