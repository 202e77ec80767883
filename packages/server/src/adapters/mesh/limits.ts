/** What the mesh allows, and how long it waits. */

/** Packets are cut into parts of this size: what a server takes in one message is bounded. */
export const PART_MAX_BYTES = 1024 * 1024;
/** Payloads and results in one packet. */
export const PORTION_MAX_BYTES = 8 * 1024 * 1024;
/** A packet that grows beyond this ends its stream. */
export const PACKET_MAX_BYTES = 64 * 1024 * 1024;
/** Handed to the connection and not taken yet; beyond it packets wait here. */
export const UNSENT_MAX_BYTES = 4 * 1024 * 1024;
/** What waits for a slow node; beyond it the oldest is lost. */
export const WAITING_MAX_BYTES = 32 * 1024 * 1024;
/** A node that does not answer a new stream within this is tried again. Silent is not refused. */
export const WELCOME_WITHIN_MS = 5_000;
/** First and longest wait before a broken connection is tried again. */
export const RETRY_FIRST_MS = 50;
export const RETRY_MAX_MS = 1_000;
