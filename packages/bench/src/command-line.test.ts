import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandLine, WrongOption } from "./command-line.ts";

const scaleOf = (...args: string[]) => commandLine(args)?.scale;
const contendersOf = (...args: string[]) => commandLine(args)?.contenders.map(({ name }) => name) ?? [];

describe("the benchmark's command line", () => {
  it("has smaller sizes for a quick session, unless an option gives them", () => {
    assert.equal(scaleOf()?.herdJobs, 100_000);
    assert.equal(scaleOf("--quick")?.herdJobs, 10_000);
    assert.equal(scaleOf("--quick", "--herd", "10000000")?.herdJobs, 10_000_000);
    assert.deepEqual([scaleOf()?.backlogJobs, scaleOf("--quick")?.backlogJobs], [1_000_000, 50_000]);
    assert.deepEqual(scaleOf("--stored", "100,2000")?.storedJobs, [100, 2_000]);
    assert.deepEqual(scaleOf()?.storedJobs, [1_000_000, 10_000_000]);
    assert.deepEqual([scaleOf()?.sleepers, scaleOf("--sleepers", "7")?.sleepers], [100_000, 7]);
    assert.deepEqual([scaleOf()?.perSec, scaleOf("--rate", "700")?.perSec], [5_000, 700]);
    assert.equal(scaleOf("--backlog", "10000000")?.backlogJobs, 10_000_000);
  });

  it("refuses a wrong size, an unknown case, an unknown peer and an unknown option, and names it", () => {
    for (const [args, why] of [
      [["--herd", "0"], /--herd: must be a whole number from 1, not "0"/],
      [["--stored", "10"], /--stored: must be a smaller and a larger number, not "10"/],
      [["--stored", "20,10"], /--stored: must be a smaller and a larger number/],
      [["--backlog", "1e6"], /--backlog: must be a whole number/],
      [["--only", "drain,brain"], /--only: there is no "brain"/],
      [["--ours", "fast"], /--ours: there is no "fast"/],
      [["--peers", "sidekiq"], /--peers: there is no "sidekiq"/],
      [["--postgres", "13"], /--postgres: there is no "13"/],
      [["--faster"], /--faster/],
    ] as const) {
      assert.throws(
        () => commandLine([...args]),
        (error) => error instanceof WrongOption && why.test(error.message),
      );
    }
  });

  it("leaves out all peers if asked, and takes those whose name begins as asked", () => {
    assert.ok(contendersOf("--peers", "none").every((name) => name.startsWith("mainspring")));
    const peers = contendersOf("--peers", "pg-boss").filter((name) => !name.startsWith("mainspring"));
    assert.deepEqual(peers, ["pg-boss-2", "pg-boss-4"]);
  });

  it("takes the forms of Mainspring that are named, and other settings of those everywhere", () => {
    const named = commandLine(["--ours", "default,inside", "--peers", "none"]);
    assert.deepEqual(
      named?.contenders.map(({ name }) => name),
      ["mainspring-default", "mainspring-inside"],
    );
    assert.deepEqual(named?.hasVariants, { ours: true, peers: true });
    assert.deepEqual(commandLine([])?.hasVariants, { ours: false, peers: false });
    assert.deepEqual(contendersOf("--ours", "tuned", "--peers", "none"), ["mainspring"]);
    assert.equal(contendersOf("--peers", "none").length, 5);
    assert.throws(() => commandLine(["--compare", "v1", "--ours", "default"]), /--compare .* --ours/);
  });

  it("compares the cases whose costs matter most, unless others are named", () => {
    const compared = commandLine(["--compare", "v1"]);
    assert.deepEqual(
      [compared?.compare, ...(compared?.scenarios ?? []).map(({ name }) => name)],
      ["v1", "drain", "cycle", "submit", "pickup"],
    );
    assert.deepEqual(
      commandLine(["--compare", "v1", "--only", "timers"])?.scenarios.map(({ name }) => name),
      ["timers"],
    );
    assert.throws(() => commandLine(["--compare", "v1", "--report"]), /--compare .* --report/);
  });

  it("takes the system's PostgreSQL, unless another release is named", () => {
    assert.deepEqual(
      [
        commandLine([])?.postgres,
        commandLine(["--postgres", "18"])?.postgres,
        commandLine(["--postgres", "15"])?.postgres,
      ],
      ["system", "18", "15"],
    );
  });

  it("measures the console at its own sizes", () => {
    assert.equal(commandLine([])?.console, null);
    assert.deepEqual(commandLine(["console"])?.console, { isQuick: false, rows: 1_000_000, consoles: 50 });
    assert.deepEqual(commandLine(["console", "--quick", "--consoles", "3"])?.console, {
      ...{ isQuick: true, rows: 10_000, consoles: 3 },
    });
    assert.throws(() => commandLine(["console", "--rows", "1e6"]), /--rows: must be a whole number/);
    assert.throws(() => commandLine(["console", "--rows", "999"]), /--rows: must be at least 1000/);
  });

  it("answers nothing if the user asks for help", () => {
    assert.equal(commandLine(["--help"]), null);
  });
});
