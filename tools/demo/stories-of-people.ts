import type { Client, DeadLetter } from "@mainspring/sdk";
import { allAre, expect, readAll, type Stage, type Story, submitAll, times } from "./stage.ts";

const replayed: Story = {
  name: "dead, repaired, replayed",
  async play(stage) {
    const { client, board, shop, shopUrl } = stage;
    const target = { handler: "http" };
    const retryPolicy = { maxAttempts: 2, backoff: "FIXED", initialDelayMs: 200, jitter: false } as const;
    const payload = { url: `${shopUrl}/pay`, method: "POST" };
    const ids = await submitAll(
      stage,
      this.name,
      times(5, () => ({ target, retryPolicy, payload })),
    );
    const dead = await board.reached(ids);
    const letters = await lettersOf(client);
    const listed = letters.map(({ executionId }) => executionId).sort();
    shop.outOfOrder = false;
    const again = (await client.deadLetters.replay(ids)).map(({ newExecutionId }) => newExecutionId ?? "");
    board.add(this.name, again);
    const replays = await board.reached(again);
    const left = await lettersOf(client);
    return {
      executions: [...dead, ...replays],
      expectations: [
        expect(
          "while the shop was out of order all died, of 2 failures",
          allAre(dead, "DEAD") && dead.every(({ failures }) => failures === 2),
        ),
        expect("the list of dead letters had them", listed.join() === [...ids].sort().join()),
        expect("once it was repaired all replays succeeded", allAre(replays, "SUCCEEDED")),
        expect("the list is empty", left.length === 0),
      ],
    };
  },
};

const called: Story = {
  name: "calls to another server",
  async play(stage) {
    const job = (order: number) => ({
      target: { handler: "http" },
      payload: { url: `${stage.shopUrl}/orders`, body: { order } },
    });
    const ids = await submitAll(stage, this.name, times(20, job));
    await stage.board.reached(ids);
    const executions = await readAll(stage, ids);
    const bodies = ids.map((id) =>
      stage.shop.orders.filter(({ idempotencyKey }) => idempotencyKey === id).map(({ body }) => body),
    );
    const answers = executions.map(({ result }) => result as { status?: number; body?: string } | null);
    return {
      executions,
      expectations: [
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect(
          "the shop got each order once, by its execution's id",
          bodies.every((got, order) => got.join() === `{"order":${order}}`),
        ),
        expect(
          "each result is the shop's answer",
          answers.every((answer) => answer?.status === 200 && answer.body === "thank you"),
        ),
      ],
    };
  },
};

const cancelled: Story = {
  name: "cancelled",
  async play(stage) {
    const { client, board } = stage;
    const target = { handler: "sleep" };
    const jobs = [
      { target, payload: { ms: 1 }, delayMs: 3_600_000 },
      { target, payload: { ms: 600_000 } },
    ];
    const ids = await submitAll(stage, this.name, jobs);
    const [waiting = "", running = ""] = ids;
    await board.listed([waiting]);
    await board.reached([running], ({ state }) => state === "RUNNING");
    const answer = await client.cancelExecution(waiting);
    await client.cancelExecution(running);
    await board.reached(ids);
    const executions = await readAll(stage, ids);
    const [none, one] = executions.map(({ attempts }) => attempts.map(({ state }) => state).join());
    return {
      executions,
      expectations: [
        expect("both are", allAre(executions, "CANCELLED")),
        expect("the one that waited never began", answer === "CANCELLED" && none === ""),
        expect("the one that ran was stopped by its worker", one === "CANCELLED"),
      ],
    };
  },
};

const ownHandler: Story = {
  name: "a handler of one's own",
  async play(stage) {
    const target = { handler: "thumbnail", pool: "photos" };
    const ids = await submitAll(
      stage,
      this.name,
      times(16, (index) => ({ target, payload: { photo: `${index}.jpeg` } })),
    );
    await stage.board.listed(ids);
    const { reasons } = await stage.client.explain(ids[0] ?? "");
    stage.board.print(
      `  why do the photos wait? ${reasons.map(({ reason }) => reason).join(", ")}: their worker starts now`,
    );
    const follower = new Follower();
    const followed = follower.follow(stage, ids[0] ?? "");
    // The follower starts first, because the log is not repeated for followers that come late.
    await Promise.race([follower.begun.promise, followed]);
    stage.ready(this.name);
    await stage.board.reached(ids);
    const executions = await readAll(stage, ids);
    const makers = new Set(executions.map(({ result }) => (result as { madeBy?: number } | null)?.madeBy));
    await followed;
    return {
      executions,
      expectations: [
        expect(
          "it was told why they waited: no worker had the handler yet",
          reasons[0]?.reason === "NO_WORKER_FOR_HANDLER",
        ),
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect("all of them in the worker's process", makers.size === 1 && makers.has(await stage.workerPid)),
        expect("who followed one saw it progress", follower.fractions > 1),
        expect("and read what it logged", follower.lines.join() === "0.jpeg: begun"),
      ],
    };
  },
};

async function lettersOf(client: Client): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const letter of client.deadLetters.list()) letters.push(letter);
  return letters;
}

/** Receives the events of an execution. */
class Follower {
  /** Resolves at the first event; from then on the follower misses none. */
  readonly begun = Promise.withResolvers<void>();
  readonly lines: string[] = [];
  fractions = 0;

  /** Follows until the execution is final. */
  async follow({ client, signal }: Stage, executionId: string): Promise<void> {
    for await (const event of client.follow(executionId, { signal })) {
      this.begun.resolve();
      if (event.type === "progress") this.fractions++;
      if (event.type === "log") this.lines.push(event.line);
    }
  }
}

export const STORIES_OF_PEOPLE: readonly Story[] = [replayed, called, cancelled, ownHandler];
