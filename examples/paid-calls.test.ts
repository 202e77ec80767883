import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { answerTask } from "./paid-calls.ts";

/** Trouble of one call: no money is taken, the money is taken and the answer is lost, or the call is wrong. */
type Trouble = "BUSY" | "ANSWER_LOST" | "WRONG";

/** A service on loopback that charges for each key once, and has trouble with the calls that the test names. */
async function paidService(t: TestContext, troubles: Record<string, Trouble[]>) {
  const answers = new Map<string, string>();
  const charged: string[] = [];
  let calls = 0;
  const server = createServer(async (request, response) => {
    calls++;
    const body = (await json(request)) as { text?: string; summary?: string; language?: string };
    const what = [request.url?.slice(1), body.language].filter(Boolean).join(" ");
    const key = String(request.headers["idempotency-key"]);
    const trouble = troubles[what]?.shift();
    if (trouble === "BUSY") return end(response, 503);
    if (trouble === "WRONG") return end(response, 422);
    if (!answers.has(key)) {
      charged.push(what);
      answers.set(key, `${what} of (${body.text ?? body.summary})`);
    }
    if (trouble === "ANSWER_LOST") return void request.socket.destroy();
    end(response, 200, { answer: answers.get(key) });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, charged, calls: () => calls };
}

function end(response: ServerResponse, status: number, body: unknown = {}): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const EACH_ONCE = ["answer de", "answer es", "answer fr", "summarize", "translate"];

test("each call of the chain is paid once, also where answers are lost and the handler is tried again", async (t) => {
  const service = await paidService(t, {
    translate: ["ANSWER_LOST"],
    // The step gives up after three calls, and the attempt fails.
    summarize: ["BUSY", "BUSY", "BUSY", "ANSWER_LOST"],
    "answer fr": ["ANSWER_LOST", "BUSY", "BUSY", "BUSY", "BUSY", "BUSY"],
  });
  const task = answerTask(service.url);
  await using m = await simulate({ tasks: [task] });

  const job = await task.submit(m.client, { id: "letter-7", text: "Dear all" });
  const { result, failures } = await m.waitFor(job);
  assert.equal(failures, 3);
  assert.deepEqual(service.charged.toSorted(), EACH_ONCE);
  assert.deepEqual(result, {
    id: "letter-7",
    summary: "summarize of (translate of (Dear all))",
    answers: ["de", "fr", "es"].map((one) => `answer ${one} of (summarize of (translate of (Dear all)))`),
  });
  // The three answers go out together; those that came are not asked for again when the third one fails.
  assert.equal(service.calls(), 2 + 5 + 1 + 7 + 1);
});

test("two letters are paid for one by one, although their steps have the same names", async (t) => {
  const service = await paidService(t, {});
  const task = answerTask(service.url);
  await using m = await simulate({ tasks: [task] });

  const jobs = await Promise.all(["a", "b"].map((id) => task.submit(m.client, { id, text: id })));
  for (const job of jobs) await m.waitFor(job);
  assert.equal(service.charged.length, 2 * EACH_ONCE.length);
});

test("a call that is wrong is not repeated, and what was paid stays with the dead letter", async (t) => {
  const service = await paidService(t, { summarize: ["WRONG"] });
  const task = answerTask(service.url);
  await using m = await simulate({ tasks: [task] });

  const job = await task.submit(m.client, { id: "letter-8", text: "?" });
  await m.waitFor(job, "DEAD");
  assert.equal(service.calls(), 2);
  const { steps } = await m.client.getExecutionSteps(job.executionId);
  assert.deepEqual(
    steps.map(({ name, value }) => `${name}: ${value}`),
    ["translate: translate of (?)"],
  );
});
