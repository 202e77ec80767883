/** Limits and waiting times of a gateway. */

export const SLOTS_MAX = 10_000;
export const PREFETCH_MAX = 100_000;
export const HANDLERS_MAX = 1_000;
export const CAPABILITIES_MAX = 1_000;
export const NAME_MAX_CHARS = 128;
export const RESULT_MAX_BYTES = 1024 * 1024;
/** As of payloads: every language can read this much by recursion. */
export const RESULT_DEPTH_MAX = 128;
export const ERROR_MESSAGE_MAX_CHARS = 8 * 1024;
export const ERROR_STACK_MAX_CHARS = 8 * 1024;
export const LOG_LINE_MAX_CHARS = 8 * 1024;
/** Connections of workers, those included that have not said hello yet. */
export const CONNECTIONS_MAX = 10_000;
/** A connection that has not said hello by then is closed. */
export const HELLO_WITHIN_MS = 10_000;

/** A message to a worker carries no more payloads than this, but one: gRPC clients take 4 MiB by default. */
export const MESSAGE_MAX_PAYLOAD_BYTES = 2 * 1024 * 1024;
export const MESSAGE_MAX_ASSIGNS = 2_000;
/**
 * Acknowledgements and refusals in one message to a worker, each; a message with this many is written in a turn of the
 * loop of its own.
 */
export const MESSAGE_MAX_TOKENS = 2_000;

/** Times that `Welcome` asks of workers. */
export const HEARTBEAT_INTERVAL_MS = 10_000;
/** Connected and silent for so long, a worker is lost. */
export const SILENT_MAX_MS = 30_000;
/** Its connection broken for so long, a worker is lost. */
export const BROKEN_MAX_MS = 5_000;
/** A judge that was held up for longer than this cannot tell who was silent. */
export const STALL_MAX_MS = 1_000;
/** How often liveness is judged. */
export const JUDGE_INTERVAL_MS = 250;
/** A gateway that drains parts with so small a part of its workers each time that it judges liveness, */
export const SEND_AWAY_SHARE = 8;
/** and not sooner than this again with one that came back and holds nothing. */
export const SENT_AWAY_AGAIN_MS = 10_000;
/** How often the roll of all credits is called, because the bus may have lost what was said of them. */
export const ROLL_INTERVAL_MS = 1_000;
/** Longer lists of credits go in several messages. */
export const CREDITS_PER_MESSAGE = 2_000;
/** Ranks are instants in milliseconds, more or less: what is this close is equally urgent. */
export const RANKS_EQUAL_WITHIN = 1_000;
/** An owner is not asked more often than this to give back what it cannot use of a worker; */
export const RECALL_INTERVAL_MS = 50;
/** when it has, others go first with that worker for so long. */
export const DECLINED_MS = 1_000;
/** An owner that has slots of a worker and waiting work, and begins nothing there for this long, gets no more of them. */
export const UNUSED_MS = 300;
/** A worker is asked for its results again when one was not acknowledged for so long, */
export const RESEND_AFTER_MS = 2_000;
/** and ever less often while none is: owners that are slow only have more to do for being told everything again. */
export const RESEND_WAIT_MAX_MS = 10_000;
/** An attempt that has not begun for so long may be missing at the worker: the gateway asks. */
export const DOUBT_AFTER_MS = 5_000;
/** Attempts in one such question. */
export const DOUBTS_MAX = 1_000;
/** A worker that speaks but leaves a question unanswered for twice as long is disconnected, which settles what it holds. */
export const ANSWER_WITHIN_MS = 5_000;
/** A worker is asked no more often than this to hand back what it has not started. */
export const TAKE_BACK_EVERY_MS = 1_000;
/** Acknowledgements wait so long for something else that goes to their worker: a message costs more than what is in it, */
export const ACKS_WAIT_MS = 1_000;
/** looked at so often, so that not all leave at once; */
export const ACKS_INTERVAL_MS = 100;
/** but no more of them than this. */
export const ACKS_WAITING_MAX = 1_000;
/** Lost workers are listed as DEAD for so long, */
export const DEAD_LISTED_MS = 600_000;
/** but not more of them than this. */
export const DEAD_LISTED_MAX = 1_000;
/** Attempts in the list of one worker. */
export const EXECUTIONS_LISTED_MAX = 1_000;

/** Recent output of handlers is kept, of one execution this much at most */
export const TALK_MAX_ITEMS = 1_000;
export const TALK_MAX_CHARS = 256 * 1024;
/** and of all together; the longest silent go first. */
export const TALK_ALL_MAX_CHARS = 16 * 1024 * 1024;
/** An execution that was silent for this long is forgotten. */
export const TALK_KEPT_MS = 600_000;
/** Time within which a follower of an execution repeats its subscription. */
export const FOLLOW_LAPSES_MS = 10_000;
/** Executions that are followed at once; the others are not heard by the api. */
export const FOLLOWED_MAX = 20_000;

/** Attempts that a hello may list. A worker is lent nothing that could make it hold more, unacknowledged results included. */
export const HOLDS_MAX = 12_000;
/** Attempts that a worker is lent at once, however many slots and places to wait it has. */
export const LENT_MAX = 10_000;
/** Attempts of one execution in a hello: one is current, and those before it may be winding down. */
export const HOLDS_PER_EXECUTION_MAX = 1_000;

/** A message that a server takes: the SDK sends 2 MiB at most. */
export const RECEIVED_MESSAGE_MAX_BYTES = 3 * 1024 * 1024;
/** A larger message of a worker is read in pieces, one a turn of the loop; */
export const PIECE_MAX_BYTES = 64 * 1024;
/** so many fields are in one, those of the messages within it included. A start, result or line that has more is refused, */
export const PIECE_MAX_FIELDS = 16_384;
/** and so is a hello that has more than this, which is heard at once when all of it was read. */
export const HELLO_MAX_FIELDS = 200_000;
/** Bytes a second that a gateway reads from one worker; beyond it the worker waits, by the network's flow control, */
export const INTAKE_BYTES_PER_SEC = 64 * 1024 * 1024;
/** after so many at once. */
export const INTAKE_BURST_BYTES = 4 * 1024 * 1024;
/** A message counts for so many bytes more than it has: an empty one costs time as well. */
export const INTAKE_MESSAGE_BYTES = 2 * 1024;
/** One worker needs one stream. */
export const STREAMS_MAX = 100;
/** A worker with more than this unread gets no more work for now, */
export const CONGESTED_BYTES = 8 * 1024 * 1024;
/** with more than this is disconnected, */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024;
/** and also where it read nothing for so long while something waited. */
export const UNREAD_MAX_MS = 30_000;
/** A connection without a stream is of no use to a worker, and is closed after this. */
export const CONNECTION_IDLE_MS = 30_000;
/** Notices peers that vanished without a word; looser than liveness, which judges workers. */
export const KEEPALIVE_INTERVAL_MS = 30_000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;
/** A worker that does not take a goodbye within this is cut off. */
export const GOODBYE_MAX_MS = 1_000;

/** Limits of a worker's hello, as the reference shows them. */
export const WORKER_LIMITS = {
  connections: CONNECTIONS_MAX,
  slots: SLOTS_MAX,
  prefetch: PREFETCH_MAX,
  handlers: HANDLERS_MAX,
  resultBytes: RESULT_MAX_BYTES,
} as const;
