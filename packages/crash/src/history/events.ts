import type { LinkFaultKind } from "../environment/proxy/link-fault.ts";
import type { RecordEvent } from "./record-events.ts";
import type { RequestEvent } from "./request-events.ts";
import type { NodeOfRun, WorkflowEvent } from "./workflow-events.ts";

/**
 * Events that clients, workers and the fault injector write, each into files of its own. `at` is the machine's
 * monotonic clock in milliseconds, the same for all of them.
 */

export type FinalState = "SUCCEEDED" | "CANCELLED" | "DEAD" | "SKIPPED";

/** Outcome that an accepted job must have. */
export interface Expected {
  /** Final state, unless its worker was lost `maxLost` times, or a client requested its cancellation. */
  state: FinalState;
  /** Number of FAILED and TIMED_OUT attempts. */
  failures: { least: number; most: number };
  maxAttempts: number;
  maxLost: number;
  concurrency: { key: string; limit: number } | null;
  uniqueKey: string | null;
  /** Least delay between the submit and the start, in milliseconds. */
  delayMs: number;
  /** Time after which the execution must not start any more, in milliseconds; null: no limit. */
  expiresMs: number | null;
  payloadSha: string;
}

export type ClientEvent =
  /** Written before the request is sent. `idempotent`: the client repeats the request until it is answered. */
  | { event: "INTENDED"; at: number; key: string; kind: string; idempotent: boolean; expected: Expected }
  | { event: "ANSWERED"; at: number; key: string; executionId: string; jobId: string; deduplicated: boolean }
  /** The server refused the request. */
  | { event: "REFUSED"; at: number; key: string; message: string }
  | { event: "CANCEL_ASKED"; at: number; executionId: string }
  /** CANCELLED: the execution had not started. REQUESTED: its worker is told. FINAL: the cancel came too late. */
  | { event: "CANCEL_ANSWERED"; at: number; executionId: string; answer: "CANCELLED" | "REQUESTED" | "FINAL" }
  /** The client read that the execution is final. */
  | { event: "SEEN_FINAL"; at: number; executionId: string; state: string; resultSha: string }
  /** Written before a signal is sent. `value`: the signal as its step gets it (`receivedValue`). */
  | { event: "SIGNAL_ASKED"; at: number; executionId: string; name: string; value: string }
  /** The server accepted the signal. `isRepeated`: it says that it had accepted the signal before. */
  | { event: "SIGNAL_ANSWERED"; at: number; executionId: string; name: string; value: string; isRepeated: boolean }
  | { event: "SIGNAL_REFUSED"; at: number; executionId: string; name: string; value: string; message: string }
  | RecordEvent
  | RequestEvent
  | WorkflowEvent;

interface StepToken {
  at: number;
  pid: number;
  executionId: string;
  attempt: number;
}

/** Attempt of an event. `node`: node of a workflow that the attempt runs; left out: it runs none. */
interface Token extends StepToken {
  node?: NodeOfRun;
}

export type WorkerEvent =
  /** `given`: what the references of a node's payload led to, by the node to which they refer (`givenValue`). */
  | (Token & { event: "STARTED"; key: string; given?: Record<string, string> })
  /** The signal was aborted: CANCELLED, TIMED_OUT, SUPERSEDED, WORKER_LEAVES or SUSPENDED. */
  | (Token & { event: "ABORTED"; reason: string })
  /** Written before the handler returns or throws. `resultSha` null: it throws. */
  | (Token & { event: "ENDED"; resultSha: string | null })
  | StepEvent;

/** Events of durable steps and checkpoints, which handlers write. */
export type StepEvent = StepToken &
  (
    | { event: "EFFECT_BEGAN"; step: string }
    /** The effect of the step is there; its value goes to the server next. */
    | { event: "EFFECT_ENDED"; step: string; value: string }
    /** The handler comes to a step that waits. `signal`: name of the signal that the step waits for; null: it sleeps. */
    | { event: "WAIT_BEGAN"; step: string; signal: string | null; forMs: number }
    /**
     * The call of the step resolved: the server has stored its result in this attempt or an earlier one, or the sleep is
     * over. `value` null: the step slept, or waited in vain.
     */
    | { event: "STEP_KNOWN"; step: string; value: string | null }
    /** Newest checkpoint at the start of the attempt; 0: none. */
    | { event: "CHECKPOINT_READ"; value: number }
    | { event: "CHECKPOINT_ASKED"; value: number }
    /** The server has stored the checkpoint, or a newer one. */
    | { event: "CHECKPOINT_KNOWN"; value: number }
  );

/**
 * Faults of processes. RESTARTED and RETIRED: asked to leave, as in an upgrade. PAUSED: stopped for a short time.
 * ABORTED: as `pg_ctl stop -m immediate`. DOWN: down for a while. FAILED_OVER: killed, and a standby promoted. ALONE: its replica
 * stands still.
 */
export type ProcessFault =
  | `SERVER_${"KILLED" | "PAUSED" | "STOPPED" | "RESTARTED"}`
  | `STORE_${"KILLED" | "ABORTED" | "STOPPED" | "ALONE" | "DOWN" | "FULL" | "FAILED_OVER"}`
  | `ETCD_${"KILLED" | "STOPPED" | "CUT"}`
  | `${"CLICKHOUSE" | "OTLP" | "REDIS"}_${"KILLED" | "STOPPED" | "CUT"}`
  | "REDIS_FLUSHED"
  | `KAFKA_${"KILLED" | "STOPPED" | "TOPIC_DELETED"}`
  | `WORKER_${"KILLED" | "STOPPED" | "RETIRED"}`
  | "CLIENT_KILLED";

/** Links between a node and its store, other nodes, workers, clients. */
export const LINKS = ["STORE_LINK", "MESH_LINK", "GATEWAY_LINK", "API_LINK"] as const;
/** `KAFKA_LINK`: between a node and Kafka, if there is one. */
export type LinkName = (typeof LINKS)[number] | "KAFKA_LINK";
export type LinkFault = `${LinkName}_${LinkFaultKind}`;
export type Fault = ProcessFault | LinkFault;

export type FaultEvent =
  /** Written before the fault happens. */
  | { event: ProcessFault; at: number; pid: number }
  /**
   * Written when the fault is over. `pid`: process of the node at one end. `hits`: number of times that the fault had
   * an effect.
   */
  | { event: LinkFault; at: number; pid: number; hits: number }
  | {
      event:
        | `${"SERVER" | "STORE" | "ETCD" | "KAFKA" | "CLICKHOUSE" | "OTLP" | "REDIS"}_READY`
        | "SERVER_CONTINUED"
        | "WORKER_CONTINUED";
      at: number;
      pid: number;
    }
  /** Messages of the bus that a node had sent over Kafka and over the mesh since its start. */
  | { event: "BUS_CARRIED"; at: number; pid: number; kafka: number; mesh: number }
  /** An API's answer to a submit while the store was down. `status` null: there was no answer. */
  | { event: "OUTAGE_TOLD"; at: number; pid: number; status: number | null; retryAfter: string | null; tookMs: number };
