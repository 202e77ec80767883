import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { Admin } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../tools/services/start-kafka.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { allowTopics } from "./adapters/kafka/kafka-rights.fixture.ts";

const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
const PASSWORD = "right:pass@word";
const submitter = { user: "submitter", prefix: "ms." };

let kafka: TestKafka;
let postgres: TestPostgres;
let admin: Admin;
let folder: string;
before(async () => {
  const secure = { users: { submitter: PASSWORD } };
  [kafka, postgres] = await Promise.all([startKafka({ secure }), startPostgres({ version: 15 })]);
  folder = await mkdtemp(join(tmpdir(), "ingest-rights-"));
  await writeFile(join(folder, "authority.pem"), kafka.secure?.ca ?? "");
  admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 0 });
});
after(async () => {
  await admin?.close();
  await kafka?.stop();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a server whose user of Kafka has a password, until it ends. */
async function ended(mode: string, password = PASSWORD): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, [PROGRAM, "serve"], {
    env: {
      ...{ PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, "authority.pem") },
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_API_KEY: "the-key-of-the-server", MAINSPRING_INGEST: mode },
      ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_STOP_DELAY_SEC: "0" },
      MAINSPRING_KAFKA: `kafka://submitter:${encodeURIComponent(password)}@${kafka.secure?.broker}?tls=on&sasl=PLAIN`,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let text = "";
  for await (const chunk of child.stderr) text += String(chunk);
  const code = child.exitCode ?? (await once(child, "exit"))[0];
  assert.ok(!text.includes(PASSWORD) && !text.includes(encodeURIComponent(PASSWORD)));
  return { code, text };
}

it("says in one sentence which right on the topics is missing, or that the password is wrong, and ends", async () => {
  const lacksTopics = await ended("kafka");
  assert.equal(lacksTopics.code, 78, lacksTopics.text);
  assert.match(
    lacksTopics.text,
    /MAINSPRING_INGEST=kafka: .*: give the user of MAINSPRING_KAFKA the rights? .* on the topics/,
  );
  await allowTopics(admin, submitter, "DESCRIBE", "CREATE");
  const lacksWrite = await ended("fallback");
  assert.equal(lacksWrite.code, 78, lacksWrite.text);
  assert.match(
    lacksWrite.text,
    /MAINSPRING_INGEST=fallback: .*: give the user of MAINSPRING_KAFKA the right Write on the topics, /,
  );
  const stranger = await ended("kafka", "wrong");
  assert.equal(stranger.code, 78, stranger.text);
  assert.match(stranger.text, /MAINSPRING_INGEST=kafka: .*: correct the user or the password in MAINSPRING_KAFKA/);
});
