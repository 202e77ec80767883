import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, EventsOff, type LifecycleEvent } from "@mainspring/sdk";
import { Commands, LongCommand } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

describe("events on the command line", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAINSPRING_EVENTS: "api" });
  });
  after(() => server.stop());

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);
  const echoed = async () => (await json<{ executionId: string }>("submit", "echo", "--wait")).executionId;
  const typesOf = (events: readonly LifecycleEvent[], id: string) =>
    events.flatMap(({ subject, type }) => (subject === id ? type : []));

  it("are those that are kept, then those behind a position, and those that are asked for", async () => {
    const first = await echoed();
    const kept = await jsonLines<LifecycleEvent>("events", "--kind", "jobcompleted", "--kind", "JobStarted");
    assert.deepEqual(typesOf(kept, first), ["JobStarted", "JobCompleted"]);
    const { position } = kept.at(-1) as LifecycleEvent;
    const second = await echoed();
    const later = await jsonLines<LifecycleEvent>("events", "--after", position);
    // JobCreated may come up to a second after JobAssigned.
    assert.deepEqual(
      typesOf(later, second).filter((type) => type !== "JobCreated"),
      ["JobAssigned", "JobStarted", "JobCompleted"],
    );
    assert.deepEqual(
      typesOf(later, first).filter((type) => type !== "JobCreated"),
      [],
    );
    const text = await done("events", "--kind", "JobCompleted", "--execution", second, "--handler", "echo");
    assert.match(
      text,
      new RegExp(`^20\\S+Z {2}JobCompleted {6}${second} {2}echo in default attempt 1 {2}SUCCEEDED\\n$`),
    );
    assert.equal(await done("events", "--pool", "nowhere"), "");
  });

  it("go on with --follow until the command is stopped", async () => {
    const follower = new LongCommand(["events", "--follow", "--after", "oldest", "--json"], server.clientEnv);
    const id = await echoed();
    await follower.says(new RegExp(`"${id}/1/JobCompleted"`));
    follower.signal("SIGINT");
    assert.equal((await follower.done).stderr, "");
  });

  it("say what is wrong", async () => {
    const kind = await run(["events", "--kind", "JobExploded"]);
    assert.deepEqual([kind.code, /Allowed choices are JobCreated, /.test(kind.stderr)], [2, true]);
    const position = await run(["events", "--after", "7"]);
    assert.deepEqual([position.code, /after may also be oldest/.test(position.stderr)], [1, true]);
    const other = await startServer();
    try {
      await assert.rejects(new Client({ url: other.httpUrl }).events().next(), (error) => error instanceof EventsOff);
      const off = await run(["events", "--url", other.httpUrl]);
      assert.deepEqual([off.code, /MAINSPRING_EVENTS=api/.test(off.stderr)], [1, true]);
    } finally {
      await other.stop();
    }
  });
});
