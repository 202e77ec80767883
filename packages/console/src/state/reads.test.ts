import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { type Pace, Reads } from "./reads.ts";

const PACE: Pace = { everyMs: 2_000, busyMs: 3_000 };

describe("the reads of a page", () => {
  let isHidden: boolean;
  let shown: () => void;
  let reads: Reads;
  let count: number;
  /** Whether the next answers differ from the one before. */
  let isBusy: boolean;
  let gate: Promise<unknown>;
  /** For each read, whether it had to be new. */
  let asked: string[];
  const window = {
    isHidden: () => isHidden,
    onShown: (tell: () => void) => {
      shown = tell;
      return () => {
        shown = () => assert.fail("nobody listens");
      };
    },
  };
  const start = (pace: Pace | null) => {
    reads = new Reads(
      async (isNew) => {
        count++;
        asked.push(isNew ? "new" : "shared");
        await gate;
        return isBusy;
      },
      () => pace,
      window,
    );
  };
  /** Moves the clock, and lets the reads end that are due. */
  const after = async (ms: number) => {
    mock.timers.tick(ms);
    for (let turn = 0; turn < 10; turn++) await null;
    return count;
  };

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
    [isHidden, isBusy, count, gate, asked] = [false, false, 0, Promise.resolve(), []];
  });
  afterEach(() => mock.timers.reset());

  it("come after each interval while nothing changes", async () => {
    start(PACE);
    assert.equal(await after(0), 1);
    assert.equal(await after(1_999), 1);
    assert.equal(await after(1), 2);
    assert.equal(await after(2_000), 3);
  });

  it("come less often while each answer differs, and as before once that ends", async () => {
    start(PACE);
    isBusy = true;
    await after(0);
    assert.equal(await after(2_999), 1);
    isBusy = false;
    assert.equal(await after(1), 2);
    assert.equal(await after(1_999), 2);
    assert.equal(await after(1), 3);
  });

  it("come at once when the user acts, however busy the page is, and count from then on", async () => {
    start(PACE);
    isBusy = true;
    await after(0);
    await after(1_000);
    reads.again();
    assert.equal(await after(0), 2);
    assert.equal(await after(2_999), 2);
    assert.equal(await after(1), 3);
  });

  it("rest while the window is hidden, and come at once when it is shown again", async () => {
    start(PACE);
    await after(0);
    isHidden = true;
    for (let minute = 0; minute < 10; minute++) assert.equal(await after(60_000), 1);
    reads.again();
    assert.equal(await after(0), 1);
    isHidden = false;
    shown();
    assert.equal(await after(0), 2);
    assert.equal(await after(2_000), 3);
  });

  it("do not come early because the window was hidden for a moment", async () => {
    start(PACE);
    await after(0);
    shown();
    assert.equal(await after(1_999), 1);
  });

  it("run one at a time, and once more for all calls meanwhile", async () => {
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    start(null);
    reads.again();
    reads.again();
    reads.unlessRunning();
    assert.equal(await after(60_000), 1);
    open.resolve();
    assert.equal(await after(0), 2);
    assert.equal(await after(60_000), 2);
    reads.unlessRunning();
    assert.equal(await after(0), 3);
  });

  it("may share answers of other pages, but the first read and those that an action asks for", async () => {
    start(PACE);
    await after(0);
    await after(2_000);
    reads.again();
    await after(0);
    await after(2_000);
    assert.deepEqual(asked, ["new", "shared", "new", "shared"]);
  });

  it("end with the page", async () => {
    start(PACE);
    await after(0);
    reads.stop();
    assert.equal(await after(60_000), 1);
    assert.throws(shown, /nobody listens/);
  });
});
