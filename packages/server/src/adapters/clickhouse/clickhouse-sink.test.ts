import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, beforeEach, describe, it } from "node:test";
import { SinkRefused, SinkUnavailable } from "../../ports/event-sink.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { ClickHouseSink } from "./clickhouse-sink.ts";
import { groupsOf, tokenOf } from "./event-lines.ts";
import { eventsOfTheDay, rowsOf } from "./events.fixture.ts";
import { migrations } from "./migrations.ts";

/** An insert as the server gets it. */
interface Insert {
  token: string | null;
  lines: string[];
}

describe("the pace of the sink of ClickHouse", () => {
  let server: Server;
  let inserts: Insert[] = [];
  /** Called for each insert, before its answer. */
  let arrived: () => void = () => undefined;
  /** Code with which the next insert is refused; null: it is taken. */
  let refusal: number | null = null;
  let runtime: ManualRuntime;
  before(async () => {
    server = createServer(async (request, response) => {
      const { searchParams } = new URL(request.url ?? "", "http://host");
      const body = await text(request);
      const query = searchParams.get("query") ?? body;
      if (query.includes("version()")) response.end('{"version":"26.9.1.1"}\n');
      else if (query.includes("max(version)")) response.end(`{"version":${migrations().length}}\n`);
      else if (!query.includes("JSONEachRow")) response.end();
      else {
        inserts.push({ token: searchParams.get("insert_deduplication_token"), lines: body.trim().split("\n") });
        if (refusal !== null) {
          response.writeHead(500, { "X-ClickHouse-Exception-Code": String(refusal) });
          response.write(`Code: ${refusal}. DB::Exception: no. (NO_SUCH_THING)\n`);
        }
        response.end();
        arrived();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(() => server.close());
  beforeEach(() => {
    inserts = [];
    refusal = null;
    runtime = new ManualRuntime();
  });

  async function opened(eventsMax?: number): Promise<ClickHouseSink> {
    const { port } = server.address() as AddressInfo;
    const address = { url: `http://127.0.0.1:${port}`, username: "default", password: "", database: "mainspring" };
    const sink = new ClickHouseSink(address, runtime, eventsMax);
    await sink.open();
    return sink;
  }
  const [first, second, third] = rowsOf(eventsOfTheDay());
  const rows = (row: typeof first) => (row === undefined ? [] : [row]);

  it("is one insert a second for small deliveries, which share an insert", async () => {
    const sink = await opened();
    await sink.deliver(rows(first));
    const shared = [sink.deliver(rows(second)), sink.deliver(rows(third))];
    await runtime.advance(999);
    assert.equal(inserts.length, 1);
    await runtime.advance(1);
    await Promise.all(shared);
    assert.deepEqual(
      inserts.map(({ lines }) => lines.length),
      [4, 8],
    );
    await sink.close();
  });

  it("is as fast as the relay for large deliveries, and divides those that are larger than an insert", async () => {
    const sink = await opened(10);
    const all = rowsOf(eventsOfTheDay());
    await sink.deliver(all);
    await sink.deliver(all);
    const events = eventsOfTheDay().length;
    const sizes = [...Array<number>(Math.floor(events / 10)).fill(10), events % 10];
    assert.ok(sizes.length > 2 && events % 10 > 0);
    assert.deepEqual(
      inserts.map(({ lines }) => lines.length),
      [...sizes, ...sizes],
    );
    const tokens = inserts.map(({ token }) => token);
    assert.deepEqual(tokens.slice(0, sizes.length), tokens.slice(sizes.length));
    assert.deepEqual(tokens.slice(0, sizes.length), groupsOf(all, 10).map(tokenOf));
    await sink.close();
  });

  it("goes on after a failure, which rejects every delivery of its insert", async () => {
    const sink = await opened();
    refusal = 241;
    await assert.rejects(
      sink.deliver(rows(first)),
      (error) => error instanceof SinkUnavailable && /code 241/.test(error.message),
    );
    refusal = 60;
    const denied = sink.deliver(rows(first));
    await runtime.advance(1_000);
    await assert.rejects(denied, SinkRefused);
    refusal = null;
    const good = sink.deliver(rows(first));
    await runtime.advance(1_000);
    await good;
    await sink.close();
  });

  it("ends with its close, also for deliveries under way", async () => {
    const sink = await opened();
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const underWay = sink.deliver(rows(first));
    await arrival;
    const waiting = sink.deliver(rows(second));
    const ends = Promise.allSettled([underWay, waiting]);
    await sink.close();
    const [, end] = await ends;
    assert.ok(end?.status === "rejected" && end.reason instanceof SinkUnavailable);
    await assert.rejects(sink.deliver(rows(first)), SinkUnavailable);
    assert.equal(await sink.deliver([]).catch((error: Error) => error.name), "SinkUnavailable");
  });
});
