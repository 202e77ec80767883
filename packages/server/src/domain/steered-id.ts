import { continuedHash, finishedHash, hashStep, type JobId, SHARD_COUNT, SHARD_SEED, type ShardId } from "./ids.ts";

/** Index of the first of the three digits that steering chooses. */
const FRONT = 33;
const ENDINGS = Array.from({ length: 16 ** 3 }, (_, number) => number.toString(16).padStart(3, "0"));
const CODES = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/**
 * The id with other digits in its last three places, so that `shardOf` gives this shard. Time and counter of the id stay,
 * so steered ids of one process grow as they were made and are distinct. About 64 of the 4,096 endings lead to each
 * shard, and the id's own random ending decides which one is taken.
 */
export function steeredId(id: JobId, shard: ShardId): JobId {
  const front = id.slice(0, FRONT);
  const state = continuedHash(front, SHARD_SEED);
  const own = Number.parseInt(id.slice(FRONT), 16);
  for (let step = 0; step < ENDINGS.length; step++) {
    const ending = (own + step) % ENDINGS.length;
    if (shardAfter(state, ending) === shard) return front + ENDINGS[ending];
  }
  // No ending leads there: one front in about e^64. The job then lies in the shard of its own id, as without steering.
  return id;
}

/**
 * `shardOf` an id, by the state of the hash after its front. The digits are hashed without their text, and the mask is the
 * remainder by a power of two, which takes a third of the time of `%`.
 */
function shardAfter(state: number, ending: number): ShardId {
  const first = hashStep(state, CODES[ending >> 8] as number);
  const second = hashStep(first, CODES[(ending >> 4) & 0xf] as number);
  return finishedHash(hashStep(second, CODES[ending & 0xf] as number)) & (SHARD_COUNT - 1);
}
