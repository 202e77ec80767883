import { Signaller } from "./stepped/signaller.ts";
import { runSubmitters } from "./submitters.ts";
import { Operator } from "./workflows/operator.ts";

/** Number of stepped jobs at a time. Most of them sleep or wait for signals, and have no slot. */
const SIGNALLERS = 30;
/** Number of workflows at a time that are paused or retried. */
const OPERATORS = 6;

/**
 * Signallers and operators in a process of their own: `signaller-process.ts <urls> <history file> <seed>`. At any message
 * they submit no more, and send the signals that are left at once; the process ends when their jobs and runs are final.
 */
await runSubmitters([Signaller, SIGNALLERS], [Operator, OPERATORS]);
