/** Limits and defaults that several packages agree on. This file imports nothing, so that every package may read it. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Largest payload of a job, in bytes. */
export const PAYLOAD_BYTES_MAX = MIB;
/**
 * Largest result of an attempt, in bytes. The limit equals that of payloads, so that a job's result can be the next
 * job's payload.
 */
export const RESULT_MAX_BYTES = MIB;
/** Largest record of a handler, a step's value or a checkpoint, in bytes. */
export const STEP_MAX_BYTES = 256 * 1024;
/** Length of a step's name, in characters. */
export const STEP_NAME_MAX_CHARS = 256;
/** Largest number of steps of an execution. */
export const STEPS_MAX = 1_000;
/** Largest total of the records of an execution, in bytes. */
export const STEPS_MAX_BYTES = 4 * MIB;
/** Longest time that a step sleeps or waits for a signal, in milliseconds: 366 days. */
export const WAIT_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
/**
 * Lifetime of an execution whose job names none, in milliseconds: 365 days. Stored definitions leave this lifetime out, so
 * another value would change accepted jobs.
 */
export const DEFAULT_LIFETIME_MS = 365 * 24 * 60 * 60 * 1_000;
/** Largest number of names of signals that a step waits for. */
export const WAIT_SIGNALS_MAX = 100;
/**
 * Largest total of the names of steps and signals of the waits of an attempt, as JSON in bytes. They travel as one item
 * between nodes, which take items of 512 KiB.
 */
export const WAITS_MAX_BYTES = 256 * KIB;
/** Largest data of a signal, in bytes. */
export const SIGNAL_MAX_BYTES = 64 * KIB;
/** Largest number of signals of an execution that no step has consumed. */
export const SIGNALS_OPEN_MAX = 1_000;
/** Largest total of the data of these signals, in bytes. */
export const SIGNALS_OPEN_MAX_BYTES = 4 * MIB;
/**
 * Largest part of a body that the server parses, in bytes: a job without its payload, or the whole body of another
 * request.
 */
export const PARSED_BYTES_MAX = 128 * KIB;
/** Largest body of a request that submits or replaces one job, in bytes. */
export const SINGLE_BODY_BYTES_MAX = PAYLOAD_BYTES_MAX + PARSED_BYTES_MAX;
/** Largest body of a batch, in bytes. */
export const BATCH_BODY_BYTES_MAX = 32 * MIB;
/** Largest number of jobs in a batch. */
export const BATCH_JOBS_MAX = 10_000;
/** Largest number of jobs in a batch whose jobs have idempotency keys of their own. */
export const BATCH_KEYS_MAX = 1_000;
/** Deepest nesting of a body, payload or result. Recursive parsers of every language can read this depth. */
export const DEPTH_MAX = 128;

/** Longest name of a handler, a pool, a capability or an error, in characters. */
export const WORD_CHARS_MAX = 128;
/** Longest name of a job, key or value of a label, in characters. */
export const LINE_CHARS_MAX = 255;

/** Largest page of a list, in items. */
export const PAGE_ITEMS_MAX = 1_000;
/** Default size of a page of a list, in items. */
export const PAGE_ITEMS_DEFAULT = 50;

/** Default pool of a job. */
export const DEFAULT_POOL = "default";

/** Handler of the jobs of workflows. No worker runs it: the owner of a run is its worker. */
export const WORKFLOW_HANDLER = "workflow";
/** Handler of the runs of sub-workflows. No job and no task can have this name. */
export const SUB_WORKFLOW_HANDLER = "$workflow";

/** Log lines that a server keeps of an attempt: the last ones, up to this size of their text in UTF-8, */
export const ATTEMPT_LOG_BYTES_MAX = 64 * KIB;
/** and this number of lines. */
export const ATTEMPT_LOG_LINES_MAX = 4_096;

/** Largest JSON text of the policies that a task declares for jobs of its handler, in bytes. */
export const POLICIES_BYTES_MAX = 4 * KIB;
/** Handlers of shared pools whose policies a store keeps; beyond it the handlers that no worker has offered for longest are forgotten. */
export const HANDLERS_KEPT_MAX = 5_000;
/** The same for the pools of one tenant. */
export const HANDLERS_OF_TENANT_MAX = 500;
/** Largest payload from which a server fills in a key with placeholders. */
export const TEMPLATE_PAYLOAD_BYTES_MAX = 64 * KIB;

/** Largest number of nodes of a workflow. */
export const WORKFLOW_NODES_MAX = 10_000;
/** Largest number of earlier runs from which a retry of a workflow keeps results. */
export const RETRY_BASES_MAX = 20;
/** Largest number of dependencies of all nodes of a workflow together. */
export const WORKFLOW_EDGES_MAX = 100_000;
/** Largest number of different branches that the dependencies of a workflow name. */
export const WORKFLOW_BRANCHES_MAX = 10_000;
/** Largest number of maps of a workflow. */
export const WORKFLOW_MAPS_MAX = 1_000;
/** Largest number of items of a map. */
export const MAP_ITEMS_MAX = 100_000;
/** Largest number of executions of a run that exist and are not final, of nodes and items of maps together. */
export const WORKFLOW_LIVE_MAX = 4_000;
/** Largest number of nodes that one attempt of a handler adds to its run. */
export const SPAWN_NODES_MAX = 1_000;
/** Largest number of dependencies of the nodes that one attempt adds. */
export const SPAWN_EDGES_MAX = 10_000;
/** Largest size of the nodes that one attempt adds, with their payloads, in bytes. */
export const SPAWN_BYTES_MAX = MIB;
/** Largest number of nodes that handlers add to one run. */
export const WORKFLOW_SPAWNED_MAX = 10_000;
/** Largest number of nodes of a run whose handlers add nodes. */
export const WORKFLOW_PARTS_MAX = 1_000;
/** Largest number of spawners on the way from the definition to a node that a handler adds. */
export const SPAWN_DEPTH_MAX = 5;
/** Levels of sub-workflows below a workflow. */
export const SUB_WORKFLOW_LEVELS_MAX = 5;
/** Longest name of a workflow's node or of a branch, in characters. */
export const NODE_NAME_CHARS_MAX = 64;
/** Largest number of references and literals in the payload of a node, or in the output of a workflow. */
export const NODE_REFERENCES_MAX = 1_000;
/** Largest number of references of all nodes of a workflow together. */
export const WORKFLOW_REFERENCES_MAX = 100_000;
/** Longest path of a reference, in names and indexes. */
export const REFERENCE_PATH_MAX = 32;
/** Longest name in the path of a reference, in characters. */
export const REFERENCE_NAME_CHARS_MAX = 256;
/** Largest output of a workflow before its references are replaced, in bytes. */
export const OUTPUT_BYTES_MAX = 64 * KIB;
/** Regular expression of the name of a workflow's node, and of a branch. */
export const NODE_NAME_PATTERN = `^[A-Za-z0-9_.-]{1,${NODE_NAME_CHARS_MAX}}$`;
/** Largest part of a workflow's node that the server parses, in bytes: the node without its payload. */
export const NODE_PARSED_BYTES_MAX = MIB;
/** Time for the run of a workflow that names none, in milliseconds: 365 days. */
export const DEFAULT_RUN_TIMEOUT_MS = 365 * 24 * 60 * 60 * 1_000;

/** Longest position of the stream of events, in characters. A position of 64 shards has up to about 500 in practice. */
export const EVENT_POSITION_CHARS_MAX = 2_048;
/** Largest number of values of one filter of the stream of events. */
export const EVENT_FILTER_VALUES_MAX = 100;

/** Largest number of pools that a key names. */
/** Longest name of a tenant, in characters. */
export const TENANT_CHARS_MAX = 40;
/** Largest limit of running, waiting or recurring work of a tenant. */
export const TENANT_COUNT_MAX = 1_000_000_000;
/** Rates of a tenant, a second. */
export const TENANT_RATE_MIN = 0.01;
export const TENANT_RATE_MAX = 1_000_000;
export const KEY_POOLS_MAX = 100;
/** Longest time for which the former key of a rotation is good, in seconds: 30 days. */
export const KEY_OVERLAP_SEC_MAX = 30 * 24 * 60 * 60;
export const KEY_OVERLAP_SEC_DEFAULT = 24 * 60 * 60;

/** Longest life of a session of the console, in seconds: 12 hours. */
export const SESSION_MAX_SEC = 12 * 60 * 60;
/** Longest credential that a session takes, in characters. Browsers refuse cookies of more than 4,096. */
export const SESSION_KEY_CHARS_MAX = 2_800;
