import { allAre, expect, readAll, type Story, submitAll, times } from "./stage.ts";

const now: Story = {
  name: "now",
  async play(stage) {
    const jobs = times(300, (index) => ({ target: { handler: "echo" }, payload: { index } }));
    const ids = await submitAll(stage, this.name, jobs);
    await stage.board.reached(ids);
    const executions = await readAll(stage, ids);
    const echoed = executions.every((execution, index) => JSON.stringify(execution.result) === `{"index":${index}}`);
    return {
      executions,
      expectations: [
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect(
          "each ran once",
          executions.every(({ attempt }) => attempt === 1),
        ),
        expect("each has the result of its own payload", echoed),
      ],
    };
  },
};

const delayed: Story = {
  name: "delayed by up to 6 s",
  async play(stage) {
    const jobs = times(60, (index) => ({ target: { handler: "echo" }, delayMs: 500 + (index % 12) * 500 }));
    const ids = await submitAll(stage, this.name, jobs);
    const executions = await stage.board.reached(ids);
    const early = executions.filter(({ startedAt, scheduledAt }) => (startedAt ?? "") < scheduledAt);
    const lateness = executions.map(({ latenessMs }) => latenessMs ?? 0).sort((a, b) => a - b);
    const medianMs = lateness[Math.floor(lateness.length / 2)] ?? 0;
    return {
      executions,
      expectations: [
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect("none began before its time", early.length === 0),
        expect(`half of them began within a second of it (${medianMs} ms)`, medianMs < 1_000),
      ],
    };
  },
};

const prioritised: Story = {
  name: "the important ones first",
  async play(stage) {
    const job = (priority: "LOW" | "CRITICAL") => ({
      target: { handler: "print", pool: "press" },
      priority,
      payload: null,
    });
    const jobs = times(20, (index) => job(index < 10 ? "LOW" : "CRITICAL"));
    const ids = await submitAll(stage, this.name, jobs);
    stage.ready(this.name);
    const executions = await stage.board.reached(ids);
    const starts = executions.map(({ startedAt }) => Date.parse(startedAt ?? ""));
    const lastCritical = Math.max(...starts.slice(10));
    return {
      executions,
      expectations: [
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect(
          "the critical ones, which came last, all began first",
          starts.slice(0, 10).every((at) => at > lastCritical),
        ),
      ],
    };
  },
};

const retried: Story = {
  name: "failing twice, then well",
  async play(stage) {
    const retryPolicy = { backoff: "FIXED", initialDelayMs: 300, jitter: false } as const;
    const target = { handler: "flaky", pool: "photos" };
    const ids = await submitAll(
      stage,
      this.name,
      times(10, () => ({ target, retryPolicy, payload: null })),
    );
    stage.ready(this.name);
    await stage.board.reached(ids);
    const executions = await readAll(stage, ids);
    const histories = executions.map(({ attempts }) => attempts.map(({ state }) => state).join(" "));
    return {
      executions,
      expectations: [
        expect("all succeeded", allAre(executions, "SUCCEEDED")),
        expect(
          "each by its third attempt",
          histories.every((history) => history === "FAILED FAILED SUCCEEDED"),
        ),
      ],
    };
  },
};

export const STORIES_OF_LOAD: readonly Story[] = [now, delayed, prioritised, retried];
