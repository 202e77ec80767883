/** Bounds and timeouts of the mesh. */

/** Packets are cut into parts of this size: what a server takes in one message is bounded. */
export const PART_MAX_BYTES = 1024 * 1024;
/** Payloads and results in one packet. */
export const PORTION_MAX_BYTES = 8 * 1024 * 1024;
/** Messages, and items of their lists, in one packet that this node sends. */
export const PORTION_MAX_ITEMS = 1_000;
/** A packet that grows beyond this ends its stream. A node of the release before sends up to 9 MiB of payloads and the text beside them. */
export const PACKET_MAX_BYTES = 32 * 1024 * 1024;
/** Parts in one packet. */
export const PACKET_MAX_PARTS = 1_024;
/** Payloads and results in one packet, however small. */
export const PACKET_MAX_ATTACHMENTS = 200_000;
/** Greatest size of a packet without payloads and results, in bytes. */
export const PACKET_MAX_TEXT_BYTES = 16 * 1024 * 1024;
/** Text of packets that is parsed at once; */
export const AT_ONCE_BYTES = 64 * 1024;
/** fields of packets that are read at once; */
export const AT_ONCE_FIELDS = 4_096;
/** an item of a list, which cannot be divided, that is larger ends its stream; */
export const ITEM_MAX_BYTES = 512 * 1024;
/** a message that may not be divided, and has more text, is dropped. */
export const LETTER_MAX_BYTES = 4 * 1024 * 1024;
/** Fields of one message of a stream, of which each has a few. */
export const MESSAGE_MAX_FIELDS = 64;
/** Greatest size of the messages before the welcome, in bytes: names and digests. */
export const GREETING_MAX_BYTES = 4 * 1024;
/** A stream on which nobody was welcomed within this is ended; */
export const GREETING_WITHIN_MS = 10_000;
/** where there are more of them than this, the oldest one is. */
export const GREETINGS_MAX = 256;
/** A node whose lease is not known here is waited for so long: leases are looked at several times a second. */
export const LEASE_WITHIN_MS = 4_000;
/** Handed to the connection and not taken yet; beyond it packets wait here. */
export const UNSENT_MAX_BYTES = 4 * 1024 * 1024;
/** Bytes that wait for a slow node; beyond this the oldest packet is lost. */
export const WAITING_MAX_BYTES = 32 * 1024 * 1024;
/** A node that does not answer a new stream within this is tried again. Silent is not refused. */
export const WELCOME_WITHIN_MS = 5_000;
/** First and longest wait before a broken connection is tried again. */
export const RETRY_FIRST_MS = 50;
export const RETRY_MAX_MS = 1_000;
