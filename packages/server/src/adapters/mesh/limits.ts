/** Limits and timeouts of the mesh. */

/** Size of the parts into which packets are cut, in bytes, because gRPC limits the size of a message. */
export const PART_MAX_BYTES = 1024 * 1024;
/** Largest total of payloads and results in one packet, in bytes. */
export const PORTION_MAX_BYTES = 8 * 1024 * 1024;
/** Largest number of messages, and items of their lists, in one packet that this node sends. */
export const PORTION_MAX_ITEMS = 1_000;
/**
 * Size at which a received packet ends its stream, in bytes. A node of the previous release sends up to 9 MiB of
 * payloads and the text beside them.
 */
export const PACKET_MAX_BYTES = 32 * 1024 * 1024;
/** Largest number of parts in one packet. */
export const PACKET_MAX_PARTS = 1_024;
/** Largest number of payloads and results in one packet. */
export const PACKET_MAX_ATTACHMENTS = 200_000;
/** Largest size of a packet without payloads and results, in bytes. */
export const PACKET_MAX_TEXT_BYTES = 16 * 1024 * 1024;
/** Largest text of packets that is parsed without leaving the turn of the event loop, in bytes. */
export const AT_ONCE_BYTES = 64 * 1024;
/** Largest number of fields of packets that are read without leaving the turn of the event loop. */
export const AT_ONCE_FIELDS = 4_096;
/** Largest value that is parsed at once because it cannot be divided, in bytes. A larger one ends its stream. */
export const ITEM_MAX_BYTES = 512 * 1024;
/** Largest text of a message that cannot be divided, in bytes. A larger one is dropped. */
export const LETTER_MAX_BYTES = 4 * 1024 * 1024;
/** Largest number of fields in one message of a stream; a regular message has a few. */
export const MESSAGE_MAX_FIELDS = 64;
/** Largest size of the messages before the welcome, in bytes; these contain names and digests. */
export const GREETING_MAX_BYTES = 4 * 1024;
/** Time after which a stream without a welcome is ended, in milliseconds. */
export const GREETING_WITHIN_MS = 10_000;
/** Largest number of streams without a welcome. Beyond it, the oldest is ended. */
export const GREETINGS_MAX = 256;
/** Longest wait for a lease that is not known here, in milliseconds; leases are read several times a second. */
export const LEASE_WITHIN_MS = 4_000;
/** Bytes that were handed to the connection and not sent yet; beyond this number packets wait here. */
export const UNSENT_MAX_BYTES = 4 * 1024 * 1024;
/** Bytes that wait for a slow node; beyond this number the oldest packet is dropped. */
export const WAITING_MAX_BYTES = 32 * 1024 * 1024;
/**
 * Time without an answer after which a new stream to a node is tried again, in milliseconds. A silent node does not
 * count as one that refuses.
 */
export const WELCOME_WITHIN_MS = 5_000;
/** First and longest wait before a broken connection is tried again, in milliseconds. */
export const RETRY_FIRST_MS = 50;
export const RETRY_MAX_MS = 1_000;
