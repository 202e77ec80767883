/** Limits and defaults that several packages agree on. This file imports nothing, so that every package may read it. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Largest payload of a job. */
export const PAYLOAD_BYTES_MAX = MIB;
/** Largest result of an attempt: the result of one job can be the payload of the next one. */
export const RESULT_MAX_BYTES = MIB;
/** Largest part of a body that is parsed: a job without its payload, or the whole body of another request. */
export const PARSED_BYTES_MAX = 128 * KIB;
/** Largest body of a request that submits or replaces one job. */
export const SINGLE_BODY_BYTES_MAX = PAYLOAD_BYTES_MAX + PARSED_BYTES_MAX;
/** Largest body of a batch. */
export const BATCH_BODY_BYTES_MAX = 32 * MIB;
/** Largest number of jobs in a batch. */
export const BATCH_JOBS_MAX = 10_000;
/** Deepest nesting of a body, a payload or a result. */
export const DEPTH_MAX = 128;

/** Longest name of a handler, a pool or a capability, in characters. */
export const WORD_CHARS_MAX = 128;
/** Longest name of a job, key or value of a label, in characters. */
export const LINE_CHARS_MAX = 255;

/** Largest page of a list, in items. */
export const PAGE_ITEMS_MAX = 1_000;
/** Page of a list where the request names no limit, in items. */
export const PAGE_ITEMS_DEFAULT = 50;

/** Pool of a job that names none. */
export const DEFAULT_POOL = "default";
