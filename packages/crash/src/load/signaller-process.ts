import { Signaller } from "./stepped/signaller.ts";
import { runSubmitters } from "./submitters.ts";

/** Number of stepped jobs at a time. Most of them sleep or wait for signals, and have no slot. */
const SIGNALLERS = 30;

/**
 * Signallers in a process of their own: `signaller-process.ts <urls> <history file> <seed>`. At any message they submit no
 * more jobs, and send the signals that are left at once; the process ends when their jobs are final.
 */
await runSubmitters(Signaller, SIGNALLERS);
