import { RESULT_MAX_BYTES } from "@mainspring/contract/limits";

/** Limits and waiting times of a gateway. */

export const SLOTS_MAX = 10_000;
export const PREFETCH_MAX = 100_000;
export const HANDLERS_MAX = 1_000;
export const CAPABILITIES_MAX = 1_000;
export const ERROR_MESSAGE_MAX_CHARS = 8 * 1024;
export const ERROR_STACK_MAX_CHARS = 8 * 1024;
export const LOG_LINE_MAX_CHARS = 8 * 1024;
/** Time in ms that work may last which a worker with automatic prefetch gets ahead of its free slots. */
export const AHEAD_MS = 50;
/** Attempts that may wait at a worker with automatic prefetch, however quick its handlers are. */
export const AHEAD_MAX = 4_000;
/** Length in ms of one measurement of the rate at which a worker ends attempts. */
export const AHEAD_SAMPLE_MS = 20;
/** Time in ms without the end of an attempt after which a worker gets nothing ahead. */
export const AHEAD_QUIET_MS = 100;
/**
 * Time in ms for which an attempt may wait at a worker with automatic prefetch that has no free slot. After it, the
 * gateway asks for the attempt back.
 */
export const AHEAD_WAITS_MAX_MS = 1_000;
/** Connections of workers that a gateway accepts, including connections that have not sent a hello yet. */
export const CONNECTIONS_MAX = 10_000;
/** Time in ms within which a new connection must send its hello. The gateway closes a later one. */
export const HELLO_WITHIN_MS = 10_000;

/**
 * Bytes of payloads in one message to a worker. A single larger payload gets a message of its own. gRPC clients accept
 * messages of 4 MiB by default.
 */
export const MESSAGE_MAX_PAYLOAD_BYTES = 2 * 1024 * 1024;
/** Assignments in one message to a worker. The gateway splits a longer list. */
export const MESSAGE_MAX_ASSIGNS = 2_000;
/**
 * Acknowledgements, and likewise refusals, in one message to a worker. The gateway writes a message with this many in a
 * turn of the event loop of its own, because encoding it takes long.
 */
export const MESSAGE_MAX_TOKENS = 2_000;

/** Interval in ms at which workers send heartbeats. `Welcome` tells the interval to each worker. */
export const HEARTBEAT_INTERVAL_MS = 10_000;
/** Time in ms after which a worker that is connected but silent is lost. */
export const SILENT_MAX_MS = 30_000;
/** Time in ms after which a worker whose connection is broken is lost. */
export const BROKEN_MAX_MS = 5_000;
/**
 * If the liveness check runs later than planned by more than this, the process itself was stalled. The gateway then
 * restarts the clocks of all workers, because it may have missed their messages.
 */
export const STALL_MAX_MS = 1_000;
/** Interval in ms at which the gateway checks the liveness of its workers. */
export const JUDGE_INTERVAL_MS = 250;
/**
 * Divisor of the workers that a draining gateway sends away at each liveness check: 8 means an eighth of them, so that
 * the other gateways do not get all workers at once.
 */
export const SEND_AWAY_SHARE = 8;
/**
 * Time in ms since its return after which a draining gateway sends away again a worker that came back and holds no
 * attempts.
 */
export const SENT_AWAY_AGAIN_MS = 10_000;
/**
 * Interval in ms at which a gateway sends a full sync of all credits to each owner, because the bus may have lost
 * earlier messages about credits.
 */
export const FULL_SYNC_INTERVAL_MS = 1_000;
/** Credits in one message to an owner. A longer list is split over several messages. */
export const CREDITS_PER_MESSAGE = 2_000;
/**
 * Ranks that differ by at most this count as equally urgent when slots are allocated. A rank is roughly an instant in
 * ms.
 */
export const RANKS_EQUAL_WITHIN = 1_000;
/** Part by which the shares of tenants may differ and still count as equal. */
export const SHARES_EQUAL_WITHIN = 0.05;
/** Minimum interval in ms between two requests to an owner to give back the credits that it cannot use of a worker. */
export const REVOKE_INTERVAL_MS = 50;
/** Time in ms for which other owners have precedence at a worker after an owner gave back credits of this worker. */
export const DECLINED_MS = 1_000;
/**
 * An owner that has unused credits of a worker and waiting work, but assigns nothing there for this long, gets no
 * further credits of this worker.
 */
export const UNUSED_MS = 300;
/** The gateway asks a worker to send its results again when a result has not been acknowledged for this long. */
export const RESEND_AFTER_MS = 2_000;
/**
 * Upper bound of the wait before the gateway asks a worker for its results again. The wait doubles while no
 * acknowledgement arrives, because repeated results only add load to owners that are slow.
 */
export const RESEND_WAIT_MAX_MS = 10_000;
/**
 * An attempt that has not started for this long may be missing at the worker, so the gateway asks the worker about it.
 */
export const DOUBT_AFTER_MS = 5_000;
/** Attempts that have not started in one question to a worker. */
export const DOUBTS_MAX = 1_000;
/**
 * The gateway disconnects a worker that sends messages but leaves a question unanswered for twice this long. The
 * worker's next hello then lists the attempts that it holds.
 */
export const ANSWER_WITHIN_MS = 5_000;
/** Minimum interval in ms between two requests to a worker to hand back attempts that it has not started. */
export const TAKE_BACK_EVERY_MS = 1_000;
/**
 * Time in ms for which acknowledgements wait for another message to the same worker. They share a message, because a
 * message costs more than its content.
 */
export const ACKS_WAIT_MS = 1_000;
/**
 * Interval in ms at which the gateway looks for acknowledgements that have waited for `ACKS_WAIT_MS`. It is shorter
 * than that wait, so that the acknowledgements of all workers do not leave at once.
 */
export const ACKS_INTERVAL_MS = 100;
/** Waiting acknowledgements of one worker at which the gateway sends them without further delay. */
export const ACKS_WAITING_MAX = 1_000;
/** Time in ms for which a gateway lists a lost worker as DEAD. */
export const DEAD_LISTED_MS = 600_000;
/** Lost workers that a gateway lists as DEAD. Beyond it, the gateway forgets the one that was lost first. */
export const DEAD_LISTED_MAX = 1_000;
/** Attempts that the status of one worker lists. */
export const EXECUTIONS_LISTED_MAX = 1_000;

/** Items of recent handler output that a gateway keeps of one execution. */
export const OUTPUT_MAX_ITEMS = 1_000;
/** Characters of recent handler output that a gateway keeps of one execution. */
export const OUTPUT_MAX_CHARS = 256 * 1024;
/**
 * Characters of recent handler output that a gateway keeps of all executions together. Beyond it, the gateway drops the
 * output of the execution that has been silent for the longest time.
 */
export const OUTPUT_ALL_MAX_CHARS = 16 * 1024 * 1024;
/** Time in ms after which a gateway drops the kept output of a silent execution. */
export const OUTPUT_KEPT_MS = 600_000;
/** Time in ms within which a follower of an execution must repeat its subscription. */
export const FOLLOW_LAPSES_MS = 10_000;
/**
 * Executions that api nodes can follow at once at one gateway. Beyond it, the gateway ignores requests to follow
 * another execution.
 */
export const FOLLOWED_MAX = 20_000;

/**
 * Memory in bytes for the log lines of all attempts of a gateway. Beyond it, the gateway forgets the lines that the store
 * has, and then drops the oldest ones that it does not have.
 */
export const LOGS_ALL_MAX_BYTES = 64 * 1024 * 1024;
/** Interval in ms at which a gateway writes the log lines of attempts that have ended. */
export const LOGS_WRITE_MS = 1_000;
/** Age in ms of the oldest line that is not written yet, from which on a gateway writes the lines of a running attempt. */
export const LOGS_RUNNING_WRITE_MS = 5_000;
/** Time in ms until another try if the store did not take the lines. */
export const LOGS_RETRY_MS = 5_000;
/** Time in ms that a gateway that stops has to write its lines. */
export const LOGS_STOP_MS = 5_000;
/** Bytes of memory after which a write takes no further attempt, and the largest number of attempts in one write. */
export const LOGS_WRITE_MAX_BYTES = 512 * 1024;
export const LOGS_WRITE_MAX_PARTS = 1_000;
/** Attempts without news that a gateway checks in a second for whether their worker still has them. */
export const LOGS_CHECKED_MAX = 5_000;

/**
 * Attempts that a hello may list, including unacknowledged results. The gateway allocates no credit that would let a
 * worker hold more.
 */
export const HOLDS_MAX = 12_000;
/** Upper bound of the credits of one worker, whatever its slots and prefetch add up to. */
export const LENT_MAX = 10_000;
/**
 * Attempts of one execution in a hello. At most one attempt is current; the handlers of earlier attempts may still run.
 */
export const HOLDS_PER_EXECUTION_MAX = 1_000;

/** Policies of all handlers in a hello. */
export const POLICIES_MAX_BYTES = 256 * 1024;
/** Handlers that a gateway lists with their workers, */
export const OFFERS_LISTED_MAX = 10_000;
/** different policies of one of them, */
export const OFFER_VARIANTS_MAX = 8;
/** and characters of all policies together. */
export const OFFERS_MAX_CHARS = 1024 * 1024;

/** Bytes of the largest message that the server accepts. The SDK sends 2 MiB at most. */
export const RECEIVED_MESSAGE_MAX_BYTES = 3 * 1024 * 1024;
/** Bytes of a worker's message above which the gateway decodes it in pieces, one piece in a turn of the event loop. */
export const PIECE_MAX_BYTES = 64 * 1024;
/**
 * Fields in one piece of a message, including the fields of nested messages. The gateway refuses a start, result,
 * progress report or log line that has more.
 */
export const PIECE_MAX_FIELDS = 16_384;
/**
 * Fields in a hello or in an answer about all attempts, including those of nested messages. The gateway refuses a longer
 * one. It decodes a long one in pieces, but handles it as a whole.
 */
export const HELLO_MAX_FIELDS = 200_000;
/**
 * Bytes per second that a gateway reads from one worker. The gateway pauses the stream of a faster worker, which then
 * waits by the network's flow control.
 */
export const INTAKE_BYTES_PER_SEC = 64 * 1024 * 1024;
/** Bytes that a gateway reads from one worker at once before `INTAKE_BYTES_PER_SEC` applies. */
export const INTAKE_BURST_BYTES = 4 * 1024 * 1024;
/** Bytes that each message counts beyond its size, because an empty message takes time as well. */
export const INTAKE_MESSAGE_BYTES = 2 * 1024;
/** Streams in one gRPC connection. A worker needs one. */
export const STREAMS_MAX = 100;
/** Unread bytes above which a worker gets no more work until it has read some of them. */
export const CONGESTED_BYTES = 8 * 1024 * 1024;
/** Unread bytes above which the gateway disconnects a worker. */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024;
/** The gateway disconnects a worker that has read nothing for this long although messages wait for it. */
export const UNREAD_MAX_MS = 30_000;
/** Time in ms after which the server closes a connection that has no stream, because it is of no use to a worker. */
export const CONNECTION_IDLE_MS = 30_000;
/**
 * Interval in ms of gRPC keepalive pings, which detect peers that vanished without closing. The limits of liveness are
 * stricter, and decide about workers.
 */
export const KEEPALIVE_INTERVAL_MS = 30_000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;
/** Time in ms that a peer has to read the status that closes its stream. After it, the server destroys the socket. */
export const GOODBYE_MAX_MS = 1_000;

/** Limits of a worker's hello, as the reference shows them. */
export const WORKER_LIMITS = {
  connections: CONNECTIONS_MAX,
  slots: SLOTS_MAX,
  prefetch: PREFETCH_MAX,
  handlers: HANDLERS_MAX,
  resultBytes: RESULT_MAX_BYTES,
  policiesBytes: POLICIES_MAX_BYTES,
  logsBytes: LOGS_ALL_MAX_BYTES,
} as const;
