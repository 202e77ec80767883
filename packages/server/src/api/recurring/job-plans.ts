import type { EpochMs, JobId } from "../../domain/ids.ts";
import { type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { plannedInstants } from "../../domain/schedule/planned.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store-commands.ts";
import type { JobView } from "../../ports/store-queries.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { refusalOf } from "../jobs/change-refusals.ts";
import { shardOfJob } from "../submit/new-job.ts";

/** Largest number of planned instants in one backfill. */
const BACKFILL_MAX = 10_000;
const BACKFILL_PIECE = 200;

interface PlanDependencies {
  stores: Pick<TenantStores, "of">;
  runtime: Runtime;
  zones: Pick<TimeZoneRules, "changeovers">;
  commands: Commands;
}

export interface Ordered {
  job: JobView;
  /** Whether the owner has applied the command; false: it has not answered yet, and will apply it later. */
  isDone: boolean;
}

export interface Backfill {
  since: EpochMs;
  until: EpochMs;
  limit: number;
}

/**
 * Sends commands for the plans of recurring jobs, which only their owners write. Refusals are thrown as `ProblemError`.
 */
export class JobPlans {
  readonly #deps: PlanDependencies;

  constructor(deps: PlanDependencies) {
    this.#deps = deps;
  }

  /** Pauses a job. @throws {StoreUnavailable} the job may or may not be paused soon */
  pause(tenant: Tenant, jobId: JobId, note?: AuditNote): Promise<Ordered> {
    return this.#order(tenant, jobId, async () => ({ kind: "PAUSE", at: this.#deps.runtime.now() }), note);
  }

  /** Resumes a job. @param catchUp whether the `misfire` rule applies to the instants within the pause */
  resume(tenant: Tenant, jobId: JobId, catchUp: boolean, note?: AuditNote): Promise<Ordered> {
    return this.#order(tenant, jobId, async () => ({ kind: "RESUME", at: this.#deps.runtime.now(), catchUp }), note);
  }

  /** Starts a backfill. @returns also the number of planned instants in the range */
  async backfill(
    tenant: Tenant,
    jobId: JobId,
    { since, until, limit }: Backfill,
    note?: AuditNote,
  ): Promise<Ordered & { planned: number }> {
    let planned = 0;
    const orderOf = async (job: JobView): Promise<PlanOrder> => {
      planned = await this.#plannedIn(job, since, until);
      return { kind: "BACKFILL", since, until, limit };
    };
    const ordered = await this.#order(tenant, jobId, orderOf, note);
    return { ...ordered, planned };
  }

  /** Reads a recurring job. @throws {ProblemError} not-found, or wrong-state for a one-time job */
  async read(tenant: Tenant, jobId: JobId): Promise<JobView> {
    const job = await this.#deps.stores.of(tenant).queries.getJob(jobId);
    if (job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    if (job.plan === null) throw new ProblemError(refusalOf({ kind: "NOT_RECURRING" }));
    return job;
  }

  async #order(
    tenant: Tenant,
    jobId: JobId,
    orderOf: (job: JobView) => Promise<PlanOrder>,
    note: AuditNote | undefined,
  ): Promise<Ordered> {
    const { stores, runtime, commands } = this.#deps;
    const job = await this.read(tenant, jobId);
    const shard = shardOfJob(tenant, job.definition, jobId);
    const command: PlanCommand = { id: runtime.uuid(), shard, kind: "PLAN", jobId, order: await orderOf(job) };
    const taken = await stores.of(tenant).orderPlan(command, note);
    if (taken.kind !== "TAKEN") throw new ProblemError(refusalOf(taken));
    const outcome = await commands.tell(command);
    if (outcome === "BACKFILL_OPEN") {
      throw new ProblemError(
        problem("backfill-open", "wait until it has ended: `catchUps` of the job says how far it is"),
      );
    }
    const after = await this.read(tenant, jobId);
    if (outcome !== "NOT_PLANNED") return { job: after, isDone: outcome !== null };
    const state = after.state === "DELETED" ? "DELETED" : "FINISHED";
    throw new ProblemError(refusalOf({ kind: "WRONG_STATE", state }));
  }

  /** Counts planned instants in pieces, between which the event loop does other work. */
  async #plannedIn(job: JobView, since: EpochMs, until: EpochMs): Promise<number> {
    const schedule = foreseeable(job);
    const changeovers = this.#deps.zones.changeovers();
    let planned = 0;
    for (let from = since; planned <= BACKFILL_MAX; ) {
      const { instants, more } = plannedInstants(schedule, changeovers, from, until, BACKFILL_PIECE);
      planned += instants.length;
      if (!more && planned <= BACKFILL_MAX) return planned;
      if (!more) break;
      from = (instants.at(-1) as EpochMs) + 1;
      await new Promise<void>((resolve) => void this.#deps.runtime.setTimer(0, resolve));
    }
    const message = `is too far back: a backfill takes ${BACKFILL_MAX} planned instants at most. Take a part at a time`;
    throw new ProblemError(invalid([{ field: "since", message }]));
  }
}

function foreseeable({ definition, jobId, createdAt }: JobView): Schedule {
  // The job has a plan, so it recurs.
  const schedule = scheduleOf(definition.recurrence as RecurrenceRule, jobId, createdAt);
  const { times } = schedule;
  if (times.type === "CRON" || times.mode === "FIXED_RATE") return schedule;
  throw new ProblemError(
    problem("wrong-state", "a job with a fixed delay plans nothing beforehand: trigger it instead"),
  );
}
