import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { EventsGone, EventsOff } from "../errors.ts";
import { Client } from "./client.ts";
import type { EventFilter, LifecycleEvent } from "./lifecycle-event-types.ts";

const STREAM = { "content-type": "text/event-stream" };
const event = (subject: string, id?: string, type = "JobCompleted") =>
  `event: ${type}\ndata: ${JSON.stringify({ type, subject })}\n${id === undefined ? "" : `id: ${id}\n`}\n`;
const position = (id: string) => `id: ${id}\n\n`;
const END = "event: end\nid: Z\ndata: {}\n\n";

describe("following the events of all executions", () => {
  let api: TinyApi;
  let client: Client;
  before(async () => {
    api = await TinyApi.start();
  });
  beforeEach(() => {
    client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime: new JumpingRuntime() });
  });
  afterEach(() => {
    api.seen.splice(0);
    api.forget();
  });
  after(() => api.stop());

  const stream = (...parts: string[]) => ({ status: 200, headers: STREAM, body: `retry: 1000\n\n${parts.join("")}` });
  const all = async (filter: EventFilter = {}): Promise<LifecycleEvent[]> => {
    const events: LifecycleEvent[] = [];
    for await (const one of client.events(filter)) events.push(one);
    return events;
  };
  const asked = () => api.seen.map(({ path, headers }) => [path, headers["last-event-id"]]);

  it("goes on behind the last position when the stream breaks, also where no event had it", async () => {
    api.will(
      stream(position("A"), event("1"), event("2", "B"), position("C"), "event: JobCompleted\ndata: cut"),
      { status: 503, body: { title: "away", status: 503 } },
      stream(position("C"), event("3"), ":\n\n"),
      "BREAK",
      stream(position("C"), event("3"), event("later", undefined, "JobMoved"), event("4", "D"), END),
    );
    const events = await all();
    assert.deepEqual(
      events.map(({ subject, position: at }) => [subject, at]),
      [
        ["1", "A"],
        ["2", "B"],
        ["3", "C"],
        ["3", "C"],
        ["4", "D"],
      ],
    );
    assert.deepEqual(
      asked(),
      [undefined, "C", "C", "C", "C"].map((id) => ["/v1/events", id]),
    );
  });

  it("asks for what it is to have, from where it is to begin", async () => {
    api.will(stream(END), stream(END));
    await all({ after: "oldest", until: "now", kinds: ["JobFailed", "JobCompleted"], pool: "mail", jobId: ["a", "b"] });
    await all({ after: "P", handler: "send" });
    assert.deepEqual(asked(), [
      ["/v1/events?pool=mail&jobId=a&jobId=b&kind=JobFailed&kind=JobCompleted&until=now&after=oldest", undefined],
      ["/v1/events?handler=send", "P"],
    ]);
  });

  it("fails where trying again does not help, by an error of its own", async () => {
    const problem = (status: number, type: string) => ({ status, body: { type, title: "no", status, detail: "so" } });
    api.will(problem(410, "/problems/events-gone"), problem(409, "/problems/events-off"));
    await assert.rejects(all({ after: "P" }), (error) => {
      assert.ok(error instanceof EventsGone);
      assert.deepEqual([error.code, error.status, error.message], ["GONE", 410, "so"]);
      return true;
    });
    await assert.rejects(all(), (error) => error instanceof EventsOff && error.code === "CONFLICT");
    api.will(problem(400, "/problems/invalid-cursor"));
    await assert.rejects(all({ after: "7" }), { code: "BAD_REQUEST" });
  });

  it("ends by its signal", async () => {
    const stop = new AbortController();
    api.will("SILENCE");
    const waiting = all({ signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, { name: "AbortError" });
  });
});
