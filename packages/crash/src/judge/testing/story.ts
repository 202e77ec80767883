import { CRASH_DEMANDS } from "../../faults/plan.ts";
import type { ClientEvent, Expected, WorkerEvent } from "../../history/events.ts";
import type { Graph } from "../../history/workflow-events.ts";
import type { Evidence, FinalExecution, FinalRequest, FinalRun, RecordEvidence } from "../evidence.ts";
import { type Ears, JobStory } from "./job-story.ts";
import { WorkflowStory } from "./workflow-story.ts";

/** A made-up run for tests. All times are milliseconds since its start, on either clock. */
export class Story {
  readonly #clients: ClientEvent[] = [];
  readonly #workers: WorkerEvent[] = [];
  readonly #executions: FinalExecution[] = [];
  readonly #workflows: FinalRun[] = [];
  readonly #requests: FinalRequest[] = [];
  #records: RecordEvidence | null = null;
  readonly #ears: Ears = {
    client: (event) => this.#clients.push(event),
    worker: (event) => this.#workers.push(event),
    execution: (execution) => this.#executions.push(execution),
    workflow: (run) => this.#workflows.push(run),
  };

  /** @param executionId id of the execution; default: the key */
  job(key: string, expected: Partial<Expected> = {}, executionId = key): JobStory {
    return new JobStory(key, executionId, expected, this.#ears);
  }

  /** @param graph graph of the workflow; its key is the id of its run */
  workflow(key: string, graph: Graph): WorkflowStory {
    return new WorkflowStory(key, graph, this.#ears);
  }

  /**
   * Adds a request of an application for the job, in a transaction with this end. @param end "OPEN": nobody knows it
   */
  requested(
    key: string,
    requestId: string,
    end: "COMMITTED" | "ROLLED_BACK" | "OPEN",
    { at = 0, isWrong = false }: { at?: number; isWrong?: boolean } = {},
  ): this {
    this.#clients.push({ event: "REQUEST_WRITTEN", at, key, requestId, isWrong });
    if (end === "COMMITTED") this.#clients.push({ event: "REQUEST_COMMITTED", at: at + 1, requestId });
    if (end === "ROLLED_BACK") {
      this.#clients.push({ event: "REQUEST_ROLLED_BACK", at: at + 1, requestId, isCutOff: false });
    }
    return this;
  }

  /** Adds a request as the server shows it. @param executionId null: it is REFUSED */
  shown(requestId: string, executionId: string | null, rest: Partial<FinalRequest> = {}): this {
    const problem = { type: "", title: "", status: 422, detail: "wrong" } as FinalRequest["problem"];
    const end =
      executionId === null
        ? ({ state: "REFUSED", jobId: null, problem } as const)
        : ({ state: "TAKEN_IN", jobId: requestId, problem: null } as const);
    this.#requests.push({ requestId, executionId, deduplicated: false, ...end, ...rest });
    return this;
  }

  /** Adds a record that the server accepted for the job. */
  accepted(key: string, position: string, { at = 0, isWrong = false } = {}): this {
    this.#clients.push({ event: "RECORD_ACCEPTED", at, key, position, isWrong });
    return this;
  }

  /** Evidence of a run with records, which are those shown. @param told positions that the topic of refused records names */
  ofRecords(mode: RecordEvidence["mode"], told: readonly string[] = []): Evidence {
    this.#records = { mode, shown: this.#requests.splice(0), told: new Set(told) };
    return this.evidence();
  }

  evidence(): Evidence {
    return {
      clients: this.#clients,
      workers: this.#workers,
      faults: [],
      executions: this.#executions,
      listedLater: this.#executions,
      workflows: this.#workflows,
      requests: this.#requests.length > 0 ? this.#requests : null,
      records: this.#records,
      endsInReplica: null,
      activeJobs: 0,
      recurring: [],
      demanded: CRASH_DEMANDS,
      unaskedDeaths: [],
      wallClockZeroMs: 0,
      toleranceMs: 0,
    };
  }
}
