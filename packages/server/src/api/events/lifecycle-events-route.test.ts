import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CloudEventBody } from "@mainspring/contract";
import { Compile } from "typebox/compile";
import { startTestApi, type TestApi } from "../api.fixture.ts";
import { EventReader } from "../event-reader.fixture.ts";
import { AT, eventOf, idOf, startEvents } from "./events.fixture.ts";
import { decodePosition } from "./position-token.ts";

const dataIn = (text: string) => Array.from(text.matchAll(/^data: (.*)$/gm), ([, json = ""]) => JSON.parse(json));
const lastId = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";

describe("the stream of events", () => {
  let server: Awaited<ReturnType<typeof startEvents>>;
  before(async () => {
    server = await startEvents();
  });
  after(() => server.stop());

  let seq = 0;
  const write = (...events: ReturnType<typeof eventOf>[]) => {
    seq++;
    server.events.write({ shard: seq % 3, epoch: 1, seq, events });
    server.feed.hint();
  };
  const open = (query = "", lastEventId?: string) => EventReader.open(server.url + query, lastEventId);
  const problemOf = async (query: string) => {
    const answer = await fetch(server.url + query);
    return { status: answer.status, ...((await answer.json()) as { type: string; detail: string }) };
  };

  it("tells what happens from now on, as CloudEvents", async () => {
    write(eventOf(1));
    const stream = await open();
    assert.equal(stream.response.headers["content-type"], "text/event-stream; charset=utf-8");
    const begin = await stream.until(/^id: /m);
    write(eventOf(2), eventOf(3, { kind: "JobDeleted", executionId: null, attempt: 0, jobVersion: 4, node: 7 }));
    const told = await stream.until(/JobDeleted.*\nid: .*\n\n/);
    const [completed, deleted] = dataIn(told);
    const check = Compile(CloudEventBody);
    assert.deepEqual([...check.Errors(completed), ...check.Errors(deleted)], []);
    assert.deepEqual(completed, {
      specversion: "1.0",
      id: `${idOf(2)}/1/JobCompleted`,
      source: "/mainspring",
      type: "JobCompleted",
      subject: idOf(2),
      time: "2030-01-31T09:30:00.000Z",
      datacontenttype: "application/json",
      data: {
        ...{ executionId: idOf(2), jobId: idOf(2, "b"), workflowId: null, nodeNumber: null, item: null },
        ...{ tenant: "default", pool: "default", handler: "echo", trigger: null, attempt: 1, workerId: "w1" },
        ...{ state: "SUCCEEDED", reason: null, scheduledAt: new Date(AT - 9).toISOString(), createdAt: null },
        ...{ startedAt: new Date(AT - 7).toISOString(), finishedAt: new Date(AT).toISOString() },
        ...{ failures: 0, lost: 0, errorName: null, step: null, session: null, jobVersion: 1 },
      },
    });
    assert.deepEqual([deleted.id, deleted.subject], [`${idOf(3, "b")}/v4/JobDeleted`, idOf(3, "b")]);
    assert.equal(deleted.data.nodeNumber, 7);
    assert.match(told, /^event: JobCompleted\ndata: .*\n\nevent: JobDeleted\ndata: .*\nid: /m);
    assert.deepEqual(decodePosition(lastId(told)), await server.events.newest());
    stream.response.destroy();
    // The position of the begin leads to the same events.
    const again = await open("?after=oldest", lastId(begin));
    assert.deepEqual(dataIn(await again.until(/JobDeleted.*\nid: .*\n\n/)), [completed, deleted]);
    again.response.destroy();
  });

  it("goes from the oldest event that is kept to the last one, where it is to end", async () => {
    const stream = await open("?after=oldest&until=now");
    const text = stream.until(/event: end\n/);
    await stream.end();
    assert.deepEqual(
      dataIn(await text).flatMap(({ subject }) => subject ?? []),
      [idOf(1), idOf(2), idOf(3, "b")],
    );
  });

  it("has only what is asked for", async () => {
    const ends = [
      eventOf(11, { pool: "mail" }),
      eventOf(12, { pool: "mail", handler: "send", kind: "JobFailed" }),
      eventOf(13, { pool: "other", workflowId: idOf(20) }),
      eventOf(20, { pool: "default", handler: "workflow" }),
    ];
    write(...ends);
    const cases: [string, number[]][] = [
      ["pool=mail", [11, 12]],
      ["pool=mail&pool=other&kind=JobCompleted", [11, 13]],
      ["handler=send", [12]],
      [`executionId=${idOf(11).toUpperCase()}&executionId=${idOf(20)}`, [11, 20]],
      [`jobId=${idOf(12, "b")}`, [12]],
      [`workflowId=${idOf(20)}`, [13, 20]],
      ["kind=JobCreated", []],
    ];
    for (const [query, numbers] of cases) {
      const stream = await open(`?after=oldest&until=now&${query}`);
      const subjects = dataIn(await stream.until(/event: end\n.*\n.*\n\n/)).flatMap(({ subject }) => subject ?? []);
      const wanted = numbers.map((number) => idOf(number));
      assert.deepEqual(
        subjects.filter((id) => ends.some(({ executionId }) => executionId === id)),
        wanted,
        query,
      );
    }
  });

  it("says what is wrong with a request", async () => {
    const wrong = await problemOf("?after=7");
    assert.deepEqual([wrong.status, wrong.type], [400, "/problems/invalid-cursor"]);
    assert.match(wrong.detail, /after may also be oldest/);
    for (const query of [
      "kind=JobExploded",
      "until=later",
      "executionId=7",
      "state=DEAD",
      `after=${"A".repeat(2_049)}`,
    ])
      assert.equal((await problemOf(`?${query}`)).type, "/problems/invalid-request", query);
    const stream = await open("?after=oldest&until=now");
    const id = lastId(await stream.until(/event: end\n.*\n.*\n\n/));
    write(eventOf(30));
    server.events.removeAll();
    const gone = await problemOf(`?after=${id}`);
    assert.deepEqual([gone.status, gone.type], [410, "/problems/events-gone"]);
    assert.match(gone.detail, /after=oldest/);
    write(eventOf(31));
    const oldest = await open("?after=oldest&until=now");
    assert.deepEqual(dataIn(await oldest.until(/event: end\n.*\n.*\n\n/))[0].subject, idOf(31));
  });
});

describe("a server without events", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  it("says which setting it needs", async () => {
    const answer = await api.inject({ url: "/v1/events" });
    assert.deepEqual([answer.statusCode, answer.json().type], [409, "/problems/events-off"]);
    assert.match(answer.json().detail, /MAINSPRING_EVENTS=api/);
  });
});

describe("a server that stops", () => {
  it("ends the streams of events", async () => {
    const server = await startEvents();
    const stream = await EventReader.open(server.url);
    await stream.until(/^id: /m);
    const ended = stream.end();
    await server.stop();
    await ended;
    assert.equal(stream.response.complete, true);
  });
});
