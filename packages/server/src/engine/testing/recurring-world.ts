import type { EpochMs } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { InFlightRow } from "../../ports/store.ts";
import type { Command, PlanOrder } from "../../ports/store-commands.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import type { Batch } from "../batch.ts";
import type { Limits } from "../inputs.ts";
import { ModelPlans } from "./model-plans.ts";
import { ModelStore } from "./model-store.ts";
import { START, Story } from "./story.ts";

/** A machine, and a store of recurring jobs that does what the test says. */
export class RecurringWorld {
  story: Story;
  readonly store = new ModelStore();
  readonly plans = new ModelPlans(this.store);
  readonly commands: Command[] = [];
  /** Attempts that workers run. */
  running: Assignment[] = [];
  outcomes: string[] = [];
  readonly #limits: Partial<Limits>;
  #flying: Batch | null = null;
  #made = 0;

  constructor(limits: Partial<Limits> = {}) {
    this.#limits = { silenceMs: Number.MAX_SAFE_INTEGER, ...limits };
    this.story = new Story(this.#limits);
  }

  order(job: Recurrence, order: PlanOrder): this {
    const id = `command-${String(++this.#made).padStart(4, "0")}`;
    this.commands.push({ kind: "PLAN", id, shard: job.shard, jobId: job.jobId, order });
    return this;
  }

  /** Moves the clock, and steps until nothing is left to do. */
  at(ms: number): this {
    this.story.now = START + ms;
    return this.rest();
  }

  rest(): this {
    this.look();
    for (let round = 0; round < 50; round++) this.land().read().send();
    return this.land();
  }

  /** Reads plans that are due soon and commands, as the hydrator does. */
  look(): this {
    // Each gateway sends a message, so that none is silent.
    for (const { profile } of this.story.state.workers.all()) this.story.credit(profile.workerId, 0);
    this.story.tell({ kind: "COMMANDS", commands: this.commands });
    const plans = this.plans.due(this.story.now + 10_000);
    this.story.tell({ kind: "READ_PLANS", plans, isBounded: true, ...this.mark });
    const pending = [...this.store.rows.values()].filter(
      ({ state, token, attempt }) => state === "PENDING" && token === attempt,
    );
    const rows = pending.map(({ row, attempt }) => ({ ...row, attempt, state: "PENDING" as const }));
    this.story.tell({ kind: "READ_WAITING", rows, ...this.mark });
    return this;
  }

  get mark(): { since: number; term: number } {
    return { since: (this.#flying ?? this.story.batch).number, term: this.story.state.term };
  }

  /** Answers the reads that the machine has asked for. */
  read(): this {
    for (const want of this.story.wants.splice(0)) {
      if (want.kind === "LOAD_PLANS") {
        const { jobIds: asked, ask } = want;
        this.story.tell({ kind: "LOADED_PLANS", asked, ask, plans: this.plans.read(asked), ...this.mark });
      } else if (want.kind === "FIRED") {
        const { since, until } = want.question;
        const instants = this.plans.instants(want.jobId).filter((at) => at >= since && at < until);
        this.story.tell({ kind: "READ_FIRED", jobId: want.jobId, question: want.question, instants, ...this.mark });
      } else if (want.kind === "LOAD") {
        const open = want.ids.map((id) => this.store.rows.get(id)).filter((row) => row !== undefined);
        const rows = open.filter(({ state }) => state === "PENDING" || state === "RUNNING");
        const copies = rows.map((r) => ({ ...r.row, attempt: r.attempt, state: r.state as "PENDING" }));
        this.story.tell({ kind: "LOADED", asked: want.ids, rows: copies, ...this.mark });
      } else if (want.kind === "READY") this.story.state.reading.delete(want.laneHash);
    }
    return this;
  }

  /** Sends the batch to the store. */
  send(): this {
    if (this.#flying !== null || !this.story.batch.hasWrites) return this;
    this.#flying = this.story.commit();
    return this;
  }

  /** Applies the batch to the store, and gives its answer to the machine. */
  land(): this {
    const batch = this.#flying;
    if (batch === null) return this;
    const created = this.#apply(batch);
    this.story.tell(created);
    this.#flying = null;
    this.running.push(...batch.assigns);
    for (const { message } of batch.toApi) if (message.kind === "COMMAND_DONE") this.outcomes.push(message.outcome);
    return this;
  }

  finish(assign = this.running[0], state: "SUCCEEDED" | "FAILED" | "CANCELLED" = "SUCCEEDED"): this {
    if (assign === undefined) return this;
    this.running = this.running.filter((one) => one !== assign);
    this.story.finish(assign, { state });
    return this;
  }

  /** Lets the owner die, and another one take over. @param isWritten whether the batch in flight reaches the store */
  crash(isWritten: boolean): this {
    if (this.#flying !== null && isWritten) this.#apply(this.#flying);
    this.#flying = null;
    this.running = [];
    const { now } = this.story;
    this.story = new Story(this.#limits);
    this.story.now = now;
    const epochs = new Map(Array.from({ length: 64 }, (_, shard) => [shard, 2]));
    const recovered = { inFlight: this.#inFlight(), journals: [], commands: [...this.commands] };
    this.story.tell({ kind: "OWNED", term: 2, epochs, recovered, incarnation: "node-2" });
    return this;
  }

  #apply(batch: Batch): ReturnType<ModelPlans["apply"]> {
    this.store.apply(batch);
    const done = new Set([...batch.shards.values()].flatMap(({ commandsDone }) => commandsDone));
    this.commands.splice(0, this.commands.length, ...this.commands.filter(({ id }) => !done.has(id)));
    return this.plans.apply(batch);
  }

  /** Attempts in flight. Their workers were built into the server, and died with it. */
  #inFlight(): InFlightRow[] {
    const held = [...this.store.rows.values()].filter(
      ({ state, token, attempt }) => state === "RUNNING" || (state === "PENDING" && token > attempt),
    );
    return held.map(({ row, state, token, attempt }) => ({
      row: { ...row, attempt, state: state as "PENDING" },
      ...{ attempt: token, workerId: "builtin-node-1", gateway: "node-1", assignedAt: this.story.now },
      ...{ attemptStartedAt: null, journal: null },
    }));
  }

  /** Planned instants that ran and that were skipped, relative to the start. */
  ledger(job: Recurrence): { ran: EpochMs[]; skipped: [EpochMs, string][] } {
    const skips = this.plans.skips.filter(({ jobId }) => jobId === job.jobId);
    return {
      ran: this.plans.instants(job.jobId).map((at) => at - START),
      skipped: skips.map(({ from, reason }) => [from - START, reason]),
    };
  }
}
