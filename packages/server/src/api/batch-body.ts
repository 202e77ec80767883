import { parseJsonBody } from "./json-body.ts";
import { elementsOf, memberOf, type Slice } from "./json-scan.ts";

/**
 * Reads all of a batch's body but its jobs, of which it says where they lie: parsing 32 MiB at once would keep everybody
 * else waiting for half a second. Each job is proven to be JSON when it is parsed.
 * @returns what the body is, with a `Slice` for each of `jobs`; a body without a list of jobs is returned as it is
 * @throws {ProblemError} malformed-json
 */
export function parseBatchBody(bytes: Buffer): unknown {
  const list = memberOf(bytes, 0, "jobs");
  const jobs: Slice[] | null = list === null ? null : elementsOf(bytes, list.start);
  if (list === null || jobs === null) return parseJsonBody(bytes);
  const rest = [bytes.subarray(0, list.start), Buffer.from("[]"), bytes.subarray(list.end)];
  return { ...(parseJsonBody(Buffer.concat(rest)) as object), jobs };
}
