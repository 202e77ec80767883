import { CRASH_DEMANDS } from "../../faults/plan.ts";
import type { ClientEvent, Expected, WorkerEvent } from "../../history/events.ts";
import type { Graph } from "../../history/workflow-events.ts";
import type { Evidence, FinalExecution, FinalRun } from "../evidence.ts";
import { type Ears, JobStory } from "./job-story.ts";
import { WorkflowStory } from "./workflow-story.ts";

/** A made-up run for tests. All times are milliseconds since its start, on either clock. */
export class Story {
  readonly #clients: ClientEvent[] = [];
  readonly #workers: WorkerEvent[] = [];
  readonly #executions: FinalExecution[] = [];
  readonly #workflows: FinalRun[] = [];
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

  evidence(): Evidence {
    return {
      clients: this.#clients,
      workers: this.#workers,
      faults: [],
      executions: this.#executions,
      listedLater: this.#executions,
      workflows: this.#workflows,
      activeJobs: 0,
      recurring: [],
      demanded: CRASH_DEMANDS,
      unaskedDeaths: [],
      wallClockZeroMs: 0,
      toleranceMs: 0,
    };
  }
}
